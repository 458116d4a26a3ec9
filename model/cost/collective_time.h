// SPDX-License-Identifier: Apache-2.0
// How long a collective takes on a cluster: measured curves inside a node where there are any, else alpha-beta terms by
// algorithm and tier; between nodes each group has its share of the adapters.
#pragma once

#include "model/spec/calibration.h"
#include "model/spec/cluster_spec.h"
#include "model/spec/parallel_plan.h"

#include <array>
#include <optional>
#include <vector>

namespace fourwalls::cost {

enum class Collective : std::uint8_t { AllReduce, AllGather, ReduceScatter, AllToAll };

/// Where the ranks of a group are: `ranks` in all, `perNode` of them on each node they touch. The other devices of a
/// node belong to other groups of the same kind that communicate at the same time.
struct GroupPlacement {
    int ranks = 1;
    int perNode = 1;

    bool insideNode() const { return perNode >= ranks; }
    int nodes() const { return perNode > 0 ? (ranks + perNode - 1) / perNode : 1; }
    friend bool operator==(const GroupPlacement&, const GroupPlacement&) = default;
};

/// The placement of a group of `ranks` whose members are `stride` apart in rank order.
GroupPlacement placeGroup(int ranks, int stride, int devicesPerNode);

/// Prices collectives of one cluster under one calibration.
class CollectiveTimes {
public:
    CollectiveTimes(const ClusterSpec& cluster, const Calibration& calibration);

    /// Seconds of one collective. bytes: the whole buffer (of an all-gather: its result; of a reduce-scatter: its
    /// input; of an all-to-all: what one rank holds and sends, its own share included). 0 for groups of one.
    /// ring: 2(n-1) steps of S/n (all-reduce), n-1 (gather, scatter); tree: 2 log2 n steps and 2S; hierarchical:
    /// scatter inside, reduce between nodes, gather inside; direct: two steps; auto: the quickest of ring and tree, and
    /// of hierarchical between nodes. Where a node's devices share memory, collectiveSeconds of model/spec.
    /// Sources: NVIDIA/nccl-tests doc/PERFORMANCE.md, NVIDIA/nccl src/graph/tuning.cc.
    double seconds(Collective collective, double bytes, const GroupPlacement& group,
                   CollectiveAlgorithm algorithm = CollectiveAlgorithm::Auto) const;

    /// Seconds of one message between two ranks; `sharers` ranks of a node send at once.
    double pointToPoint(double bytes, bool sameNode) const;

    /// Bytes that a rank sends. As above; all-reduce 2(n-1)/n S, the others (n-1)/n S.
    static double wireBytes(Collective collective, double bytes, int ranks);

    /// Bytes that the first rank of a group sends to sum up a few numbers. Where a node's devices share memory, in the
    /// hops that the engine executes: there are fewer numbers than ranks, and their owners send more than the others.
    double smallReduceBytes(int numbers, int bytesEach, const GroupPlacement& group) const;

    /// Whether nodes are connected at all.
    bool hasNetwork() const { return m_networkShare > 0; }

private:
    double insideNode(Collective collective, double bytes, int ranks, CollectiveAlgorithm algorithm) const;
    /// Between threads: the hops that the engine executes, on the node's link.
    double throughMemory(Collective collective, double bytes, int ranks, CollectiveAlgorithm algorithm) const;
    double betweenNodes(Collective collective, double bytes, const GroupPlacement& group,
                        CollectiveAlgorithm algorithm) const;
    const CollectiveCurve* curveFor(Collective collective, const GroupPlacement& group) const;
    /// By a measured curve, if there is one.
    std::optional<double> measured(Collective collective, double bytes, const GroupPlacement& group) const;

    const Calibration* m_calibration;
    ClusterSpec m_cluster;
    double m_networkShare = 0; ///< of one device [bytes/s], as reached
    double m_nodeRate = 0;     ///< of one device inside the node [bytes/s], as reached without a curve
    std::array<std::vector<const CollectiveCurve*>, 4> m_curves; ///< by what was measured
};

} // namespace fourwalls::cost
