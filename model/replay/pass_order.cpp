// SPDX-License-Identifier: Apache-2.0
// See pass_order.h.
#include "model/replay/pass_order.h"

#include "model/base/median.h"
#include "model/graph/pipeline_graph.h"
#include "model/replay/replay_times.h"
#include "model/spec/pipeline_schedule.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>

namespace fourwalls::replay {

namespace {

/// Mean time of a stage's passes and their spread [ns], of all its chunks together.
struct StagePasses {
    double forward = 0, input = 0, weight = 0, variance = 0;
};

class PassReader {
public:
    explicit PassReader(const Recording& recording) : m_recording(recording) {}

    /// times: of the graph's nodes.
    Status read(const ReplayGraph& graph, const NodeTimes& times)
    {
        for (const RankInfo& rank : m_recording.info.header.ranks)
            m_stages = std::max(m_stages, rank.pipelineStage + 1);
        if (m_stages < 2)
            return Error{ErrorCode::Unsupported, "the trace has no pipeline stages", "--change",
                         "replay a recording with pp > 1, or one whose ranks name their pipeline stage"};
        std::vector<std::int64_t> hops;
        for (std::size_t node = 0; node < graph.nodes(); ++node) {
            if (graph.piece[node] == kNone) continue;
            const Piece& piece = m_recording.pieces[graph.piece[node]];
            const auto taken = static_cast<double>(times.duration[node]);
            if (graph.role[node] == NodeRole::Moving && piece.isCollective()) {
                const CollectiveRecord& record = m_recording.collectives[piece.collective].record;
                if (record.operation != CollectiveOp::Send) continue;
                const auto way = static_cast<double>((record.end - record.lastArrival).ns);
                const double share = graph.duration[node] > 0 ? taken / static_cast<double>(graph.duration[node]) : 1;
                hops.push_back(std::llround(way * share));
            }
            const OpInfo& op = m_recording.op(piece);
            if (graph.role[node] != NodeRole::Work || piece.microbatch < 0 || op.activity != Activity::Compute)
                continue;
            const int pass = op.phase == Phase::Forward                                         ? 0
                             : op.phase == Phase::BackwardInput || op.phase == Phase::Recompute ? 1
                             : op.phase == Phase::BackwardWeight                                ? 2
                                                                                                : -1;
            if (pass < 0) continue;
            m_split = m_split || pass == 2;
            m_passes[{m_recording.stageOf(piece.rank), piece.step, piece.rank.value, piece.microbatch, pass}] += taken;
            m_microbatches = std::max(m_microbatches, piece.microbatch + 1);
        }
        if (m_passes.empty())
            return Error{ErrorCode::Unsupported,
                         "no work of the chosen steps says which pass and micro-batch it belongs to", "--change",
                         "record with the engine, or operations with their micro-batch"};
        if (!hops.empty()) m_hop = std::max<std::int64_t>(0, median(hops));
        for (int stage = 0; stage < m_stages; ++stage) m_times.push_back(timesOf(stage));
        return {};
    }

    int stages() const { return m_stages; }
    int microbatches() const { return m_microbatches; }
    bool split() const { return m_split; }
    std::int64_t hop() const { return m_hop; }
    const StagePasses& times(int stage) const { return m_times[static_cast<std::size_t>(stage)]; }

private:
    StagePasses timesOf(int stage) const
    {
        StagePasses times;
        double* const into[] = {&times.forward, &times.input, &times.weight};
        for (int pass = 0; pass < 3; ++pass) {
            double sum = 0, squares = 0, count = 0;
            for (const auto& [key, each] : m_passes) {
                if (std::get<0>(key) != stage || std::get<4>(key) != pass) continue;
                sum += each;
                squares += each * each;
                ++count;
            }
            if (count == 0) continue;
            *into[pass] = sum / count;
            times.variance += std::max(0.0, squares / count - (sum / count) * (sum / count));
        }
        return times;
    }

