// SPDX-License-Identifier: Apache-2.0
// What a layer's passes wait for, or hide, because its weights or activations are elsewhere: shards on other ranks,
// buffers on the host.
#pragma once

#include "model/cost/document_draws.h"
#include "model/cost/layer_cost.h"
#include "model/cost/step_traffic.h"

namespace fourwalls::cost {

/// Whether weights are brought together for every pass (ZeRO-3), not once a step.
bool shardsPasses(const FrameworkPreset& framework, const ParallelPlan& plan);
/// Which replicas wait for each other's documents: in every micro-batch those that exchange experts in it, gather sharded
/// weights or reduce its gradients; at the step's end all, but for asynchronous workers of parameter servers.
DocumentDraws::Replicas waitingReplicas(const FrameworkPreset& framework, const ParallelPlan& plan);

/// A layer whose weights are cut over its replicas. gathers: times that they are brought together for one micro-batch,
/// a share of them counts as such.
LayerCost shardedLayer(const TrafficContext& context, const ParallelPlan& plan, LayerCost layer, double gathers);

/// A layer whose activations or weights wait on the host.
LayerCost offloadedLayer(const TrafficContext& context, const ParallelPlan& plan, LayerCost layer);

} // namespace fourwalls::cost
