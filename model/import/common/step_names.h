// SPDX-License-Identifier: Apache-2.0
// Which names of ranges, annotations and Python functions stand for one pass of a loop.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace fourwalls::importers {

struct IterationName {
    enum class Kind : std::uint8_t {
        None,
        Profiler,  ///< ProfilerStep#N
        Iteration, ///< "step 12", "train_step", "iteration"
        Serving,   ///< "step[DECODE bs=32]", "execute_32_context_…": an engine's pass over its batch
        Function,  ///< a Python function that is called so: "train.py(12): train_step"
        Optimizer, ///< "Optimizer.step#SGD.step": a step ends with it
    };
    Kind kind = Kind::None;
    std::string key; ///< what all passes of the loop have in common: "train_step"
    int number = -1; ///< of the pass, where the name says so
};

/// By the name alone. Ranges that say they warm up are none: what follows them is what somebody wanted to see.
IterationName iterationName(std::string_view name);

/// The name without the numbers in it: equal for the ranges of a loop.
std::string namePattern(std::string_view name);

} // namespace fourwalls::importers
