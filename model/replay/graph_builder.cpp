// SPDX-License-Identifier: Apache-2.0
// See graph_builder.h.
#include "model/replay/graph_builder.h"

#include <algorithm>
#include <unordered_map>

namespace fourwalls::replay {

namespace {

/// Times nearer than this do not contradict each other: resolution of clocks and of what profilers write.
constexpr std::int64_t kSameTimeNs = 1'000;
/// The class of what has no delay.
constexpr std::uint64_t kNoDelay = ~std::uint64_t{0};

} // namespace

NodeIndex GraphBuilder::add(std::int64_t start, std::int64_t end, const NodeTag& tag, Timing timing)
{
    m_nodes.push_back({start, end, tag, timing});
    return static_cast<NodeIndex>(m_nodes.size() - 1);
}

NodeIndex GraphBuilder::source(Instant at, std::uint32_t step)
{
    const std::int64_t ns = (at - m_origin).ns;
    return add(ns, ns, {NodeRole::Source, kNone, step, kNoDelay}, Timing::Source);
}

NodeIndex GraphBuilder::work(Instant start, Instant end, const NodeTag& tag)
{
    return add((start - m_origin).ns, (end - m_origin).ns, tag, Timing::Fixed);
}

NodeIndex GraphBuilder::moving(Instant end, const NodeTag& tag)
{
    const std::int64_t ns = (end - m_origin).ns;
    NodeTag undelayed = tag;
    undelayed.delayKey = kNoDelay;
    return add(ns, ns, undelayed, Timing::Moving);
}

NodeIndex GraphBuilder::arrival(const NodeTag& tag)
{
    NodeTag undelayed = tag;
    undelayed.delayKey = kNoDelay;
    return add(0, 0, undelayed, Timing::Meeting);
}

NodeIndex GraphBuilder::meeting(std::uint32_t step, std::uint32_t piece)
{
    return add(0, 0, {NodeRole::Meeting, piece, step, kNoDelay}, Timing::Meeting);
}

Error GraphBuilder::cycle(std::span<const std::uint32_t> waiting, std::span<const Edge> edges,
                          const std::function<std::string(std::uint32_t)>& describe) const
{
    // Every node that is left waits for another one that is left: walking back must meet a node twice.
    std::vector<NodeIndex> before(m_nodes.size(), kNone);
    for (const Edge& edge : edges)
        if (waiting[edge.before] > 0 && waiting[edge.after] > 0) before[edge.after] = edge.before;
    NodeIndex node = 0;
    while (node < m_nodes.size() && before[node] == kNone) ++node;
    std::vector<bool> met(m_nodes.size());
    while (node < m_nodes.size() && !met[node]) {
        met[node] = true;
        node = before[node];
    }
    std::vector<std::uint32_t> pieces;
    const NodeIndex begin = node;
    do {
        const std::uint32_t piece = m_nodes[node].tag.piece;
        if (piece != kNone && (pieces.empty() || pieces.back() != piece)) pieces.push_back(piece);
        node = before[node];
    } while (node != begin && pieces.size() < 64);
    const std::string one = pieces.empty() ? "an operation" : describe(pieces.front());
    const std::string other = pieces.size() < 2 ? "itself" : describe(pieces[pieces.size() / 2]);
    return {ErrorCode::Format,
            one + " waits for " + other + ", which waits for the first one: the recorded order contradicts itself",
            "replay",
            "the ranks' clocks may disagree, or records are missing: `fourwalls-cli check` and `info` say more"};
}

Result<GraphBuilder::Sorted> GraphBuilder::sort(const std::vector<Edge>& edges,
                                                const std::function<std::string(std::uint32_t)>& describe) const
{
    // Successors and predecessors as rows of one array each.
    const std::size_t count = m_nodes.size();
    Sorted sorted;
    sorted.firstAfter.assign(count + 1, 0);
    sorted.firstBefore.assign(count + 1, 0);
    sorted.before.resize(edges.size());
    std::vector<std::uint32_t> after(edges.size());
    for (const Edge& edge : edges) {
        ++sorted.firstAfter[edge.before + 1];
        ++sorted.firstBefore[edge.after + 1];
    }
    for (std::size_t i = 0; i < count; ++i) {
        sorted.firstAfter[i + 1] += sorted.firstAfter[i];
        sorted.firstBefore[i + 1] += sorted.firstBefore[i];
    }
    std::vector<std::uint32_t> nextAfter(sorted.firstAfter.begin(), sorted.firstAfter.end() - 1),
        nextBefore(sorted.firstBefore.begin(), sorted.firstBefore.end() - 1);
    for (const Edge& edge : edges) {
        after[nextAfter[edge.before]++] = edge.after;
        sorted.before[nextBefore[edge.after]++] = edge.before;
    }
    // A node is placed when all that it waits for is; the latest one first, so that chains stay together.
    std::vector<std::uint32_t> waiting(count);
    std::vector<NodeIndex> open;
    for (std::size_t i = 0; i < count; ++i) waiting[i] = sorted.firstBefore[i + 1] - sorted.firstBefore[i];
    for (std::size_t i = count; i-- > 0;)
        if (waiting[i] == 0) open.push_back(static_cast<NodeIndex>(i));
    sorted.place.assign(count, kNone);
    sorted.order.reserve(count);
    while (!open.empty()) {
        const NodeIndex node = open.back();
        open.pop_back();
        sorted.place[node] = static_cast<NodeIndex>(sorted.order.size());
        sorted.order.push_back(node);
        for (std::uint32_t i = sorted.firstAfter[node]; i < sorted.firstAfter[node + 1]; ++i)
            if (--waiting[after[i]] == 0) open.push_back(after[i]);
    }
    if (sorted.order.size() != count) return cycle(waiting, edges, describe);
    return sorted;
}

void GraphBuilder::place(const Sorted& sorted, std::size_t at, ReplayGraph& graph) const
{
    const NodeIndex index = sorted.order[at];
    const Node& node = m_nodes[index];
    std::int64_t ready = 0;
    graph.work.add();
    for (std::uint32_t i = sorted.firstBefore[index]; i < sorted.firstBefore[index + 1]; ++i) {
        const NodeIndex before = sorted.place[sorted.before[i]];
        const std::int64_t end = graph.recordedEnd[before];
        graph.work.waitFor(before);
        ready = i == sorted.firstBefore[index] ? end : std::max(ready, end);
        if (node.timing != Timing::Meeting && end > node.start + kSameTimeNs) ++graph.negativeDelays;
    }
    graph.role.push_back(node.tag.role);
    graph.piece.push_back(node.tag.piece);
    graph.step.push_back(node.tag.step);
    graph.recordedEnd[at] = node.timing == Timing::Meeting ? ready : node.end;
    const bool starts = node.timing == Timing::Fixed || node.timing == Timing::Source;
    graph.delay[at] = starts ? node.start - ready : 0;
    graph.duration[at] = starts ? node.end - node.start : graph.recordedEnd[at] - ready;
}

void GraphBuilder::nameBounds(const Sorted& sorted, ReplayGraph& graph) const
{
    std::vector<bool> named(graph.steps.size());
    for (std::size_t i = 0; i < named.size(); ++i) {
        for (NodeIndex& node : graph.steps[i].begins) node = sorted.place[node];
        for (NodeIndex& node : graph.steps[i].ends) node = sorted.place[node];
        for (NodeIndex& node : graph.steps[i].deviceEnds) node = sorted.place[node];
        named[i] = !graph.steps[i].ends.empty();
    }
    for (std::size_t at = 0; at < graph.nodes(); ++at) {
        GraphStep& step = graph.steps[graph.step[at]];
        if (named[graph.step[at]] || graph.role[at] == NodeRole::Source || graph.role[at] == NodeRole::Meeting)
            continue;
        const auto waits = graph.before(static_cast<NodeIndex>(at));
        if (std::all_of(waits.begin(), waits.end(), [&](NodeIndex one) { return graph.role[one] == NodeRole::Source; }))
            step.begins.push_back(static_cast<NodeIndex>(at));
        const NodeIndex index = sorted.order[at];
        if (sorted.firstAfter[index] == sorted.firstAfter[index + 1]) step.ends.push_back(static_cast<NodeIndex>(at));
    }
}

Result<ReplayGraph> GraphBuilder::finish(bool withWaiting,
                                         const std::function<std::string(std::uint32_t)>& describe) const
{
    std::vector<Edge> edges;
    edges.reserve(m_edges.size());
    for (const Edge& edge : m_edges)
        if (withWaiting || edge.origin != EdgeOrigin::Waiting) edges.push_back(edge);
    FOURWALLS_TRY_ASSIGN(const Sorted sorted, sort(edges, describe));
    const std::size_t count = m_nodes.size();
    ReplayGraph graph;
    graph.origin = m_origin;
    graph.steps = m_steps;
    graph.work.reserve(count, edges.size());
    graph.recordedEnd.resize(count);
    graph.delay.resize(count);
    graph.duration.resize(count);
    std::unordered_map<std::uint64_t, std::uint32_t> classes;
    for (std::size_t at = 0; at < count; ++at) {
        place(sorted, at, graph);
        const std::uint64_t key = m_nodes[sorted.order[at]].tag.delayKey;
        graph.delayClass.push_back(classes.try_emplace(key, static_cast<std::uint32_t>(classes.size())).first->second);
    }
    for (const Edge& edge : edges) graph.derivedEdges += edge.origin == EdgeOrigin::Stated ? 0 : 1;
    nameBounds(sorted, graph);
    return graph;
}

} // namespace fourwalls::replay
