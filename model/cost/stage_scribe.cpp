// SPDX-License-Identifier: Apache-2.0
// Slices of one stage; its transfers are in stage_scribe_transfers.cpp, its buffers in stage_scribe_memory.cpp.
#include "model/cost/stage_scribe.h"

#include "model/trace/collective_timing.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace fourwalls::cost {

namespace {

const PassCost& costOf(const ChunkCost& chunk, Phase phase)
{
    switch (phase) {
    case Phase::Recompute: return chunk.recompute;
    case Phase::BackwardInput: return chunk.backwardInput;
    case Phase::BackwardWeight: return chunk.backwardWeight;
    default: return chunk.forward;
    }
}

bool isCommunication(CostPart part)
{
    return part == CostPart::TensorComm || part == CostPart::ContextComm || part == CostPart::ExpertComm ||
           part == CostPart::ParameterComm || part == CostPart::GradientComm || part == CostPart::PipelineComm;
}

const char* workName(CostPart part)
{
    switch (part) {
    case CostPart::Gemm: return "matrix products";
    case CostPart::Attention: return "attention";
    case CostPart::MemoryBound: return "memory-bound operators";
    case CostPart::Host: return "launches";
    case CostPart::Contention: return "contention with communication";
    case CostPart::Copy: return "copies to and from the host";
    case CostPart::Optimizer: return "optimizer";
    default: return "communication";
    }
}

/// How the work of a part counts in the partition of a step.
Activity activityOf(CostPart part)
{
    if (isCommunication(part)) return Activity::Transfer;
    if (part == CostPart::Copy) return Activity::Copy;
    return part == CostPart::Host ? Activity::Launch : Activity::Compute;
}

/// The parts of a pass in the order in which they are drawn. Launches and copies belong to no operator: they come last, as
/// they do behind a pass's operators.
constexpr CostPart kDrawnParts[] = {
    CostPart::ParameterComm, CostPart::MemoryBound, CostPart::Gemm,        CostPart::Attention,  CostPart::Optimizer,
    CostPart::Contention,    CostPart::TensorComm,  CostPart::ContextComm, CostPart::ExpertComm, CostPart::GradientComm,
    CostPart::PipelineComm,  CostPart::Host,        CostPart::Copy};

OpInfo opInfo(std::string name, SliceKind kind, Phase phase, Activity activity)
{
    OpInfo info;
    info.name = std::move(name);
    info.kind = kind;
    info.phase = phase;
    info.activity = activity;
    return info;
}

} // namespace

StageTracks defineStageTracks(TraceSink& sink, RankId rank)
{
    return {sink.defineTrack({rank, TrackKind::Steps, "steps", 0}),
            sink.defineTrack({rank, TrackKind::Phases, "phases", 1}),
            sink.defineTrack({rank, TrackKind::Operators, "layers and operators", 2}),
            sink.defineTrack({rank, TrackKind::ComputeStream, "kernels", 3}),
            sink.defineTrack({rank, TrackKind::CommStream, "communication", 4}),
            sink.defineTrack({rank, TrackKind::CopyStream, "copies", 5})};
}

StageScribe::StageScribe(const RunSpec& spec, const StepCost& cost, const DrawnLane& lane,
                         const std::vector<StageTracks>& tracks, TraceSink& sink, TraceProducer& producer)
    : m_spec(spec)
    , m_cost(cost)
    , m_lane(lane)
    , m_layout(spec.plan)
    , m_rank(lane.rank)
    , m_tracks(tracks)
    , m_own(tracks[static_cast<std::size_t>(lane.stage)])
    , m_sink(sink)
    , m_producer(producer)
{}

void StageScribe::slice(TrackId track, OpId op, TimeRange range, std::optional<Microbatch> microbatch)
{
    if (!range.empty()) m_producer.slice({track, op, range.begin, range.length(), microbatch, std::nullopt});
}

