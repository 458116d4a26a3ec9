// SPDX-License-Identifier: Apache-2.0
// Who holds the same weights, and who of them shares the states of a sharded optimizer: where the groups are, and what it
// takes to sum gradients over them and to bring weights together.
#pragma once

#include "model/cost/collective_time.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

namespace fourwalls::cost {

/// The replicas of some weights: all of them, those that zero cuts the states over, and those that hold the same cut.
struct ReplicaGroups {
    GroupPlacement all, shard, between;

    int shards() const { return shard.ranks; }
};

/// Where replicas are, by their number: `inner` of them `stride` ranks apart, and so many again every `outer` ranks.
struct ReplicaSpread {
    int stride = 1, inner = 1, outer = 1;
};

/// The placement of `ranks` replicas, every `step`-th one from the first.
inline GroupPlacement placeReplicas(int ranks, int step, const ReplicaSpread& at, int devicesPerNode)
{
    if (at.outer == at.stride * at.inner) return placeGroup(ranks, at.stride * step, devicesPerNode);
    GroupPlacement group{std::max(1, ranks), 0};
    const auto end = [&](std::int64_t replica) {
        return at.outer * (replica / at.inner) + at.stride * (replica % at.inner + 1);
    };
    while (group.perNode < group.ranks && end(std::int64_t{step} * group.perNode) <= devicesPerNode) ++group.perNode;
    group.perNode = std::max(1, group.perNode);
    return group;
}

inline ReplicaGroups groupsOf(int replicas, int shards, const ReplicaSpread& at, int devicesPerNode)
{
    return {placeReplicas(replicas, 1, at, devicesPerNode), placeReplicas(shards, 1, at, devicesPerNode),
            placeReplicas(replicas / shards, shards, at, devicesPerNode)};
}

/// Of the weights outside of experts.
inline ReplicaGroups denseReplicas(const ParallelPlan& plan, int devicesPerNode)
{
    return groupsOf(plan.replicas(), plan.shards(), {plan.tp, plan.cp, plan.replicaStride()}, devicesPerNode);
}

/// Of the weights of experts.
inline ReplicaGroups expertReplicas(const ParallelPlan& plan, int devicesPerNode)
{
    const int replicas = plan.expertReplicas() / plan.ep > 0 ? plan.expertReplicas() / plan.ep : 1;
    const int shards = plan.shard > 0 ? std::gcd(plan.shard, replicas) : replicas;
    const int stride = plan.expertTensorDegree() * plan.ep;
    if (plan.order == RankOrder::ReplicasFirst) return groupsOf(replicas, shards, {stride, 1, stride}, devicesPerNode);
    return groupsOf(replicas, shards, {stride, plan.tp * plan.cp / stride, plan.replicaStride()}, devicesPerNode);
}

/// Time of a rank [s] and bytes that it sends.
struct GroupTime {
    double seconds = 0, wire = 0;
};

/// Sums a buffer over all replicas. scatter: each keeps its cut of the sum, else each has all of it. calls: in how many
/// equal pieces.
inline GroupTime sumOver(const CollectiveTimes& times, const ReplicaGroups& groups, bool scatter, double bytes,
                         double calls, CollectiveAlgorithm algorithm)
{
    const double each = bytes / calls;
    const auto add = [&](GroupTime& sum, Collective kind, double part, const GroupPlacement& group) {
        sum.seconds += calls * times.seconds(kind, part, group, algorithm);
        sum.wire += calls * CollectiveTimes::wireBytes(kind, part, group.ranks);
    };
    GroupTime sum;
    if (!scatter) {
        add(sum, Collective::AllReduce, each, groups.all);
        return sum;
    }
    add(sum, Collective::ReduceScatter, each, groups.shard);
    add(sum, Collective::AllReduce, each / groups.shards(), groups.between);
    return sum;
}

/// Brings cut weights together.
inline GroupTime gatherOver(const CollectiveTimes& times, const ReplicaGroups& groups, double bytes, double calls,
                            CollectiveAlgorithm algorithm)
{
    return {calls * times.seconds(Collective::AllGather, bytes / calls, groups.shard, algorithm),
            CollectiveTimes::wireBytes(Collective::AllGather, bytes, groups.shards())};
}

} // namespace fourwalls::cost
