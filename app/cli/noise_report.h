// SPDX-License-Identifier: Apache-2.0
// The critical batch size: what the engine measured of it, beside the published formula.
#pragma once

#include "model/spec/run_spec.h"
#include "profiler/engine/core/gradient_noise.h"

#include <nlohmann/json.hpp>

#include <string>

namespace fourwalls::cli {

/// Kaplan et al. 2020, "Scaling Laws for Neural Language Models", arXiv:2001.08361, equation 1.4: the batch [tokens] at
/// which training to a loss takes twice the fewest steps and twice the fewest tokens, of language models on WebText2.
/// loss: nats per token, above 0.
double publishedCriticalBatch(double loss);

/// "gradient_noise" of JSON answers; null without probes. loss: of the training's end, for the published formula.
nlohmann::json noiseJson(const engine::GradientNoise& noise, const RunSpec& spec, double loss);
/// One sentence of the same; empty without probes.
std::string noiseText(const engine::GradientNoise& noise, const RunSpec& spec, double loss);

} // namespace fourwalls::cli
