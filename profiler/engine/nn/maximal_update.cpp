// SPDX-License-Identifier: Apache-2.0
// See maximal_update.h.
#include "profiler/engine/nn/maximal_update.h"

#include "model/spec/width_transfer.h"

#include <cmath>
#include <string_view>
#include <utility>

namespace fourwalls::engine {

namespace {

/// Factors of one parameter, against those at the base width.
struct WidthFactors {
    double entries = 1, rate = 1;
};

WidthFactors factorsOf(const Parameter& parameter, double m, Optimizer optimizer)
{
    const bool isSgd = optimizer == Optimizer::Sgd;
    const std::string_view unit = parameter.unit->name;
    if (unit == "head" && !parameter.decays) return {1 / m, 1 / m};
    if (unit.starts_with("layer ") && parameter.decays) return {1 / std::sqrt(m), isSgd ? 1 : 1 / m};
    return {1, isSgd ? m : 1};
}

} // namespace

Status checkMaximalUpdate(const RunSpec& spec)
{
    if (mupBaseWidth(spec) == 0) return {};
    const TransformerSpec* t = spec.model.transformer();
    if (!t || t->hasExperts() || t->latent.keyValueRank > 0 || t->postNorm)
        return Error{ErrorCode::Unsupported,
                     "the maximal update parametrisation is for dense transformers with a final norm", "mup",
                     "a model such as gpt-tiny or llama-tiny, or no --mup"};
    if (spec.plan.parameterServer != ParameterServer::None)
        return Error{ErrorCode::Unsupported, "parameter servers know no rates of single parameters", "mup", "ps=none"};
    return {};
}

void applyMaximalUpdate(const ParameterList& parameters, const RunSpec& spec)
{
    const std::int64_t base = mupBaseWidth(spec);
    if (base == 0) return;
    const double m = static_cast<double>(spec.model.transformer()->hidden) / static_cast<double>(base);
    for (const auto& p : parameters.all()) {
        const WidthFactors factors = factorsOf(*p, m, spec.training.optimizer);
        p->rateScale = factors.rate;
        p->decayScale = 1 / factors.rate;
        if (factors.entries != 1)
            p->initial = [initial = std::move(p->initial), scale = factors.entries](std::int64_t i) {
                return scale * initial(i);
            };
    }
}

} // namespace fourwalls::engine
