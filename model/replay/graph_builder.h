// SPDX-License-Identifier: Apache-2.0
// Makes a ReplayGraph of nodes and edges in any order: sorts, works out delays and moving times from what was recorded,
// and finds contradictions.
#pragma once

#include "model/base/result.h"
#include "model/replay/replay_graph.h"

#include <functional>
#include <string>

namespace fourwalls::replay {

/// Whether a trace states a dependency or a rule supposes it.
enum class EdgeOrigin : std::uint8_t {
    Stated,
    Derived, ///< supposed, and used in every variant
    Waiting  ///< supposed, and explains a wait: used together with delays
};

/// What a node stands for.
struct NodeTag {
    NodeRole role = NodeRole::Work;
    std::uint32_t piece = kNone;
    std::uint32_t step = 0;
    std::uint64_t delayKey = 0; ///< equal: one class of delays
};

class GraphBuilder {
public:
    /// origin: of the graph's times.
    explicit GraphBuilder(Instant origin) : m_origin(origin) {}

    void addStep(GraphStep step) { m_steps.push_back(std::move(step)); }
    /// Where time begins: it stays there in every variant.
    NodeIndex source(Instant at, std::uint32_t step);
    /// Something whose start was recorded: what lies between its predecessors' end and its start is its delay.
    NodeIndex work(Instant start, Instant end, const NodeTag& tag);
    /// Something that begins with its last predecessor's end: what lies between is its duration.
    NodeIndex moving(Instant end, const NodeTag& tag);
    /// A member comes to an operation as soon as what it waits for has ended, whenever its recording begins.
    NodeIndex arrival(const NodeTag& tag);
    /// Where several come together. Takes no time.
    NodeIndex meeting(std::uint32_t step, std::uint32_t piece = kNone);
    /// A node with a recorded start whose delay is no delay but work of its own (a program between two calls).
    NodeIndex filler(Instant end, const NodeTag& tag) { return moving(end, tag); }

    /// `after` starts when `before` has ended, or later.
    void edge(NodeIndex before, NodeIndex after, EdgeOrigin origin = EdgeOrigin::Stated)
    {
        m_edges.push_back({before, after, origin});
        m_waitingEdges += origin == EdgeOrigin::Waiting ? 1 : 0;
    }
    std::size_t nodes() const { return m_nodes.size(); }
    bool hasWaitingEdges() const { return m_waitingEdges > 0; }

    /// withWaiting: whether the edges of that origin are used. describe: a piece in words, for errors.
    /// Errors: Format for a cycle, naming two of its pieces.
    Result<ReplayGraph> finish(bool withWaiting, const std::function<std::string(std::uint32_t piece)>& describe) const;

private:
    enum class Timing : std::uint8_t { Source, Fixed, Moving, Meeting };
    struct Node {
        std::int64_t start, end;
        NodeTag tag;
        Timing timing;
    };
    struct Edge {
        NodeIndex before, after;
        EdgeOrigin origin;
    };
    /// The nodes in an order in which each stands behind what it waits for, and their edges by node.
    struct Sorted {
        std::vector<std::uint32_t> firstAfter, firstBefore;
        std::vector<NodeIndex> before;       ///< by node, from firstBefore on
        std::vector<NodeIndex> order, place; ///< node by place, and place by node
    };
    Result<Sorted> sort(const std::vector<Edge>& edges,
                        const std::function<std::string(std::uint32_t)>& describe) const;
    /// The next node of the order, with its delay or duration.
    void place(const Sorted& sorted, std::size_t at, ReplayGraph& graph) const;
    /// First and last nodes of steps for which nobody named them.
    void nameBounds(const Sorted& sorted, ReplayGraph& graph) const;
    NodeIndex add(std::int64_t start, std::int64_t end, const NodeTag& tag, Timing timing);
    Error cycle(std::span<const std::uint32_t> waiting, std::span<const Edge> edges,
                const std::function<std::string(std::uint32_t)>& describe) const;

    Instant m_origin;
    std::vector<Node> m_nodes;
    std::vector<Edge> m_edges;
    std::vector<GraphStep> m_steps;
    std::int64_t m_waitingEdges = 0;
};

} // namespace fourwalls::replay
