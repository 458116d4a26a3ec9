// SPDX-License-Identifier: Apache-2.0
// The arguments that predict, plan and goodput share: what is trained, on what, by which framework.
#pragma once

#include "app/cli/argument.h"
#include "model/base/result.h"
#include "model/learn/learned_calibration.h"
#include "model/spec/calibration.h"
#include "model/spec/framework_preset.h"
#include "model/spec/run_spec.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fourwalls::cli {

/// Everything that a prediction needs.
struct PredictionInputs {
    RunSpec spec; ///< plan not yet checked against the model (the cost model does)
    FrameworkPreset framework;
    Calibration calibration;
    std::vector<std::string> assumed;     ///< what nobody said, as "field=value"
    std::string note;                     ///< what whoever reads the answer has to know about these; may be empty
    std::optional<learn::LikeTrace> like; ///< the trace that said what was not given
};

/// The calibration of a cluster: what its file measured, or else the published one. Errors: Format.
Result<Calibration> calibrationOfCluster(const std::string& clusterOrFile);

struct PredictArguments {
    std::string model = "gpt-tiny", cluster = "this-machine", framework, calibration, precision, optimizer = "adamw";
    std::optional<std::int64_t> batch, sequence, loraRank;
    std::string like;               ///< a trace that says everything that is not given; empty: none
    std::vector<std::string> given; ///< names of those that the command line has

    /// These and a verb's own, in this order. Neither the plan nor the output belong to these.
    Arguments with(const Arguments& own);

    /// Where a trace is given, it says what is not given, the plan included. Else loads presets and fills defaults: the
    /// framework of the cluster (the engine on processors, Megatron-Core on accelerators), bf16 where the device has a
    /// rate for it, else f32, the model's sequence, and where no batch is given 8 samples or, if that does not divide,
    /// one per replica and micro-batch. Measures this machine for a second where that is the cluster.
    /// devices: where ranks share one memory they are as many as these and the plan's.
    /// Errors: NotFound, Format, InvalidArgument naming the option; those of likeTrace.
    Result<PredictionInputs> load(const std::string& plan, int devices = 0) const;
    /// `--like`, for verbs that take one.
    Argument likeArgument();

private:
    bool isGiven(const char* name) const;
    Status checkLora() const;
    /// What the trace says holds for its own machine: another cluster brings its rates.
    Result<PredictionInputs> loadLike(const std::string& plan, int devices) const;
};

} // namespace fourwalls::cli
