// SPDX-License-Identifier: Apache-2.0
// See optimizer.h.
#include "profiler/engine/train/optimizer.h"

#include <algorithm>
#include <cmath>
#include <numbers>

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
                                       const TrainingSettings& settings)
    : m_settings(settings)
    , m_pieces(pieces)
{
    for (const ParameterPiece& piece : m_pieces) {
        const auto state = [&] {
            Tensor t =
                Tensor::make(rank.allocator, piece.weight.shape(), rank.format.master, MemoryCategory::OptimizerState);
            rank.device.zero(t);
            return t;
        };
        m_first.push_back(state());
        if (settings.optimizer == Optimizer::AdamW) m_second.push_back(state());
    }
}

ParameterOptimizer::ParameterOptimizer(RankContext& rank, ParameterList& parameters, const TrainingSettings& settings)
    : ParameterOptimizer(rank, wholePieces(parameters), settings)
{}

double ParameterOptimizer::gradientSquares(RankContext& rank) const
{
    double squares = 0;
    for (const ParameterPiece& piece : m_pieces)
        if (piece.counts && !piece.parameter->gradientEmpty) squares += rank.device.sumOfSquares(piece.gradient);
    return squares;
}

double ParameterOptimizer::gradientNorm(RankContext& rank) const
{
    return std::sqrt(gradientSquares(rank));
}

void ParameterOptimizer::update(RankContext& rank, double norm, std::int64_t step,
                                const std::function<void(std::size_t)>& updated)
{
    // As in PyTorch's clip_grad_norm_, so that the two can be compared.
    const double clip = m_settings.clipNorm > 0 ? std::min(1.0, m_settings.clipNorm / (norm + 1e-6)) : 1.0;
    const double rate = learningRateAt(m_settings, step);
    for (std::size_t i = 0; i < m_pieces.size(); ++i) {
        const ParameterPiece& piece = m_pieces[i];
        if (piece.parameter->gradientEmpty) rank.device.zero(piece.gradient);
        const double decay = piece.parameter->decays ? m_settings.weightDecay : 0.0;
        if (m_settings.optimizer == Optimizer::AdamW) {
            rank.device.adamw(piece.weight, piece.gradient, m_first[i], m_second[i], piece.compute,
                              {rate, m_settings.beta1, m_settings.beta2, m_settings.epsilon, decay, clip, step + 1});
        } else {
            rank.device.sgd(piece.weight, piece.gradient, m_first[i], piece.compute,
                            {rate, m_settings.momentum, decay, clip});
        }
        if (updated) updated(i);
    }
    for (const ParameterPiece& piece : m_pieces) piece.parameter->gradientEmpty = true;
}

} // namespace fourwalls::engine
