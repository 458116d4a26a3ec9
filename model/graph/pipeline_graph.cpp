// SPDX-License-Identifier: Apache-2.0
// See pipeline_graph.h.
#include "model/graph/pipeline_graph.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace fourwalls {

namespace {

/// Makes nodes stage by stage, each as far as what it needs is there: every node stands behind what it waits for.
class PipelineGraphMaker {
public:
    PipelineGraphMaker(PipelineGraph& graph, const std::vector<std::vector<PipelineAction>>& lists);
    void run();

private:
    static constexpr std::size_t kNothing = ~std::size_t{0};

    /// Where a tensor goes from a position, or comes to it from.
    struct Neighbour {
        std::int32_t stage = -1; ///< -1: the same one, or there is none
        std::uint32_t time = 0;  ///< of the message
        std::uint32_t row = 0;   ///< of m_messages: what goes there
        std::uint32_t way = 0;   ///< of m_lastSent
    };
    struct Place {
        Neighbour next, previous;
    };
    struct Stage {
        std::size_t done = 0; ///< passes
        NodeIndex last = PipelineGraph::kBegin;
        std::size_t awaited = kNothing; ///< of m_messages
    };

    Neighbour neighbour(int position, int other) const;
    void advance(int stage);
    /// Appends a node. time: its entry of the table.
    NodeIndex add(std::uint32_t time, NodeIndex before, NodeIndex other = kNoNode)
    {
        m_graph.timeOf[m_nodes] = time;
        m_before[m_edges++] = before;
        if (other != kNoNode) m_before[m_edges++] = other;
        m_first[m_nodes + 1] = m_edges;
        return m_nodes++;
    }

