// SPDX-License-Identifier: Apache-2.0
// The arguments of `record` and the run that they describe.
#pragma once

#include "app/cli/argument.h"
#include "model/base/result.h"
#include "model/spec/run_spec.h"
#include "profiler/engine/run.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fourwalls::cli {

constexpr double kRankTimeout = 30; ///< [s]

struct RecordArguments {
    std::string output;
    std::string model = "gpt-tiny";
    std::string plan;
    std::string steps = "20"; ///< N, or A-B with a command
    std::int64_t batch = 8;
    std::optional<std::int64_t> sequence;
    std::string optimizer = "adamw";
    std::optional<double> learningRate, warmup, weightDecay, clip;
    std::optional<std::int64_t> width, mupBase, noiseEvery, noiseBatches;
    std::string device = "cpu", clock = "wall", transport = "local", precision = "f32";
    std::string cluster = "this-machine";
    std::optional<double> rankTimeout; ///< [s], of the transport gloo; absent: kRankTimeout
    std::uint64_t seed = 1;
    std::int64_t restarts = 0;
    std::optional<std::int64_t> spares;
    std::optional<double> mtbfSteps;
    std::string skippedData; ///< "A-B,C"
    std::optional<std::int64_t> evaluateEvery, evaluateBatches, checkpointEvery;
    std::string data, saveWeights, loadWeights, kernelTimes, checkpointFolder, resumeFolder;
    std::vector<std::string> slowRanks, disturbances, linkFaults, faults;
    bool noTrace = false, blind = false, checkpointsBeside = false, checkpointShards = false;
    bool memorySnapshot = false; ///< of PyTorch, with a command
    std::string detail, host;    ///< likewise
    std::optional<std::int64_t> every, spoolLimit;
    std::vector<std::string> command; ///< after "--"
    std::vector<std::string> given;   ///< names of those that the command line has

    Arguments all();
    /// Of them: what happens to the run on purpose, and what it does about failures.
    Arguments ofFailures();
    bool isGiven(std::string_view name) const;

    /// The options given that only the embedded engine understands, the first of them; empty if there are none.
    std::string engineOption() const;

    /// The resolved run. Errors: InvalidArgument is wrong usage; Unsupported what this program cannot do;
    /// NotFound, Io, Format from named files and presets.
    Result<RunSpec> resolveRun() const;

    /// How it is run: clock, weight folders, slow ranks and faulty links. Errors: InvalidArgument is wrong usage.
    Result<engine::RunOptions> runOptions(const RunSpec& spec) const;
};

} // namespace fourwalls::cli
