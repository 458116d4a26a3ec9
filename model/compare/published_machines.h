// SPDX-License-Identifier: Apache-2.0
// Which machines a row of published measurements ran on: its device, the links of a node, the network.
#pragma once

#include "model/base/result.h"
#include "model/compare/published_words.h"
#include "model/spec/cluster_spec.h"

#include <optional>

namespace fourwalls::compare {

/// The machines of a device's name: a cluster preset, or the preset of the device, eight to a node with the links of its
/// data sheet, as an assumption. Nothing if no preset describes the device. Errors: of the presets.
Result<std::optional<ClusterSpec>> clusterOf(const Cells& cells, Assumptions& assume);

/// Rate and number of a node's adapters, from words such as "8x200Gb/s", "1600 Gb/s per node", "8x50 GB/s" or "400 Gb/s
/// per GPU"; bits and bytes are told apart by their letter. Assumes the cluster's own where nothing is said.
/// crossesNodes: whether anything depends on it.
void readNetwork(const Cells& cells, bool crossesNodes, ClusterSpec& cluster, Assumptions& assume);

} // namespace fourwalls::compare
