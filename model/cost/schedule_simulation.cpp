// SPDX-License-Identifier: Apache-2.0
// The simulation. Stages run their lists as far as what they need has arrived; a stage that has to wait is looked at
// again when the neighbour's tensor is sent, so that every action is touched once or twice.
#include "model/cost/schedule_simulation.h"

#include "model/cost/stage_memory.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

namespace fourwalls::cost {

namespace {

using enum PipelinePass;

/// The part of a pass in which the device works or talks; launches that it waits for are not.
double busySeconds(const PassCost& pass)
{
    return pass.seconds() - pass.parts[CostPart::Host];
}

/// What the simulation needs of a position, summed up once.
struct PositionTimes {
    double forward, recompute, backwardInput, backwardWeight;
    double forwardBusy, backwardInputBusy, backwardWeightBusy; ///< recomputation counted with the input gradient

    int steps = 1; ///< in which activations climb and fall

    PositionTimes(const PipelineShape& shape, const ChunkCost& chunk)
        : forward(chunk.forward.seconds())
        , recompute(chunk.recompute.seconds())
        , backwardInput(chunk.backwardInput.seconds())
        , backwardWeight(chunk.backwardWeight.seconds())
        , forwardBusy(busySeconds(chunk.forward))
        , backwardInputBusy(busySeconds(chunk.recompute) + busySeconds(chunk.backwardInput))
        , backwardWeightBusy(busySeconds(chunk.backwardWeight))
    {
        if (chunk.activationBytes > 0) steps = activationSteps(shape, chunk);
    }
};

constexpr double kNotSent = -1;

class Simulation {
public:
    Simulation(const StepCost& cost, const PipelineLists& lists, bool detailed);
    SimulatedStep run();

private:
    struct Stage {
        std::size_t next = 0; ///< action
        double now = 0;
        double activations = 0; ///< live bytes
        std::int32_t inFlight = 0;
        std::array<double, 2> linkFree{}; ///< when the way to the next and to the previous stage is free
        bool queued = false;
    };

    /// Runs a stage until it has to wait or is done.
    void advance(int stage);
    void perform(int stage, const PipelineAction& action);
    void send(int stage, const PipelineTransfer& transfer);
    /// Stands still until a tensor is there. sentAt: when its message began.
    void waitFor(int stage, const PipelineTransfer& transfer, double arrival);
    void interval(int stage, double seconds, SimulatedPart part, const PipelineAction& action, int position,
                  int peer = -1);
    void remember(int stage, double at, double activations, double transient);
    /// In detail, how `bytes` of activations come (at a layer's begin) or, negative, go (at its end) in a pass; what is
    /// there at last is left to `remember`.
    void change(int stage, double begin, double end, double bytes, double transient, int steps);
    void finishStages();

    std::size_t slot(PipelineTensor tensor, int microbatch, int position) const
    {
        const std::size_t tensors = tensor == PipelineTensor::Activation ? 0 : 1;
        const auto positions = static_cast<std::size_t>(m_cost.shape.positions());
        return (tensors * positions + static_cast<std::size_t>(position)) *
                   static_cast<std::size_t>(m_cost.shape.microbatches) +
               static_cast<std::size_t>(microbatch);
    }
    SimulatedStage& result(int stage) { return m_step.stages[static_cast<std::size_t>(stage)]; }

