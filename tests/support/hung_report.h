// SPDX-License-Identifier: Apache-2.0
// A hung job of any size, as its dumps tell it.
#pragma once

#include "model/diagnose/hang_report.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace fourwalls::sample {

/// `ranks` ranks in one group of all and in tensor groups of 8. Rank 11 never entered operation 40 of its tensor group
/// and 7 of all; rank 20 wrote no dump.
inline diagnose::HangReport hungReport(int ranks)
{
    diagnose::HangReport report;
    const auto add = [&](const std::string& name, const std::string& kind, int first, int count, std::int64_t newest) {
        diagnose::HangFront front;
        front.group = name;
        front.description = kind;
        for (int r = first; r < first + count; ++r) {
            front.ranks.push_back(r);
            const bool isBad = r == 11, isGone = r == 20;
            const bool isHeld = kind == "default_pg" || (11 >= first && 11 < first + count);
            front.entered.push_back(isGone ? std::nullopt : std::optional(newest - isBad));
            front.started.emplace_back();
            front.completed.push_back(isGone ? std::nullopt : std::optional(newest - isHeld));
        }
        report.fronts.push_back(std::move(front));
    };
    add("0", "default_pg", 0, ranks, 7);
    for (int g = 0; g < ranks / 8; ++g) add(std::to_string(100 + g), "TENSOR_MODEL_PARALLEL_GROUP", 8 * g, 8, 40);
    add("900", "EXPERT_MODEL_PARALLEL_GROUP", 24, 2, 5); // both members finished everything
    for (int r = 0; r < ranks; ++r) report.ranks.push_back(r);
    report.missing = {20};
    report.suspects.push_back({20, diagnose::HangReason::NoDump, diagnose::HangConfidence::Certain, {}, "", ""});
    report.suspects.push_back({11,
                               diagnose::HangReason::HostStopped,
                               diagnose::HangConfidence::Strong,
                               {"101", "TENSOR_MODEL_PARALLEL_GROUP", "all_reduce", 40},
                               "",
                               "load (loader.py:7)"});
    report.stacks[11] = "load (loader.py:7)\nmain (train.py:3)";
    report.chain.push_back({{8, 9, 10}, {"101", "TENSOR_MODEL_PARALLEL_GROUP", "all_reduce", 40}, {11}});
    return report;
}

} // namespace fourwalls::sample
