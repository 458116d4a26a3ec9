// SPDX-License-Identifier: Apache-2.0
// Questions to the tables of a spool: rows, windows, the device.
#include "model/import/spool/spool_tables.h"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <utility>
#include <vector>

namespace fourwalls::importers {

std::optional<std::int64_t> spoolTime(std::uint64_t time)
{
    return time <= static_cast<std::uint64_t>(kLargestTimeNs) ? std::optional(static_cast<std::int64_t>(time))
                                                              : std::nullopt;
}

void SpoolTables::note(std::uint64_t time)
{
    const auto at = spoolTime(time);
    if (!at || *at == 0) return;
    if (firstNs == 0 || *at < firstNs) firstNs = *at;
    lastNs = std::max(lastNs, *at);
}

int SpoolTables::streamLane(LaneRole role, std::uint32_t device, std::uint32_t context, std::uint32_t stream)
{
    // Streams of a device's first context are known by their number alone.
    const std::uint64_t key = (static_cast<std::uint64_t>(context) << 32) | stream;
    auto& known = streamLanes[{role, device}];
    if (const auto found = known.find(key); found != known.end()) return found->second;
    const std::uint32_t first = firstContext.try_emplace(device, context).first->second;
    std::string name = std::to_string(stream);
    if (stream == 0xffffffffu) name = kAllStreams; // also of further contexts, which the name goes on with
    if (context != first) name += " of context " + std::to_string(context);
    const int lane = lanes.find(role, std::to_string(device), name + suffix);
    known.emplace(key, lane);
    return lane;
}

int SpoolTables::threadLane(std::uint32_t thread)
{
    if (const auto found = threadLanes.find(thread); found != threadLanes.end()) return found->second;
    const int lane = lanes.find(LaneRole::Thread, pid(), std::to_string(thread) + suffix);
    threadLanes.emplace(thread, lane);
    threadOfLane.emplace(lane, thread);
    return lane;
}

bool SpoolTables::recordedAt(std::uint64_t time) const
{
    const auto behind =
        std::upper_bound(windows.begin(), windows.end(), time,
                         [](std::uint64_t at, const collect::Window& window) { return at < window.time; });
    return behind == windows.begin() || std::prev(behind)->on != 0;
}

std::int64_t SpoolTables::recordedNs() const
{
    std::int64_t total = 0, from = firstNs;
    bool on = true;
    for (const collect::Window& window : windows) {
        const auto at = spoolTime(window.time);
        if (!at) continue;
        const std::int64_t time = std::clamp(*at, firstNs, std::max(firstNs, lastNs));
        if (on) total += time - from;
        from = time;
        on = window.on != 0;
    }
    return on ? total + std::max<std::int64_t>(0, lastNs - from) : total;
}

std::optional<double> SpoolTables::overheadFraction() const
{
    const auto recorded = static_cast<double>(recordedNs());
    if (recorded <= 0) return std::nullopt;
    double spent = 0;
    for (const auto& [thread, nanoseconds] : threadCost) spent = std::max(spent, static_cast<double>(nanoseconds));
    if (threadCost.empty()) {
        if (!cost) return std::nullopt;
        spent = static_cast<double>(cost->callbackNs) + static_cast<double>(cost->writerCpuNs);
    }
    return spent / recorded;
}

std::string SpoolTables::costByThread() const
{
    constexpr std::size_t kNamed = 4;
    std::vector<std::pair<std::uint64_t, std::uint32_t>> costs;
    for (const auto& [thread, nanoseconds] : threadCost) costs.emplace_back(nanoseconds, thread);
    std::sort(costs.rbegin(), costs.rend());
    const auto milliseconds = [](std::uint64_t nanoseconds) {
        char text[40];
        std::snprintf(text, sizeof text, "%.2f ms", static_cast<double>(nanoseconds) * 1e-6);
        return std::string(text);
    };
    std::string text;
    std::uint64_t rest = 0;
    for (std::size_t i = 0; i < costs.size(); ++i) {
        if (i >= kNamed) {
            rest += costs[i].first;
            continue;
        }
        const std::uint32_t thread = costs[i].second; // 0: those that found no room in the collector's table
        text += (text.empty() ? "" : ", ") +
                (thread == 0 ? "others" : lanes.threadName(pid(), std::to_string(thread) + suffix)) + " " +
                milliseconds(costs[i].first);
    }
    if (costs.size() > kNamed) text += ", " + std::to_string(costs.size() - kNamed) + " more " + milliseconds(rest);
    return text;
}

std::uint32_t SpoolTables::mainDevice() const
{
    const auto most = std::max_element(deviceWork.begin(), deviceWork.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most != deviceWork.end()) return most->first;
    return devices.empty() ? 0 : devices.begin()->first;
}

} // namespace fourwalls::importers
