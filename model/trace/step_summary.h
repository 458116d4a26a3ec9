// SPDX-License-Identifier: Apache-2.0
// The partition of a rank's step into disjoint time, as docs/metrics defines it, and the sums that metrics need.
// Computed once when a trace is finished, by these functions; `check` computes them again and compares.
#pragma once

#include "model/base/ids.h"
#include "model/base/time.h"
#include "model/trace/records.h"
#include "model/trace/vocabulary.h"

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace fourwalls {

/// One rank's step. The partition (compute + exposedComm + exposedCopy + bubble + idle parts) adds up to the
/// length of the range exactly.
struct StepSummary {
    RankId rank;
    StepIndex step;
    TimeRange range;
    StepState state = StepState::Measured;

    Duration compute;     ///< union of compute slices over all streams
    Duration exposedComm; ///< transfers (and non-pipeline waits) minus compute
    Duration exposedCopy;
    Duration bubble; ///< only with pipeline stages
    Duration idleDataLoading, idleLaunch, idleSynchronisation, idleOther;

    Duration computeSum;     ///< compute slices added up, overlaps counted twice
    Duration collectiveWait; ///< own arrival to last arrival, added up
    Duration pipelineWindow; ///< this stage's W of bubble_fraction; 0 without pipeline
    Duration pipelineBusy;
    double modelFlops = 0; ///< without recomputation
    double recomputeFlops = 0;
    Duration recomputeTime; ///< compute slices of phase Recompute, added up
    /// Sums over compute slices for the waterfall, each (actual time - flops/peak) of one kind; see attributeCompute.
    Duration memoryBoundExcess;
    Duration inefficiencyExcess;
    std::array<Duration, kPhaseCount> computeByPhase{}; ///< added up

    Duration idle() const { return idleDataLoading + idleLaunch + idleSynchronisation + idleOther; }
    friend bool operator==(const StepSummary&, const StepSummary&) = default;
};

/// One rank's memory over its measured steps.
struct MemorySummary {
    RankId rank;
    std::optional<StepIndex> step; ///< absent: over the whole trace
    std::int64_t peakBytes = 0;
    Instant peakAt;
    std::array<std::int64_t, kMemoryCategoryCount> atPeak{};        ///< adds up to peakBytes
    std::array<std::int64_t, kMemoryCategoryCount> categoryPeaks{}; ///< each at its own time
    std::int64_t residentBytes = 0;                                 ///< at the end of the (last) step
    std::optional<std::int64_t> peakReservedBytes;

    friend bool operator==(const MemorySummary&, const MemorySummary&) = default;
};

/// One kind of collective in one group, over the measured steps.
struct CollectiveSummary {
    CollectiveOp operation = CollectiveOp::AllReduce;
    GroupId group;
    std::int64_t count = 0;                                      ///< operations, not members
    std::optional<std::int64_t> payloadBytes = 0, wireBytes = 0; ///< absent: unknown of at least one operation
    Duration time; ///< transfer: last arrival to end, added up over operations
    Duration wait; ///< own arrival to last arrival, added up over members
    friend bool operator==(const CollectiveSummary&, const CollectiveSummary&) = default;
};

/// Collects the slices of one rank and step and yields the summary. Slices may come in any order and may reach
/// over the step's ends (they are clipped). Memory: 24 bytes per counted slice of the step.
class StepAccumulator {
public:
    /// peakFlops: per device [FLOP/s], for the waterfall; absent leaves the excess sums zero.
    /// bytesPerSecond: memory bandwidth per device. pipelined: whether the plan has pipeline stages.
    StepAccumulator(RankId rank, const StepRecord& step, std::optional<double> peakFlops,
                    std::optional<double> bytesPerSecond, bool pipelined);
    ~StepAccumulator();
    StepAccumulator(StepAccumulator&&) noexcept;
    StepAccumulator& operator=(StepAccumulator&&) noexcept;

    /// Ignores slices whose op counts as Activity::None, except phases Forward/Backward of pipelined steps.
    void add(const OpInfo& op, Instant start, Duration duration);

    /// From this rank's first forward's start to its last backward's end, as far as slices were added; absent
    /// without pipeline stages. W of the pipeline is the hull over its stages.
    std::optional<TimeRange> pipelineWindow() const;

    /// window: W, the hull of pipelineWindow() over all stages of this rank's pipeline; this rank's own if absent.
    StepSummary finish(std::optional<TimeRange> window = std::nullopt);

private:
    struct State;
    std::unique_ptr<State> m_state;
};

} // namespace fourwalls
