// SPDX-License-Identifier: Apache-2.0
// Predictions that claims need, and the networks that have no preset. Used inside this folder only.
#pragma once

#include "model/base/result.h"
#include "model/cost/predicted_step.h"
#include "model/spec/run_spec.h"

#include <cstdint>
#include <string>

namespace fourwalls::claims {

/// A run in words.
struct ClaimedRun {
    ModelSpec model;
    std::string cluster, plan, framework;
    std::int64_t batch = 1, sequence = 0; ///< samples per step; tokens
    Precision precision = Precision::Bf16;
};

/// The cost model's step of a run. Errors: presets that do not load, plans that do not fit.
Result<cost::PredictedStep> predictRun(const ClaimedRun& run);

/// Device-hours to train on so many tokens with this run's step.
double deviceHours(const cost::PredictedStep& step, double tokens);

ModelSpec bertLarge(); ///< 340 M parameters (arXiv:1810.04805)
/// LLaMA 7, 13, 33 or 65 (arXiv:2302.13971, table 2).
ModelSpec llama1(int billions);
ModelSpec denseModel(std::int64_t layers, std::int64_t hidden, std::int64_t heads); ///< GPT style, 2048 tokens

} // namespace fourwalls::claims
