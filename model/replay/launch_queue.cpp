// SPDX-License-Identifier: Apache-2.0
// See launch_queue.h.
#include "model/replay/launch_queue.h"

#include "model/base/median.h"

#include <algorithm>

namespace fourwalls::replay {

namespace {

/// A launch waits beyond so many times what the quickest tenth of the launches takes at most: most may wait.
constexpr std::int64_t kBlockedLength = 10;
constexpr std::size_t kQuickest = 10;
/// Launches that wait make a plateau, not chance.
constexpr std::size_t kLeastBlocked = 10;
/// Share of the most work in flight from which on a queue counts as full: events and markers take places, too.
constexpr double kFull = 0.95;
/// Share of the launches that wait for which a full queue must be the reason.
constexpr double kExplained = 0.9;
/// Work in flight below which no queue is full.
constexpr std::size_t kLeastDepth = 16;

} // namespace

std::optional<LaunchQueue> launchQueue(std::span<const QueuedWork> work)
{
    std::vector<Instant> ends; // the latest end so far: work of a stream is done in its order
    std::vector<std::int64_t> lengths;
    for (const QueuedWork& each : work) {
        ends.push_back(ends.empty() ? each.end : std::max(ends.back(), each.end));
        if (each.call) lengths.push_back(each.call->length().ns);
    }
    if (lengths.size() < kLeastBlocked) return std::nullopt;
    const auto quick = lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / kQuickest);
    std::nth_element(lengths.begin(), quick, lengths.end());
    const std::int64_t longest = kBlockedLength * std::max<std::int64_t>(1, *quick);
    LaunchQueue queue;
    std::vector<std::size_t> done(work.size()); // when the launch returned, of the work up to it
    for (std::size_t i = 0; i < work.size(); ++i) {
        if (!work[i].call) continue;
        const auto behind = std::upper_bound(ends.begin(), ends.end(), work[i].call->end);
        done[i] = std::min(i + 1, static_cast<std::size_t>(behind - ends.begin()));
        queue.depth = std::max(queue.depth, i + 1 - done[i]);
    }
    if (queue.depth < kLeastDepth) return std::nullopt;
    const auto isFull = [&](std::size_t i) {
        return static_cast<double>(i + 1 - done[i]) >= kFull * static_cast<double>(queue.depth);
    };
    std::size_t waiting = 0;
    std::vector<std::int64_t> late, waits; // behind the end of the work that they waited for
    queue.after.resize(work.size());
    for (std::size_t i = 0; i < work.size(); ++i) {
        if (!work[i].call) continue;
        if (i >= queue.depth) queue.after[i] = static_cast<std::uint32_t>(i - queue.depth);
        if (work[i].call->length().ns <= longest) continue;
        ++waiting;
        if (!isFull(i) || done[i] == 0) continue;
        const Instant freed = ends[done[i] - 1];
        if (freed <= work[i].call->begin) continue; // a place was free: it waited for something else
        queue.after[i] = static_cast<std::uint32_t>(done[i] - 1);
        ++queue.blocked;
        queue.time += freed - work[i].call->begin;
        late.push_back((work[i].call->end - freed).ns);
        waits.push_back(work[i].call->length().ns);
    }
    if (queue.blocked < kLeastBlocked || static_cast<double>(queue.blocked) < kExplained * static_cast<double>(waiting))
        return std::nullopt;
    if (2 * median(late) > median(waits)) return std::nullopt;
    return queue;
}

} // namespace fourwalls::replay
