// SPDX-License-Identifier: Apache-2.0
// What a framework's buffers are for, told from when they live: nobody wrote it down, so the answer is an inference and
// says so.
#pragma once

#include "model/base/time.h"
#include "model/trace/vocabulary.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace fourwalls::importers {

inline constexpr std::int64_t kMostBufferBytes = std::int64_t{1} << 42; ///< sums of millions stay in range

/// The life of one buffer of one device.
struct BufferLife {
    Instant begin;
    std::optional<Instant> end; ///< absent: alive at the end of the history
    std::int64_t bytes = 0;
    std::int64_t address = 0;
};

/// A category for every buffer. optimizer: when the optimizer ran, on the clock of the buffers (the host's), by time.
///  - allocated by the optimizer and alive at its next run: optimizer state; else temporary;
///  - there before the first and behind the last of its runs: weights, and of buffers of one size under Adam two of
///    three are state (those that lie behind the others);
///  - allocated before a run and alive in it: gradients;
///  - freed before the run: activations where they live at the step's peak, else temporary.
/// Without runs everything is Other.
std::vector<MemoryCategory> inferCategories(const std::vector<BufferLife>& buffers,
                                            const std::vector<TimeRange>& optimizer, bool adam);

} // namespace fourwalls::importers
