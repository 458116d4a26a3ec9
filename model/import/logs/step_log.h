// SPDX-License-Identifier: Apache-2.0
// What a training job wrote down about its steps: losses, learning rates, norms of gradients, lengths.
#pragma once

#include "model/base/result.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace fourwalls::importers {

/// One step as it was logged. Times in seconds.
struct LoggedStep {
    std::optional<double> unixTime; ///< when it was written down, at the step's end
    std::optional<double> length;   ///< of the step, where the log says it
    std::optional<double> loss, learningRate, gradientNorm, samples;
    std::optional<double> samplesPerSecond; ///< of the whole job
    std::map<std::string, double> figures;  ///< others, by the log's own names: throughput, MFU, loss scale
};

/// The log of one run, of one or several files.
struct StepLog {
    std::string producer; ///< "TensorBoard", "training log"
    std::map<std::int64_t, LoggedStep> steps;
    std::optional<double> sequenceLength;   ///< tokens of a sample, where the log says it
    std::optional<double> runtime;          ///< of the whole training [s], where only that is known
    std::optional<double> samplesPerSecond; ///< of the whole training, where only that is known
    bool lengthsFromTimes = false;          ///< steps' lengths are the time between lines
    std::int64_t records = 0;               ///< lines or events read
    std::int64_t leftOut = 0;               ///< figures that are no numbers, or of too many names
    std::string damage;                     ///< why reading ended early; empty: it did not

    /// The step with that number; null where there are too many already.
    LoggedStep* at(std::int64_t step);
    /// Files a figure under what it is: "lm loss", "train/grad_norm", "lr".
    void add(LoggedStep& step, std::string_view name, double value);
};

/// Adds the scalars of a TensorBoard event file. Errors: Io; Format for a file that is none.
Status readTensorBoard(const std::string& path, StepLog& log);

/// Adds the steps of a log of Megatron, DeepSpeed, NeMo, torchtitan or the Hugging Face Trainer. Errors: Io.
Status readTrainingLog(const std::string& path, StepLog& log);

/// Adds the steps of a log of any program: of each line that `pattern` (RE2's syntax) finds something in, the groups with
/// names. "step" is the number, without it lines count; "time" is the time of day, as a date or in seconds of Unix time;
/// others are figures by their names, as those of other logs ("loss", "lr", "grad_norm", "step_time", "step_time_ms").
/// Errors: InvalidArgument for a pattern that is none, or has no figure; Io.
Status readLogByPattern(const std::string& path, const std::string& pattern, StepLog& log);

/// "2024-05-01 12:34:56,789", also with a T, anywhere in a line, as Unix time; the clock is taken as that of Greenwich.
std::optional<double> loggedTime(std::string_view line);

} // namespace fourwalls::importers