    PipelineGraph& m_graph;
    const std::vector<std::vector<PipelineAction>>& m_lists;
    std::vector<Place> m_places; ///< by position
    std::vector<Stage> m_stages;
    std::vector<NodeIndex> m_messages;  ///< by receiving position, kind of tensor and micro-batch
    std::vector<NodeIndex> m_lastSent;  ///< by stage and way: to the next stage and to the previous one
    std::vector<std::uint32_t> m_first; ///< of the graph, and
    std::vector<NodeIndex> m_before;    ///< as long as they become at most
    std::uint32_t m_nodes = 1, m_edges = 0;
    std::vector<int> m_ready; ///< stages to look at
};

PipelineGraphMaker::Neighbour PipelineGraphMaker::neighbour(int position, int other) const
{
    const PipelineShape& shape = m_graph.shape;
    if (other < 0 || other >= shape.positions() || shape.stageOf(other) == shape.stageOf(position)) return {};
    const int from = shape.stageOf(position), to = shape.stageOf(other);
    const auto time = static_cast<std::uint32_t>(PipelineGraph::timeOfMessage(std::min(position, other)));
    return {to, time, static_cast<std::uint32_t>(2 * other + (other > position ? 0 : 1)),
            static_cast<std::uint32_t>(2 * from + (to == (from + 1) % shape.stages ? 0 : 1))};
}

PipelineGraphMaker::PipelineGraphMaker(PipelineGraph& graph, const std::vector<std::vector<PipelineAction>>& lists)
    : m_graph(graph)
    , m_lists(lists)
    , m_stages(lists.size())
    , m_lastSent(2 * lists.size(), kNoNode)
{
    const PipelineShape& shape = graph.shape;
    std::size_t messages = 0;
    for (int position = 0; position < shape.positions(); ++position) {
        m_places.push_back({neighbour(position, position + 1), neighbour(position, position - 1)});
        messages += (m_places.back().next.stage >= 0 ? 1 : 0) + (m_places.back().previous.stage >= 0 ? 1 : 0);
    }
    const auto microbatches = static_cast<std::size_t>(shape.microbatches);
    m_messages.assign(2 * m_places.size() * microbatches, kNoNode);
    messages *= microbatches;
    graph.firstPass.push_back(0);
    for (const auto& list : lists) graph.firstPass.push_back(graph.firstPass.back() + list.size());
    graph.passes.resize(graph.firstPass.back());
    const std::size_t nodes = 1 + graph.passes.size() + messages;
    const std::size_t room = 4 * lists.size(); // for what a caller appends for each stage
    m_first.reserve(nodes + 1 + room);
    graph.timeOf.reserve(nodes + room);
    m_first.resize(nodes + 1);
    m_before.resize(graph.passes.size() + 3 * messages);
    graph.timeOf.resize(nodes);
    graph.timeOf[PipelineGraph::kBegin] = static_cast<std::uint32_t>(PipelineGraph::timeOfBegin());
}

void PipelineGraphMaker::advance(int index)
{
    Stage stage = m_stages[static_cast<std::size_t>(index)];
    const std::vector<PipelineAction>& list = m_lists[static_cast<std::size_t>(index)];
    const auto microbatches = static_cast<std::size_t>(m_graph.shape.microbatches);
    const bool blocking = m_graph.blocking;
    PipelineGraph::Pass* const passes = m_graph.passes.data() + m_graph.firstPass[static_cast<std::size_t>(index)];
    for (; stage.done < list.size(); ++stage.done) {
        const PipelineAction action = list[stage.done];
        const int position = m_graph.shape.positionOf(index, action.chunk);
        const auto time = static_cast<std::uint32_t>(PipelineGraph::timeOfPass(position, action.pass));
        if (action.pass == PipelinePass::BackwardWeight) {
            stage.last = add(time, stage.last);
            passes[stage.done] = {stage.last, kNoNode, kNoNode, action.microbatch, position, action.pass};
            continue;
        }
        const bool forward = action.pass == PipelinePass::Forward;
        const Place& place = m_places[static_cast<std::size_t>(position)];
        const auto microbatch = static_cast<std::size_t>(action.microbatch);
        NodeIndex received = kNoNode, sent = kNoNode;
        if ((forward ? place.previous : place.next).stage >= 0) {
            const auto row = static_cast<std::size_t>(2 * position + (forward ? 0 : 1));
            received = m_messages[row * microbatches + microbatch];
            if (received == kNoNode) {
                stage.awaited = row * microbatches + microbatch;
                break;
            }
        }
        const NodeIndex pass = stage.last = add(time, stage.last, received);
        if (const Neighbour& to = forward ? place.next : place.previous; to.stage >= 0) {
            NodeIndex& before = m_lastSent[to.way];
            before = sent = add(to.time, pass, before);
            const std::size_t at = to.row * microbatches + microbatch;
            m_messages[at] = sent;
            if (blocking) stage.last = sent;
            if (Stage& receiver = m_stages[static_cast<std::size_t>(to.stage)]; receiver.awaited == at) {
                receiver.awaited = kNothing;
                m_ready.push_back(to.stage);
            }
        }
        passes[stage.done] = {pass, received, sent, action.microbatch, position, action.pass};
    }
    m_stages[static_cast<std::size_t>(index)] = stage;
}

void PipelineGraphMaker::run()
{
    for (int stage = m_graph.shape.stages; stage > 0; --stage) m_ready.push_back(stage - 1);
    while (!m_ready.empty()) {
        const int stage = m_ready.back();
        m_ready.pop_back();
        advance(stage);
    }
    m_before.resize(m_edges);
    m_graph.work = WorkGraph(std::move(m_first), std::move(m_before));
}

} // namespace

Result<PipelineGraph> pipelineGraph(const PipelineShape& shape, bool blocking)
{
    FOURWALLS_TRY_ASSIGN(const auto lists, pipelineActions(shape));
    PipelineGraph graph;
    graph.shape = shape;
    graph.blocking = blocking;
    PipelineGraphMaker(graph, lists).run();
    return graph;
}

} // namespace fourwalls
