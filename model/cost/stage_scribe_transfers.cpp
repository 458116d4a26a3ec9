// SPDX-License-Identifier: Apache-2.0
// See stage_scribe.h. What a stage sends and takes part in.
#include "model/cost/stage_scribe.h"

#include "model/trace/collective_timing.h"
#include "model/trace/metrics.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace fourwalls::cost {

namespace {

CollectiveOp operationOf(Collective kind)
{
    switch (kind) {
    case Collective::AllGather: return CollectiveOp::AllGather;
    case Collective::ReduceScatter: return CollectiveOp::ReduceScatter;
    case Collective::AllToAll: return CollectiveOp::AllToAll;
    default: return CollectiveOp::AllReduce;
    }
}

/// What a part does where it neither gathers nor scatters.
Collective ownKind(CostPart part)
{
    if (part == CostPart::ContextComm) return Collective::AllGather;
    return part == CostPart::ExpertComm ? Collective::AllToAll : Collective::AllReduce;
}

} // namespace

std::pair<StageScribe::KindBytes, StageScribe::KindBytes> StageScribe::wireOfPass(const PassCost& pass, CostPart part)
{
    KindBytes wire{0, std::round(pass.wire.of(part)), 0};
    if (part == CostPart::TensorComm || part == CostPart::ParameterComm) {
        const WireBytes::Halves& halves = part == CostPart::TensorComm ? pass.wire.ofTensor : pass.wire.ofParameter;
        wire.gathers = std::min(wire.rest, std::round(halves.gathers));
        wire.scatters = std::min(wire.rest - wire.gathers, std::round(halves.scatters));
        wire.rest -= wire.gathers + wire.scatters;
    }
    const double all = pass.parts[part] + pass.hidden[part], share = all > 0 ? pass.parts[part] / all : 0;
    const KindBytes waited{std::round(wire.gathers * share), std::round(wire.rest * share),
                           std::round(wire.scatters * share)};
    return {waited, {wire.gathers - waited.gathers, wire.rest - waited.rest, wire.scatters - waited.scatters}};
}

StageScribe::Exchange StageScribe::exchangeOf(CostPart part, Collective kind, double wireBytes) const
{
    const CollectiveOp operation = operationOf(kind);
    switch (part) {
    case CostPart::ContextComm: return {operation, GroupKind::Context, wireBytes, "keys and values of the context"};
    case CostPart::ExpertComm: return {operation, GroupKind::Expert, wireBytes, "tokens to experts"};
    case CostPart::ParameterComm:
    case CostPart::GradientComm:
        return {operation, GroupKind::DataContext, wireBytes,
                kind == Collective::AllGather ? "gather parameters" : "reduce gradients"};
    default: return {operation, GroupKind::Tensor, wireBytes, "tensor parallel"};
    }
}

CollectiveRecord StageScribe::recordOf(const Exchange& what)
{
    return recordOf(what, group(what.group), static_cast<std::size_t>(m_layout.groupSize(what.group)));
}

CollectiveRecord StageScribe::recordOf(const Exchange& what, GroupId group, std::size_t members) const
{
    CollectiveRecord record;
    record.track = m_own.communication;
    record.operation = what.operation;
    record.group = group;
    record.wireBytes = std::llround(what.wireBytes);
    // What was handed over follows from what a bandwidth-optimal algorithm sends.
    const bool isExchange = what.operation == CollectiveOp::AllToAll && members > 1;
    const double factor = isExchange ? static_cast<double>(members - 1) / static_cast<double>(members)
                                     : busBandwidthFactor(what.operation, members);
    record.payloadBytes = std::llround(what.wireBytes / factor);
    return record;
}

void StageScribe::addExchange(Script& script, const Exchange& what, Phase phase, std::optional<LayerIndex> layer,
                              double begin, double end)
{
    OpInfo op;
    op.name = what.name;
    op.kind = SliceKind::Collective;
    op.phase = phase;
    op.activity = Activity::Transfer;
    op.layer = layer;
    script.lines.push_back({m_own.communication, m_sink.defineOp(op), durationOf(begin), durationOf(end),
                            static_cast<int>(script.exchanges.size())});
    script.exchanges.emplace_back(what.group, recordOf(what));
}

void StageScribe::addExchanges(Script& script, CostPart part, const KindBytes& bytes, Phase phase, double begin,
                               double seconds)
{
    const double all = bytes.total();
    const std::pair<Collective, double> kinds[] = {{Collective::AllGather, bytes.gathers},
                                                   {ownKind(part), bytes.rest},
                                                   {Collective::ReduceScatter, bytes.scatters}};
    for (const auto& [kind, wire] : kinds) {
        const double share = all > 0 ? wire / all : kind == ownKind(part) ? 1 : 0;
        if (share <= 0) continue;
        addExchange(script, exchangeOf(part, kind, wire), phase, std::nullopt, begin, begin + share * seconds);
        begin += share * seconds;
    }
}