    const StepCost& m_cost;
    const PipelineLists& m_lists;
    bool m_detailed;
    std::vector<PositionTimes> m_kinds;
    std::vector<Stage> m_stages;
    std::vector<double> m_arrivals; ///< by slot
    std::vector<int> m_ready;       ///< stages to look at
    SimulatedStep m_step;
};

Simulation::Simulation(const StepCost& cost, const PipelineLists& lists, bool detailed)
    : m_cost(cost)
    , m_lists(lists)
    , m_detailed(detailed)
{
    for (const ChunkCost& chunk : cost.kinds) m_kinds.emplace_back(cost.shape, chunk);
    const auto stages = static_cast<std::size_t>(cost.shape.stages);
    m_stages.resize(stages);
    m_step.stages.resize(stages);
    m_arrivals.assign(2 * static_cast<std::size_t>(cost.shape.positions()) *
                          static_cast<std::size_t>(cost.shape.microbatches),
                      kNotSent);
}

void Simulation::interval(int stage, double seconds, SimulatedPart part, const PipelineAction& action, int position,
                          int peer)
{
    Stage& state = m_stages[static_cast<std::size_t>(stage)];
    const double start = state.now;
    state.now += seconds;
    if (m_detailed && seconds > 0)
        result(stage).intervals.push_back({start, state.now, position, action.microbatch, part, peer});
}

void Simulation::remember(int stage, double at, double activations, double transient)
{
    SimulatedStage& outcome = result(stage);
    m_stages[static_cast<std::size_t>(stage)].activations = activations;
    if (activations + transient > outcome.peakActivations + outcome.peakTransient) {
        outcome.peakActivations = activations;
        outcome.peakTransient = transient;
        outcome.peakAt = at;
    }
    if (m_detailed) outcome.memory.push_back({at, activations, transient});
}

void Simulation::change(int stage, double begin, double end, double bytes, double transient, int steps)
{
    if (!m_detailed) return;
    const double before = m_stages[static_cast<std::size_t>(stage)].activations;
    const int first = bytes > 0 ? 0 : 1; // at begins or at ends
    for (int i = 1; i < steps; ++i)
        result(stage).memory.push_back(
            {begin + (end - begin) * (first + i - 1) / steps, before + bytes * i / steps, transient});
}

void Simulation::waitFor(int stage, const PipelineTransfer& transfer, double arrival)
{
    Stage& state = m_stages[static_cast<std::size_t>(stage)];
    if (arrival <= state.now) return;
    const bool isLocal = transfer.isLocal();
    const int boundary = std::min(transfer.fromPosition, transfer.toPosition);
    const double length = isLocal ? 0 : m_cost.boundaries[static_cast<std::size_t>(boundary)].seconds;
    const double waiting = std::max(0.0, arrival - length - state.now);
    const double transferring = arrival - state.now - waiting;
    const PipelineAction about{Forward, transfer.microbatch, 0};
    interval(stage, waiting, SimulatedPart::PipelineWait, about, transfer.toPosition, transfer.fromStage);
    interval(stage, transferring, SimulatedPart::Receive, about, transfer.toPosition, transfer.fromStage);
    state.now = arrival;
    if (state.next == 0) return; // before the pipeline reached this stage
    result(stage).wait += waiting;
    result(stage).transfer += transferring;
}

void Simulation::send(int stage, const PipelineTransfer& transfer)
{
    Stage& state = m_stages[static_cast<std::size_t>(stage)];
    double arrival = state.now;
    if (!transfer.isLocal()) {
        const int boundary = std::min(transfer.fromPosition, transfer.toPosition);
        const double seconds = m_cost.boundaries[static_cast<std::size_t>(boundary)].seconds;
        const std::size_t way = transfer.toStage == (stage + 1) % m_cost.shape.stages ? 0 : 1;
        const double start = std::max(state.now, state.linkFree[way]);
        arrival = start + seconds;
        state.linkFree[way] = arrival;
        if (m_detailed) result(stage).sent.push_back({start, arrival, transfer});
        if (m_cost.blockingTransfers) {
            result(stage).transfer += arrival - state.now;
            interval(stage, arrival - state.now, SimulatedPart::Send, {Forward, transfer.microbatch, 0},
                     transfer.fromPosition, transfer.toStage);
        }
    }
    m_arrivals[slot(transfer.tensor, transfer.microbatch, transfer.toPosition)] = arrival;
    Stage& receiver = m_stages[static_cast<std::size_t>(transfer.toStage)];
    if (!receiver.queued) {
        receiver.queued = true;
        m_ready.push_back(transfer.toStage);
    }
}

void Simulation::perform(int stage, const PipelineAction& action)
{
    Stage& state = m_stages[static_cast<std::size_t>(stage)];
    SimulatedStage& outcome = result(stage);
    const int position = m_cost.shape.positionOf(stage, action.chunk);
    const std::size_t kind = m_cost.kindOfPosition[static_cast<std::size_t>(position)];
    const PositionTimes& times = m_kinds[kind];
    const ChunkCost& chunk = m_cost.kinds[kind];
    if (state.next == 0) outcome.firstForward = state.now;
    switch (action.pass) {
    case Forward:
        outcome.mostInFlight = std::max(outcome.mostInFlight, ++state.inFlight);
        change(stage, state.now, state.now + times.forward, chunk.activationBytes, chunk.transientForwardBytes,
               times.steps);
        // All are there from the last layer's begin.
        remember(stage, state.now + times.forward * (times.steps - 1) / times.steps,
                 state.activations + chunk.activationBytes, chunk.transientForwardBytes);
        interval(stage, times.forward, SimulatedPart::Forward, action, position);
        outcome.busy += times.forwardBusy;
        remember(stage, state.now, state.activations, 0);
        break;
    case Backward:
    case BackwardInput: {
        const double begin = state.now;
        remember(stage, state.now, state.activations, chunk.transientBackwardBytes);
        interval(stage, times.recompute, SimulatedPart::Recompute, action, position);
        interval(stage, times.backwardInput, SimulatedPart::BackwardInput, action, position);
        outcome.busy += times.backwardInputBusy;
        if (action.pass == BackwardInput) {
            const double gone = chunk.activationBytes - chunk.weightGradientBytes;
            change(stage, begin, state.now, -gone, chunk.transientBackwardBytes, times.steps);
            remember(stage, state.now, state.activations - gone, 0);
            break;
        }
        interval(stage, times.backwardWeight, SimulatedPart::BackwardWeight, action, position);
        outcome.busy += times.backwardWeightBusy;
        change(stage, begin, state.now, -chunk.activationBytes, chunk.transientBackwardBytes, times.steps);
        remember(stage, state.now, state.activations - chunk.activationBytes, 0);
        --state.inFlight;
        break;
    }
    case BackwardWeight:
        change(stage, state.now, state.now + times.backwardWeight, -chunk.weightGradientBytes, 0, times.steps);
        interval(stage, times.backwardWeight, SimulatedPart::BackwardWeight, action, position);
        outcome.busy += times.backwardWeightBusy;
        remember(stage, state.now, state.activations - chunk.weightGradientBytes, 0);
        --state.inFlight;
        break;
    }
    outcome.lastBackward = state.now;
}

void Simulation::advance(int stage)
{
    Stage& state = m_stages[static_cast<std::size_t>(stage)];
    const std::vector<PipelineAction>& list = m_lists[static_cast<std::size_t>(stage)];
    while (state.next < list.size()) {
        const PipelineAction& action = list[state.next];
        if (const auto needed = m_cost.shape.needs(stage, action)) {
            const double arrival = m_arrivals[slot(needed->tensor, needed->microbatch, needed->toPosition)];
            if (arrival == kNotSent) return;
            waitFor(stage, *needed, arrival);
        }
        perform(stage, action);
        ++state.next;
        if (const auto given = m_cost.shape.gives(stage, action)) send(stage, *given);
    }
}

/// What comes after the passes: the reduction of gradients, the agreement of all stages, the optimizer.
void Simulation::finishStages()
{
    m_step.windowBegin = m_step.stages.front().firstForward;
    for (const SimulatedStage& stage : m_step.stages) {
        m_step.windowBegin = std::min(m_step.windowBegin, stage.firstForward);
        m_step.windowEnd = std::max(m_step.windowEnd, stage.lastBackward);
    }
    const PipelineAction ofTheStep{Forward, -1, 0};
    double allReduced = 0;
    for (int s = 0; s < m_cost.shape.stages; ++s) {
        Stage& state = m_stages[static_cast<std::size_t>(s)];
        SimulatedStage& outcome = result(s);
        const double exposed = m_cost.stages[static_cast<std::size_t>(s)].gradientCommExposed;
        state.now = std::max(state.now, outcome.lastBackward);
        // As far as the other stages still work, this is busy time inside the pipeline's window.
        outcome.busy += std::clamp(m_step.windowEnd - state.now, 0.0, exposed);
        interval(s, exposed, SimulatedPart::GradientSync, ofTheStep, -1);
        allReduced = std::max(allReduced, state.now);
    }
    for (int s = 0; s < m_cost.shape.stages; ++s) {
        Stage& state = m_stages[static_cast<std::size_t>(s)];
        const StageCost& cost = m_cost.stages[static_cast<std::size_t>(s)];
        interval(s, allReduced - state.now, SimulatedPart::OptimizerWait, ofTheStep, -1);
        state.now = allReduced;
        interval(s, m_cost.agreementSeconds, SimulatedPart::Agreement, ofTheStep, -1);
        interval(s, cost.optimizerSeconds, SimulatedPart::Optimizer, ofTheStep, -1);
        SimulatedStage& outcome = result(s);
        outcome.end = state.now;
        outcome.peakBytes = cost.memory.weights + cost.memory.gradients + cost.memory.optimizer +
                            cost.memory.communication + cost.memory.library + cost.memory.context + cost.memory.slack +
                            outcome.peakActivations + outcome.peakTransient;
        m_step.seconds = std::max(m_step.seconds, outcome.end);
    }
}

SimulatedStep Simulation::run()
{
    for (int s = 0; s < m_cost.shape.stages; ++s) {
        Stage& state = m_stages[static_cast<std::size_t>(s)];
        interval(s, m_cost.fixedSeconds, SimulatedPart::Fixed, {Forward, -1, 0}, -1);
        state.queued = true;
        if (m_detailed) {
            const std::size_t actions = m_lists[static_cast<std::size_t>(s)].size();
            result(s).intervals.reserve(actions * 3);
            result(s).memory.reserve(actions * 2 + 2);
            result(s).sent.reserve(actions);
        }
    }
    for (int s = m_cost.shape.stages; s > 0; --s) m_ready.push_back(s - 1);
    while (!m_ready.empty()) {
        const int stage = m_ready.back();
        m_ready.pop_back();
        m_stages[static_cast<std::size_t>(stage)].queued = false;
        advance(stage);
    }
    finishStages();
    return std::move(m_step);
}

Error unusableCost(const char* field, std::string what)
{
    return {ErrorCode::InvalidArgument, std::move(what), field, "a finite time or size that is not negative"};
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
            if (!isTime(pass->seconds()))
                return unusableCost("chunk", "one pass of a micro-batch would take longer than 30 years");
        for (const double bytes : {chunk.activationBytes, chunk.weightGradientBytes, chunk.transientForwardBytes,
                                   chunk.transientBackwardBytes})
            if (!isSane(bytes)) return unusableCost("chunk", "the memory of a pass is " + std::to_string(bytes));
    }
    for (const BoundaryCost& boundary : cost.boundaries)
        if (!isTime(boundary.seconds)) return unusableCost("boundary", "a transfer would take longer than 30 years");
    for (const StageCost& stage : cost.stages)
        if (!isTime(stage.gradientCommExposed) || !isTime(stage.optimizerSeconds))
            return unusableCost("stage", "the work after the last backward has no sensible time");
    if (!isTime(cost.agreementSeconds))
        return unusableCost("agreement", "the agreement of all ranks has no sensible time");
    if (!isTime(cost.fixedSeconds)) return unusableCost("fixed", "the fixed part of a step has no sensible time");
    return {};
}

} // namespace

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

SimulatedStep simulateSchedule(const StepCost& cost, const PipelineLists& lists, bool detailed)
{
    return Simulation(cost, lists, detailed).run();
}

Result<SimulatedStep> simulateSchedule(const StepCost& cost, bool detailed)
{
    FOURWALLS_TRY(checkPipeline(cost.shape));
    FOURWALLS_TRY(checkCost(cost));
    FOURWALLS_TRY_ASSIGN(const PipelineLists lists, pipelineActions(cost.shape));
    return simulateSchedule(cost, lists, detailed);
}

} // namespace fourwalls::cost
