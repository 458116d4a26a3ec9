// SPDX-License-Identifier: GPL-3.0-or-later
// A trace with a full specification for tests of sliders and plan searches: a small GPT on eight H100, predicted.
#pragma once

#include "model/cost/predicted_step.h"
#include "model/trace/in_memory_query.h"
#include "views/session/trace_session.h"

#include <memory>

namespace fourwalls::views::sample {

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

/// Opens that trace whatever the path.
inline TraceOpener opener(const RunSpec& spec)
{
    return [data = predicted(spec)](const QString&) -> Result<std::unique_ptr<TraceQuery>> {
        return std::unique_ptr<TraceQuery>(std::make_unique<InMemoryTraceQuery>(data));
    };
}

} // namespace fourwalls::views::sample
