// SPDX-License-Identifier: Apache-2.0
// The machines: device capacity and rates, how many devices hang together, and by what links.
#pragma once

#include "model/spec/training_settings.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace fourwalls {

struct DeviceSpec {
    std::string name;
    std::int64_t memoryBytes = 0;          ///< capacity: the memory wall
    double memoryBytesPerSecond = 0;       ///< main memory bandwidth; 0 unknown
    std::map<Precision, double> peakFlops; ///< dense rate [FLOP/s] per precision; absent: unknown
    std::string family;                    ///< "ampere", "hopper", "cpu", …: what was measured on it holds for it
    int multiprocessors = 0;               ///< SMs (or cores) that tiles are spread over; 0 unknown
    double powerWatts = 0;                 ///< power limit; 0 unknown
    double fullPowerWatts = 0;             ///< limit at which the family's rates were measured; 0: the same
    double hostBytesPerSecond = 0;         ///< link to the host, one direction; 0 unknown
    double slowdown = 1; ///< its computing takes so many times what the name and the rates say: a power cap, age

    std::optional<double> peak(Precision precision) const
    {
        const auto found = peakFlops.find(precision);
        return found == peakFlops.end() ? std::nullopt : std::optional(found->second);
    }
};

/// A link as the alpha-beta model sees it: a message of S bytes takes latency + S / rate.
struct LinkSpec {
    double bytesPerSecond = 0; ///< one direction, per device; 0 unknown
    double latencySeconds = 0; ///< per hop

    double seconds(double bytes) const { return latencySeconds + (bytesPerSecond > 0 ? bytes / bytesPerSecond : 0); }
    friend bool operator==(const LinkSpec&, const LinkSpec&) = default;
};

/// How the devices of a node reach each other.
enum class NodeFabric { Shared, Pcie, NvLink, NvSwitch };
/// How nodes reach each other.
enum class Topology { FatTree, Torus, Hypercube };

/// Nodes, from a number on, whose devices are others than those of the nodes before. Links are the cluster's.
struct OtherNodes {
    int fromNode = 1;
    DeviceSpec device;
};

struct ClusterSpec {
    std::string name; ///< preset name; "this-machine" is measured where it runs
    DeviceSpec device;
    std::vector<OtherNodes> otherNodes; ///< by number, ascending; empty: all nodes have `device`
    int devicesPerNode = 1;
    int nodes = 1;
    NodeFabric fabric = NodeFabric::NvSwitch;
    LinkSpec nodeLink;   ///< between devices of a node, data-sheet rate of one device
    LinkSpec nicLink;    ///< of one network adapter, data-sheet rate
    std::string network; ///< kind, for what was measured on it ("omni_path"); empty: any
    int nicsPerNode = 0; ///< 0: nodes are not connected
    Topology topology = Topology::FatTree;
    double oversubscription = 1;         ///< of the network above the nodes: 2 means half the rate when all send
    double hostMemoryBytesPerSecond = 0; ///< of a node; 0 unknown
    std::int64_t hostMemoryBytes = 0;    ///< of a node; 0 unknown

    /// The share of a node's network that one device has when all of them send at once [bytes/s].
    double networkBytesPerSecondPerDevice() const
    {
        return devicesPerNode > 0 ? nicLink.bytesPerSecond * nicsPerNode / devicesPerNode / oversubscription : 0;
    }

    /// Ranks that share one memory are as many as a plan wants, whatever the machine has; real nodes are what they are.
    void holdRanks(int ranks)
    {
        if (fabric == NodeFabric::Shared) devicesPerNode = std::max(devicesPerNode, ranks);
    }

    /// Kinds of devices, from 0: those of the first nodes, then those of otherNodes in their order.
    std::size_t deviceKinds() const { return 1 + otherNodes.size(); }
    const DeviceSpec& deviceOfKind(std::size_t kind) const { return kind == 0 ? device : otherNodes[kind - 1].device; }
    /// The first rank that runs on a device of that kind, ranks filling node after node.
    std::int64_t firstRankOfKind(std::size_t kind) const
    {
        return kind == 0 ? 0 : std::int64_t{otherNodes[kind - 1].fromNode} * devicesPerNode;
    }
    const DeviceSpec& deviceOfRank(int rank) const
    {
        std::size_t kind = otherNodes.size();
        while (kind > 0 && rank < firstRankOfKind(kind)) --kind;
        return deviceOfKind(kind);
    }
    /// Of the devices of so many ranks the least memory that is known [bytes]; 0: none is.
    std::int64_t smallestMemoryBytes(int ranks) const
    {
        std::int64_t least = 0;
        for (std::size_t kind = 0; kind < deviceKinds(); ++kind) {
            const std::int64_t bytes = deviceOfKind(kind).memoryBytes;
            if (bytes > 0 && firstRankOfKind(kind) < std::max(1, ranks) && (least == 0 || bytes < least)) least = bytes;
        }
        return least;
    }
};

} // namespace fourwalls
