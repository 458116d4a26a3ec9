// SPDX-License-Identifier: Apache-2.0
// A large LLaMA on DGX nodes, and any of its plans priced, for tests of the cost model.
#pragma once

#include "model/cost/closed_form.h"
#include "model/cost/cost_model.h"

namespace fourwalls::cost::testing {

inline RunSpec llama(const char* cluster = "dgx-h100")
{
    RunSpec spec;
    spec.model = *loadModel("llama3-70b");
    spec.cluster = *loadCluster(cluster);
    spec.framework = "megatron-core";
    spec.training.precision = Precision::Bf16;
    spec.training.batch = 1024;
    return spec;
}

inline ParallelPlan plan(const char* text)
{
    return *parsePlan(text);
}

inline Prediction predict(const RunSpec& spec, const ParallelPlan& p)
{
    auto model = *CostModel::create(spec);
    const StepCost cost = *model.stepCost(p);
    return closedForm(cost, model.calibration());
}

} // namespace fourwalls::cost::testing
