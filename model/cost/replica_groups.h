// SPDX-License-Identifier: Apache-2.0
// Who holds the same weights, and who of them shares the states of a sharded optimizer: where the groups are, and what it
// takes to sum gradients over them and to bring weights together.
#pragma once

#include "model/cost/collective_time.h"

#include <numeric>

namespace fourwalls::cost {

/// The replicas of some weights: all of them, those that zero cuts the states over, and those that hold the same cut.
struct ReplicaGroups {
    GroupPlacement all, shard, between;

    int shards() const { return shard.ranks; }
};

inline ReplicaGroups groupsOf(int replicas, int shards, int stride, int devicesPerNode)
{
    return {placeGroup(replicas, stride, devicesPerNode), placeGroup(shards, stride, devicesPerNode),
            placeGroup(replicas / shards, stride * shards, devicesPerNode)};
}

/// Of the weights outside of experts.
inline ReplicaGroups denseReplicas(const ParallelPlan& plan, int devicesPerNode)
{
    return groupsOf(plan.replicas(), plan.shards(), plan.tp, devicesPerNode);
}

/// Of the weights of experts.
inline ReplicaGroups expertReplicas(const ParallelPlan& plan, int devicesPerNode)
{
    const int replicas = plan.expertReplicas() / plan.ep > 0 ? plan.expertReplicas() / plan.ep : 1;
    const int shards = plan.shard > 0 ? std::gcd(plan.shard, replicas) : replicas;
    return groupsOf(replicas, shards, plan.expertTensorDegree() * plan.ep, devicesPerNode);
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
