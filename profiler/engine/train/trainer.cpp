// SPDX-License-Identifier: Apache-2.0
// See trainer.h.
#include "profiler/engine/train/trainer.h"

#include <cmath>
#include <string>

namespace fourwalls::engine {

Result<std::unique_ptr<Trainer>> Trainer::create(RankContext& rank, const RunSpec& spec)
{
    auto network = makeNetwork(rank, spec);
    if (!network) return network.error();
    return std::unique_ptr<Trainer>(new Trainer(rank, spec, std::move(*network)));
}

Trainer::Trainer(RankContext& rank, const RunSpec& spec, Network network)
    : m_rank(rank)
    , m_spec(spec)
    , m_network(std::move(network))
    , m_optimizer(rank, m_network.model->parameters(), spec.training)
{
    Recorder& r = rank.recorder;
    m_loss = r.defineCounter("loss", CounterUnit::None, false);
    m_rate = r.defineCounter("lr", CounterUnit::None, false);
    m_norm = r.defineCounter("grad_norm", CounterUnit::None, false);
    m_throughput =
        r.defineCounter(spec.training.sequence > 0 ? "tokens_per_s" : "images_per_s", CounterUnit::PerSecond, false);
}

double Trainer::accumulateGradients(std::int64_t index)
{
    Recorder& r = m_rank.recorder;
    const std::int64_t micro = m_spec.training.batch / m_spec.plan.microbatches;
    const double scale = 1.0 / static_cast<double>(m_spec.plan.microbatches);
    double loss = 0;
    for (int m = 0; m < m_spec.plan.microbatches; ++m) {
        r.setMicrobatch(Microbatch{m});
        Batch batch;
        {
            const Scope scope(r, SliceKind::DataLoading, "data loading", Phase::DataLoading);
            batch = m_network.data->batch(m_rank, index, m_spec.training.batch, m * micro, micro);
        }
        std::unique_ptr<ForwardState> state;
        {
            const Scope scope(r, SliceKind::Phase, "forward", Phase::Forward);
            state = m_network.model->forward(m_rank, batch, {});
        }
        {
            const Scope scope(r, SliceKind::Phase, "loss", Phase::Forward);
            loss += scale * m_network.model->loss(m_rank, batch, *state, scale);
        }
        const Scope scope(r, SliceKind::Phase, "backward", Phase::BackwardInput);
        m_network.model->backward(m_rank, batch, *state, {});
    }
    r.setMicrobatch(std::nullopt);
    return loss;
}

StepProgress Trainer::step(std::int64_t index)
{
    Recorder& r = m_rank.recorder;
    StepProgress progress;
    progress.step = index;
    progress.steps = m_spec.training.steps;
    progress.warmup = index == 0 && m_spec.training.steps >= 3;
    progress.learningRate = learningRateAt(m_spec.training, index);
    const Instant start = r.now();
    {
        const Scope step(r, SliceKind::Step, "step");
        progress.loss = accumulateGradients(index);
        const Scope phase(r, SliceKind::Phase, "optimizer", Phase::Optimizer);
        {
            const Scope op(r, SliceKind::Operator, "gradient norm");
            progress.gradientNorm = m_optimizer.gradientNorm(m_rank);
        }
        const Scope op(r, SliceKind::Operator, "update");
        m_optimizer.update(m_rank, progress.gradientNorm, index);
    }
    const Instant end = r.now();
    progress.duration = end - start;

    const std::int64_t samples = m_spec.training.batch;
    const std::int64_t tokens = samples * m_spec.training.sequence;
    // A run that has diverged goes on, but says so: what is not a number is unknown, not zero.
    const bool sound = std::isfinite(progress.loss) && std::isfinite(progress.gradientNorm);
    if (!sound)
        r.event(EventKind::LossSpike, "loss or gradient norm is not a finite number in step " + std::to_string(index));
    if (sound) {
        r.counter(m_loss, end, progress.loss);
        r.counter(m_norm, end, progress.gradientNorm);
    }
    r.counter(m_rate, end, progress.learningRate);
    r.counter(m_throughput, end, static_cast<double>(tokens > 0 ? tokens : samples) / progress.duration.seconds());
    StepRecord record;
    record.step = StepIndex{static_cast<std::int32_t>(index)};
    record.range = {start, end};
    if (std::isfinite(progress.loss)) record.loss = progress.loss;
    record.learningRate = progress.learningRate;
    if (std::isfinite(progress.gradientNorm)) record.gradientNorm = progress.gradientNorm;
    record.samples = samples;
    record.tokens = tokens;
    record.warmup = progress.warmup;
    r.step(record);
    return progress;
}

} // namespace fourwalls::engine
