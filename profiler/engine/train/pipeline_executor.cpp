// SPDX-License-Identifier: Apache-2.0
// See pipeline_executor.h.
#include "profiler/engine/train/pipeline_executor.h"

#include <algorithm>

namespace fourwalls::engine {

Result<std::unique_ptr<PipelineExecutor>> PipelineExecutor::create(RankContext& rank, const ParallelPlan& plan,
                                                                   std::vector<TrainingModel*> chunks,
                                                                   ParameterStore& store)
{
    const PipelineShape shape = pipelineShape(plan);
    FOURWALLS_TRY_ASSIGN(const auto actions, pipelineActions(shape));
    return std::unique_ptr<PipelineExecutor>(new PipelineExecutor(rank, shape, std::move(chunks), store, actions));
}

PipelineExecutor::PipelineExecutor(RankContext& rank, const PipelineShape& shape, std::vector<TrainingModel*> chunks,
                                   ParameterStore& store, const std::vector<std::vector<PipelineAction>>& actions)
    : m_rank(rank)
    , m_shape(shape)
    , m_stage(indexIn(rank.groups ? rank.groups->pipeline.get() : nullptr))
    , m_chunks(std::move(chunks))
    , m_store(store)
    , m_actions(actions[static_cast<std::size_t>(m_stage)])
    , m_incoming(actions.size())
{
    for (int from = 0; from < shape.stages; ++from)
        for (const PipelineAction& action : actions[static_cast<std::size_t>(from)]) {
            const auto given = shape.gives(from, action);
            if (given && given->toStage == m_stage && !given->isLocal())
                m_incoming[static_cast<std::size_t>(from)].order.push_back(*given);
        }
}

double PipelineExecutor::run(double lossScale, const Loader& load)
{
    m_load = load;
    m_lossScale = lossScale;
    m_lossSum = 0;
    for (Incoming& incoming : m_incoming) incoming.next = 0;
    m_store.beginStep(m_shape.microbatches);
    for (const PipelineAction& action : m_actions) {
        m_rank.recorder.setMicrobatch(Microbatch{action.microbatch});
        switch (action.pass) {
        case PipelinePass::Forward: forward(action); break;
        case PipelinePass::Backward:
        case PipelinePass::BackwardInput: backward(action); break;
        case PipelinePass::BackwardWeight: backwardWeight(action); break;
        }
    }
    m_rank.recorder.setMicrobatch(std::nullopt);
    m_batches.clear();
    flush();
    return m_lossSum;
}

// Nobody goes on before every stage is through: so the end of the pipeline shows as waiting in the pipeline, not as
// waiting in whatever collective comes next.
void PipelineExecutor::flush()
{
    if (m_shape.stages == 1) return;
    Communicator& pipeline = *m_rank.groups->pipeline;
    const Tensor token = Tensor::make(m_rank.allocator, {1}, DType::I32, MemoryCategory::CommBuffers);
    token.as<std::int32_t>()[0] = m_stage;
    for (int stage = 0; stage < m_shape.stages; ++stage)
        if (stage != m_stage) pipeline.send(token, stage);
    for (int stage = 0; stage < m_shape.stages; ++stage)
        if (stage != m_stage) pipeline.receive(token, stage);
}

double PipelineExecutor::evaluate(int microbatches, const Loader& load)
{
    m_load = load;
    m_lossSum = 0;
    m_rank.evaluating = true;
    for (std::int32_t m = 0; m < microbatches; ++m) {
        m_rank.recorder.setMicrobatch(Microbatch{m});
        for (std::int32_t chunk = 0; chunk < m_shape.chunks; ++chunk) {
            const PipelineAction action{PipelinePass::Forward, m, chunk};
            const Batch& batch = batchFor(action);
            TrainingModel& model = *m_chunks[static_cast<std::size_t>(chunk)];
            Tensor input;
            if (const auto need = m_shape.needs(m_stage, action))
                input = need->isLocal() ? take(*need) : receive(*need);
            const auto state = model.forward(m_rank, batch, input);
            if (isLast(chunk)) m_lossSum += model.evaluate(m_rank, batch, *state);
            if (const auto given = m_shape.gives(m_stage, action)) give(*given, state->output);
        }
        m_batches.clear();
    }
    m_rank.evaluating = false;
    m_rank.recorder.setMicrobatch(std::nullopt);
    return m_lossSum;
}

// Of what a chunk sends or takes in.
Phase PipelineExecutor::phaseOf(const PipelineTransfer& transfer) const
{
    if (m_rank.evaluating) return Phase::Evaluation;
    return transfer.tensor == PipelineTensor::Activation ? Phase::Forward : Phase::BackwardInput;
}

const Batch& PipelineExecutor::batchFor(const PipelineAction& action)
{
    const auto found = m_batches.find(action.microbatch);
    if (found != m_batches.end()) return found->second;
    const int last = m_shape.positions() - 1;
    const bool read = m_shape.stageOf(0) == m_stage || m_shape.stageOf(last) == m_stage;
    return m_batches.emplace(action.microbatch, m_load(action.microbatch, read)).first->second;
}

Tensor PipelineExecutor::take(const PipelineTransfer& transfer)
{
    if (!transfer.isLocal()) {
        Incoming& incoming = m_incoming[static_cast<std::size_t>(transfer.fromStage)];
        while (!m_arrived.count(arrivedKey(transfer))) {
            const PipelineTransfer& next = incoming.order[incoming.next++];
            m_arrived[arrivedKey(next)] = receive(next);
        }
    }
    return std::move(m_arrived.extract(arrivedKey(transfer)).mapped());
}

Tensor PipelineExecutor::receive(const PipelineTransfer& transfer)
{
    const bool activation = transfer.tensor == PipelineTensor::Activation;
    const auto chunk = static_cast<std::int32_t>(m_shape.chunkOf(transfer.toPosition));
    const PhaseTag tag(m_rank.recorder, phaseOf(transfer));
    const TrainingModel& model = *m_chunks[static_cast<std::size_t>(chunk)];
    Tensor tensor;
    if (activation) // a gradient comes only for what has gone forward here
        tensor = model.makeIncoming(m_rank, model.inputShape(m_rank, m_load(transfer.microbatch, false)),
                                    MemoryCategory::Activations);
    else
        tensor =
            model.makeIncoming(m_rank, m_inFlight.at({transfer.microbatch, chunk}).output, MemoryCategory::Temporaries);
    m_rank.groups->pipeline->receive(tensor, transfer.fromStage);
    return tensor;
}

void PipelineExecutor::give(const PipelineTransfer& transfer, const Tensor& tensor)
{
    if (transfer.isLocal()) {
        m_arrived[arrivedKey(transfer)] = tensor;
        return;
    }
    const PhaseTag tag(m_rank.recorder, phaseOf(transfer));
    m_rank.groups->pipeline->send(tensor, transfer.toStage); // does not wait for the receiver: nothing can deadlock
}

void PipelineExecutor::forward(const PipelineAction& action)
{
    Recorder& r = m_rank.recorder;
    const Batch& batch = batchFor(action);
    TrainingModel& model = *m_chunks[static_cast<std::size_t>(action.chunk)];
    Tensor input;
    if (const auto need = m_shape.needs(m_stage, action)) input = take(*need);
    InFlight& flight = m_inFlight[{action.microbatch, action.chunk}];
    m_mostInFlight = std::max(m_mostInFlight, static_cast<int>(m_inFlight.size()));
    {
        const Scope scope(r, SliceKind::Phase, "forward", Phase::Forward);
        flight.state = model.forward(m_rank, batch, input);
    }
    if (isLast(action.chunk)) {
        const Scope scope(r, SliceKind::Phase, "loss", Phase::Forward);
        m_lossSum += model.loss(m_rank, batch, *flight.state, m_lossScale);
        return;
    }
    flight.output = flight.state->output.shape();
    give(*m_shape.gives(m_stage, action), flight.state->output);
    flight.state->output.reset();
}

void PipelineExecutor::backward(const PipelineAction& action)
{
    Recorder& r = m_rank.recorder;
    TrainingModel& model = *m_chunks[static_cast<std::size_t>(action.chunk)];
    InFlight& flight = m_inFlight.at({action.microbatch, action.chunk});
    Tensor dOutput;
    if (const auto need = m_shape.needs(m_stage, action)) dOutput = take(*need);
    const bool split = action.pass == PipelinePass::BackwardInput;
    Tensor dInput;
    {
        const Scope scope(r, SliceKind::Phase, split ? "backward input" : "backward", Phase::BackwardInput);
        m_rank.deferred = split ? &flight.deferred : nullptr;
        dInput = model.backward(m_rank, m_batches.at(action.microbatch), *flight.state, dOutput);
        m_rank.deferred = nullptr;
    }
    if (split)
        flight.state.reset();
    else
        m_inFlight.erase({action.microbatch, action.chunk});
    if (const auto given = m_shape.gives(m_stage, action)) give(*given, dInput);
    // The batch is read up to the backward pass of this rank's chunk that is nearest the input.
    if (action.chunk == 0) m_batches.erase(action.microbatch);
}

void PipelineExecutor::backwardWeight(const PipelineAction& action)
{
    {
        const Scope scope(m_rank.recorder, SliceKind::Phase, "backward weight", Phase::BackwardWeight);
        m_inFlight.at({action.microbatch, action.chunk}).deferred.run(m_rank);
    }
    m_inFlight.erase({action.microbatch, action.chunk});
    if (action.microbatch + 1 == m_shape.microbatches) m_store.completeChunk(action.chunk);
}

} // namespace fourwalls::engine
