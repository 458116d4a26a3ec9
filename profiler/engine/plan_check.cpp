// SPDX-License-Identifier: Apache-2.0
// See plan_check.h.
#include "profiler/engine/plan_check.h"

#include "model/spec/pipeline_schedule.h"

namespace fourwalls::engine {

namespace {

struct Limit {
    const char* field;
    bool (*exceeded)(const RunSpec& spec);
    const char* what;
    const char* hint;
};

// In the order in which they are told. What makes no sense for any engine comes first, then what this one lacks.
constexpr Limit kLimits[] = {
    {"zero", [](const RunSpec& s) { return s.plan.zero > 0 && s.plan.dp * s.plan.cp == 1; },
     "there is nothing to shard over on one data-parallel rank", "zero=0, or dp above 1"},
    {"zero",
     [](const RunSpec& s) { return s.plan.zero >= 2 && s.plan.pp > 1 && pipelineShape(s.plan).splitsBackward(); },
     "gradients cannot be cut over ranks while a zero-bubble schedule keeps weight gradients back",
     "zero=1, or schedule=1f1b"},
    {"pp", [](const RunSpec& s) { return s.plan.pp > 1 && !s.model.transformer(); },
     "the engine cuts only transformers into stages", "pp=1"},
    {"sp", [](const RunSpec& s) { return s.plan.sequenceParallel && s.plan.tp == 1; },
     "there is nothing to split over on one tensor-parallel rank", "sp=0, or tp above 1"},

    {"ep", [](const RunSpec& s) { return s.plan.ep > 1; }, "the engine of this version has no expert parallelism",
     "ep=1"},
    {"recompute", [](const RunSpec& s) { return s.plan.recompute != Recompute::None; },
     "the engine of this version keeps all activations", "recompute=none"},
    {"offload",
     [](const RunSpec& s) { return s.plan.offloadOptimizer || s.plan.offloadActivations || s.plan.offloadParameters; },
     "the engine of this version does not offload", "offload=none"},
    {"ps", [](const RunSpec& s) { return s.plan.parameterServer != ParameterServer::None; },
     "the engine of this version has no parameter servers", "ps=none"},
};

} // namespace

Status checkPlan(const RunSpec& spec)
{
    for (const Limit& limit : kLimits)
        if (limit.exceeded(spec)) return Error{ErrorCode::Unsupported, limit.what, limit.field, limit.hint};
    if (spec.plan.pp > 1) FOURWALLS_TRY(checkPipeline(pipelineShape(spec.plan)));
    return {};
}

} // namespace fourwalls::engine
