// SPDX-License-Identifier: Apache-2.0
// What nodes take in one variant: the delays that a rule expects, and what peers take.
#pragma once

#include "model/replay/recording.h"
#include "model/replay/replay_graph.h"

#include <cstdint>
#include <vector>

namespace fourwalls::replay {

/// class: the median of the node's class in the other steps of the graph; with one step only, over its ranks. own: as
/// recorded, which gives back the recorded step of any graph. none: none.
enum class DelayRule : std::uint8_t { Class, Own, None };

/// Delays by that rule, durations as recorded. Delays of a class are those of Work, Arrival and Mark nodes.
NodeTimes timesOf(const ReplayGraph& graph, DelayRule rule);

/// Nodes that should take the same time: what they do is the same, whoever does it.
struct PeerClasses {
    std::vector<std::uint32_t> of; ///< by node; kNone: of no class
    struct Spread {
        double mean = 0, median = 0, low = 0, high = 0; ///< low, high: quartiles [ns]
        double deviation = 0;                           ///< standard, of one node [ns]
        std::size_t count = 0;
    };
    std::vector<Spread> spreads; ///< by class
};

/// byName: operations are alike if they have one name (recordings by operations); else phase, shape, FLOPs and bytes
/// have to be equal, too; transfers also group and payload.
PeerClasses peerClasses(const Recording& recording, const ReplayGraph& graph, bool byName);

} // namespace fourwalls::replay
