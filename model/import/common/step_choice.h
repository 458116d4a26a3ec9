// SPDX-License-Identifier: Apache-2.0
// What a step of a trace shall be: found by rules, or named by a person.
#pragma once

#include "model/base/result.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace fourwalls::importers {

struct StepChoice {
    enum class Kind : std::uint8_t { Auto, Marks, Range, Kernel, Period, Whole };
    Kind kind = Kind::Auto;
    std::string name;          ///< of Range and Kernel
    std::int64_t periodNs = 0; ///< of Period
    bool automatic() const { return kind == Kind::Auto; }
};

/// Reads "auto" (or nothing), "marks", "range NAME", "kernel NAME", "period MS" and "whole".
/// Errors: InvalidArgument naming what was written.
Result<StepChoice> readStepChoice(std::string_view text);

/// How a choice is stored and said: "range train_step", "period 12.5 ms", "whole trace".
std::string stepsByText(const StepChoice& choice);

} // namespace fourwalls::importers
