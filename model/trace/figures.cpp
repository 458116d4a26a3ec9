// SPDX-License-Identifier: Apache-2.0
// The two tables. update_translations reads FOURWALLS_WORDS as a text to translate.
#include "model/trace/figures.h"

#include "model/base/format.h"
#include "model/base/sentence.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace fourwalls {

namespace {

using Metrics = const TraceMetrics&;

std::optional<double> stepMilliseconds(Metrics metrics)
{
    return metrics.stepTime ? std::optional(metrics.stepTime->milliseconds()) : std::nullopt;
}

std::optional<double> largestPeak(Metrics metrics)
{
    std::optional<double> peak;
    for (const MemorySummary& memory : metrics.memory)
        peak = std::max(peak.value_or(0), static_cast<double>(memory.peakBytes));
    return peak.value_or(0) > 0 ? peak : std::nullopt; // nothing alive: nothing was recorded
}

std::optional<double> wireBytes(Metrics metrics)
{
    if (metrics.collectives.empty()) return std::nullopt;
    double sum = 0;
    for (const CollectiveMetrics& collective : metrics.collectives) {
        if (!collective.summary.wireBytes) return std::nullopt;
        sum += static_cast<double>(*collective.summary.wireBytes);
    }
    return sum;
}

template <auto Member>
std::optional<double> member(Metrics metrics)
{
    return metrics.*Member;
}

template <WaterfallPart Part>
std::optional<double> shareOf(Metrics metrics)
{
    return metrics.waterfall.at(Part);
}

constexpr std::array<FigureInfo, kFigureCount> kFigureInfos{{
    {.key = "step_time_ms",
     .words = FOURWALLS_WORDS("Figures", "step time"),
     .meaning = FOURWALLS_WORDS("Figures", "From the first rank's start to the last rank's end: the median of the "
                                           "measured steps, or the simulated step."),
     .of = stepMilliseconds,
     .unit = FigureUnit::Milliseconds,
     .use = {.json = true, .text = true, .glance = true, .compared = true, .judged = true}},
    {.key = "tokens_per_s",
     .words = FOURWALLS_WORDS("Figures", "tokens per second"),
     .meaning = FOURWALLS_WORDS("Figures", "Global batch × sequence / step time, over all ranks."),
     .of = member<&TraceMetrics::tokensPerSecond>,
     .unit = FigureUnit::PerSecond,
     .better = Better::More,
     .use = {.json = true, .text = true, .glance = true, .compared = true, .judged = true}},
    {.key = "samples_per_s",
     .words = FOURWALLS_WORDS("Figures", "samples per second"),
     .meaning = FOURWALLS_WORDS("Figures", "Global batch / step time, over all ranks."),
     .of = member<&TraceMetrics::samplesPerSecond>,
     .unit = FigureUnit::PerSecond,
     .better = Better::More,
     .use = {.json = true, .text = true, .glance = true, .compared = true, .judged = true}},
    {.key = "mfu",
     .words = FOURWALLS_WORDS("Figures", "MFU"),
     .meaning = FOURWALLS_WORDS("Figures", "Model FLOPs / (peak × devices × step time): the share of the devices' peak "
                                           "that trains. Causal attention counts half."),
     .of = member<&TraceMetrics::mfu>,
     .unit = FigureUnit::OfPeak,
     .better = Better::More,
     .use = {.json = true, .text = true, .glance = true, .compared = true}},
    {.key = "mfu_full_attention",
     .words = FOURWALLS_WORDS("Figures", "MFU, full attention"),
     .meaning = FOURWALLS_WORDS("Figures", "MFU that counts causal attention whole, as some publications do."),
     .of = member<&TraceMetrics::mfuFullAttention>,
     .unit = FigureUnit::OfPeak,
     .better = Better::More,
     .use = {.json = true, .text = true, .compared = true}},
    {.key = "hfu",
     .words = FOURWALLS_WORDS("Figures", "HFU"),
     .meaning = FOURWALLS_WORDS("Figures", "As MFU, but recomputation counts as work."),
     .of = member<&TraceMetrics::hfu>,
     .unit = FigureUnit::OfPeak,
     .better = Better::More,
     .use = {.json = true, .text = true, .glance = true, .compared = true}},
    {.key = "flops_per_s",
     .words = FOURWALLS_WORDS("Figures", "FLOP/s of a device"),
     .meaning = FOURWALLS_WORDS("Figures", "Model FLOPs of one device / step time."),
     .of = member<&TraceMetrics::flopsPerSecond>,
     .unit = FigureUnit::FlopsPerSecond,
     .better = Better::More,
     .use = {.json = true, .text = true}},
    {.key = "flops_known_fraction",
     .words = FOURWALLS_WORDS("Figures", "FLOPs known"),
     .meaning = FOURWALLS_WORDS("Figures", "Share of the compute time in kernels whose FLOPs are known."),
     .of = [](Metrics metrics) { return metrics.peak.flopsKnown; },
     .better = Better::Neither,
     .use = {.json = true}},
    {.key = "matrix_flops_known_fraction",
     .words = FOURWALLS_WORDS("Figures", "FLOPs of matrix products known"),
     .meaning =
         FOURWALLS_WORDS("Figures", "Share of the time of matrix products and convolutions whose FLOPs are known."),
     .of = [](Metrics metrics) { return metrics.peak.matrixKnown; },
     .better = Better::Neither,
     .use = {.json = true}},
    {.key = "peak_flops",
     .words = FOURWALLS_WORDS("Figures", "peak FLOP/s of a device"),
     .meaning = FOURWALLS_WORDS("Figures", "What MFU is of: the dense rate of the arithmetic that ran."),
     .of = [](Metrics metrics) { return metrics.peak.peak; },
     .unit = FigureUnit::FlopsPerSecond,
     .better = Better::Neither,
     .use = {.json = true}},
    {.key = "peak_bytes",
     .words = FOURWALLS_WORDS("Figures", "peak memory"),
     .meaning = FOURWALLS_WORDS("Figures", "Largest sum of live buffers on the fullest rank."),
     .of = largestPeak,
     .unit = FigureUnit::Bytes,
     .use = {.glance = true, .compared = true, .judged = true}},
    {.key = "bubble_fraction",
     .words = FOURWALLS_WORDS("Figures", "bubble of the pipeline"),
     .meaning =
         FOURWALLS_WORDS("Figures", "Share of the pipeline's window in which a stage is not busy: (W - busy) / W, "
                                    "mean over the stages."),
     .of = member<&TraceMetrics::bubbleFraction>,
     .use = {.text = true, .glance = true, .compared = true}},
    {.key = "exposed_comm_fraction",
     .words = FOURWALLS_WORDS("Figures", "exposed communication"),
     .meaning = FOURWALLS_WORDS("Figures", "Share of the step in which a rank communicates and computes nothing beside "
                                           "it. Waiting in collectives counts."),
     .of = member<&TraceMetrics::exposedCommFraction>,
     .use = {.json = true, .text = true, .glance = true, .compared = true}},
    {.key = "exposed_copy_fraction",
     .words = FOURWALLS_WORDS("Figures", "exposed copies"),
     .meaning =
         FOURWALLS_WORDS("Figures", "Share of the step in copies that neither computation nor communication hides."),
     .of = member<&TraceMetrics::exposedCopyFraction>,
     .use = {.json = true, .text = true, .compared = true}},
    {.key = "idle_fraction",
     .words = FOURWALLS_WORDS("Figures", "idle"),
     .meaning = FOURWALLS_WORDS("Figures", "Share of the step in which nothing runs and no stage waits for another."),
     .of = member<&TraceMetrics::idleFraction>,
     .use = {.json = true, .text = true, .glance = true, .compared = true}},
    {.key = "wire_bytes",
     .words = FOURWALLS_WORDS("Figures", "bytes sent"),
     .meaning = FOURWALLS_WORDS("Figures", "What a rank sends in all collectives of the measured steps."),
     .of = wireBytes,
     .unit = FigureUnit::Bytes,
     .use = {.compared = true}},
    {.key = "recorder_overhead_fraction",
     .words = FOURWALLS_WORDS("Figures", "recorder overhead"),
     .meaning =
         FOURWALLS_WORDS("Figures", "What recording cost of a step: calibrated cost of an event × events, and the "
                                    "writer's time on the recorded cores."),
     .of = member<&TraceMetrics::recorderOverheadFraction>,
     .use = {.json = true, .text = true, .compared = true},
     .decimals = 3},
    {.key = "recorder_overhead_measured",
     .words = FOURWALLS_WORDS("Figures", "recorder overhead, measured"),
     .meaning = FOURWALLS_WORDS("Figures", "Recorded steps against the same steps without recording."),
     .of = member<&TraceMetrics::recorderOverheadMeasured>,
     .use = {.json = true},
     .decimals = 3},
}};

constexpr std::array<FigureInfo, kAllWaterfallParts> kPartInfos{{
    {.key = "achieved",
     .words = FOURWALLS_WORDS("Figures", "achieved"),
     .meaning = FOURWALLS_WORDS("Figures", "Model FLOP/s utilisation: model FLOPs / (peak × devices × step time)."),
     .of = shareOf<WaterfallPart::Achieved>,
     .unit = FigureUnit::OfPeak,
     .better = Better::More},
    {.key = "recompute",
     .words = FOURWALLS_WORDS("Figures", "recomputation"),
     .meaning =
         FOURWALLS_WORDS("Figures", "FLOPs done again in the backward pass instead of keeping activations: FLOPs / "
                                    "(peak × time)."),
     .of = shareOf<WaterfallPart::Recompute>,
     .brief = FOURWALLS_WORDS("Figures", "recompute")},
    {.key = "memory_bound",
     .words = FOURWALLS_WORDS("Figures", "memory-bound"),
     .meaning =
         FOURWALLS_WORDS("Figures", "Kernels whose bytes take longer than their FLOPs: compute time beyond FLOPs / "
                                    "peak."),
     .of = shareOf<WaterfallPart::MemoryBound>},
    {.key = "inefficiency",
     .words = FOURWALLS_WORDS("Figures", "inefficiency"),
     .meaning = FOURWALLS_WORDS("Figures", "Compute-bound kernels: their time beyond FLOPs / peak."),
     .of = shareOf<WaterfallPart::Inefficiency>},
    {.key = "other_compute",
     .words = FOURWALLS_WORDS("Figures", "other compute"),
     .meaning =
         FOURWALLS_WORDS("Figures", "Kernels of which neither FLOPs nor bytes are known: what they could reach is "
                                    "unknown."),
     .of = shareOf<WaterfallPart::OtherCompute>,
     .better = Better::More},
    {.key = "compute",
     .words = FOURWALLS_WORDS("Figures", "compute"),
     .meaning = FOURWALLS_WORDS("Figures", "Time in which something is computed. FLOPs or the peak are unknown, so it "
                                           "cannot be taken apart."),
     .of = shareOf<WaterfallPart::Compute>,
     .better = Better::More},
    {.key = "bubble",
     .words = FOURWALLS_WORDS("Figures", "bubble"),
     .meaning =
         FOURWALLS_WORDS("Figures", "A pipeline stage waits for its neighbours, or is empty at the begin and end of "
                                    "the step."),
     .of = shareOf<WaterfallPart::Bubble>},
    {.key = "exposed_comm",
     .words = FOURWALLS_WORDS("Figures", "exposed communication"),
     .meaning = FOURWALLS_WORDS("Figures", "Transfers, and waiting in collectives, that no computation hides."),
     .of = shareOf<WaterfallPart::ExposedComm>,
     .brief = FOURWALLS_WORDS("Figures", "exposed comm")},
    {.key = "exposed_copy",
     .words = FOURWALLS_WORDS("Figures", "exposed copies"),
     .meaning =
         FOURWALLS_WORDS("Figures", "Copies and fills of memory by the device, in any direction, that nothing hides."),
     .of = shareOf<WaterfallPart::ExposedCopy>,
     .brief = FOURWALLS_WORDS("Figures", "exposed copy")},
    {.key = "idle",
     .words = FOURWALLS_WORDS("Figures", "idle"),
     .meaning = FOURWALLS_WORDS("Figures", "Nothing runs on the device, for none of the other reasons."),
     .of = shareOf<WaterfallPart::Idle>},
    {.key = "idle.data_loading",
     .words = FOURWALLS_WORDS("Figures", "data loading"),
     .meaning = FOURWALLS_WORDS("Figures", "Idle: waiting for the next samples."),
     .of = shareOf<WaterfallPart::IdleDataLoading>},
    {.key = "idle.launch",
     .words = FOURWALLS_WORDS("Figures", "launch"),
     .meaning = FOURWALLS_WORDS("Figures", "Idle: the host does not launch kernels quickly enough."),
     .of = shareOf<WaterfallPart::IdleLaunch>},
    {.key = "idle.synchronisation",
     .words = FOURWALLS_WORDS("Figures", "synchronisation"),
     .meaning = FOURWALLS_WORDS("Figures", "Idle: the host waits for the device, or ranks for one another."),
     .of = shareOf<WaterfallPart::IdleSynchronisation>,
     .brief = FOURWALLS_WORDS("Figures", "synchronise")},
    {.key = "idle.other",
     .words = FOURWALLS_WORDS("Figures", "other idle"),
     .meaning = FOURWALLS_WORDS("Figures", "Idle for reasons that the trace does not tell."),
     .of = shareOf<WaterfallPart::IdleOther>},
}};

} // namespace

std::span<const FigureInfo, kFigureCount> figureTable()
{
    return kFigureInfos;
}

std::span<const FigureInfo, kAllWaterfallParts> waterfallTable()
{
    return kPartInfos;
}

const FigureInfo& infoOf(Figure figure)
{
    return kFigureInfos[static_cast<std::size_t>(figure)];
}

const FigureInfo& infoOf(WaterfallPart part)
{
    return kPartInfos[static_cast<std::size_t>(part)];
}

std::string figureText(const FigureInfo& info, std::optional<double> value, int digits)
{
    if (!value) return std::string(kUnknownUtf8);
    switch (info.unit) {
    case FigureUnit::Milliseconds: return formatTime(Duration{std::llround(*value * 1e6)}, digits);
    case FigureUnit::Bytes: return formatBytes(*value);
    case FigureUnit::PerSecond: return formatRate(*value, "/s", digits);
    case FigureUnit::FlopsPerSecond: return formatRate(*value, "FLOP/s");
    case FigureUnit::Share:
    case FigureUnit::OfPeak: return formatPercent(*value, info.decimals);
    }
    return {};
}

} // namespace fourwalls
