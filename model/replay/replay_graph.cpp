// SPDX-License-Identifier: Apache-2.0
// See replay_graph.h.
#include "model/replay/replay_graph.h"

#include <algorithm>
#include <limits>

namespace fourwalls::replay {

void simulate(const ReplayGraph& graph, const NodeTimes& times, std::vector<std::int64_t>& end)
{
    const std::int64_t *const delay = times.delay.data(), *const duration = times.duration.data();
    simulateWork(graph.work, end, [=](std::size_t node) { return delay[node] + duration[node]; });
}

std::vector<std::int64_t> stepLengths(const ReplayGraph& graph, std::span<const std::int64_t> duration,
                                      std::span<const std::int64_t> end)
{
    std::vector<std::int64_t> lengths;
    lengths.reserve(graph.steps.size());
    std::int64_t before = 0;
    for (const GraphStep& step : graph.steps) {
        std::int64_t begin = std::numeric_limits<std::int64_t>::max(), last = std::numeric_limits<std::int64_t>::min();
        if (step.chained)
            begin = before;
        else if (step.begins.empty())
            begin = step.first;
        else
            for (const NodeIndex node : step.begins) begin = std::min(begin, end[node] - duration[node]);
        for (const NodeIndex node : step.ends) last = std::max(last, end[node]);
        lengths.push_back(step.ends.empty() ? 0 : last - begin);
        before = last;
    }
    return lengths;
}

std::vector<NodeIndex> criticalNodes(const ReplayGraph& graph, std::span<const std::int64_t> end, std::size_t step)
{
    const GraphStep& of = graph.steps[step];
    const auto earlier = [&](NodeIndex a, NodeIndex b) { return end[a] < end[b]; };
    std::vector<NodeIndex> path;
    if (of.ends.empty()) return path;
    NodeIndex node = *std::max_element(of.ends.begin(), of.ends.end(), earlier);
    while (graph.role[node] != NodeRole::Source) {
        path.push_back(node);
        const auto before = graph.before(node);
        if (before.empty()) break;
        node = *std::max_element(before.begin(), before.end(), earlier);
        if (graph.step[node] != step) break; // what is left belongs to the step before
    }
    return path;
}

std::vector<std::int64_t> slackOf(const ReplayGraph& graph, const NodeTimes& times, std::span<const std::int64_t> end)
{
    constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
    std::vector<std::int64_t> latest(graph.nodes(), kNever);
    for (const GraphStep& step : graph.steps) {
        std::int64_t last = std::numeric_limits<std::int64_t>::min();
        for (const NodeIndex node : step.ends) last = std::max(last, end[node]);
        for (const NodeIndex node : step.ends) latest[node] = std::min(latest[node], last);
    }
    for (std::size_t node = graph.nodes(); node-- > 0;) {
        if (latest[node] == kNever) latest[node] = end[node]; // nothing that ends a step waits for it
        const std::int64_t ready = latest[node] - times.duration[node] - times.delay[node];
        for (const NodeIndex before : graph.before(static_cast<NodeIndex>(node)))
            latest[before] = std::min(latest[before], ready);
    }
    for (std::size_t node = 0; node < graph.nodes(); ++node) latest[node] -= end[node];
    return latest;
}

} // namespace fourwalls::replay
