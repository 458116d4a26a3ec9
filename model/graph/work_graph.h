// SPDX-License-Identifier: Apache-2.0
// Work with dependencies in flat arrays, and the one simulator of this program: whatever asks how long a step takes,
// recorded, changed or predicted, makes such a graph and runs it here.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace fourwalls {

using NodeIndex = std::uint32_t;
inline constexpr NodeIndex kNoNode = 0xffffffffu;

/// Nodes stand behind everything that they wait for.
class WorkGraph {
public:
    WorkGraph() = default;
    /// first: by node, its first in `before`; one more than there are nodes.
    WorkGraph(std::vector<std::uint32_t> first, std::vector<NodeIndex> before)
        : m_first(std::move(first))
        , m_before(std::move(before))
    {}
    void reserve(std::size_t nodes, std::size_t edges)
    {
        m_first.reserve(nodes + 1);
        m_before.reserve(edges);
    }
    /// Appends a node that waits for nothing yet, for one other, or for two.
    NodeIndex add(NodeIndex before = kNoNode, NodeIndex other = kNoNode)
    {
        if (before != kNoNode) m_before.push_back(before);
        if (other != kNoNode) m_before.push_back(other);
        m_first.push_back(static_cast<std::uint32_t>(m_before.size()));
        return static_cast<NodeIndex>(nodes() - 1);
    }
    /// The node that was appended last waits for `before`, too.
    void waitFor(NodeIndex before)
    {
        m_before.push_back(before);
        ++m_first.back();
    }

    std::size_t nodes() const { return m_first.size() - 1; }
    std::size_t edges() const { return m_before.size(); }
    std::span<const NodeIndex> before(NodeIndex node) const
    {
        return std::span(m_before).subspan(m_first[node], m_first[node + 1] - m_first[node]);
    }

private:
    template <class Time, class Spent>
    friend void simulateWork(const WorkGraph& graph, std::vector<Time>& end, const Spent& spent);

    std::vector<std::uint32_t> m_first{0}; ///< by node: its first in m_before; one more than there are nodes
    std::vector<NodeIndex> m_before;
};

/// The simulator: when each node ends. A node starts when the last of those that it waits for has ended, at 0 if it
/// waits for nothing, and ends spent(node) later. One pass, deterministic. Time: a number, of any unit. end: filled;
/// its size becomes the number of nodes.
template <class Time, class Spent>
void simulateWork(const WorkGraph& graph, std::vector<Time>& end, const Spent& spent)
{
    const std::size_t nodes = graph.nodes();
    end.resize(nodes);
    const std::uint32_t* const first = graph.m_first.data();
    const NodeIndex* const before = graph.m_before.data();
    Time* const ends = end.data();
    std::uint32_t edge = 0;
    for (std::size_t node = 0; node < nodes; ++node) {
        const std::uint32_t behind = first[node + 1];
        Time ready = edge < behind ? ends[before[edge]] : Time{};
        for (++edge; edge < behind; ++edge) ready = std::max(ready, ends[before[edge]]);
        edge = behind;
        ends[node] = ready + spent(node);
    }
}

} // namespace fourwalls
