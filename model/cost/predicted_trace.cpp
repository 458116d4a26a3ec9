// SPDX-License-Identifier: Apache-2.0
// From intervals of stages to slices, collectives, messages and buffers.
#include "model/cost/predicted_trace.h"

#include "model/cost/stage_scribe.h"
#include "model/cost/step_cost.h"
#include "model/cost/summary_sink.h"

namespace fourwalls::cost {

namespace {

TraceClosing predictedClosing(const RunSpec& spec, const StepCost& cost)
{
    TraceClosing closing;
    if (cost.peakFlops > 0) {
        closing.peakFlopsPerDevice = cost.peakFlops;
        closing.peakSource = spec.cluster.device.family == "cpu" ? "measured" : "datasheet";
    }
    if (spec.cluster.device.memoryBytesPerSecond > 0)
        closing.memoryBytesPerSecond = spec.cluster.device.memoryBytesPerSecond;
    return closing;
}

} // namespace

bool hasFewOperators(const StepCost& cost)
{
    constexpr double kManyPasses = 20'000;
    double layers = 0;
    for (int i = 0; i < cost.shape.positions(); ++i) layers += static_cast<double>(cost.chunk(i).layers) + 1;
    return layers * cost.shape.microbatches <= kManyPasses;
}

TraceHeader predictedHeader(const RunSpec& spec, const DrawnStep& drawn)
{
    TraceHeader header;
    header.source = TraceSource::Predicted;
    header.clock = ClockKind::Predicted;
    header.spec = spec;
    header.producer = "fourwalls " FOURWALLS_VERSION;
    header.computeLabel = "modelled";
    header.communicationLabel = spec.plan.worldSize() > 1 ? "modelled" : "none";
    for (const DrawnLane& lane : drawn.lanes) {
        RankInfo rank;
        rank.rank = lane.rank;
        const DeviceSpec& device = spec.cluster.deviceOfRank(lane.rank.value);
        rank.device = device.name;
        rank.pipelineStage = lane.stage;
        rank.memoryBytes = device.memoryBytes;
        rank.multiplicity = lane.multiplicity;
        header.ranks.push_back(rank);
    }
    return header;
}

Status writePredictedTrace(const RunSpec& spec, const StepCost& cost, const DrawnStep& drawn, TraceSink& sink,
                           const OperatorsOfPass& operators)
{
    {
        const auto producer = sink.openProducer();
        std::vector<StageTracks> tracks;
        for (const DrawnLane& lane : drawn.lanes) tracks.push_back(defineStageTracks(sink, lane.rank));
        for (const DrawnLane& lane : drawn.lanes) {
            StageScribe scribe(spec, cost, lane, tracks, sink, *producer);
            scribe.write(operators);
        }
    }
    return sink.finish(predictedClosing(spec, cost));
}

Result<std::shared_ptr<const InMemoryTraceData>>
predictedTrace(const RunSpec& spec, const StepCost& cost, const DrawnStep& drawn, const OperatorsOfPass& operators)
{
    InMemoryTrace trace(predictedHeader(spec, drawn));
    FOURWALLS_TRY(writePredictedTrace(spec, cost, drawn, trace, operators));
    return trace.data();
}

Result<std::shared_ptr<const InMemoryTraceData>> predictedSummary(const RunSpec& spec, const StepCost& cost,
                                                                  const DrawnStep& drawn)
{
    SummarySink summary(predictedHeader(spec, drawn), predictedClosing(spec, cost));
    FOURWALLS_TRY(writePredictedTrace(spec, cost, drawn, summary));
    return summary.data();
}

} // namespace fourwalls::cost