void StageScribe::writeTransfers()
{
    for (const DrawnTransfer& transfer : m_lane.sent) {
        if (transfer.range.empty()) continue;
        slice(m_own.communication,
              plainOp(transfer.phase == Phase::Forward ? "send activation" : "send gradient", SliceKind::Collective,
                      transfer.phase, Activity::PipelineTransfer),
              transfer.range, transfer.microbatch);
        CollectiveRecord record;
        record.track = m_own.communication;
        record.start = record.lastArrival = transfer.range.begin;
        record.end = transfer.range.end;
        record.operation = CollectiveOp::Send;
        record.group = group(GroupKind::Pipeline);
        // Stages number their messages apart: each is an operation of its own.
        record.sequence = m_sequences[GroupKind::Pipeline]++ * m_cost.shape.stages + m_lane.stage;
        record.payloadBytes = record.wireBytes = transfer.bytes;
        record.peer = m_layout.onStage(m_rank, transfer.toLane);
        m_producer.collective(record);
        m_producer.flow({"message", m_own.communication, transfer.range.begin,
                         m_tracks[static_cast<std::size_t>(transfer.toLane)].communication, transfer.range.end});
    }
    if (!m_cost.flushMessages) return;
    constexpr double kWord = 4; // bytes
    for (int other = 0; other < m_cost.shape.stages; ++other) {
        if (other == m_lane.stage) continue;
        CollectiveRecord record = recordOf({CollectiveOp::Send, GroupKind::Pipeline, kWord, ""});
        record.start = record.lastArrival = m_lane.passesRange.end;
        record.end = {record.start.ns + 1};
        record.sequence = m_sequences[GroupKind::Pipeline]++ * m_cost.shape.stages + m_lane.stage;
        record.peer = m_layout.onStage(m_rank, other);
        m_producer.collective(record);
    }
}

/// A collective that a step does once. It lasts a nanosecond at least, so that its bytes are not lost.
void StageScribe::writeOnce(const Exchange& what, GroupId group, std::size_t members, Phase phase, TimeRange range)
{
    CollectiveRecord record = recordOf(what, group, members);
    record.start = record.lastArrival = range.begin;
    record.end = {std::max(range.begin.ns + 1, range.end.ns)};
    record.sequence = m_sequences[what.group]++;
    slice(m_own.communication, plainOp(what.name, SliceKind::Collective, phase, Activity::Transfer), range,
          std::nullopt);
    m_producer.collective(record);
}

/// Reduction of gradients: what lies under the backward and what is left after it, shared out by the bytes.
void StageScribe::writeReduction()
{
    const StageCost& stage = m_cost.stages[static_cast<std::size_t>(m_lane.stage)];
    if (stage.gradientCommSeconds <= 0) return;
    const Duration hidden = durationOf(std::max(0.0, stage.gradientCommSeconds - stage.gradientCommExposed));
    const TimeRange whole{std::max(m_lane.passesRange.begin, m_lane.passesRange.end - hidden),
                          m_lane.passesRange.end + durationOf(stage.gradientCommExposed)};
    const double all = stage.gradientWireBytes;
    const double special = stage.expertWireBytes + stage.tableWireBytes + stage.partialWireBytes;
    Instant at = whole.begin;
    const auto write = [&](Exchange what, GroupId group, std::size_t members) {
        const Instant until =
            all > 0 ? std::min(whole.end, at + durationOf(whole.length().seconds() * what.wireBytes / all)) : whole.end;
        writeOnce(what, group, members, Phase::GradientSync, {at, until});
        at = until;
    };
    const auto ofKind = [&](const Exchange& what) {
        write(what, group(what.group), static_cast<std::size_t>(m_layout.groupSize(what.group)));
    };
    if (!(all > 0)) // the first gather and the last scatter of parameters that passes bring together: their bytes
                    // are in the passes
        slice(m_own.communication,
              plainOp("first gather and last scatter", SliceKind::Collective, Phase::GradientSync, Activity::Transfer),
              whole, std::nullopt);
    const Collective reduction = stage.scattersGradients ? Collective::ReduceScatter : Collective::AllReduce;
    const auto reduce = [&](Collective kind, double wire) {
        const Exchange dense = exchangeOf(CostPart::GradientComm, kind, wire);
        if (wire >= 1) ofKind(dense);
    };
    const auto reduceExperts = [&](Collective kind, double wire, const char* name) {
        if (wire >= 1) ofKind({operationOf(kind), GroupKind::ExpertData, wire, name});
    };
    reduce(reduction, all - special - stage.gatherWireBytes);
    reduceExperts(reduction, stage.expertWireBytes - stage.expertGatherWireBytes, "reduce gradients of experts");
    reduce(Collective::AllGather, stage.gatherWireBytes);
    reduceExperts(Collective::AllGather, stage.expertGatherWireBytes, "gather parameters of experts");
    if (stage.partialWireBytes > 0)
        ofKind({CollectiveOp::AllReduce, GroupKind::Tensor, stage.partialWireBytes, "reduce gradients of norms"});
    if (stage.tableWireBytes > 0) {
        std::vector<RankId> ends{m_layout.onStage(m_rank, 0), m_layout.onStage(m_rank, m_cost.shape.stages - 1)};
        const GroupId table = m_sink.defineGroup({"embedding", std::move(ends), std::string(kModelled)});
        write({CollectiveOp::AllReduce, GroupKind::Pipeline, stage.tableWireBytes, "reduce gradients of the table"},
              table, 2);
    }
}

} // namespace fourwalls::cost
