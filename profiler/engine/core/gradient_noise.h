// SPDX-License-Identifier: Apache-2.0
// The noise of gradients, and the batch above which more samples help less: the simple noise scale of McCandlish et al.
// 2018, "An Empirical Model of Large-Batch Training", arXiv:1812.06162, from gradients of two batch sizes (appendix A.1).
#pragma once

#include <cstdint>
#include <optional>

namespace fourwalls::engine {

/// Sums over probes. Each probe takes the gradients of `batches` independent batches of `batch` samples: the mean of their
/// squared norms is that of a small batch, the squared norm of their mean that of one that is `batches` times as large.
struct GradientNoise {
    std::int64_t batch = 0, batches = 0; ///< of every probe
    std::int64_t probes = 0;
    double smallSquares = 0, largeSquares = 0; ///< sums over the probes

    void add(double small, double large)
    {
        ++probes;
        smallSquares += small;
        largeSquares += large;
    }

    /// |G|²: of the true gradient, without bias. May come out negative where there is little but noise.
    double signal() const
    {
        const double k = static_cast<double>(batches);
        return (k * largeSquares - smallSquares) / ((k - 1) * static_cast<double>(probes));
    }
    /// tr(Σ): the variance of one sample's gradient, summed over all parameters, without bias.
    double variance() const
    {
        const double k = static_cast<double>(batches), b = static_cast<double>(batch);
        return b * k * (smallSquares - largeSquares) / ((k - 1) * static_cast<double>(probes));
    }
    /// B_simple = tr(Σ) / |G|² [samples]; absent where the noise hides the gradient.
    std::optional<double> noiseScale() const
    {
        if (probes < 1 || batches < 2 || !(signal() > 0)) return std::nullopt;
        const double scale = variance() / signal();
        return scale >= 0 ? std::optional(scale) : std::optional(0.0);
    }
};

} // namespace fourwalls::engine
