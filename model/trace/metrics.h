// SPDX-License-Identifier: Apache-2.0
// The figures of a trace, computed from its stored summaries: what `metrics` prints and the overview shows.
// Unknown is absent, never 0.
#pragma once

#include "model/base/result.h"
#include "model/trace/collective_timing.h"
#include "model/trace/peak_facts.h"
#include "model/trace/trace_query.h"
#include "model/trace/waterfall.h"

#include <optional>
#include <string>
#include <vector>

namespace fourwalls {

struct CollectiveMetrics {
    CollectiveSummary summary;
    std::string group; ///< as groupLabel
    CollectiveTiming timing = CollectiveTiming::Separated;
    bool alone = false; ///< the group has one rank, which sends nothing
    /// Without Separated the transfer holds the waiting too; with RequestsOnly neither is known.
    std::optional<Duration> transfer, wait;
    std::optional<double> algorithmBytesPerSecond, busBytesPerSecond;
};

struct TraceMetrics {
    TraceSource source = TraceSource::Recorded;
    ClockKind clock = ClockKind::Wall;
    std::optional<Duration> stepTime; ///< median over measured steps of last end - first start
    std::optional<double> tokensPerSecond;
    std::optional<double> samplesPerSecond;
    /// MFU is of the peak that `peak` names, at most 1, and absent wherever it cannot be right: mfuAbsent says why.
    std::optional<double> mfu, mfuFullAttention, hfu;
    NoMfu mfuAbsent = NoMfu::None;
    PeakFacts peak;                          ///< and the share of the compute time whose FLOPs are known
    std::optional<double> flopsPerSecond;    ///< model FLOPs of one device by the step's time; absent: none are known
    bool hostOnly = false;                   ///< nothing ran on an accelerator: idle is time between operators
    std::vector<std::optional<double>> loss; ///< one per recorded step
    std::vector<MemorySummary> memory;       ///< per rank
    std::optional<double> bubbleFraction;    ///< mean over stages
    std::vector<double> bubbleByStage;
    std::optional<double> exposedCommFraction, exposedCopyFraction, idleFraction;
    Waterfall waterfall; ///< empty without a measured step
    std::vector<CollectiveMetrics> collectives;
    std::optional<double> recorderOverheadFraction, recorderOverheadMeasured;
    std::int64_t dropped = 0;
};

/// The figures of a trace. Those that relate time (step time, shares, waterfall, MFU) are of the median measured
/// step, of an even number the lower one in the middle, so that they fit one another exactly; loss and collectives are of
/// all steps that docs/metrics names. wanted: the step that those figures and the memory are of instead, of whatever state,
/// if all ranks took it. Errors: those of the queries.
Result<TraceMetrics> computeMetrics(TraceQuery& trace, std::optional<StepIndex> wanted = std::nullopt);

/// Utilisation of one step over all ranks, by the definitions of mfu and hfu.
struct StepUtilisation {
    StepIndex step;
    StepState state = StepState::Measured;
    TimeRange range; ///< first rank's start to last rank's end
    std::optional<double> mfu, hfu;
};
/// Of every recorded step, by number; that of the median measured step is what computeMetrics says. Errors: as there.
Result<std::vector<StepUtilisation>> stepUtilisation(TraceQuery& trace);

/// busbw / algbw of a collective over `ranks` members: 2(n-1)/n for all-reduce, (n-1)/n for all-gather and
/// reduce-scatter, 1 for the others (docs/metrics.md). Source: NVIDIA/nccl-tests doc/PERFORMANCE.md, which names no factor
/// for all-to-all; its program takes (n-1)/n there.
double busBandwidthFactor(CollectiveOp operation, std::size_t ranks);

/// Closed forms of the bubble as a fraction of the pipeline window, for `stages` equal stages.
/// Naive, GPipe, 1F1B and interleaved; chunks: virtual stages per rank (interleaved).
/// Source: arXiv:2104.04473, section 2.2, with the window instead of the ideal time below the line.
double pipelineBubble(PipelineSchedule schedule, int stages, int microbatches, int chunks = 1);
/// ZB-1p: forward, input-gradient and weight-gradient time of one micro-batch, in any one unit.
/// Source: arXiv:2401.10241, table 1, for weight gradients that take no longer than either of the others; else see there.
double zeroBubbleBubble(int stages, int microbatches, double forward, double backwardInput, double backwardWeight);

} // namespace fourwalls
