// SPDX-License-Identifier: Apache-2.0
// Small networks of every kind, and whole trainings of them.
#pragma once

#include "profiler/engine/run.h"

#include <string>
#include <utility>

namespace fourwalls::engine::testing {

enum class Net { Decoder, Llama, Experts, Clicks };

inline RunSpec specOf(Net net, const char* plan, std::int64_t steps, Precision precision = Precision::F32,
                      std::int64_t layers = 2)
{
    RunSpec spec;
    if (net == Net::Clicks) {
        RecommendationSpec r;
        r.tables = 3;
        r.rowsPerTable = 40;
        r.embeddingWidth = 4;
        r.lookupsPerTable = 2;
        r.denseFeatures = 3;
        r.bottomLayers = {6, 4};
        r.topLayers = {8, 1};
        spec.model = {"clicks", r};
    } else {
        TransformerSpec t;
        t.layers = layers;
        t.hidden = 16;
        t.heads = 4;
        t.kvHeads = 4;
        t.ffnHidden = 24;
        t.vocabulary = 256;
        t.sequence = 8;
        if (net == Net::Llama) {
            t.kvHeads = 2;
            t.normalization = Normalization::RmsNorm;
            t.activation = Activation::SwiGlu;
            t.positions = Positions::Rotary;
        }
        if (net == Net::Experts) t.mixture = {4, 2, 24, 0};
        spec.model = {"small", t};
    }
    spec.plan = *parsePlan(plan);
    spec.training.steps = steps;
    spec.training.batch = 8;
    spec.training.optimizer = Optimizer::Sgd;
    spec.training.learningRate = 0.05;
    spec.training.clipNorm = 1.0;
    spec.training.precision = precision;
    spec.cluster.name = "this-machine";
    return spec;
}

inline Result<RunReport> train(RunSpec spec, DeviceKind device, TraceSink* sink = nullptr, ClockOrigin origin = {},
                               RunOptions options = {})
{
    spec.training.device = device;
    FOURWALLS_TRY(resolve(spec));
    options.measurePeak = false;
    options.sink = sink;
    options.origin = origin;
    return runTraining(spec, options);
}

inline std::string refusal(RunSpec spec, const RunOptions& options = {})
{
    spec.training.device = DeviceKind::Cuda;
    if (const Status status = resolve(spec); !status.ok()) return status.error().what;
    const Status status = checkRunnable(spec, options);
    return status.ok() ? "" : status.error().what;
}

} // namespace fourwalls::engine::testing
