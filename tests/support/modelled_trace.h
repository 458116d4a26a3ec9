// SPDX-License-Identifier: Apache-2.0
// Modelled steps as traces, so that pipelines of any plan can be tested without running one.
#pragma once

#include "model/cost/predicted_step.h"
#include "model/cost/predicted_trace.h"
#include "model/cost/priced_step.h"
#include "model/spec/parallel_plan.h"
#include "model/spec/run_spec.h"
#include "model/trace/in_memory_trace.h"

#include <cstdint>
#include <memory>
#include <string>

namespace fourwalls::sample {

inline RunSpec specOf(const std::string& plan, const std::string& model = "gpt3-1.3b", std::int64_t batch = 32)
{
    RunSpec spec;
    auto network = loadModel(model);
    auto cluster = loadCluster("dgx-a100");
    auto parsed = parsePlan(plan);
    if (!network.ok() || !cluster.ok() || !parsed.ok()) return spec;
    spec.model = *network;
    spec.cluster = *cluster;
    spec.plan = *parsed;
    spec.training.batch = batch;
    spec.training.precision = Precision::Bf16;
    spec.framework = "megatron-core";
    if (!resolve(spec).ok()) spec.training.batch = 0;
    return spec;
}

/// A modelled step as a trace that says it is of `source`. Null if it cannot be modelled.
inline std::shared_ptr<const InMemoryTraceData> modelledTrace(const RunSpec& spec, TraceSource source)
{
    const auto step = cost::predictStep(spec);
    if (!step.ok()) return nullptr;
    TraceHeader header = cost::predictedHeader(step->spec, step->drawn);
    header.source = source;
    if (source == TraceSource::Recorded) header.clock = ClockKind::Device;
    InMemoryTrace trace(header);
    if (!cost::writePredictedTrace(step->spec, step->priced->cost, step->drawn, trace).ok()) return nullptr;
    return trace.data();
}

} // namespace fourwalls::sample
