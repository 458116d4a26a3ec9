// SPDX-License-Identifier: Apache-2.0
// Correlation ids count the calls of a process: what a stream was given before and behind another call follows from them.
#include "model/import/spool/spool_edges.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>

namespace fourwalls::importers {

namespace {

constexpr std::size_t kMostCopiesOfEdges = 4'000'000;

std::uint64_t eventOfContext(std::uint32_t context, std::uint32_t event)
{
    return (static_cast<std::uint64_t>(context) << 32) | event;
}

} // namespace

void SpoolEdges::add(const collect::Synchronization& wait)
{
    if (wait.type == static_cast<std::uint32_t>(collect::SynchronizationType::StreamWaitEvent) &&
        wait.stream != 0xffffffffu)
        m_waits.push_back(wait);
}

void SpoolEdges::addCopy(std::int32_t lane, std::uint32_t correlation, std::int64_t start, std::int64_t end)
{
    if (correlation != 0 && m_copies.size() < kMostCopiesOfEdges)
        m_copies.push_back({start, end, correlation, 0, lane});
}

void SpoolEdges::finish(SpoolTables& tables)
{
    if (m_waits.empty() || m_events.empty()) return;
    std::unordered_map<std::uint64_t, const collect::CudaEvent*> byRecord;
    std::unordered_map<std::uint64_t, std::vector<const collect::CudaEvent*>> byEvent;
    const auto earlier = [](const collect::CudaEvent& a, const collect::CudaEvent& b) {
        return a.correlation < b.correlation;
    };
    std::stable_sort(m_events.begin(), m_events.end(), earlier);
    for (const collect::CudaEvent& event : m_events) {
        if (event.recordId != 0) byRecord[event.recordId] = &event;
        byEvent[eventOfContext(event.context, event.event)].push_back(&event);
    }
    std::vector<SpoolKernel> work = std::move(m_copies);
    for (const SpoolKernel& kernel : tables.kernels)
        if (kernel.correlation != 0) work.push_back(kernel);
    std::sort(work.begin(), work.end(), [](const SpoolKernel& a, const SpoolKernel& b) {
        return std::tie(a.lane, a.correlation, a.start) < std::tie(b.lane, b.correlation, b.start);
    });
    const auto before = [](const SpoolKernel& each, std::pair<std::int32_t, std::uint32_t> place) {
        return std::pair(each.lane, each.correlation) < place;
    };
    const auto recordOf = [&](const collect::Synchronization& wait) -> const collect::CudaEvent* {
        if (const auto found = byRecord.find(wait.recordId); wait.recordId != 0 && found != byRecord.end())
            return found->second;
        const auto found = byEvent.find(eventOfContext(wait.context, wait.event));
        if (wait.recordId != 0 || found == byEvent.end()) return nullptr;
        const auto behind = std::lower_bound(found->second.begin(), found->second.end(), wait.correlation,
                                             [](const collect::CudaEvent* event, std::uint32_t correlation) {
                                                 return event->correlation < correlation;
                                             });
        return behind == found->second.begin() ? nullptr : *std::prev(behind);
    };
    // Looked up, not made: a stream without work has no row.
    const auto laneOf = [&](std::uint32_t context, std::uint32_t stream) -> std::optional<std::int32_t> {
        const auto device = tables.contexts.find(context);
        const auto lanes =
            tables.streamLanes.find({LaneRole::Stream, device == tables.contexts.end() ? 0 : device->second});
        if (lanes == tables.streamLanes.end()) return std::nullopt;
        const auto lane = lanes->second.find((static_cast<std::uint64_t>(context) << 32) | stream);
        return lane == lanes->second.end() ? std::nullopt : std::optional(lane->second);
    };
    std::set<std::tuple<std::int32_t, std::int64_t, std::int32_t, std::int64_t>> known;
    for (const collect::Synchronization& wait : m_waits) {
        const collect::CudaEvent* const event = recordOf(wait);
        constexpr int kNoLane = -1;
        const int fromLane = event ? laneOf(event->context, event->stream).value_or(kNoLane) : kNoLane;
        const int toLane = laneOf(wait.context, wait.stream).value_or(kNoLane);
        if (fromLane != kNoLane && fromLane == toLane) continue; // in order anyway
        bool tied = false;
        SpoolEdge edge{fromLane, toLane, 0, 0};
        if (fromLane != kNoLane && toLane != kNoLane) {
            auto last = std::lower_bound(work.begin(), work.end(), std::pair(fromLane, event->correlation), before);
            const auto first = std::lower_bound(work.begin(), work.end(), std::pair(toLane, wait.correlation), before);
            tied = last != work.begin() && first != work.end() && first->lane == toLane && (--last)->lane == fromLane &&
                   last->end <= first->start;
            if (tied) edge.from = last->end, edge.to = first->start;
        }
        if (!tied)
            ++tables.waitsWithoutEdge;
        else if (known.insert({edge.fromLane, edge.from, edge.toLane, edge.to}).second)
            tables.edges.push_back(edge);
    }
    m_events = {};
    m_waits = {};
}

} // namespace fourwalls::importers
