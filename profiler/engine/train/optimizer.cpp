// SPDX-License-Identifier: Apache-2.0
// See optimizer.h.
#include "profiler/engine/train/optimizer.h"

#include "profiler/engine/device/update_operators.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <utility>

namespace fourwalls::engine {

double learningRateAt(const TrainingSettings& settings, std::int64_t step)
{
    constexpr double floorShare = 0.1;
    const double total = static_cast<double>(settings.steps);
    const double warmup =
        settings.warmupFraction > 0 ? std::max(1.0, std::round(settings.warmupFraction * total)) : 0.0;
    const double s = static_cast<double>(step);
    if (s < warmup) return settings.learningRate * (s + 1.0) / warmup;
    const double span = std::max(1.0, total - 1.0 - warmup);
    const double progress = std::min(1.0, (s - warmup) / span);
    return settings.learningRate *
           (floorShare + (1.0 - floorShare) * 0.5 * (1.0 + std::cos(std::numbers::pi * progress)));
}

ParameterOptimizer::ParameterOptimizer(RankContext& rank, const std::vector<ParameterPiece>& pieces,
                                       const TrainingSettings& settings, const UpdateOptions& options)
    : m_settings(settings)
    , m_options(options)
    , m_pieces(pieces)
{
    const MemoryCategory category = MemoryCategory::OptimizerState;
    for (const ParameterPiece& piece : m_pieces) {
        const Shape shape = piece.gradient.shape();
        const auto state = [&] {
            Tensor t = options.offloadState ? options.host->make(shape, rank.format.master, category)
                                            : Tensor::make(rank.allocator, shape, rank.format.master, category);
            rank.device.zero(t);
            return t;
        };
        m_first.push_back(state());
        if (settings.optimizer == Optimizer::AdamW) m_second.push_back(state());
        if (!options.offloadState || piece.onHost) continue;
        m_hostWeights.resize(m_pieces.size());
        m_hostCompute.resize(m_pieces.size());
        const std::size_t i = m_first.size() - 1;
        m_hostWeights[i] = options.host->make(shape, rank.format.master, category);
        if (piece.compute.defined()) m_hostCompute[i] = options.host->make(shape, piece.compute.type(), category);
    }
    weightsChanged(rank);
}

ParameterOptimizer::ParameterOptimizer(RankContext& rank, ParameterList& parameters, const TrainingSettings& settings)
    : ParameterOptimizer(rank, wholePieces(parameters), settings)
{}

std::vector<std::pair<std::string, std::vector<ParameterPiece>>> ParameterOptimizer::states() const
{
    std::vector<std::pair<std::string, std::vector<ParameterPiece>>> all;
    const auto add = [&](const char* name, const std::vector<Tensor>& tensors) {
        std::vector<ParameterPiece> pieces = m_pieces;
        for (std::size_t i = 0; i < pieces.size(); ++i) {
            pieces[i].weight = tensors[i];
            pieces[i].compute = {};
        }
        all.emplace_back(name, std::move(pieces));
    };
    add(m_second.empty() ? "momentum_buffer" : "exp_avg", m_first);
    if (!m_second.empty()) add("exp_avg_sq", m_second);
    return all;
}

void ParameterOptimizer::weightsChanged(RankContext& rank)
{
    for (std::size_t i = 0; i < m_hostWeights.size(); ++i)
        if (m_hostWeights[i].defined()) rank.device.convert(m_pieces[i].weight, m_hostWeights[i]);
}

double ParameterOptimizer::gradientSquares(RankContext& rank) const
{
    std::vector<Tensor> gradients;
    for (const ParameterPiece& piece : m_pieces)
        if (piece.counts && !piece.parameter->gradientEmpty) gradients.push_back(piece.gradient);
    return rank.device.sumOfSquares(gradients);
}

std::vector<double> ParameterOptimizer::gradientSquaresByLayer(RankContext& rank, std::int64_t layers) const
{
    std::vector<std::vector<Tensor>> gradients(static_cast<std::size_t>(1 + layers));
    for (const ParameterPiece& piece : m_pieces) {
        if (!piece.counts || piece.parameter->gradientEmpty) continue;
        const std::int64_t layer = piece.parameter->unit->layer;
        gradients[static_cast<std::size_t>(layer < layers ? 1 + layer : 0)].push_back(piece.gradient);
    }
    std::vector<double> squares;
    for (const std::vector<Tensor>& each : gradients)
        squares.push_back(each.empty() ? 0 : rank.device.sumOfSquares(each));
    return squares;
}

double ParameterOptimizer::gradientNorm(RankContext& rank) const
{
    return std::sqrt(gradientSquares(rank));
}

// The piece's tensors where they are anyway.
UpdateTensors ParameterOptimizer::inPlace(std::size_t i) const
{
    const ParameterPiece& piece = m_pieces[i];
    UpdateTensors t{piece.weight, piece.gradient, m_first[i], {}, piece.compute, 0, piece.parameter->rateScale};
    if (!m_second.empty()) t.second = m_second[i];
    if (piece.parameter->decays) t.weightDecay = m_settings.weightDecay * piece.parameter->decayScale;
    return t;
}

// Starts to bring together what the piece's update needs: on the host if its state is there, else on the device.
ParameterOptimizer::Work ParameterOptimizer::bring(std::size_t i) const
{
    HostPool& host = *m_options.host;
    const ParameterPiece& piece = m_pieces[i];
    Work work{inPlace(i), {}};
    UpdateTensors& t = work.tensors;
    if (m_options.offloadState) {
        if (!piece.onHost) t.weight = m_hostWeights[i];
        if (!piece.onHost) t.compute = m_hostCompute[i];
        t.gradient = host.make(piece.gradient.shape(), piece.gradient.type(), MemoryCategory::Gradients);
        work.ready = host.toHost(piece.gradient, t.gradient);
    } else if (piece.onHost) {
        t.weight = host.onDevice(piece.weight, MemoryCategory::Weights);
        work.ready = host.toDevice(piece.weight, t.weight);
        if (piece.compute.defined()) t.compute = host.onDevice(piece.compute, MemoryCategory::Weights);
    }
    return work;
}

// Starts to copy the results to where they belong.
Instant ParameterOptimizer::takeBack(std::size_t i, const Work& work) const
{
    HostPool& host = *m_options.host;
    const ParameterPiece& piece = m_pieces[i];
    const UpdateTensors& t = work.tensors;
    Instant arrived;
    if (m_options.offloadState && !piece.onHost) {
        // Both: files hold the weights, products read their rounded copies.
        arrived = host.toDevice(t.weight, piece.weight);
        if (t.compute.defined()) arrived = host.toDevice(t.compute, piece.compute);
    } else if (!m_options.offloadState && piece.onHost) {
        arrived = host.toHost(t.weight, piece.weight);
        if (t.compute.defined()) arrived = host.toHost(t.compute, piece.compute);
        host.keepUntil(arrived, {t.weight, t.compute});
        host.settle(1);
    }
    return arrived;
}

void ParameterOptimizer::run(RankContext& rank, std::span<const UpdateTensors> all, double clip,
                             std::int64_t step) const
{
    const double rate = learningRateAt(m_settings, step) * m_rateFactor;
    const AdamWStep adamw{rate, m_settings.beta1, m_settings.beta2, m_settings.epsilon, 0, clip, step + 1};
    const SgdStep sgd{rate, m_settings.momentum, 0, clip};
    const bool isAdamW = m_settings.optimizer == Optimizer::AdamW;
    if (m_options.fuse) return isAdamW ? rank.device.adamw(all, adamw) : rank.device.sgd(all, sgd);
    for (const UpdateTensors& tensors : all) {
        UpdateOperators apart(rank.device);
        if (isAdamW)
            apart.adamw(tensors, adamw);
        else
            apart.sgd(tensors, sgd);
    }
}

void ParameterOptimizer::update(RankContext& rank, double norm, std::int64_t step,
                                const std::function<void(std::size_t)>& updated)
{
    // As in PyTorch's clip_grad_norm_, so that the two can be compared.
    const double clip = m_settings.clipNorm > 0 ? std::min(1.0, m_settings.clipNorm / (norm + 1e-6)) : 1.0;
    const std::size_t count = m_pieces.size();
    for (const ParameterPiece& piece : m_pieces)
        if (piece.parameter->gradientEmpty) rank.device.zero(piece.gradient);
    const auto done = [&updated](std::size_t i) {
        if (updated) updated(i);
    };
    const bool travels = m_options.offloadState || (count > 0 && m_pieces.front().onHost);
    if (travels) {
        // One piece is updated while the next one comes and the last one goes.
        HostPool& host = *m_options.host;
        Work next;
        std::optional<std::pair<std::size_t, Instant>> going;
        for (std::size_t i = 0; i < count; ++i) {
            const Work work = i == 0 ? bring(0) : std::exchange(next, {});
            if (i + 1 < count) next = bring(i + 1);
            host.waitUntil(work.ready);
            run(rank, {&work.tensors, 1}, clip, step);
            const Instant arrived = takeBack(i, work);
            if (going) {
                host.waitUntil(going->second);
                done(going->first);
            }
            going = {i, arrived};
        }
        if (going) {
            host.waitUntil(going->second);
            done(going->first);
        }
        host.settle(0);
    } else {
        std::vector<UpdateTensors> together; // of one bucket
        for (std::size_t i = 0; i < count; ++i) {
            together.push_back(inPlace(i));
            if (i + 1 < count && m_pieces[i + 1].bucket == m_pieces[i].bucket) continue;
            run(rank, together, clip, step);
            for (std::size_t j = i + 1 - together.size(); j <= i; ++j) done(j);
            together.clear();
        }
    }
    for (const ParameterPiece& piece : m_pieces) piece.parameter->gradientEmpty = true;
}

} // namespace fourwalls::engine
