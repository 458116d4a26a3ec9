// SPDX-License-Identifier: Apache-2.0
// The queue between a program and its device: a launch returns when the work is queued, and once the queue is full, when
// earlier work has left it. The time until then is the device's, not the program's.
#pragma once

#include "model/base/time.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace fourwalls::replay {

/// A piece of work of one stream, and the call that launched it.
struct QueuedWork {
    Instant end;
    std::optional<TimeRange> call; ///< absent: not recorded
};

/// What a full queue held up.
struct LaunchQueue {
    std::size_t depth = 0;   ///< pieces of work that were launched and not done at most
    std::size_t blocked = 0; ///< launches that returned only when a piece of work was done
    Duration time;           ///< that those spent until then
    /// By piece of work: the earlier piece that has to be done before its launch returns; absent: none.
    std::vector<std::optional<std::uint32_t>> after;
};

/// The queue of a stream whose launches block at a plateau of work in flight. Absent where none does: fewer than ten launches
/// take over ten times what the quickest tenth does, or one of ten of those happens with fewer pieces in flight than 95 % of the
/// most, or they return at other times than when work ends. work: by start, which is the order of the launches.
std::optional<LaunchQueue> launchQueue(std::span<const QueuedWork> work);

} // namespace fourwalls::replay
