// SPDX-License-Identifier: Apache-2.0
// Notices a loss that a training should not be gone on with.
#pragma once

#include "profiler/engine/core/run_options.h"

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

namespace fourwalls::engine {

/// "gradient norm 815, of it layer 3 812, layer 2 60, outside of layers 12": the largest three, or those that are no numbers.
std::string gradientWords(const StepProgress& step);

/// A loss has jumped if it is above kJump times the mean of the last kRemembered, and by more than kLeast; or is no number.
class LossWatch {
public:
    static constexpr std::size_t kRemembered = 16;
    static constexpr double kJump = 1.5, kLeast = 1;

    /// A loss that was gone on with; one that is no number is passed over.
    void remember(double loss);
    /// What is wrong with the next one, in words; absent: nothing, and it is remembered.
    std::optional<std::string> look(std::int64_t step, double loss, double gradientNorm);

private:
    std::deque<double> m_last;
};

} // namespace fourwalls::engine
