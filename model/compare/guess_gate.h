// SPDX-License-Identifier: Apache-2.0
// Whether what a model predicts for a guessed specification may be shown beside the trace it was guessed from. A guess that
// comes near the step by luck is still wrong: what it implies has to be what was recorded.
#pragma once

#include "model/spec/run_spec.h"
#include "model/trace/spec_evidence.h"
#include "model/trace/trace_query.h"

#include <optional>
#include <string>
#include <vector>

namespace fourwalls::compare {

enum class GateReason {
    Allowed,
    OnlyMemory,    ///< a memory snapshot: it does not tell what ran
    NotTraining,   ///< no backward pass or no optimizer: a training step is another thing
    UnknownDevice, ///< no rates are known of the device
    NoGuess,       ///< too little of the network or the plan shows
    FactsDiffer,   ///< what the guess implies is not what was recorded
    StepUnknown,   ///< the trace has no measured step to hold the prediction against
    StepDiffers    ///< the predicted step is further than kMostStepError from the recorded one
};

/// One thing that the guess implies, and what was recorded of it. Words are short English for JSON and tooltips.
struct GateFact {
    std::string what, expected, found;
    bool matches = false;
};

struct GuessVerdict {
    GateReason reason = GateReason::NoGuess;
    std::vector<GateFact> facts;      ///< in the order in which they were looked at
    std::vector<std::string> missing; ///< fields to fill in: names of the specification's JSON
    std::optional<double> recordedSeconds, predictedSeconds;
    bool sawBackward = false, sawOptimizer = false;

    bool allowed() const { return reason == GateReason::Allowed; }
};

inline constexpr double kMostStepError = 0.3;
/// Matrix products of a guess that have to be found in the trace, and of the trace's FLOPs that they have to explain.
inline constexpr double kLeastMatched = 0.9;

/// The verdict over a trace without a specification of its own. guess: null if there is none; missing: what it assumed.
/// recordedSeconds: the trace's own step. predictedSeconds: absent before the model was asked; then the verdict says
/// whether to ask it.
GuessVerdict judgeGuess(const TraceInfo& info, const SpecEvidenceData& evidence, const RunSpec* guess,
                        std::vector<std::string> missing, std::optional<double> recordedSeconds,
                        std::optional<double> predictedSeconds);

} // namespace fourwalls::compare
