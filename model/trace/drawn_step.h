// SPDX-License-Identifier: Apache-2.0
// One step in the form in which it is drawn, whoever made it: the cost model's simulation or a changed recording. Every
// lane has the intervals of its time, the passes that they make up, what it sent, and its live bytes. Writing a trace
// takes milliseconds; this form is there at once, so that a picture follows a slider. The trace of a prediction is
// written from this form, too, so that both show the same.
#pragma once

#include "model/base/ids.h"
#include "model/base/time.h"
#include "model/trace/trace_query.h"
#include "model/trace/vocabulary.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace fourwalls {

/// Where a time or a size comes from.
enum class Provenance : std::uint8_t {
    Measured, ///< as recorded
    Scaled,   ///< a measured one times a ratio of modelled ones
    Modelled
};

/// A stretch of one lane's time, in the vocabulary of slices (OpInfo):
///   pass                     Phase, its phase, Compute
///   outside of the network   Phase, None, Synchronisation
///   optimizer                Phase, Optimizer, Compute
///   sending, receiving       Collective or Wait, None, PipelineTransfer
///   waiting for a neighbour  Wait, None, PipelineWait
///   waiting for all stages   Wait, Optimizer, Synchronisation
///   exposed reduction        Collective, GradientSync, Transfer
///   agreement on the norm    Collective, Optimizer, Transfer
/// and, of a trace (drawnStepOf), what it does not say more of:
///   device work              Phase, None, Compute
///   copies, loading data     Phase, None, Copy or DataLoading
///   an operation             Collective, the operation's phase, Transfer
///   waiting for its members  Wait, None, CollectiveWait
///   waiting for the device   Wait, None, Synchronisation
struct DrawnInterval {
    TimeRange range;                      ///< from the step's begin at 0
    std::optional<Microbatch> microbatch; ///< absent: of the whole step
    std::int32_t position = -1;           ///< of passes: stage and chunk, counted in the order of the network
    SliceKind kind = SliceKind::Phase;
    Phase phase = Phase::None;
    Activity activity = Activity::Compute;
    Provenance provenance = Provenance::Modelled;
};

/// Forward, recomputation, or the gradient of inputs or weights.
bool isPass(const DrawnInterval& interval);
/// The lane stands still for others; nothing is on its way to it.
bool isIdle(const DrawnInterval& interval);

/// Intervals [first, last) of a lane that are one pass of one micro-batch.
struct DrawnPass {
    std::uint32_t first = 0, last = 0;
};

/// A tensor on its way to another lane.
struct DrawnTransfer {
    TimeRange range;
    std::optional<Microbatch> microbatch;
    Phase phase = Phase::Forward; ///< Forward: activations; BackwardInput: their gradients
    Provenance provenance = Provenance::Modelled;
    std::int32_t toLane = 0;
    std::int64_t bytes = 0;
};

/// The live bytes of one category from an instant on.
struct DrawnBytes {
    Instant at;
    MemoryCategory category = MemoryCategory::Other;
    std::int64_t bytes = 0;
};

/// One rank, or the identical ranks of a pipeline stage.
struct DrawnLane {
    int stage = 0;
    RankId rank; ///< the first of them
    int multiplicity = 1;
    TimeRange step;
    TimeRange passesRange; ///< from the first pass's begin to the last one's end
    Duration busy;         ///< in passes, without the transfers of the pipeline
    Instant peakAt;        ///< the first instant of the largest live bytes
    std::int64_t peakBytes = 0;
    std::vector<DrawnInterval> intervals; ///< by time; they do not overlap
    std::vector<DrawnPass> passes;        ///< by time
    std::vector<DrawnTransfer> sent;      ///< by start
    std::vector<DrawnBytes> memory;       ///< by time

    std::span<const DrawnInterval> intervalsOf(const DrawnPass& pass) const
    {
        return std::span(intervals).subspan(pass.first, pass.last - pass.first);
    }
};

struct DrawnStep {
    Duration length;             ///< until the last lane's end
    bool splitsBackward = false; ///< the gradient of the weights is a pass of its own
    bool byRank = false;         ///< every rank has its lane, by rank; else every stage has one, by stage
    std::vector<DrawnLane> lanes;

    /// The lane of a rank or, where lanes are of stages or it has none, of its stage; the last one where there are fewer
    /// stages. Null: there are none.
    const DrawnLane* laneOf(RankId rank, int stage) const;
};

/// Fills the lane's passes from its intervals. Recomputation and the gradient of the inputs of one micro-batch in a row
/// are one pass, with the gradient of the weights where that is not split off.
void foldPasses(DrawnLane& lane, bool splitsBackward);

/// The lane's live bytes as a step function: one sample per instant at which something changed, the first one at 0.
std::vector<MemorySample> memoryCurve(const DrawnLane& lane);

} // namespace fourwalls