OpId StageScribe::plainOp(const char* name, SliceKind kind, Phase phase, Activity activity)
{
    const PlainOp plain{name, kind, phase, activity};
    for (const auto& [known, id] : m_plainOps)
        if (known == plain) return id;
    const OpId id = m_sink.defineOp(opInfo(name, kind, phase, activity));
    m_plainOps.emplace_back(plain, id);
    return id;
}

GroupId StageScribe::group(GroupKind kind)
{
    const auto [found, isNew] = m_groups.try_emplace(kind);
    if (isNew)
        found->second = m_sink.defineGroup(
            {std::string(fourwalls::name(kind)), m_layout.groupMembers(kind, m_rank), std::string(kModelled)});
    return found->second;
}

void StageScribe::play(Script& script, const DrawnInterval& interval)
{
    for (const Line& line : script.lines) {
        const TimeRange range{interval.range.begin + line.begin,
                              std::min(interval.range.begin + line.end, interval.range.end)};
        slice(line.track, line.op, range, interval.microbatch);
        if (line.exchange < 0 || range.empty()) continue;
        auto& [kind, record] = script.exchanges[static_cast<std::size_t>(line.exchange)];
        record.start = record.lastArrival = range.begin;
        record.end = range.end;
        record.sequence = m_sequences[kind]++;
        m_producer.collective(record);
    }
}

void StageScribe::writeStep()
{
    StepRecord record;
    record.range = m_lane.step;
    record.samples = m_spec.training.batch;
    record.tokens = m_spec.training.batch * m_spec.training.sequence;
    m_producer.step(m_rank, record);
    slice(m_own.steps, plainOp("step", SliceKind::Step, Phase::None, Activity::None), m_lane.step, std::nullopt);
}

/// One slice per kind of work, one after the other.
void StageScribe::addParts(Script& script, double length, const PassCost& cost, Phase phase)
{
    const double bandwidth = m_spec.cluster.deviceOfRank(m_lane.rank.value).memoryBytesPerSecond;
    const double products = cost.parts[CostPart::Gemm] + cost.parts[CostPart::Attention];
    double at = 0;
    for (const CostPart part : kDrawnParts) {
        const double seconds = cost.parts[part];
        if (seconds <= 0) continue;
        const double end = at + seconds;
        if (isCommunication(part)) {
            addExchanges(script, part, wireOfPass(cost, part).first, phase, at, seconds);
        } else {
            OpInfo op = opInfo(workName(part), SliceKind::Kernel, phase, activityOf(part));
            if (part == CostPart::Gemm || part == CostPart::Attention) op.flops = cost.flops * seconds / products;
            if (part == CostPart::MemoryBound) op.bytes = std::llround(seconds * bandwidth);
            script.lines.push_back({part == CostPart::Copy ? m_own.copies : m_own.kernels, m_sink.defineOp(op),
                                    durationOf(at), durationOf(end)});
        }
        at = end;
    }
    // Communication beside the computation, from the pass's begin.
    at = 0;
    for (const CostPart part : kDrawnParts) {
        const double seconds = cost.hidden[part];
        if (seconds <= 0) continue;
        const double begin = std::max(0.0, std::min(at, length - seconds)); // in full, beside others if need be
        addExchanges(script, part, wireOfPass(cost, part).second, phase, begin, std::min(seconds, length - begin));
        at += seconds;
    }
}

