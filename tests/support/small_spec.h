// SPDX-License-Identifier: Apache-2.0
// A full specification for tests of sliders and plan searches: a small GPT on eight H100, and its predicted trace.
#pragma once

#include "model/cost/predicted_step.h"
#include "model/spec/run_spec.h"
#include "model/trace/in_memory_trace.h"

#include <cstdint>
#include <memory>

namespace fourwalls::sample {

inline RunSpec smallSpec(const char* plan = "dp=2 tp=2 pp=2 microbatches=4", std::int64_t batch = 32)
{
    RunSpec spec;
    spec.model = *loadModel("gpt3-1.3b");
    spec.cluster = *loadCluster("dgx-h100");
    spec.plan = *parsePlan(plan);
    spec.training.batch = batch;
    spec.training.sequence = 2048;
    spec.training.precision = Precision::Bf16;
    spec.training.device = DeviceKind::Cuda;
    spec.framework = "megatron-core";
    return spec;
}

inline std::shared_ptr<const InMemoryTraceData> predicted(const RunSpec& spec)
{
    return *cost::traceOf(*cost::predictStep(spec));
}

} // namespace fourwalls::sample
