// SPDX-License-Identifier: Apache-2.0
// What the rules found, as sentences.
#pragma once

#include "model/diagnose/hang_report.h"
#include "model/diagnose/hang_rules.h"
#include "model/diagnose/hang_waits.h"

#include <string>
#include <string_view>
#include <vector>

namespace fourwalls::diagnose {

/// "nccl:_all_gather_base" -> "all_gather"; "nccl:send 0->3" -> "send".
std::string operationName(std::string_view name);

HangSuspect suspectOf(const HangState& state, std::int32_t rank, const NamedRank& named);
HangSet setOf(const HangState& state, const OneOf& set);

/// From those who wait to those who are waited for, furthest first; at most some ten sentences.
std::vector<HangWaiting> chainOf(const HangState& state, const std::vector<Wait>& waits, const NamedRanks& named,
                                 const std::vector<OneOf>& sets);

} // namespace fourwalls::diagnose
