// SPDX-License-Identifier: Apache-2.0
// See noise_report.h.
#include "app/cli/noise_report.h"

#include "model/base/format.h"

#include <fmt/format.h>

#include <cmath>

namespace fourwalls::cli {

using nlohmann::json;

double publishedCriticalBatch(double loss)
{
    constexpr double kTokens = 2e8, kExponent = 0.21;
    return kTokens / std::pow(loss, 1 / kExponent);
}

json noiseJson(const engine::GradientNoise& noise, const RunSpec& spec, double loss)
{
    if (noise.probes < 1) return nullptr;
    const std::optional<double> scale = noise.noiseScale();
    json object{{"probes", noise.probes},
                {"small_batch", noise.batch},
                {"large_batch", noise.batch * noise.batches},
                {"gradient_squares", noise.signal()},
                {"variance", noise.variance()},
                {"critical_batch", scale ? json(*scale) : json(nullptr)},
                {"critical_batch_tokens", nullptr},
                {"published_critical_batch_tokens", nullptr}};
    if (!spec.model.transformer()) return object;
    if (scale) object["critical_batch_tokens"] = *scale * static_cast<double>(spec.training.sequence);
    if (loss > 0 && std::isfinite(loss)) object["published_critical_batch_tokens"] = publishedCriticalBatch(loss);
    return object;
}

std::string noiseText(const engine::GradientNoise& noise, const RunSpec& spec, double loss)
{
    if (noise.probes < 1) return {};
    const std::optional<double> scale = noise.noiseScale();
    if (!scale)
        return fmt::format("critical batch: not found, {} see noise only",
                           noise.probes == 1 ? "1 probe" : fmt::format("{} probes", noise.probes));
    std::string text = fmt::format("critical batch by gradient noise: {} samples", formatFigure(*scale, 3));
    if (!spec.model.transformer()) return text;
    text += fmt::format(" ({} tokens", formatFigure(*scale * static_cast<double>(spec.training.sequence), 3));
    if (loss > 0 && std::isfinite(loss))
        text += fmt::format("; published for this loss: {}", formatFigure(publishedCriticalBatch(loss), 3));
    return text + ")";
}

} // namespace fourwalls::cli
