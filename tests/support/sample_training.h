// SPDX-License-Identifier: Apache-2.0
// A small training run with the classic memory curve (climb through forward, peak as backward begins, release,
// resident part) for tests of the memory and step views: every figure can be worked out by hand.
#pragma once

#include "model/trace/in_memory_query.h"
#include "model/trace/in_memory_trace.h"

#include <memory>
#include <string>
#include <vector>

namespace fourwalls::sample {

struct TrainingShape {
    int layers = 16;
    int steps = 3;                              ///< the first is a warm-up step
    std::int64_t weightBytes = 6'000'000;       ///< per layer; gradient and momentum are as large
    std::int64_t activationBytes = 190'000'000; ///< of the first layer; they shrink by a sixteenth per layer
    std::int64_t workspaceBytes = 90'000'000;   ///< of every operator, only while it runs
    std::int64_t capacity = 16'000'000'000;
    bool allocations = true;
    bool reserved = false;
    bool phases = true;
    int ranks = 1;
    Duration operatorTime{1'000'000};
};

inline std::int64_t activationOf(const TrainingShape& shape, int layer)
{
    return shape.activationBytes - shape.activationBytes / 16 * (layer % 16);
}

/// Records one rank; time runs in whole operators.
class Writer {
public:
    Writer(InMemoryTrace& trace, const TrainingShape& shape, RankId rank)
        : m_trace(trace)
        , m_shape(shape)
        , m_rank(rank)
        , m_producer(trace.openProducer())
    {
        m_steps = trace.defineTrack({rank, TrackKind::Steps, "steps", 0});
        m_phases = trace.defineTrack({rank, TrackKind::Phases, "phases", 1});
        m_operators = trace.defineTrack({rank, TrackKind::Operators, "operators", 2});
        if (shape.reserved) m_reserved = trace.defineCounter({rank, "reserved_bytes", CounterUnit::Bytes});
    }

    void run()
    {
        const OpId setup = op("initialise", Phase::Setup, std::nullopt);
        for (int layer = 0; layer < m_shape.layers; ++layer) make(m_shape.weightBytes, MemoryCategory::Weights, setup);
        m_now = m_now + m_shape.operatorTime;
        for (int step = 0; step < m_shape.steps; ++step) runStep(step);
    }

private:
    OpId op(const std::string& name, Phase phase, std::optional<int> layer, SliceKind kind = SliceKind::Operator,
            Activity activity = Activity::Compute)
    {
        OpInfo info;
        info.name = name;
        info.kind = kind;
        info.phase = phase;
        info.activity = activity;
        if (layer) info.layer = LayerIndex(*layer);
        return m_trace.defineOp(info);
    }

    AllocationId make(std::int64_t bytes, MemoryCategory category, OpId by)
    {
        const AllocationId id(m_next++);
        if (m_shape.allocations) {
            m_producer->allocated(m_rank,
                                  {id, m_now, bytes, 4096 + id.value * 1'000'000'000, category, by, std::nullopt});
        }
        m_live += bytes;
        if (m_reserved) m_producer->counter({*m_reserved, m_now, static_cast<double>(m_live) * 1.1});
        return id;
    }

    void release(AllocationId id, std::int64_t bytes)
    {
        if (m_shape.allocations) m_producer->freed(m_rank, id, m_now);
        m_live -= bytes;
    }

    void operate(OpId id)
    {
        const AllocationId workspace = make(m_shape.workspaceBytes, MemoryCategory::Workspace, id);
        m_producer->slice({m_operators, id, m_now, m_shape.operatorTime, std::nullopt, std::nullopt});
        m_now = m_now + m_shape.operatorTime;
        release(workspace, m_shape.workspaceBytes);
    }

    void phase(const char* name, Phase which, Instant begin)
    {
        if (!m_shape.phases) return;
        m_producer->slice({m_phases, op(name, which, std::nullopt, SliceKind::Phase, Activity::None), begin,
                           m_now - begin, std::nullopt, std::nullopt});
    }

    void runStep(int step)
    {
        const Instant begin = m_now;
        std::vector<AllocationId> outputs;
        for (int layer = 0; layer < m_shape.layers; ++layer) {
            const OpId id = op("conv", Phase::Forward, layer);
            outputs.push_back(make(activationOf(m_shape, layer), MemoryCategory::Activations, id));
            operate(id);
        }
        phase("forward", Phase::Forward, begin);
        const Instant backward = m_now;
        for (int layer = m_shape.layers - 1; layer >= 0; --layer) {
            const OpId id = op("conv backward", Phase::BackwardInput, layer);
            if (step == 0) make(m_shape.weightBytes, MemoryCategory::Gradients, id);
            const std::int64_t gradient = activationOf(m_shape, layer) / 2;
            const AllocationId temporary = make(gradient, MemoryCategory::Temporaries, id);
            operate(id);
            release(temporary, gradient);
            release(outputs[static_cast<std::size_t>(layer)], activationOf(m_shape, layer));
        }
        phase("backward", Phase::BackwardInput, backward);
        const Instant optimizer = m_now;
        for (int layer = 0; layer < m_shape.layers; ++layer) {
            const OpId id = op("sgd", Phase::Optimizer, layer);
            if (step == 0) make(m_shape.weightBytes, MemoryCategory::OptimizerState, id);
            if (layer % 4 == 0) operate(id);
        }
        phase("optimizer", Phase::Optimizer, optimizer);
        m_producer->slice({m_steps, op("step", Phase::None, std::nullopt, SliceKind::Step, Activity::None), begin,
                           m_now - begin, std::nullopt, std::nullopt});
        StepRecord record;
        record.step = StepIndex(step);
        record.range = {begin, m_now};
        record.loss = 2.4 - 0.1 * step;
        record.learningRate = 1e-3 * (step + 1);
        record.gradientNorm = 1.5 + 0.25 * step;
        record.samples = 32;
        record.tokens = 32 * 256;
        if (step == 0) record.state = StepState::Warmup;
        m_producer->step(m_rank, record);
        m_now = m_now + m_shape.operatorTime;
    }

    InMemoryTrace& m_trace;
    TrainingShape m_shape;
    RankId m_rank;
    std::unique_ptr<TraceProducer> m_producer;
    TrackId m_steps, m_phases, m_operators;
    std::optional<CounterId> m_reserved;
    std::int64_t m_next = 1;
    std::int64_t m_live = 0;
    Instant m_now;
};

inline std::shared_ptr<const InMemoryTraceData> training(const TrainingShape& shape = {})
{
    TraceHeader header;
    header.producer = "sample";
    for (int rank = 0; rank < shape.ranks; ++rank) {
        RankInfo info;
        info.rank = RankId(rank);
        info.device = "sample device";
        info.memoryBytes = shape.capacity;
        header.ranks.push_back(info);
    }
    InMemoryTrace trace(header);
    for (int rank = 0; rank < shape.ranks; ++rank) Writer(trace, shape, RankId(rank)).run();
    const Status status = trace.finish({});
    return status.ok() ? trace.data() : nullptr;
}

/// Opens the sample as a TraceSession does.
inline Result<std::unique_ptr<TraceQuery>> open(const TrainingShape& shape)
{
    return std::unique_ptr<TraceQuery>(std::make_unique<InMemoryTraceQuery>(training(shape)));
}

} // namespace fourwalls::sample
