// SPDX-License-Identifier: Apache-2.0
// Which NVTX ranges and marks begin a training step, by their names alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace fourwalls::collect {

/// A name that begins a step.
struct StepName {
    std::optional<std::int64_t> number; ///< the step, where the name carries it
};

/// Recognises "ProfilerStep#12", "step 12", "iteration: 12", "train_step", "Training Step [12]" and the like: an optional
/// "train" or "training", then step, iter or iteration, then an optional number.
/// custom: if not empty, only names that begin with it are recognised, with the number that follows it.
std::optional<StepName> stepOfName(std::string_view name, std::string_view custom = {});

} // namespace fourwalls::collect