/// Layers and operators of a pass, stretched to its simulated length but for what the device waits for launches.
void StageScribe::addOperators(Script& script, double length, const PassCost& cost, Phase phase,
                               const std::vector<OperatorCost>& operators)
{
    double listed = 0, reductions = 0;
    for (const OperatorCost& op : operators) {
        if (!op.hidden) listed += op.seconds;
        if (op.part == CostPart::ParameterComm) reductions += op.seconds + op.hiddenSeconds;
    }
    if (listed <= 0) return addParts(script, length, cost, phase);
    // Weights and gradients of sharded parameters belong to whole layers: they are no operators of the list.
    const auto [waited, beside] = wireOfPass(cost, CostPart::ParameterComm);
    const double gathers = waited.gathers + beside.gathers, scatters = waited.scatters + beside.scatters;
    if (gathers + scatters >= 1) {
        const double seconds =
            std::min(length, cost.parts[CostPart::ParameterComm] + cost.hidden[CostPart::ParameterComm] - reductions);
        const double first = seconds * gathers / (gathers + scatters);
        if (gathers >= 1)
            addExchange(script, exchangeOf(CostPart::ParameterComm, Collective::AllGather, gathers), phase,
                        std::nullopt, 0, first);
        if (scatters >= 1)
            addExchange(script, exchangeOf(CostPart::ParameterComm, Collective::ReduceScatter, scatters), phase,
                        std::nullopt, length - (seconds - first), length);
    }
    const double copies = cost.parts[CostPart::Copy];
    const double launches = std::min(cost.parts[CostPart::Host], length - copies);
    const double stretch = (length - copies - launches) / listed;
    double at = 0, layerStart = 0;
    std::int64_t layer = -1;
    const auto closeLayer = [&] {
        if (layer < 0) return;
        OpInfo op = opInfo("decoder layer", SliceKind::Layer, phase, Activity::None);
        op.layer = LayerIndex{static_cast<std::int32_t>(layer)};
        script.lines.push_back({m_own.operators, m_sink.defineOp(op), durationOf(layerStart), durationOf(at)});
    };
    for (const OperatorCost& each : operators) {
        if (each.layer != layer) {
            closeLayer();
            layer = each.layer;
            layerStart = at;
        }
        const double end = at + each.seconds * stretch;
        const auto layerIndex =
            each.layer < 0 ? std::nullopt : std::optional(LayerIndex{static_cast<std::int32_t>(each.layer)});
        if (each.communication && isCommunication(each.part)) {
            Exchange what = exchangeOf(each.part, each.collective, each.wireBytes);
            what.name = each.name.c_str();
            // One record for what is waited for and what goes on beside computation. At a pass's end that lies before
            // it rather than after, so that the bytes keep the whole of their time.
            const double whole = (each.seconds + each.hiddenSeconds) * stretch;
            const double begin = std::max(0.0, std::min(at, length - whole));
            addExchange(script, what, phase, layerIndex, begin, std::min(begin + whole, length));
        } else {
            OpInfo op = opInfo(each.name, SliceKind::Operator, phase, Activity::None);
            op.layer = layerIndex;
            script.lines.push_back({m_own.operators, m_sink.defineOp(op), durationOf(at), durationOf(end)});
            op.kind = SliceKind::Kernel;
            op.activity = activityOf(each.part);
            op.flops = each.flops;
            op.bytes = std::llround(each.bytes);
            script.lines.push_back({each.part == CostPart::Copy ? m_own.copies : m_own.kernels, m_sink.defineOp(op),
                                    durationOf(at), durationOf(end)});
        }
        if (!each.hidden) at = end;
    }
    closeLayer();
    const auto addLast = [&](CostPart part, TrackId track, double begin, double end) {
        const OpInfo op = opInfo(workName(part), SliceKind::Kernel, phase, activityOf(part));
        if (end > begin) script.lines.push_back({track, m_sink.defineOp(op), durationOf(begin), durationOf(end)});
    };
    addLast(CostPart::Host, m_own.kernels, length - copies - launches, length - copies);
    addLast(CostPart::Copy, m_own.copies, length - copies, length);
}

StageScribe::Script& StageScribe::scriptOf(const DrawnInterval& interval, const ChunkCost& chunk,
                                           const OperatorsOfPass& operators)
{
    const Phase phase = interval.phase;
    const auto place = static_cast<std::size_t>(m_cost.shape.chunkOf(interval.position));
    if (m_scripts.size() <= place) m_scripts.resize(place + 1);
    // Forward, BackwardInput, BackwardWeight and Recompute are 1 to 4.
    std::optional<Script>& script = m_scripts[place][static_cast<std::size_t>(phase) - 1];
    if (script) return *script;
    script.emplace();
    const double length = interval.range.length().seconds();
    if (operators)
        addOperators(*script, length, costOf(chunk, phase), phase, operators(interval.position, phase));
    else
        addParts(*script, length, costOf(chunk, phase), phase);
    return *script;
}

