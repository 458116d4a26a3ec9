// SPDX-License-Identifier: Apache-2.0
// From intervals of stages to slices, collectives, messages and buffers.
#include "model/cost/predicted_trace.h"

#include "model/cost/stage_scribe.h"
#include "model/cost/summary_sink.h"
#include "model/spec/rank_layout.h"

namespace fourwalls::cost {

namespace {

TraceClosing predictedClosing(const RunSpec& spec, const StepCost& cost)
{
    TraceClosing closing;
    if (cost.peakFlops > 0) {
        closing.peakFlopsPerDevice = cost.peakFlops;
        closing.peakSource = "datasheet";
    }
    if (spec.cluster.device.memoryBytesPerSecond > 0)
        closing.memoryBytesPerSecond = spec.cluster.device.memoryBytesPerSecond;
    return closing;
}

} // namespace

TraceHeader predictedHeader(const RunSpec& spec, const StepCost& cost)
{
    TraceHeader header;
    header.source = TraceSource::Predicted;
    header.clock = ClockKind::Predicted;
    header.spec = spec;
    header.producer = "fourwalls " FOURWALLS_VERSION;
    header.computeLabel = "modelled";
    header.communicationLabel = spec.plan.worldSize() > 1 ? "modelled" : "none";
    const RankLayout layout(spec.plan);
    for (int stage = 0; stage < cost.shape.stages; ++stage) {
        RankInfo rank;
        rank.rank = layout.onStage(RankId{0}, stage);
        rank.device = spec.cluster.device.name;
        rank.pipelineStage = stage;
        rank.memoryBytes = spec.cluster.device.memoryBytes;
        rank.multiplicity = spec.plan.worldSize() / spec.plan.pp;
        header.ranks.push_back(rank);
    }
    return header;
}

Status writePredictedTrace(const RunSpec& spec, const StepCost& cost, const SimulatedStep& step, TraceSink& sink,
                           const OperatorsOfPass& operators)
{
    {
        const auto producer = sink.openProducer();
        std::vector<StageTracks> tracks;
        for (int stage = 0; stage < cost.shape.stages; ++stage)
            tracks.push_back(defineStageTracks(sink, RankLayout(spec.plan).onStage(RankId{0}, stage)));
        for (int stage = 0; stage < cost.shape.stages; ++stage) {
            StageScribe scribe(spec, cost, step, stage, tracks, sink, *producer);
            scribe.write(operators);
        }
    }
    return sink.finish(predictedClosing(spec, cost));
}

Result<std::shared_ptr<const InMemoryTraceData>>
predictedTrace(const RunSpec& spec, const StepCost& cost, const SimulatedStep& step, const OperatorsOfPass& operators)
{
    InMemoryTrace trace(predictedHeader(spec, cost));
    FOURWALLS_TRY(writePredictedTrace(spec, cost, step, trace, operators));
    return trace.data();
}

Result<std::shared_ptr<const InMemoryTraceData>> predictedSummary(const RunSpec& spec, const StepCost& cost,
                                                                  const SimulatedStep& step)
{
    SummarySink summary(predictedHeader(spec, cost), predictedClosing(spec, cost));
    FOURWALLS_TRY(writePredictedTrace(spec, cost, step, summary));
    return summary.data();
}

} // namespace fourwalls::cost