    const Recording& m_recording;
    /// What passes take [ns], added up from the work in them: by stage, step, rank, micro-batch and pass (forward, gradients of inputs, of weights).
    std::map<std::tuple<int, std::uint32_t, std::int32_t, std::int32_t, int>, double> m_passes;
    std::vector<StagePasses> m_times;
    int m_stages = 1, m_microbatches = 0;
    bool m_split = false;
    std::int64_t m_hop = 0;
};

/// First to last pass of a pipeline with the measured times [ns]. placed: gets where each is; may be null.
Result<std::int64_t> windowOf(const PassReader& passes, const PipelineShape& shape, bool halves,
                              std::vector<PlacedPass>* placed = nullptr)
{
    FOURWALLS_TRY_ASSIGN(const PipelineGraph graph, pipelineGraph(shape, false));
    std::vector<std::int64_t> times(PipelineGraph::times(shape), 0);
    for (int position = 0; position < shape.positions(); ++position) {
        const StagePasses& of = passes.times(shape.stageOf(position));
        const double whole = of.input + of.weight;
        const auto set = [&](PipelinePass pass, double time) {
            times[PipelineGraph::timeOfPass(position, pass)] = std::llround(time / shape.chunks);
        };
        set(PipelinePass::Forward, of.forward);
        set(PipelinePass::Backward, whole);
        set(PipelinePass::BackwardInput, halves ? whole / 2 : of.input);
        set(PipelinePass::BackwardWeight, halves ? whole / 2 : of.weight);
        if (position + 1 < shape.positions()) times[PipelineGraph::timeOfMessage(position)] = passes.hop();
    }
    std::vector<std::int64_t> end;
    simulateWork(graph.work, end, [&](std::size_t node) { return times[graph.timeOf[node]]; });
    for (int stage = 0; placed && stage < shape.stages; ++stage)
        for (const PipelineGraph::Pass& pass : graph.of(stage))
            placed->push_back({stage,
                               {pass.pass, pass.microbatch, shape.chunkOf(pass.position)},
                               end[pass.node] - times[graph.timeOf[pass.node]],
                               end[pass.node]});
    return *std::max_element(end.begin(), end.end());
}

/// The recorded order: what the specification says, else what such jobs do.
PipelineShape recordedShape(const Recording& recording, const PassReader& passes)
{
    PipelineShape shape;
    if (recording.info.header.spec) {
        shape = pipelineShape(recording.info.header.spec->plan);
    } else {
        for (const auto& op : recording.ops)
            if (op && op->detail.starts_with("chunk "))
                shape.chunks = std::max(shape.chunks, std::atoi(op->detail.c_str() + 6) + 1);
        shape.schedule = shape.chunks > 1 ? PipelineSchedule::Interleaved : PipelineSchedule::OneFOneB;
    }
    shape.stages = passes.stages();
    shape.microbatches = passes.microbatches();
    return shape;
}

} // namespace

Result<PipelineShape> recordedPasses(const Recording& recording, const ReplayGraph& graph)
{
    PassReader passes(recording);
    FOURWALLS_TRY(passes.read(graph, timesOf(graph, DelayRule::None)));
    return recordedShape(recording, passes);
}

Result<PassOrder> orderPasses(const Recording& recording, const ReplayGraph& graph, const NodeTimes& times,
                              std::span<const ReplayChange> changes)
{
    PassReader passes(recording);
    FOURWALLS_TRY(passes.read(graph, times));
    PassOrder order;
    const PipelineShape shape = recordedShape(recording, passes);
    if (!recording.info.header.spec)
        order.assumed.push_back({FOURWALLS_WORDS("ReplaySentences", "the recorded schedule is %1"),
                                 {shape.chunks > 1 ? "interleaved" : "1f1b"}});
    PipelineShape wanted = shape;
    for (const ReplayChange& change : changes) {
        if (change.kind == ChangeKind::Schedule) {
            FOURWALLS_TRY_ASSIGN(const ParallelPlan plan, parsePlan("schedule=" + change.pattern));
            wanted.schedule = plan.schedule;
            if (plan.schedule == PipelineSchedule::ZeroBubbleV) wanted.chunks = 2;
            if (plan.schedule != PipelineSchedule::Interleaved && plan.schedule != PipelineSchedule::ZeroBubbleV)
                wanted.chunks = 1;
        }
        int number = 0;
        const std::string& value = change.pattern;
        std::from_chars(value.data(), value.data() + value.size(), number);
        if (change.kind == ChangeKind::Microbatches) wanted.microbatches = number;
        if (change.kind == ChangeKind::Vpp) {
            wanted.chunks = number;
            wanted.schedule = number > 1 ? PipelineSchedule::Interleaved : PipelineSchedule::OneFOneB;
        }
    }
    const bool halves = wanted.splitsBackward() && !passes.split();
    if (halves)
        order.assumed.push_back(
            {FOURWALLS_WORDS("ReplaySentences", "gradients of inputs and of weights take half of a backward pass each"),
             {}});
    if (wanted.chunks != shape.chunks)
        order.assumed.push_back({FOURWALLS_WORDS("ReplaySentences", "the chunks of a stage take equal times"), {}});
    if (wanted.microbatches != shape.microbatches)
        order.assumed.push_back(
            {FOURWALLS_WORDS("ReplaySentences",
                             "micro-batches keep their size, so the batch changes with their number"),
             {}});
    FOURWALLS_TRY_ASSIGN(const std::int64_t before, windowOf(passes, shape, shape.splitsBackward() && !passes.split()));
    FOURWALLS_TRY_ASSIGN(const std::int64_t after, windowOf(passes, wanted, halves, &order.passes));
    order.recordedShape = shape;
    order.changedShape = wanted;
    for (int stage = 0; stage < passes.stages(); ++stage) {
        const StagePasses& of = passes.times(stage);
        const double whole = of.input + of.weight;
        order.inputShare.push_back(passes.split() && whole > 0 ? of.input / whole : 0.5);
    }
    order.hop = Duration{passes.hop()};
    order.recorded = Duration{before};
    order.changed = Duration{after};
    double variance = 0;
    for (int stage = 0; stage < passes.stages(); ++stage) variance = std::max(variance, passes.times(stage).variance);
    order.deviation = std::sqrt(variance * wanted.microbatches);
    double all = 0, supposed = 0;
    for (const PlacedPass& pass : order.passes) {
        const auto time = static_cast<double>(pass.end - pass.start);
        const bool half = halves && pass.action.pass != PipelinePass::Forward;
        all += time;
        if (half || (wanted.chunks > 1 && wanted.chunks != shape.chunks)) supposed += time;
    }
    if (all > 0) order.supposed = supposed / all;
    return order;
}

} // namespace fourwalls::replay
