// SPDX-License-Identifier: Apache-2.0
// See trainer.h.
#include "profiler/engine/train/trainer.h"

#include "profiler/engine/core/host_access.h"
#include "profiler/engine/nn/maximal_update.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <string>

namespace fourwalls::engine {

Result<std::unique_ptr<Trainer>> Trainer::create(RankContext& rank, const RunSpec& spec)
{
    RankContext describing = rank;
    describing.describeOnly = true;
    auto network = makeNetwork(describing, spec);
    if (!network) return network.error();
    std::unique_ptr<Trainer> trainer(new Trainer(rank, spec, std::move(*network)));
    FOURWALLS_TRY(trainer->setUp());
    return trainer;
}

Trainer::Trainer(RankContext& rank, const RunSpec& spec, Network network)
    : m_rank(rank)
    , m_spec(spec)
    , m_network(std::move(network))
    , m_steps(rank.recorder, spec.training, "images")
{
    Recorder& r = rank.recorder;
    rank.inPlace = spec.plan.inPlace;
    if (const TransformerSpec* transformer = spec.model.transformer();
        transformer && spec.training.device != DeviceKind::Cuda)
        m_layers = transformer->layers;
    m_evaluation = r.defineCounter("evaluation_loss", CounterUnit::None, false);
    m_noiseScale = r.defineCounter("gradient_noise_scale", CounterUnit::None, false);
}

Trainer::~Trainer()
{
    m_rank.offloaded = nullptr;
}

Status Trainer::setUp()
{
    const ParallelPlan& plan = m_spec.plan;
    if (plan.offloadOptimizer || plan.offloadActivations || plan.offloadParameters)
        m_host = std::make_unique<HostPool>(m_rank.recorder, m_rank.allocator, m_spec.cluster.device.hostBytesPerSecond,
                                            plan.overlap);
    if (plan.offloadActivations) m_rank.offloaded = m_host.get();
    std::vector<ParameterList*> lists;
    std::vector<TrainingModel*> chunks;
    for (const auto& chunk : m_network.chunks) {
        applyMaximalUpdate(chunk->parameters(), m_spec);
        lists.push_back(&chunk->parameters());
        chunks.push_back(chunk.get());
    }
    m_store =
        std::make_unique<ParameterStore>(m_rank, std::move(lists), plan.offloadParameters ? m_host.get() : nullptr);
    FOURWALLS_TRY_ASSIGN(m_executor, PipelineExecutor::create(m_rank, m_spec.plan, std::move(chunks), *m_store));
    m_optimizer = std::make_unique<ParameterOptimizer>(m_rank, m_store->pieces(), m_spec.training,
                                                       UpdateOptions{plan.fuse, m_host.get(), plan.offloadOptimizer});
    return {};
}

double Trainer::accumulateGradients(std::int64_t index)
{
    const std::int64_t number = batchOf(index, m_skipped);
    const ParallelPlan& plan = m_spec.plan;
    const std::int64_t batch = m_spec.training.batch, micro = batch / plan.dp / plan.microbatches;
    const std::int64_t own = indexIn(m_rank.groups ? m_rank.groups->data.get() : nullptr);
    // Every micro-batch counts alike, however long its sequences are.
    const double share = 1.0 / (static_cast<double>(plan.microbatches) *
                                sizeOf(m_rank.groups ? m_rank.groups->gradient.get() : nullptr));
    // Micro-batch m of all ranks together is micro-batch m of one rank.
    const RankDisturbance& disturbance = m_rank.recorder.disturbance();
    const double sum = m_executor->run(share, [&](int m, bool read) {
        const std::int64_t length = disturbance.sequence(number, m).value_or(m_spec.training.sequence);
        const std::int64_t first = (m * plan.dp + own) * micro;
        return read ? loadBatch(number, first, micro, length) : unreadBatch(number, first, micro, length);
    });
    m_store->finishGradients();
    return share * sum;
}

double Trainer::evaluate(std::int64_t batches)
{
    const Scope phase(m_rank.recorder, SliceKind::Phase, "evaluation", Phase::Evaluation);
    const ParallelPlan& plan = m_spec.plan;
    const std::int64_t batch = m_spec.training.batch, own = batch / plan.dp, micro = own / plan.microbatches;
    const std::int64_t first = own * indexIn(m_rank.groups ? m_rank.groups->data.get() : nullptr);
    const double share = 1.0 / (static_cast<double>(plan.microbatches * batches) *
                                sizeOf(m_rank.groups ? m_rank.groups->gradient.get() : nullptr));
    double loss = 0;
    for (std::int64_t i = 0; i < batches; ++i) {
        // Samples are numbered on: those after the last step's are new.
        const std::int64_t index = m_spec.training.steps + static_cast<std::int64_t>(m_skipped.size()) + i;
        const std::int64_t length = m_spec.training.sequence;
        loss += share * m_executor->evaluate(plan.microbatches, [&](int m, bool read) {
            return read ? loadBatch(index, first + m * micro, micro, length)
                        : unreadBatch(index, first + m * micro, micro, length);
        });
    }
    m_store->afterEvaluation();
    if (m_rank.groups) {
        const Tensor sum = Tensor::make(m_rank.allocator, {1}, DType::F64, MemoryCategory::CommBuffers);
        sum.as<double>()[0] = m_rank.groups->tensor->index() == 0 ? loss : 0.0;
        m_rank.groups->world->allReduce(sum);
        loss = sum.as<double>()[0];
    }
    Recorder& r = m_rank.recorder;
    if (r.rank().value == 0 && std::isfinite(loss)) r.counter(m_evaluation, r.now(), loss);
    return loss;
}

void Trainer::probeNoise(std::int64_t probe, std::int64_t batches)
{
    // Far behind the samples of training and evaluation.
    constexpr std::int64_t kFirstNoiseBatch = std::int64_t{1} << 30;
    const Scope phase(m_rank.recorder, SliceKind::Phase, "gradient noise", Phase::Evaluation);
    m_noise.batch = m_spec.training.batch;
    m_noise.batches = batches;
    const std::vector<ParameterPiece>& pieces = m_store->pieces();
    std::vector<Tensor> sums, counted;
    for (const ParameterPiece& piece : pieces) {
        sums.push_back(
            Tensor::make(m_rank.allocator, piece.gradient.shape(), piece.gradient.type(), MemoryCategory::Temporaries));
        m_rank.device.zero(sums.back());
        if (piece.counts) counted.push_back(sums.back());
    }
    double small = 0;
    m_rank.probing = true;
    for (std::int64_t i = 0; i < batches; ++i) {
        accumulateGradients(kFirstNoiseBatch + probe * batches + i);
        small += m_optimizer->gradientSquares(m_rank) / static_cast<double>(batches);
        for (std::size_t p = 0; p < pieces.size(); ++p)
            if (!pieces[p].parameter->gradientEmpty) m_rank.device.add(sums[p], pieces[p].gradient, sums[p]);
        m_store->afterEvaluation(); // the next step begins with empty gradients
    }
    m_rank.probing = false;
    double large = m_rank.device.sumOfSquares(counted) / static_cast<double>(batches * batches);
    if (m_rank.groups) {
        const Tensor both = Tensor::make(m_rank.allocator, {2}, DType::F64, MemoryCategory::CommBuffers);
        both.as<double>()[0] = small;
        both.as<double>()[1] = large;
        m_rank.groups->world->allReduce(both);
        small = both.as<double>()[0];
        large = both.as<double>()[1];
    }
    m_noise.add(small, large);
    Recorder& r = m_rank.recorder;
    const std::optional<double> scale = m_noise.noiseScale();
    if (r.rank().value == 0 && scale) r.counter(m_noiseScale, r.now(), *scale);
}

Status Trainer::saveWeights(const std::string& directory)
{
    m_store->showHome(true);
    const Status status = saveCheckpoint(m_rank, m_spec, directory, *m_store, m_network.chunks);
    m_store->showHome(false);
    return status;
}

Status Trainer::loadWeights(const std::string& directory)
{
    FOURWALLS_TRY(loadCheckpoint(m_rank, directory, *m_store, m_network.chunks));
    m_optimizer->weightsChanged(m_rank);
    return {};
}

Result<StateFiles> Trainer::gatherState(std::int64_t step)
{
    m_store->showHome(true);
    auto files =
        engine::gatherState(m_rank, m_spec, step, m_skipped, *m_store, m_optimizer->states(), m_network.chunks);
    m_store->showHome(false);
    return files;
}

StateFiles Trainer::copyShard(std::int64_t step, const std::string& folder)
{
    m_store->showHome(true);
    StateFiles files =
        engine::copyShard(m_rank, step, m_skipped, folder, *m_store, m_optimizer->states(), m_network.chunks);
    m_store->showHome(false);
    return files;
}

Status Trainer::loadState(const SavedState& saved)
{
    FOURWALLS_TRY(engine::loadState(m_rank, saved, *m_store, m_optimizer->states(), m_network.chunks));
    m_optimizer->weightsChanged(m_rank);
    return {};
}

void Trainer::setRateFactor(double factor)
{
    m_rateFactor = factor;
    m_optimizer->setRateFactor(factor);
}

void Trainer::flipWeight(RankId who)
{
    // A weight of common size, in f32: the bit makes it larger by 2^128.
    constexpr double kSmall = 1e-12, kLarge = 1;
    constexpr std::uint32_t kBit = 1u << 30;
    if (m_rank.recorder.rank() == who)
        for (const ParameterPiece& piece : m_store->pieces()) {
            const HostAccess weights(piece.weight, HostAccess::Mode::ReadWrite);
            const std::int64_t count = piece.weight.elements();
            std::int64_t at = count / 2;
            const auto isCommon = [&] {
                const double size = std::abs(weights.get(at));
                return size > kSmall && size < kLarge;
            };
            while (at < count && !isCommon()) ++at;
            if (at >= count) continue;
            weights.set(at,
                        std::bit_cast<float>(std::bit_cast<std::uint32_t>(static_cast<float>(weights.get(at))) ^ kBit));
            break;
        }
    m_store->weightsChanged();
    m_optimizer->weightsChanged(m_rank);
}

std::optional<std::string> Trainer::weightProblem() const
{
    constexpr double kLargest = 1e15; // no network that learns comes near it
    for (const ParameterPiece& piece : m_store->pieces()) {
        const HostAccess weights(piece.weight, HostAccess::Mode::Read);
        for (std::int64_t i = 0; i < piece.weight.elements(); ++i)
            if (!(std::abs(weights.get(i)) <= kLargest))
                return "a weight of " + piece.parameter->name + " is no sound number";
    }
    return std::nullopt;
}

std::int64_t Trainer::savedBytes() const
{
    if (m_rank.recorder.rank().value != 0) return 0;
    std::int64_t elements = parameterCount(m_spec.model);
    for (const auto& chunk : m_network.chunks)
        for (const auto& buffer : chunk->parameters().buffers()) elements += buffer->shape.elements();
    return elements * bytesOf(m_rank.format.master);
}

std::int64_t Trainer::loadedBytes() const
{
    std::int64_t bytes = 0;
    for (const ParameterPiece& piece : m_store->pieces()) bytes += piece.weight.bytes();
    return bytes;
}

Batch Trainer::loadBatch(std::int64_t step, std::int64_t first, std::int64_t count, std::int64_t length)
{
    const Scope scope(m_rank.recorder, SliceKind::DataLoading, "data loading", Phase::DataLoading, -1,
                      count * m_network.data->sampleBytes(length));
    m_rank.recorder.standStill(m_rank.recorder.disturbance().loading());
    return m_network.data->batch(m_rank, step, m_spec.training.batch, first, count, length);
}

Batch Trainer::unreadBatch(std::int64_t step, std::int64_t first, std::int64_t count, std::int64_t length) const
{
    Batch batch{{}, {}, count, length};
    batch.documents = m_network.data->documents(step, m_spec.training.batch, first, count, length);
    return batch;
}

StepProgress Trainer::step(std::int64_t index)
{
    Recorder& r = m_rank.recorder;
    StepProgress progress;
    progress.step = index;
    progress.steps = m_spec.training.steps;
    progress.warmup = r.isWarmup(index, m_spec.training.steps);
    progress.learningRate = learningRateAt(m_spec.training, index) * m_rateFactor;
    const Instant start = r.now();
    r.endRest(start);
    {
        const Scope step(r, SliceKind::Step, "step");
        progress.loss = accumulateGradients(index);
        if (onGradients) onGradients(*this);
        const Scope phase(r, SliceKind::Phase, "optimizer", Phase::Optimizer);
        {
            const Scope op(r, SliceKind::Operator, "gradient norm");
            std::vector<double> squares = m_optimizer->gradientSquaresByLayer(m_rank, m_layers);
            if (m_rank.groups) {
                // The last stage has the loss; ranks that hold the same parts of the sequence and the batch have the
                // same, and one of them tells it.
                const ParallelGroups& groups = *m_rank.groups;
                const auto count = static_cast<std::int64_t>(squares.size());
                const Tensor sums =
                    Tensor::make(m_rank.allocator, {1 + count}, DType::F64, MemoryCategory::CommBuffers);
                sums.as<double>()[0] = groups.tensor->index() == 0 ? progress.loss : 0.0;
                std::copy(squares.begin(), squares.end(), sums.as<double>() + 1);
                groups.world->allReduce(sums);
                progress.loss = sums.as<double>()[0];
                std::copy_n(sums.as<double>() + 1, count, squares.begin());
            }
            progress.gradientNorm = std::sqrt(std::accumulate(squares.begin(), squares.end(), 0.0));
            for (const double each : squares) progress.layerNorms.push_back(std::sqrt(each));
        }
        const Scope op(r, SliceKind::Operator, "update");
        m_optimizer->update(m_rank, progress.gradientNorm, index,
                            [this](std::size_t piece) { m_store->pieceUpdated(piece); });
        m_store->finishUpdate();
    }
    r.settle();
    const Instant end = r.now();
    progress.duration = end - start;
    progress.end = end;
    m_steps.record(progress, start, end);
    return progress;
}

} // namespace fourwalls::engine
