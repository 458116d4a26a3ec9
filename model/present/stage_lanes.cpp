// SPDX-License-Identifier: Apache-2.0
// See stage_lanes.h.
#include "model/present/stage_lanes.h"

#include "model/spec/pipeline_schedule.h"
#include "model/trace/metrics.h"

#include <algorithm>
#include <map>

namespace fourwalls {

namespace {

/// More pieces than these in one pass cannot be told apart on a screen: the shares say enough.
constexpr std::size_t kMostPieces = 400;

bool isForwardPhase(Phase phase)
{
    return phase == Phase::Forward;
}

double nanoseconds(Duration duration)
{
    return static_cast<double>(duration.ns);
}

/// The loss follows its forward at once and is a phase of its own.
void joinLoss(std::vector<StagePass>& passes)
{
    const auto isLoss = [](const StagePass& pass) { return isForward(pass) && pass.op && pass.op->name == "loss"; };
    if (std::none_of(passes.begin(), passes.end(), isLoss)) return;
    std::vector<StagePass> joined;
    joined.reserve(passes.size());
    for (StagePass& pass : passes) {
        if (isLoss(pass) && !joined.empty() && isForward(joined.back()) &&
            joined.back().microbatch == pass.microbatch) {
            StagePass& before = joined.back();
            before.range.end = std::max(before.range.end, pass.range.end);
            continue;
        }
        joined.push_back(std::move(pass));
    }
    passes = std::move(joined);
}

/// How many passes of each micro-batch were met.
class PassCounts {
public:
    int& operator[](Microbatch microbatch)
    {
        const auto index = static_cast<std::size_t>(microbatch.value);
        if (microbatch.value < 0 || index >= kMostIndexed) return m_others[microbatch.value];
        if (index >= m_counts.size()) m_counts.resize(index + 1);
        return m_counts[index];
    }

private:
    static constexpr std::size_t kMostIndexed = 1 << 16; ///< a damaged trace may count its micro-batches up to anything
    std::vector<int> m_counts;                           ///< by micro-batch
    std::map<std::int32_t, int> m_others;
};

void numberChunks(std::vector<StagePass>& passes)
{
    PassCounts forwards, backwards, weights;
    for (StagePass& pass : passes)
        if (isForward(pass) && pass.microbatch) pass.chunk = forwards[*pass.microbatch]++;
    for (StagePass& pass : passes) {
        if (!isBackward(pass) || !pass.microbatch) continue;
        const int before = (pass.phase == Phase::BackwardWeight ? weights : backwards)[*pass.microbatch]++;
        pass.chunk = std::max(0, forwards[*pass.microbatch] - 1 - before);
    }
}

void countInFlight(StageLane& lane)
{
    std::vector<InFlightStep> changes;
    for (const StagePass& pass : lane.passes) {
        if (isForward(pass)) changes.push_back({pass.range.begin, +1});
        const bool releases = pass.phase == Phase::BackwardWeight || (isBackward(pass) && pass.withWeights);
        if (releases) changes.push_back({pass.range.end, -1});
    }
    // Where one ends as another begins, the room is free first.
    std::stable_sort(changes.begin(), changes.end(), [](const InFlightStep& a, const InFlightStep& b) {
        return a.at != b.at ? a.at < b.at : a.count < b.count;
    });
    int count = 0;
    lane.inFlight.clear();
    lane.mostInFlight = 0;
    for (const InFlightStep& change : changes) {
        count = std::max(0, count + change.count); // a step that was cut off at its begin has ends without a begin
        lane.inFlight.push_back({change.at, count});
        lane.mostInFlight = std::max(lane.mostInFlight, count);
    }
}

} // namespace

bool isForward(const StagePass& pass)
{
    return isForwardPhase(pass.phase);
}
bool isBackward(const StagePass& pass)
{
    return pass.phase == Phase::BackwardInput || pass.phase == Phase::BackwardWeight;
}

void completeLane(StageLane& lane)
{
    joinLoss(lane.passes);
    numberChunks(lane.passes);
    const bool split = std::any_of(lane.passes.begin(), lane.passes.end(),
                                   [](const StagePass& pass) { return pass.phase == Phase::BackwardWeight; });
    for (StagePass& pass : lane.passes) pass.withWeights = pass.phase == Phase::BackwardInput && !split;
    countInFlight(lane);
}

void fillPieces(std::vector<StagePass>& passes, std::span<const PassPiece> pieces)
{
    std::size_t next = 0;
    for (StagePass& pass : passes) {
        if (!isBackward(pass)) continue; // a forward is nothing but that (the loss begins some of the backward in it)
        while (next < pieces.size() && pieces[next].range.end <= pass.range.begin) ++next;
        double compute = 0, recompute = 0, weight = 0;
        bool tooMany = false;
        for (std::size_t i = next; i < pieces.size() && pieces[i].range.begin < pass.range.end; ++i) {
            const TimeRange inside = pieces[i].range.intersected(pass.range);
            if (inside.empty()) continue;
            const double length = nanoseconds(inside.length());
            compute += length;
            if (pieces[i].phase == Phase::Recompute) recompute += length;
            if (pieces[i].phase == Phase::BackwardWeight) weight += length;
            if (tooMany) continue;
            if (!pass.pieces.empty() && pass.pieces.back().phase == pieces[i].phase) {
                pass.pieces.back().range.end = std::max(pass.pieces.back().range.end, inside.end);
            } else if (pass.pieces.size() < kMostPieces) {
                // No hole between pieces: what lies there belongs to the pass.
                if (!pass.pieces.empty()) pass.pieces.back().range.end = inside.begin;
                pass.pieces.push_back(
                    {pass.pieces.empty() ? TimeRange{pass.range.begin, inside.end} : inside, pieces[i].phase});
            } else {
                tooMany = true;
            }
        }
        if (!pass.pieces.empty()) pass.pieces.back().range.end = pass.range.end;
        const bool uniform = pass.pieces.size() == 1 && pass.pieces.front().phase == pass.phase;
        if (tooMany || uniform) pass.pieces.clear();
        if (compute > 0) {
            pass.recompute = recompute / compute;
            pass.weight = pass.phase == Phase::BackwardWeight ? 0 : weight / compute;
        }
    }
}

std::optional<TimeRange> pipelineWindow(std::span<const StageLane> lanes)
{
    std::optional<TimeRange> window;
    for (const StageLane& lane : lanes) {
        for (const StagePass& pass : lane.passes) {
            if (!isPipelinePass(pass)) continue;
            if (!window) window = pass.range;
            window->begin = std::min(window->begin, pass.range.begin);
            window->end = std::max(window->end, pass.range.end);
        }
    }
    return window;
}

std::optional<StageShares> stageShares(const StageLane& lane, TimeRange window, Duration busy)
{
    const double whole = nanoseconds(window.length());
    if (whole <= 0) return std::nullopt;
    StageShares shares;
    shares.busy = std::clamp(nanoseconds(busy) / whole, 0.0, 1.0);
    const double empty = 1 - shares.busy;
    const std::optional<TimeRange> own = pipelineWindow({&lane, 1});
    if (own) {
        // What is not empty before the first and after the last pass (gradients on their way) is busy time.
        shares.warmUp = std::min(empty, std::max(0.0, nanoseconds(own->begin - window.begin) / whole));
        shares.drain = std::min(empty - shares.warmUp, std::max(0.0, nanoseconds(window.end - own->end) / whole));
    }
    shares.waits = empty - shares.warmUp - shares.drain;
    return shares;
}

PassTimes meanPassTimes(std::span<const StageLane> lanes)
{
    double forward = 0, recompute = 0, input = 0, weight = 0;
    PassTimes mean;
    for (const StageLane& lane : lanes) {
        for (const StagePass& pass : lane.passes) {
            const double length = nanoseconds(pass.range.length());
            if (isForward(pass)) {
                forward += length;
                ++mean.forwards;
            } else if (pass.phase == Phase::BackwardInput) {
                recompute += length * pass.recompute;
                weight += length * pass.weight;
                input += length * (1 - pass.recompute - pass.weight);
                ++mean.backwards;
            } else if (pass.phase == Phase::BackwardWeight) {
                weight += length;
            }
        }
    }
    const auto each = [](double sum, int count) {
        return Duration{count > 0 ? static_cast<std::int64_t>(sum / count + 0.5) : 0};
    };
    mean.forward = each(forward, mean.forwards);
    mean.recompute = each(recompute, mean.backwards);
    mean.backwardInput = each(input, mean.backwards);
    mean.backwardWeight = each(weight, mean.backwards);
    return mean;
}

std::vector<IdealBubble> idealBubbles(int stages, int microbatches, int chunks, const PassTimes& times)
{
    if (stages < 2 || microbatches < 1) return {};
    std::vector<IdealBubble> ideals;
    for (const PipelineSchedule schedule : {PipelineSchedule::Naive, PipelineSchedule::GPipe,
                                            PipelineSchedule::OneFOneB, PipelineSchedule::Interleaved}) {
        const int parts = schedule == PipelineSchedule::Interleaved ? std::max(2, chunks) : 1;
        ideals.push_back({schedule, parts, pipelineBubble(schedule, stages, microbatches, parts), false});
    }
    const bool known = times.forward.ns > 0 && times.backwardInput.ns > 0 && times.backwardWeight.ns > 0;
    // Recomputation is done on the way to the input gradient, and waits for it likewise.
    const double f = known ? nanoseconds(times.forward) : 1;
    const double b = known ? nanoseconds(times.backwardInput) + nanoseconds(times.recompute) : 1;
    const double w = known ? nanoseconds(times.backwardWeight) : 1;
    ideals.push_back({PipelineSchedule::ZeroBubbleH1, 1, zeroBubbleBubble(stages, microbatches, f, b, w), !known});
    return ideals;
}

std::optional<double> idealOf(const ParallelPlan& plan, const PassTimes& times)
{
    for (const IdealBubble& ideal : idealBubbles(plan.pp, plan.microbatches, plan.vpp, times))
        if (ideal.schedule == plan.schedule) return ideal.fraction;
    return std::nullopt;
}

std::vector<int> scheduledInFlight(const ParallelPlan& plan)
{
    std::vector<int> most;
    const PipelineShape shape = pipelineShape(plan);
    if (!checkPipeline(shape).ok()) return most;
    const auto actions = pipelineActions(shape);
    if (!actions.ok()) return most;
    for (const std::vector<PipelineAction>& stage : *actions) most.push_back(mostInFlight(stage));
    return most;
}

} // namespace fourwalls
