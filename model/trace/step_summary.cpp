// SPDX-License-Identifier: Apache-2.0
// The partition of one rank's step: unions per kind of activity, cut by priority, plus the sums for the waterfall.
#include "model/trace/step_summary.h"

#include "model/trace/interval_union.h"
#include "model/trace/saturating_sum.h"

#include <cmath>

namespace fourwalls {

namespace {

/// The partition's priorities; a smaller one wins. Communication comes in two so that a stage's busy time can leave
/// out the pipeline's own transfers.
enum Priority : int {
    kCompute,
    kCommunication,
    kPipelineTransfer,
    kCopy,
    kPipelineWait,
    kDataLoading,
    kLaunch,
    kSynchronisation,
    kPriorityCount
};

std::optional<Priority> priorityOf(Activity activity)
{
    switch (activity) {
    case Activity::None: return std::nullopt;
    case Activity::Compute: return kCompute;
    case Activity::Transfer:
    case Activity::CollectiveWait: return kCommunication;
    case Activity::PipelineTransfer: return kPipelineTransfer;
    case Activity::Copy: return kCopy;
    case Activity::PipelineWait: return kPipelineWait;
    case Activity::DataLoading: return kDataLoading;
    case Activity::Launch: return kLaunch;
    case Activity::Synchronisation: return kSynchronisation;
    }
    return std::nullopt; // a value from a damaged file
}

bool isPipelinePhase(Phase phase)
{
    return phase == Phase::Forward || phase == Phase::BackwardInput || phase == Phase::BackwardWeight;
}

TimeRange hull(const TimeRange& a, const TimeRange& b)
{
    return {std::min(a.begin, b.begin), std::max(a.end, b.end)};
}

Duration rounded(double ns)
{
    return Duration{static_cast<std::int64_t>(std::llround(ns))};
}

} // namespace

struct StepAccumulator::State {
    StepSummary summary;
    std::optional<double> peakFlops, bytesPerSecond;
    bool pipelined = false;
    std::array<IntervalUnion, kPriorityCount> unions;
    std::optional<TimeRange> window;
    /// Compute time of one kind with the time that its FLOPs would take at peak [ns].
    struct Roofline {
        double actual = 0;
        double ideal = 0;
    };
    Roofline memoryBound, computeBound;
};

StepAccumulator::StepAccumulator(RankId rank, const StepRecord& step, std::optional<double> peakFlops,
                                 std::optional<double> bytesPerSecond, bool pipelined)
    : m_state(std::make_unique<State>())
{
    m_state->summary.rank = rank;
    m_state->summary.step = step.step;
    m_state->summary.range = step.range;
    m_state->summary.state = step.state;
    m_state->peakFlops = peakFlops && *peakFlops > 0 ? peakFlops : std::nullopt;
    m_state->bytesPerSecond = bytesPerSecond && *bytesPerSecond > 0 ? bytesPerSecond : std::nullopt;
    m_state->pipelined = pipelined;
}

StepAccumulator::~StepAccumulator() = default;
StepAccumulator::StepAccumulator(StepAccumulator&&) noexcept = default;
StepAccumulator& StepAccumulator::operator=(StepAccumulator&&) noexcept = default;

void StepAccumulator::add(const OpInfo& op, Instant start, Duration duration)
{
    State& state = *m_state;
    StepSummary& summary = state.summary;
    const TimeRange clipped = TimeRange{start, start + duration}.intersected(summary.range);
    if (clipped.empty()) return;
    if (state.pipelined && isPipelinePhase(op.phase))
        state.window = state.window ? hull(*state.window, clipped) : clipped;
    const std::optional<Priority> priority = priorityOf(op.activity);
    if (!priority) return;
    state.unions[*priority].add(clipped);
    const Duration length = clipped.length();
    if (op.activity == Activity::CollectiveWait) addTo(summary.collectiveWait, length);
    if (op.activity != Activity::Compute) return;

    addTo(summary.computeSum, length);
    addTo(summary.computeByPhase[static_cast<std::size_t>(op.phase) % kPhaseCount], length);
    // A slice that reaches over the step's end counts with the share that lies inside.
    const double inside = static_cast<double>(length.ns) / static_cast<double>(duration.ns);
    const double flops = std::isfinite(op.flops) && op.flops > 0 ? op.flops * inside : 0.0;
    if (op.phase == Phase::Recompute) {
        summary.recomputeFlops += flops;
        addTo(summary.recomputeTime, length);
    } else {
        summary.modelFlops += flops;
    }
    if (!state.peakFlops) return;
    const double ideal = flops / *state.peakFlops * 1e9;
    const double memory =
        state.bytesPerSecond ? static_cast<double>(op.bytes) * inside / *state.bytesPerSecond * 1e9 : 0.0;
    State::Roofline& kind = memory > ideal ? state.memoryBound : state.computeBound;
    kind.actual += static_cast<double>(length.ns);
    kind.ideal += ideal;
}

std::optional<TimeRange> StepAccumulator::pipelineWindow() const
{
    return m_state->window;
}

StepSummary StepAccumulator::finish(std::optional<TimeRange> window)
{
    State& state = *m_state;
    StepSummary& summary = state.summary;
    // W may begin before this rank's own step does: empty time there is the stage's, but not part of its step.
    std::optional<TimeRange> pipeline;
    if (state.pipelined) pipeline = window ? window : state.window;
    if (pipeline) summary.pipelineWindow = pipeline->length();

    const auto account = [&](const TimeRange& part, int priority, bool inPipeline) {
        const Duration length = part.length();
        switch (priority) {
        case kCompute:
            summary.compute += length;
            if (inPipeline) summary.pipelineBusy += length;
            break;
        case kCommunication:
            summary.exposedComm += length;
            if (inPipeline) summary.pipelineBusy += length;
            break;
        case kPipelineTransfer: summary.exposedComm += length; break;
        case kCopy: summary.exposedCopy += length; break;
        default:
            if (inPipeline || (priority == kPipelineWait && state.pipelined))
                summary.bubble += length;
            else if (priority == kPipelineWait)
                summary.exposedComm += length; // a receive outside any pipeline
            else if (priority == kDataLoading)
                summary.idleDataLoading += length;
            else if (priority == kLaunch)
                summary.idleLaunch += length;
            else if (priority == kSynchronisation)
                summary.idleSynchronisation += length;
            else
                summary.idleOther += length;
        }
    };
    partitionByPriority(std::span(state.unions), summary.range, [&](const TimeRange& part, int priority) {
        const TimeRange inside = pipeline ? part.intersected(*pipeline) : TimeRange{part.begin, part.begin};
        if (inside.empty()) {
            account(part, priority, false);
            return;
        }
        const TimeRange before{part.begin, inside.begin};
        const TimeRange after{inside.end, part.end};
        if (!before.empty()) account(before, priority, false);
        account(inside, priority, true);
        if (!after.empty()) account(after, priority, false);
    });

    if (state.peakFlops && summary.computeSum.ns > 0) {
        // Slices that overlap are scaled to the time that they cover together.
        const double scale = static_cast<double>(summary.compute.ns) / static_cast<double>(summary.computeSum.ns);
        summary.memoryBoundExcess = rounded(scale * state.memoryBound.actual - state.memoryBound.ideal);
        summary.inefficiencyExcess = rounded(scale * state.computeBound.actual - state.computeBound.ideal);
    }
    return summary;
}

} // namespace fourwalls
