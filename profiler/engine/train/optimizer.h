// SPDX-License-Identifier: Apache-2.0
// The optimizers over a list of parameters, and the schedule of the learning rate.
#pragma once

#include "model/spec/training_settings.h"
#include "profiler/engine/nn/parameter.h"

#include <cstdint>
#include <vector>

namespace fourwalls::engine {

/// Rate of step `step` (from 0) of `steps`: rises linearly to the peak over the first warmupFraction of the steps
/// (at least one step if the fraction is positive), then falls along a cosine to 10 % of the peak at the last step.
double learningRateAt(const TrainingSettings& settings, std::int64_t step);

class ParameterOptimizer {
public:
    /// Allocates the state: two tensors per parameter for AdamW, one for SGD.
    ParameterOptimizer(RankContext& rank, ParameterList& parameters, const TrainingSettings& settings);

    /// Root of the sum of squares over all gradients. Gradients that nothing was added to count as zero.
    double gradientNorm(RankContext& rank) const;

    /// Clips by scaling, updates every parameter, refreshes the compute copies, and marks the gradients as empty.
    /// gradientNorm: of this step; step: from 0.
    void update(RankContext& rank, double gradientNorm, std::int64_t step);

private:
    TrainingSettings m_settings;
    ParameterList& m_parameters;
    std::vector<Tensor> m_first, m_second;
};

} // namespace fourwalls::engine
