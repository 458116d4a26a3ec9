// SPDX-License-Identifier: Apache-2.0
// See schedule_simulation.h.
#include "model/cost/schedule_simulation.h"

#include "model/cost/cost_model.h"
#include "model/cost/stage_memory.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>

namespace fourwalls::cost {

namespace {

using enum PipelinePass;

/// The part of a pass in which the device works or talks; launches that it waits for are not.
double busySeconds(const PassCost& pass)
{
    return pass.seconds() - pass.parts[CostPart::Host];
}

Error unusableCost(const char* field, std::string what)
{
    return {ErrorCode::InvalidArgument, std::move(what), field, "a finite time or size that is not negative"};
}

Error tooLong(const char* field, const char* what)
{
    return {ErrorCode::InvalidArgument, std::string(what) + " would take longer than 30 years", field,
            "a smaller model, batch or sequence, or quicker devices and links"};
}

bool isSane(double value)
{
    return std::isfinite(value) && value >= 0;
}

/// 32 years are more than any part of a step takes, and few enough for any number of them to add up.
bool isTime(double seconds)
{
    constexpr double kLongest = 1e9;
    return isSane(seconds) && seconds <= kLongest;
}

Status checkCost(const StepCost& cost)
{
    const auto positions = static_cast<std::size_t>(cost.shape.positions());
    if (cost.kindOfPosition.size() != positions || cost.stages.size() != static_cast<std::size_t>(cost.shape.stages) ||
        cost.boundaries.size() + 1 < positions)
        return unusableCost("pp", "the costs do not describe every position of the pipeline");
    for (const std::uint32_t kind : cost.kindOfPosition)
        if (kind >= cost.kinds.size()) return unusableCost("pp", "a position of the pipeline has no costs");
    for (const ChunkCost& chunk : cost.kinds) {
        for (const PassCost* pass : {&chunk.forward, &chunk.recompute, &chunk.backwardInput, &chunk.backwardWeight})
            if (!isTime(pass->seconds())) return tooLong("pass", "one pass of a micro-batch");
        for (const double bytes : {chunk.activationBytes, chunk.weightGradientBytes, chunk.transientForwardBytes,
                                   chunk.transientBackwardBytes})
            if (!isSane(bytes)) return unusableCost("chunk", "the memory of a pass is " + std::to_string(bytes));
    }
    for (const BoundaryCost& boundary : cost.boundaries)
        if (!isTime(boundary.seconds)) return tooLong("boundary", "a transfer");
    for (const StageCost& stage : cost.stages)
        if (!isTime(stage.gradientCommExposed) || !isTime(stage.optimizerSeconds))
            return unusableCost("stage", "the work after the last backward has no sensible time");
    if (!isTime(cost.unevenSeconds))
        return unusableCost("documents", "the wait for the longest documents has no sensible time");
    if (!isTime(cost.agreementSeconds))
        return unusableCost("agreement", "the agreement of all ranks has no sensible time");
    if (!isTime(cost.fixedSeconds)) return unusableCost("fixed", "the fixed part of a step has no sensible time");
    return {};
}

} // namespace

std::size_t fullestStage(const StepCost& cost, const SimulatedStep& step)
{
    std::size_t fullest = 0;
    for (std::size_t i = 1; i < step.stages.size(); ++i)
        if (cost.stages[i].fullness(step.stages[i].peakBytes) >
            cost.stages[fullest].fullness(step.stages[fullest].peakBytes))
            fullest = i;
    return fullest;
}

double SimulatedStep::bubbleFraction(std::size_t stage) const
{
    const double window = windowEnd - windowBegin;
    return window > 0 ? std::max(0.0, (window - stages[stage].busy) / window) : 0.0;
}

double SimulatedStep::bubbleFraction() const
{
    double sum = 0;
    for (std::size_t s = 0; s < stages.size(); ++s) sum += bubbleFraction(s);
    return stages.empty() ? 0.0 : sum / static_cast<double>(stages.size());
}

/// Reads one stage from when the nodes of its passes end.
class ScheduleSimulation::StageReader {
public:
    StageReader(const StepCost& cost, const ScheduleSimulation& of, int index, bool detailed, SimulatedStage& stage);
    void passes();
    /// What comes after them. allReduced: when every stage has reduced its gradients.
    void finish(double allReduced);

private:
    using Pass = PipelineGraph::Pass;

