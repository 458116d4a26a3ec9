// SPDX-License-Identifier: Apache-2.0
// See loss_watch.h.
#include "profiler/engine/train/loss_watch.h"

#include "model/base/format.h"

#include <cmath>
#include <numeric>

namespace fourwalls::engine {

void LossWatch::remember(double loss)
{
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
