// SPDX-License-Identifier: Apache-2.0
// What a step's communication would send under other algorithms, beside what it did send and what the published
// formulas of a naive send-to-everyone scheme say.
#pragma once

#include "model/trace/communication_step.h"

#include <optional>
#include <string>
#include <vector>

namespace fourwalls {

/// Bytes per step (of several together the mean) that all ranks together send for the groups of one name.
struct GroupTraffic {
    std::string group;
    int members = 0;       ///< of one group
    double operations = 0; ///< of all groups of that name
    double payload = 0;    ///< buffers, each operation's once
    double naive = 0;      ///< every member sends its buffer to every other one
    double ring = 0, tree = 0, direct = 0;
    std::optional<double> hierarchical; ///< where groups span nodes evenly
    double measured = 0;                ///< what the ranks really sent (predictions: what they would)
    std::optional<double> published;    ///< the article's formula for this model and plan
    std::string formula;                ///< the formula, with its symbols
};

/// By bytes measured, most first. published: needs the trace's specification; its symbols are P parameters, L layers,
/// H hidden width, T tokens of the step and the degrees of the plan, 2 bytes per number. Source: docs, "Traffic per
/// epoch", with one mini-batch instead of an epoch.
std::vector<GroupTraffic> groupTraffic(const TraceInfo& info, const CommunicationStep& step);

} // namespace fourwalls
