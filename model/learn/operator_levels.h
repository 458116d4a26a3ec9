// SPDX-License-Identifier: Apache-2.0
// What the operators of a step took, by the names that the engine records, against what the cost model says of them: what
// rates by shape leave unexplained.
#pragma once

#include "model/base/result.h"
#include "model/cost/cost_model.h"
#include "model/replay/recording.h"
#include "model/spec/calibration.h"
#include "model/spec/run_spec.h"
#include "model/trace/trace_query.h"

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace fourwalls::learn {

/// What the engine records as one operator: its name, and whether it is in the backward pass.
using OperatorGroup = std::pair<std::string, bool>;

/// Seconds of one step, over all ranks.
struct StepOperators {
    std::map<OperatorGroup, double> groups; ///< of the engine's operators
    double computation = 0, optimizer = 0;
};

/// Of the measured steps, their mean. Operators hold their kernels, and not what they waited for other ranks;
/// computation is that of the kernels. recording: of the same steps.
/// Errors: Unsupported without a measured step; those of the queries.
Result<StepOperators> recordedOperators(TraceQuery& trace, const replay::Recording& recording);

/// The groups that each operator of the model was in, by its name.
using GroupsOfNames = std::map<std::string, std::set<OperatorGroup>>;

/// The same as the model has it. names: of the operators that were met; added to.
Result<StepOperators> predictedOperators(cost::CostModel& model, const RunSpec& spec, GroupsOfNames& names);

/// A factor on what the model says of some operators.
struct LearnedLevel {
    std::string name; ///< of the engine's operator; "computation" of all that are not known by name
    bool backward = false;
    double factor = 1, low = 1, high = 1; ///< over all traces together, and the least and most of one of them
    double seconds = 0;                   ///< recorded, of a step of each trace
};

/// Factors of recorded to predicted operators, put into the calibration by the model's names. Operators of other libraries
/// have other names: then there is one factor for all computation. predicted, recorded: by trace.
std::vector<LearnedLevel> learnLevels(const std::vector<StepOperators>& predicted,
                                      const std::vector<StepOperators>& recorded, const GroupsOfNames& names,
                                      Calibration& calibration);

} // namespace fourwalls::learn
