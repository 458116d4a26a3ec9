// SPDX-License-Identifier: Apache-2.0
// A network on a cluster, and the search over its plans, for tests of the search.
#pragma once

#include "model/cost/plan_search.h"

#include <cstdint>

namespace fourwalls::cost::testing {

inline RunSpec specOf(const char* model, const char* cluster, std::int64_t batch)
{
    RunSpec spec;
    spec.model = *loadModel(model);
    spec.cluster = *loadCluster(cluster);
    spec.framework = "megatron-core";
    spec.training.batch = batch;
    if (const TransformerSpec* t = spec.model.transformer()) spec.training.sequence = t->sequence;
    spec.training.precision = Precision::Bf16;
    return spec;
}

inline Result<PlanSearchResult> search(const RunSpec& spec, const SearchOptions& options)
{
    return searchPlans(spec, *loadFramework(spec.framework), *loadCalibration("published"), options);
}

} // namespace fourwalls::cost::testing
