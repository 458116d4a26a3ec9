// SPDX-License-Identifier: Apache-2.0
// See step_carriers.h.
#include "model/compare/step_carriers.h"

#include "model/replay/replay.h"
#include "model/trace/group_label.h"
#include "model/trace/short_name.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace fourwalls::compare {

namespace {

using replay::NodeIndex;
using replay::NodeRole;

class PathReader {
public:
    explicit PathReader(const replay::Replay& replay)
        : m_recording(replay.recording())
        , m_graph(replay.graph(replay::DelayRule::Class))
    {}

    /// From the end of the step back to its begin.
    std::map<StepCarrier, double> step(std::size_t index)
    {
        std::map<StepCarrier, double> parts;
        const TimeRange range = m_recording.steps[index].range;
        const std::int64_t begin = (range.begin - m_graph.origin).ns;
        std::int64_t at = (range.end - m_graph.origin).ns;
        const auto add = [&](const StepCarrier& carrier, std::int64_t from) {
            from = std::max(from, begin);
            if (from >= at) return;
            parts[carrier] += static_cast<double>(at - from);
            at = from;
        };
        StepCarrier wait; // behind the last work of the step
        for (const NodeIndex node : replay::criticalNodes(m_graph, m_graph.recordedEnd, index)) {
            add(wait, m_graph.recordedEnd[node]);
            const StepCarrier carrier = carrierOf(node);
            const std::int64_t start = m_graph.recordedEnd[node] - m_graph.duration[node];
            add(carrier, start);
            wait = {CarrierKind::Wait, carrier.phase, {}};
            add(wait, start - m_graph.delay[node]);
        }
        add(wait, begin);
        return parts;
    }

private:
    StepCarrier carrierOf(NodeIndex node)
    {
        if (m_graph.piece[node] == replay::kNone) return {};
        const replay::Piece& piece = m_recording.pieces[m_graph.piece[node]];
        const OpInfo& op = m_recording.op(piece);
        switch (m_graph.role[node]) {
        case NodeRole::Work: return {CarrierKind::Operator, op.phase, shortNameOf(piece.op, op)};
        case NodeRole::Host: return {CarrierKind::Call, op.phase, shortNameOf(piece.op, op)};
        case NodeRole::Moving:
            if (!piece.isCollective()) return {CarrierKind::Transfer, op.phase, shortNameOf(piece.op, op)};
            return {CarrierKind::Transfer, op.phase, operationOf(m_recording.collectives[piece.collective].record)};
        default: return {CarrierKind::Wait, op.phase, {}};
        }
    }

    const std::string& shortNameOf(OpId id, const OpInfo& op)
    {
        const auto [at, isNew] = m_names.try_emplace(id);
        if (isNew) at->second = shortName(op.name, op.detail);
        return at->second;
    }

    std::string operationOf(const CollectiveRecord& record) const
    {
        std::string text(fourwalls::name(record.operation));
        std::replace(text.begin(), text.end(), '_', '-');
        return text + ", " + groupLabel(m_recording.info, record.group);
    }

    const replay::Recording& m_recording;
    const replay::ReplayGraph& m_graph;
    std::unordered_map<OpId, std::string> m_names;
};

} // namespace

std::string_view name(CarrierKind kind)
{
    switch (kind) {
    case CarrierKind::Operator: return "operator";
    case CarrierKind::Transfer: return "transfer";
    case CarrierKind::Call: return "call";
    case CarrierKind::Wait: return "wait";
    }
    return "";
}

Result<StepParts> stepParts(TraceQuery& trace, std::stop_token stop)
{
    FOURWALLS_TRY_ASSIGN(const replay::Replay replay, replay::Replay::of(trace, std::nullopt, std::move(stop)));
    PathReader reader(replay);
    StepParts parts;
    parts.reserve(replay.recording().steps.size());
    for (std::size_t i = 0; i < replay.recording().steps.size(); ++i) parts.push_back(reader.step(i));
    return parts;
}

} // namespace fourwalls::compare