    void wait(const Pass& pass, bool isFirst);
    void perform(const Pass& pass);
    void send(const Pass& pass);
    void interval(double start, double end, SimulatedPart part, std::int32_t position = -1,
                  std::int32_t microbatch = -1, std::int32_t peer = -1)
    {
        if (m_detailed && end > start) m_stage.intervals.push_back({start, end, position, microbatch, part, peer});
    }
    /// From `at` on.
    void live(double at, double activations, double transient);
    /// In detail, how `bytes` of activations come (at a layer's begin) or, negative, go (at its end) in a pass; what is
    /// there at last is left to `live`.
    void change(double begin, double end, double bytes, double transient, int steps);
    double endOf(NodeIndex node) const { return m_of.m_end[node]; }

    const StepCost& m_cost;
    const ScheduleSimulation& m_of;
    const PipelineGraph& m_pipeline;
    int m_index;
    bool m_detailed;
    SimulatedStage& m_stage;
    double m_now;
    double m_activations = 0; ///< live bytes
    std::int32_t m_inFlight = 0;
};

ScheduleSimulation::StageReader::StageReader(const StepCost& cost, const ScheduleSimulation& of, int index,
                                             bool detailed, SimulatedStage& stage)
    : m_cost(cost)
    , m_of(of)
    , m_pipeline(of.m_graph.pipeline)
    , m_index(index)
    , m_detailed(detailed)
    , m_stage(stage)
    , m_now(of.m_end[PipelineGraph::kBegin])
{}

void ScheduleSimulation::StageReader::live(double at, double activations, double transient)
{
    m_activations = activations;
    if (activations + transient > m_stage.peakActivations + m_stage.peakTransient) {
        m_stage.peakActivations = activations;
        m_stage.peakTransient = transient;
        m_stage.peakAt = at;
    }
    if (m_detailed) m_stage.memory.push_back({at, activations, transient});
}

void ScheduleSimulation::StageReader::change(double begin, double end, double bytes, double transient, int steps)
{
    if (!m_detailed) return;
    const int first = bytes > 0 ? 0 : 1; // at begins or at ends
    for (int i = 1; i < steps; ++i)
        m_stage.memory.push_back(
            {begin + (end - begin) * (first + i - 1) / steps, m_activations + bytes * i / steps, transient});
}

void ScheduleSimulation::StageReader::wait(const Pass& pass, bool isFirst)
{
    const double arrival = endOf(pass.received);
    if (arrival <= m_now) return;
    const int from = pass.pass == Forward ? pass.position - 1 : pass.position + 1;
    const double length = m_cost.boundaries[static_cast<std::size_t>(std::min(from, pass.position))].seconds;
    const double waiting = std::max(0.0, arrival - length - m_now), transferring = arrival - m_now - waiting;
    if (m_detailed) {
        const int peer = m_pipeline.shape.stageOf(from);
        const double sent = transferring > 0 ? m_now + waiting : arrival;
        interval(m_now, sent, SimulatedPart::PipelineWait, pass.position, pass.microbatch, peer);
        interval(sent, arrival, SimulatedPart::Receive, pass.position, pass.microbatch, peer);
    }
    if (!isFirst) { // else before the pipeline reached this stage
        m_stage.wait += waiting;
        m_stage.transfer += transferring;
    }
    m_now = arrival;
}

void ScheduleSimulation::StageReader::send(const Pass& pass)
{
    const double arrival = endOf(pass.sent);
    if (m_detailed) {
        double start = 0;
        for (const NodeIndex before : m_pipeline.work.before(pass.sent)) start = std::max(start, endOf(before));
        const bool forward = pass.pass == Forward;
        const int to = forward ? pass.position + 1 : pass.position - 1, peer = m_pipeline.shape.stageOf(to);
        const PipelineTensor tensor = forward ? PipelineTensor::Activation : PipelineTensor::Gradient;
        m_stage.sent.push_back({start, arrival, {tensor, pass.microbatch, pass.position, to, m_index, peer}});
        if (m_pipeline.blocking) interval(m_now, arrival, SimulatedPart::Send, pass.position, pass.microbatch, peer);
    }
    if (!m_pipeline.blocking) return;
    m_stage.transfer += arrival - m_now;
    m_now = arrival;
}

void ScheduleSimulation::StageReader::perform(const Pass& pass)
{
    const std::size_t kind = m_cost.kindOfPosition[static_cast<std::size_t>(pass.position)];
    const KindTimes& times = m_of.m_kinds[kind];
    const ChunkCost& chunk = m_cost.kinds[kind];
    const double begin = m_now, end = endOf(pass.node);
    const auto part = [&](double from, double to, SimulatedPart what) {
        interval(from, to, what, pass.position, pass.microbatch);
    };
    switch (pass.pass) {
    case Forward:
        m_stage.mostInFlight = std::max(m_stage.mostInFlight, ++m_inFlight);
        change(begin, end, chunk.activationBytes, chunk.transientForwardBytes, times.steps);
        // All are there from the last layer's begin.
        live(begin + times.forward * (times.steps - 1) / times.steps, m_activations + chunk.activationBytes,
             chunk.transientForwardBytes);
        part(begin, end, SimulatedPart::Forward);
        m_stage.busy += times.forwardBusy;
        live(end, m_activations, 0);
        break;
    case Backward:
    case BackwardInput: {
        const bool isWhole = pass.pass == Backward;
        const double input = begin + times.recompute, weight = isWhole ? input + times.backwardInput : end;
        live(begin, m_activations, chunk.transientBackwardBytes);
        part(begin, input, SimulatedPart::Recompute);
        part(input, weight, SimulatedPart::BackwardInput);
        if (isWhole && times.backwardWeight > 0) part(weight, end, SimulatedPart::BackwardWeight);
        m_stage.busy += times.backwardInputBusy + (isWhole ? times.backwardWeightBusy : 0);
        const double gone = chunk.activationBytes - (isWhole ? 0 : chunk.weightGradientBytes);
        change(begin, end, -gone, chunk.transientBackwardBytes, times.steps);
        live(end, m_activations - gone, 0);
        m_inFlight -= isWhole ? 1 : 0;
        break;
    }
    case BackwardWeight:
        change(begin, end, -chunk.weightGradientBytes, 0, times.steps);
        part(begin, end, SimulatedPart::BackwardWeight);
        m_stage.busy += times.backwardWeightBusy;
        live(end, m_activations - chunk.weightGradientBytes, 0);
        --m_inFlight;
        break;
    }
    m_now = end;
}

void ScheduleSimulation::StageReader::passes()
{
    const std::span<const Pass> passes = m_pipeline.of(m_index);
    if (m_detailed) {
        m_stage.intervals.reserve(passes.size() * 3);
        m_stage.memory.reserve(passes.size() * 2 + 2);
        m_stage.sent.reserve(passes.size());
    }
    interval(0, m_now, SimulatedPart::Fixed);
    for (const Pass& pass : passes) {
        const bool isFirst = &pass == passes.data();
        if (pass.received != kNoNode) wait(pass, isFirst);
        if (isFirst) m_stage.firstForward = m_now;
        perform(pass);
        m_stage.lastBackward = m_now;
        if (pass.sent != kNoNode) send(pass);
    }
}

void ScheduleSimulation::StageReader::finish(double allReduced)
{
    const auto at = static_cast<std::size_t>(m_index);
    const double reduced = endOf(m_of.m_graph.reductions[at]), met = allReduced + m_cost.unevenSeconds;
    const double agreed = met + m_cost.agreementSeconds;
    m_stage.end = endOf(m_of.m_graph.optimizers[at]);
    interval(m_now, reduced, SimulatedPart::GradientSync);
    interval(reduced, met, SimulatedPart::OptimizerWait);
    interval(met, agreed, SimulatedPart::Agreement);
    interval(agreed, m_stage.end, SimulatedPart::Optimizer);
    const MemoryTerms& memory = m_cost.stages[at].memory;
    m_stage.peakBytes = memory.weights + memory.gradients + memory.optimizer + memory.communication + memory.library +
                        memory.context + memory.slack + m_stage.peakActivations + m_stage.peakTransient;
}

Result<ScheduleSimulation::Graph> ScheduleSimulation::graphOf(const PipelineShape& shape, bool blocking)
{
    Graph graph;
    FOURWALLS_TRY_ASSIGN(graph.pipeline, pipelineGraph(shape, blocking));
    WorkGraph& work = graph.pipeline.work;
    auto time = static_cast<std::uint32_t>(PipelineGraph::times(shape));
    const auto add = [&] {
        graph.pipeline.timeOf.push_back(time++);
        return work.add();
    };
    for (int stage = 0; stage < shape.stages; ++stage) {
        graph.reductions.push_back(add());
        work.waitFor(graph.pipeline.lastOf(stage));
    }
    const NodeIndex agreement = add();
    for (const NodeIndex reduction : graph.reductions) work.waitFor(reduction);
    for (int stage = 0; stage < shape.stages; ++stage) {
        graph.optimizers.push_back(add());
        work.waitFor(agreement);
    }
    return graph;
}

void ScheduleSimulation::price(const StepCost& cost)
{
    m_kinds.clear();
    for (const ChunkCost& chunk : cost.kinds) {
        m_kinds.push_back({chunk.forward.seconds(), chunk.recompute.seconds(), chunk.backwardInput.seconds(),
                           chunk.backwardWeight.seconds(), busySeconds(chunk.forward),
                           busySeconds(chunk.recompute) + busySeconds(chunk.backwardInput),
                           busySeconds(chunk.backwardWeight),
                           chunk.activationBytes > 0 ? activationSteps(cost.shape, chunk) : 1});
    }
    m_seconds.assign(PipelineGraph::times(cost.shape), 0);
    m_seconds[PipelineGraph::timeOfBegin()] = cost.fixedSeconds;
    for (int position = 0; position < cost.shape.positions(); ++position) {
        const KindTimes& times = m_kinds[cost.kindOfPosition[static_cast<std::size_t>(position)]];
        const auto of = [&](PipelinePass pass) -> double& {
            return m_seconds[PipelineGraph::timeOfPass(position, pass)];
        };
        of(Forward) = times.forward;
        of(BackwardInput) = times.recompute + times.backwardInput;
        of(BackwardWeight) = times.backwardWeight;
        of(Backward) = of(BackwardInput) + times.backwardWeight;
        if (position + 1 < cost.shape.positions())
            m_seconds[PipelineGraph::timeOfMessage(position)] =
                cost.boundaries[static_cast<std::size_t>(position)].seconds;
    }
    for (const StageCost& stage : cost.stages) m_seconds.push_back(stage.gradientCommExposed);
    m_seconds.push_back(cost.unevenSeconds + cost.agreementSeconds);
    for (const StageCost& stage : cost.stages) m_seconds.push_back(stage.optimizerSeconds);
}

SimulatedStep ScheduleSimulation::read(const StepCost& cost, bool detailed) const
{
    SimulatedStep step;
    step.stages.resize(static_cast<std::size_t>(cost.shape.stages));
    std::vector<StageReader> readers;
    readers.reserve(step.stages.size());
    double allReduced = 0;
    for (SimulatedStage& stage : step.stages) {
        StageReader& reader = readers.emplace_back(cost, *this, static_cast<int>(readers.size()), detailed, stage);
        reader.passes();
        const bool isFirst = readers.size() == 1;
        step.windowBegin = isFirst ? stage.firstForward : std::min(step.windowBegin, stage.firstForward);
        step.windowEnd = std::max(step.windowEnd, stage.lastBackward);
        allReduced = std::max(allReduced, m_end[m_graph.reductions[readers.size() - 1]]);
    }
    for (std::size_t s = 0; s < step.stages.size(); ++s) {
        SimulatedStage& stage = step.stages[s];
        // As far as the other stages still work, this is busy time inside the pipeline's window.
        stage.busy += std::clamp(step.windowEnd - m_end[m_graph.pipeline.lastOf(static_cast<int>(s))], 0.0,
                                 cost.stages[s].gradientCommExposed);
        readers[s].finish(allReduced);
        step.seconds = std::max(step.seconds, stage.end);
    }
    return step;
}

Result<SimulatedStep> ScheduleSimulation::run(const StepCost& cost, bool detailed)
{
    FOURWALLS_TRY(checkPipeline(cost.shape));
    FOURWALLS_TRY(checkCost(cost));
    const PipelineGraph& pipeline = m_graph.pipeline;
    if (pipeline.passes.empty() || pipeline.shape != cost.shape || pipeline.blocking != cost.blockingTransfers) {
        FOURWALLS_TRY_ASSIGN(m_graph, graphOf(cost.shape, cost.blockingTransfers));
    }
    price(cost);
    const double* const seconds = m_seconds.data();
    const std::uint32_t* const timeOf = pipeline.timeOf.data();
    simulateWork(pipeline.work, m_end, [=](std::size_t node) { return seconds[timeOf[node]]; });
    return read(cost, detailed);
}

Result<SimulatedStep> simulateSchedule(const StepCost& cost, bool detailed)
{
    return ScheduleSimulation().run(cost, detailed);
}

Result<SimulatedStep> CostModel::simulate(const StepCost& cost, bool detailed)
{
    constexpr double kMostKept = 1e6; // passes; 100 MB
    const double passes = 3.0 * cost.shape.stages * cost.shape.chunks * cost.shape.microbatches;
    if (passes > kMostKept) return simulateSchedule(cost, detailed);
    if (!m_simulation) m_simulation = std::make_shared<ScheduleSimulation>();
    return m_simulation->run(cost, detailed);
}

} // namespace fourwalls::cost
