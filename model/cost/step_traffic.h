// SPDX-License-Identifier: Apache-2.0
// What crosses the links once per step or once per micro-batch outside of the layers: activations between stages,
// gradients and updated weights between replicas, and the optimizer that waits for them.
#pragma once

#include "model/cost/collective_time.h"
#include "model/cost/device_rates.h"
#include "model/cost/stage_memory.h"
#include "model/cost/step_cost.h"
#include "model/spec/run_spec.h"

namespace fourwalls::cost {

struct TrafficContext {
    const RunSpec& spec;
    const FrameworkPreset& framework;
    const Calibration& calibration;
    const DeviceRates& rates;
    const CollectiveTimes& collectives;
};

/// Fills boundaries and blockingTransfers of `cost`.
void addBoundaries(const TrafficContext& context, const ParallelPlan& plan, double microBatch, StepCost& cost);

/// Fills gradient communication and optimizer of a stage; the kinds' times must be there.
/// ZeRO 0 all-reduces gradients; 1 and 2 scatter them and gather weights, 2 after every micro-batch, because only a
/// share of them is kept; 3 with a pipeline gathers and scatters once a step (without one, and where the framework
/// says so, it happens per layer). Sequence parallelism sums the gradients of norms, biases and down-projections over
/// the tensor group. A synchronous parameter server takes every worker's gradients and gives weights, both over its
/// servers' links. Sources: arXiv:1910.02054; Li et al., OSDI 2014.
void addStageTraffic(const TrafficContext& context, const ParallelPlan& plan, int stage, const StageContents& contents,
                     StepCost& cost);

/// All ranks agree on the norm of the gradient (and the loss): one small all-reduce over all of them.
void addAgreement(const TrafficContext& context, const ParallelPlan& plan, StepCost& cost);

} // namespace fourwalls::cost
