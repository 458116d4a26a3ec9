// SPDX-License-Identifier: Apache-2.0
// See loss_watch.h.
#include "profiler/engine/train/loss_watch.h"

#include "model/base/format.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace fourwalls::engine {

std::string gradientWords(const StepProgress& step)
{
    constexpr std::size_t kNamed = 3;
    std::vector<std::size_t> order(step.layerNorms.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto sizeOf = [&](std::size_t i) {
        return std::isfinite(step.layerNorms[i]) ? step.layerNorms[i] : INFINITY;
    };
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return sizeOf(a) > sizeOf(b); });
    const auto figure = [](double norm) { return std::isfinite(norm) ? formatFigure(norm, 3) : "no number"; };
    std::string words = "gradient norm " + figure(step.gradientNorm);
    for (std::size_t i = 0; i < std::min(kNamed, order.size()) && order.size() > 1; ++i)
        words += (i == 0 ? ", of it " : ", ") +
                 (order[i] == 0 ? "outside of layers" : "layer " + std::to_string(order[i] - 1)) + " " +
                 figure(step.layerNorms[order[i]]);
    return words;
}

void LossWatch::remember(double loss)
{
    if (!std::isfinite(loss)) return;
    m_last.push_back(loss);
    if (m_last.size() > kRemembered) m_last.pop_front();
}

std::optional<std::string> LossWatch::look(std::int64_t step, double loss, double gradientNorm)
{
    const std::string number = std::to_string(step);
    if (!std::isfinite(loss)) return "the loss is not a finite number in step " + number;
    if (!std::isfinite(gradientNorm)) return "the gradient norm is not a finite number in step " + number;
    if (!m_last.empty()) {
        const double mean = std::accumulate(m_last.begin(), m_last.end(), 0.0) / static_cast<double>(m_last.size());
        if (loss > kJump * mean && loss > mean + kLeast)
            return "the loss jumps from " + formatFigure(mean, 3) + " to " + formatFigure(loss, 3) + " in step " +
                   number;
    }
    remember(loss);
    return std::nullopt;
}

} // namespace fourwalls::engine
