// SPDX-License-Identifier: Apache-2.0
// See pipeline_questions.h.
#include "model/present/pipeline_questions.h"

#include "model/present/rank_tracks.h"
#include "model/trace/summary_builder.h"

#include <algorithm>

namespace fourwalls {

namespace {

/// Phases are read to this fraction of a step: a pass is longer even among hundreds of micro-batches.
constexpr int kPipelinePhasePixels = 40'000;
/// What lies inside of passes is read as finely as a wide screen can show it.
constexpr int kWorkPixels = 4000;
constexpr std::size_t kMostMessages = 40'000;

/// By stage and then by rank, the n-th rank of every stage is of the n-th pipeline, as pipelineOf numbers them.
std::vector<PipelineRanks> pipelinesOf(const TraceHeader& header)
{
    std::map<int, std::map<int, RankId>> byPipeline; // pipeline, stage
    std::map<int, std::vector<RankId>> byStage;
    for (const RankInfo& rank : header.ranks) byStage[rank.pipelineStage].push_back(rank.rank);
    const bool known = header.spec.has_value();
    for (auto& [stage, ranks] : byStage) {
        std::sort(ranks.begin(), ranks.end());
        for (std::size_t i = 0; i < ranks.size(); ++i) {
            const int pipeline = known ? pipelineOf(header, ranks[i]) : static_cast<int>(i);
            byPipeline[pipeline].emplace(stage, ranks[i]);
        }
    }
    std::vector<PipelineRanks> pipelines;
    for (const auto& [pipeline, stages] : byPipeline) {
        PipelineRanks& ranks = pipelines.emplace_back();
        for (const auto& [stage, rank] : stages) ranks.byStage.push_back(rank);
    }
    return pipelines;
}

bool belongsToStep(Phase phase)
{
    return phase == Phase::Forward || phase == Phase::BackwardInput || phase == Phase::BackwardWeight ||
           phase == Phase::Recompute || phase == Phase::Optimizer || phase == Phase::GradientSync;
}

/// The recorded phases of a rank's step.
Result<std::vector<StagePass>> recordedPasses(TraceQuery& trace, RankId rank, TimeRange step, std::stop_token stop)
{
    std::vector<StagePass> passes;
    const std::vector<TrackId> tracks = tracksOf(trace, rank, {TrackKind::Phases});
    if (tracks.empty()) return passes;
    FOURWALLS_TRY_ASSIGN(SliceWindow window, trace.slices({tracks, step, kPipelinePhasePixels}, stop));
    for (const LaneSlices& lane : window.lanes) {
        for (const SliceView& slice : lane.exact) {
            const auto op = window.ops.find(slice.op);
            if (op == window.ops.end() || !belongsToStep(op->second->phase)) continue;
            // The end of the step before may reach into this one's pixel.
            if (!step.contains(slice.start)) continue;
            StagePass pass;
            pass.range = {slice.start, slice.end()};
            pass.phase = op->second->phase;
            pass.microbatch = slice.microbatch;
            pass.slice = slice;
            pass.op = op->second;
            passes.push_back(std::move(pass));
        }
    }
    std::stable_sort(passes.begin(), passes.end(),
                     [](const StagePass& a, const StagePass& b) { return a.range.begin < b.range.begin; });
    return passes;
}

/// Compute time by phase, as finely as the query gives it; neighbours of one phase are one piece.
Result<std::vector<PassPiece>> workOf(TraceQuery& trace, RankId rank, TimeRange step, int pixels, std::stop_token stop)
{
    std::vector<PassPiece> pieces;
    const std::vector<TrackId> tracks =
        tracksOf(trace, rank, {TrackKind::Operators, TrackKind::ComputeStream, TrackKind::Other});
    if (tracks.empty()) return pieces;
    FOURWALLS_TRY_ASSIGN(SliceWindow window, trace.slices({tracks, step, pixels}, stop));
    const auto add = [&](OpId id, TimeRange range) {
        const auto op = window.ops.find(id);
        if (op == window.ops.end() || op->second->activity != Activity::Compute) return;
        if (!belongsToStep(op->second->phase)) return;
        pieces.push_back({range, op->second->phase});
    };
    for (const LaneSlices& lane : window.lanes) {
        for (const SliceView& slice : lane.exact) add(slice.op, {slice.start, slice.end()});
        // Many short ones: what is most of them stands for all.
        for (const SliceBin& bin : lane.bins) add(bin.dominant, {bin.start, bin.start + std::min(bin.busy, bin.width)});
    }
    std::sort(pieces.begin(), pieces.end(),
              [](const PassPiece& a, const PassPiece& b) { return a.range.begin < b.range.begin; });
    return pieces;
}

/// When this rank sent or received something from a neighbour.
Result<std::vector<Instant>> messagesOf(TraceQuery& trace, RankId rank, TimeRange step)
{
    FOURWALLS_TRY_ASSIGN(const std::vector<CollectiveView> all, trace.collectives(rank, step, kMostMessages));
    std::vector<Instant> at;
    for (const CollectiveView& view : all) {
        if (view.record.operation == CollectiveOp::Send || view.record.operation == CollectiveOp::Receive)
            at.push_back(view.record.start);
    }
    std::sort(at.begin(), at.end());
    return at;
}

Status readLane(TraceQuery& trace, StageLane& lane, PipelinePicture& picture, std::stop_token stop)
{
    FOURWALLS_TRY_ASSIGN(lane.passes, recordedPasses(trace, lane.rank, lane.step, stop));
    const bool recorded = std::any_of(lane.passes.begin(), lane.passes.end(), isPipelinePass);
    const bool split = std::any_of(lane.passes.begin(), lane.passes.end(),
                                   [](const StagePass& pass) { return pass.phase == Phase::BackwardWeight; });
    FOURWALLS_TRY_ASSIGN(const std::vector<PassPiece> work,
                         workOf(trace, lane.rank, lane.step, recorded ? kWorkPixels : kPipelinePhasePixels, stop));
    if (!recorded) {
        FOURWALLS_TRY_ASSIGN(const std::vector<Instant> messages, messagesOf(trace, lane.rank, lane.step));
        const std::vector<InferredPass> inferred = inferPasses(work, messages);
        if (!inferred.empty()) {
            picture.passesInferred = true;
            for (const InferredPass& each : inferred) {
                StagePass& pass = lane.passes.emplace_back();
                pass.range = each.range;
                pass.phase = each.phase;
                pass.microbatch = each.microbatch;
            }
            std::stable_sort(lane.passes.begin(), lane.passes.end(),
                             [](const StagePass& a, const StagePass& b) { return a.range.begin < b.range.begin; });
        }
    }
    fillPieces(lane.passes, work);
    completeLane(lane);
    for (const StagePass& pass : lane.passes) {
        if (pass.weight > 0 || pass.recompute > 0 || split) picture.finerKnown = true;
        if (!isPipelinePass(pass)) continue;
        picture.chunks = std::max(picture.chunks, pass.chunk + 1);
        if (pass.microbatch) picture.microbatches = std::max(picture.microbatches, pass.microbatch->value + 1);
    }
    return {};
}

} // namespace

std::optional<double> PipelinePicture::bubble() const
{
    double sum = 0;
    for (const std::optional<StageShares>& each : shares) {
        if (!each) return std::nullopt;
        sum += each->bubble();
    }
    if (shares.empty()) return std::nullopt;
    return sum / static_cast<double>(shares.size());
}

Result<PipelineFacts> askPipelineFacts(TraceQuery& trace, bool withMetrics)
{
    PipelineFacts facts;
    const TraceInfo& info = trace.info();
    facts.pipelined = isPipelined(info.header);
    facts.pipelines = pipelinesOf(info.header);
    facts.source = info.header.source;
    if (info.header.spec) facts.plan = info.header.spec->plan;
    facts.stagesInferred = !info.header.spec && facts.pipelined;
    facts.inferred = inferredFields(info.audit);
    if (withMetrics) {
        FOURWALLS_TRY_ASSIGN(facts.metrics, computeMetrics(trace));
    }
    FOURWALLS_TRY_ASSIGN(const std::vector<JobStep> steps, trace.jobSteps());
    facts.job = jobStepsOf(steps);
    FOURWALLS_TRY_ASSIGN(const std::vector<StepSummary> summaries, trace.stepSummaries());
    for (const StepSummary& summary : summaries)
        facts.busy[{summary.rank, summary.step}] = {summary.pipelineWindow, summary.pipelineBusy, summary.range};
    return facts;
}

Result<PipelinePicture> askPipelinePicture(TraceQuery& trace, const PipelineFacts& facts, std::size_t pipeline,
                                           StepIndex index, std::stop_token stop)
{
    PipelinePicture picture;
    const JobStep* step = facts.job.step(index);
    if (!step || pipeline >= facts.pipelines.size()) return picture;
    picture.step = *step;
    const std::vector<RankId>& ranks = facts.pipelines[pipeline].byStage;
    for (std::size_t stage = 0; stage < ranks.size(); ++stage) {
        if (stop.stop_requested()) return Error{ErrorCode::Cancelled, "a newer question came", "pipeline", {}};
        StageLane lane;
        lane.stage = static_cast<int>(stage);
        lane.rank = ranks[stage];
        const auto known = facts.busy.find({lane.rank, index});
        lane.step = known == facts.busy.end() ? step->range : known->second.step;
        FOURWALLS_TRY(readLane(trace, lane, picture, stop));
        picture.lanes.push_back(std::move(lane));
    }
    picture.window = pipelineWindow(picture.lanes);
    picture.times = meanPassTimes(picture.lanes);
    for (const StageLane& lane : picture.lanes) {
        const auto known = facts.busy.find({lane.rank, index});
        std::optional<StageShares> shares;
        // W and the busy time as the trace's summary has them, so that the figure is the one that `metrics` prints.
        if (picture.window && known != facts.busy.end() && known->second.window.ns > 0) {
            const TimeRange window{picture.window->begin, picture.window->begin + known->second.window};
            shares = stageShares(lane, window, known->second.busy);
        }
        picture.shares.push_back(shares);
    }
    return picture;
}

} // namespace fourwalls