void StageScribe::writePass(const DrawnPass& pass, const OperatorsOfPass& operators)
{
    const std::span<const DrawnInterval> intervals = m_lane.intervalsOf(pass);
    const DrawnInterval& first = intervals.front();
    const TimeRange range{first.range.begin, intervals.back().range.end};
    const ChunkCost& chunk = m_cost.chunk(first.position);
    const bool isForward = first.phase == Phase::Forward;
    const bool onlyWeights = first.phase == Phase::BackwardWeight;
    slice(m_own.phases,
          plainOp(isForward     ? "forward"
                  : onlyWeights ? "backward of weights"
                                : "backward",
                  SliceKind::Phase,
                  isForward     ? Phase::Forward
                  : onlyWeights ? Phase::BackwardWeight
                                : Phase::BackwardInput,
                  Activity::None),
          range, first.microbatch);
    for (const DrawnInterval& interval : intervals) play(scriptOf(interval, chunk, operators), interval);
    if (isForward)
        allocate("workspace of a forward", Phase::Forward, MemoryCategory::Temporaries, chunk.transientForwardBytes,
                 range.begin, range.end, first.microbatch);
    else if (!onlyWeights)
        allocate("workspace of a backward", Phase::BackwardInput, MemoryCategory::Temporaries,
                 chunk.transientBackwardBytes, range.begin, range.end, first.microbatch);
}

/// What is no pass: waits, the agreement on the norm, the optimizer. Sends are transfers; the reduction of gradients has
/// its own records.
void StageScribe::writeOutside(const DrawnInterval& interval)
{
    const auto outside = [&](TrackId track, const char* name, Activity activity) {
        slice(track, plainOp(name, interval.kind, interval.phase, activity), interval.range, interval.microbatch);
    };
    if (interval.kind == SliceKind::Wait) {
        outside(m_own.communication,
                interval.activity == Activity::PipelineWait       ? "wait for a neighbour"
                : interval.activity == Activity::PipelineTransfer ? "receive"
                                                                  : "wait for all ranks",
                interval.activity);
    } else if (interval.kind == SliceKind::Collective && interval.phase == Phase::Optimizer) {
        writeOnce({CollectiveOp::AllReduce, GroupKind::World, m_cost.agreementWireBytes, "gradient norm"},
                  group(GroupKind::World), static_cast<std::size_t>(m_layout.worldSize()), Phase::Optimizer,
                  interval.range);
    } else if (interval.kind == SliceKind::Phase && interval.phase == Phase::Optimizer) {
        outside(m_own.phases, "optimizer", Activity::None);
        OpInfo op = opInfo("optimizer", SliceKind::Kernel, Phase::Optimizer, Activity::Compute);
        op.bytes = std::llround(interval.range.length().seconds() *
                                m_spec.cluster.deviceOfRank(m_lane.rank.value).memoryBytesPerSecond);
        slice(m_own.kernels, m_sink.defineOp(op), interval.range, std::nullopt);
    } else if (interval.kind == SliceKind::Phase) {
        outside(m_own.phases, "outside of the model", interval.activity);
    }
}

void StageScribe::write(const OperatorsOfPass& operators)
{
    writeStep();
    writeStaticMemory();
    for (const DrawnPass& pass : m_lane.passes) writePass(pass, operators);

    for (const DrawnInterval& interval : m_lane.intervals)
        if (!isPass(interval)) writeOutside(interval);
    writeActivations();
    writeTransfers();
    writeReduction();
}

} // namespace fourwalls::cost
