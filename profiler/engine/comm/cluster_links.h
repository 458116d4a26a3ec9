// SPDX-License-Identifier: Apache-2.0
// The links of the device clock: those of the cluster's description, with the faults that a run injects.
#pragma once

#include "model/spec/collective_algorithm.h"
#include "profiler/engine/comm/link_clock.h"
#include "profiler/engine/core/run_options.h"

#include <span>

namespace fourwalls::engine {

/// Neighbouring ranks that share a node of the cluster; 0: all do.
int ranksPerNode(const ClusterSpec& cluster);

/// Inside a node the node's link, between nodes a device's share of the network. A link whose rate is unknown takes
/// its latency only. Faults hold in both directions and multiply where several name the same pair.
LinkTable clusterLinks(const ClusterSpec& cluster, std::span<const LinkFault> faults);

/// The same links as the choice of a collective's algorithm sees them.
CollectiveLinks collectiveLinks(const ClusterSpec& cluster);

} // namespace fourwalls::engine
