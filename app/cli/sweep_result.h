// SPDX-License-Identifier: Apache-2.0
// What one run of a sweep came to, in a file of its own: written whole with a checksum, so that a sweep that was killed
// takes up what is finished and nothing that is torn.
#pragma once

#include "app/cli/sweep_space.h"
#include "model/base/result.h"
#include "profiler/engine/core/gradient_noise.h"
#include "profiler/engine/core/run_options.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <vector>

namespace fourwalls::cli {

struct SweepStep {
    double loss = 0, gradientNorm = 0; ///< not finite: the run diverged here
    double learningRate = 0;
    double milliseconds = 0;
};

struct SweepResult {
    std::string name; ///< of its files, without folder and ending
    SweepPoint point;
    std::string spec;       ///< hash of the run's specification
    std::int64_t steps = 0; ///< that the whole training has; a run of a halving may end before
    std::vector<SweepStep> taken;
    bool diverged = false; ///< and ended there
    std::int64_t tokensPerStep = 0;
    std::int64_t noiseEvery = 0; ///< steps between probes of the gradients' noise; 0: none; -1: not said
    engine::GradientNoise noise; ///< of the probes that were taken
    std::string traceHash;       ///< of the trace beside it

    bool isWhole() const { return diverged || static_cast<std::int64_t>(taken.size()) >= steps; }
    bool hasSteps(std::int64_t count) const { return diverged || static_cast<std::int64_t>(taken.size()) >= count; }
    /// Mean loss over the last tenth of the first `count` steps (at least one); absent where the run diverged before.
    std::optional<double> lossAt(std::int64_t count) const;
    std::optional<double> finalLoss() const { return lossAt(static_cast<std::int64_t>(taken.size())); }
    double seconds() const;
};

/// "lr0.001-width64-1a2b3c4d": of its values and the specification.
std::string sweepRunName(const SweepPoint& point, const std::string& specHash);

/// Writes FOLDER/NAME.result.json behind the trace FOLDER/NAME.fourwalls, which holds the steps and nothing else of the
/// run. Errors: Io.
Status writeSweepResult(const std::string& folder, SweepResult& result, const RunSpec& spec);

/// The result, if it is whole: of this specification, with a checksum that fits and the trace that it names.
std::optional<SweepResult> readSweepResult(const std::string& folder, const std::string& name,
                                           const std::string& specHash);

} // namespace fourwalls::cli
