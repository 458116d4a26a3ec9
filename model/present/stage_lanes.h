// SPDX-License-Identifier: Apache-2.0
// What every stage of a pipeline did in one step: its passes with micro-batch and chunk, what a pass was made of, how
// many micro-batches were alive at every instant, and where the stage had nothing to do. Plain values and functions,
// without Qt.
#pragma once

#include "model/spec/parallel_plan.h"
#include "model/trace/pass_inference.h"
#include "model/trace/trace_query.h"

#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace fourwalls {

/// One pass of one micro-batch through a stage, or what the stage does once per step (optimizer, gradients).
struct StagePass {
    TimeRange range;
    Phase phase = Phase::None; ///< BackwardInput also for a backward that has the weight gradient in it
    std::optional<Microbatch> microbatch;
    int chunk = 0;                    ///< of the stage, 0 nearest the input
    bool withWeights = false;         ///< a backward of inputs and weights in one
    std::vector<PassPiece> pieces;    ///< by time; empty: all of it is `phase`, or nothing finer is known
    double recompute = 0, weight = 0; ///< shares of the pass's compute time, 0..1; the rest is `phase`
    std::optional<SliceView> slice;   ///< the recorded phase; absent where the pass was inferred
    std::shared_ptr<const OpInfo> op; ///< of the slice
};

bool isForward(const StagePass& pass);
bool isBackward(const StagePass& pass); ///< of inputs or of weights
inline bool isPipelinePass(const StagePass& pass)
{
    return isForward(pass) || isBackward(pass);
}

/// How many (micro-batch, chunk) activations a stage holds from an instant on.
struct InFlightStep {
    Instant at;
    int count = 0;
};

struct StageLane {
    int stage = 0;
    RankId rank;
    TimeRange step;                     ///< of this rank
    std::vector<StagePass> passes;      ///< by start
    std::vector<InFlightStep> inFlight; ///< by time
    int mostInFlight = 0;
};

/// Joins what belongs together and numbers what can be counted: the loss is a part of the last forward, the n-th
/// forward of a micro-batch on a stage is of chunk n, its n-th backward of the n-th chunk from the end. Marks
/// backwards of both gradients, and fills inFlight. passes: by start.
void completeLane(StageLane& lane);

/// Gives every pass the pieces (compute by start) that lie in it, and the shares of its time.
void fillPieces(std::vector<StagePass>& passes, std::span<const PassPiece> pieces);

/// From the first forward's start to the last backward's end over the lanes: W of the bubble. Absent without passes.
std::optional<TimeRange> pipelineWindow(std::span<const StageLane> lanes);

/// Where a stage's part of W went, as fractions of W that add up to 1.
struct StageShares {
    double busy = 0;   ///< computing, or communicating other than with its neighbours
    double warmUp = 0; ///< empty before its first pass
    double waits = 0;  ///< empty between its passes, and within them
    double drain = 0;  ///< empty after its last pass
    double bubble() const { return 1 - busy; }
};

/// busy: compute and exposed non-pipeline communication within W (StepSummary::pipelineBusy). Absent for an empty W.
std::optional<StageShares> stageShares(const StageLane& lane, TimeRange window, Duration busy);

/// Mean times of one micro-batch through one chunk, over all lanes: what the closed form of zero bubble needs.
struct PassTimes {
    Duration forward, recompute, backwardInput, backwardWeight;
    int forwards = 0, backwards = 0; ///< how many passes that is the mean of
};
PassTimes meanPassTimes(std::span<const StageLane> lanes);

/// The bubble of a schedule in closed form.
struct IdealBubble {
    PipelineSchedule schedule = PipelineSchedule::GPipe;
    int chunks = 1;
    double fraction = 0;
    bool unitTimes = false; ///< forward, input and weight gradient were taken as equally long: none were measured
};

/// naive, GPipe, 1F1B, interleaved (with `chunks`, at least 2) and zero bubble (ZB-1p) for equal stages
/// (model/trace/metrics.h). Empty for fewer than two stages or no micro-batch.
std::vector<IdealBubble> idealBubbles(int stages, int microbatches, int chunks, const PassTimes& times);

/// The ideal of a plan's own schedule; absent where there is no closed form (zb2p, zbv) or no pipeline.
std::optional<double> idealOf(const ParallelPlan& plan, const PassTimes& times);

/// The largest number of activations that each stage holds under the plan's schedule, by stage; empty if the schedule
/// does not exist for the plan.
std::vector<int> scheduledInFlight(const ParallelPlan& plan);

} // namespace fourwalls
