// SPDX-License-Identifier: Apache-2.0
// What the collective algorithms send: who, to whom, which part of the buffer, in which round. The engine executes
// exactly these hops and the cost model prices them, so that both mean the same thing by "ring" or "tree".
#pragma once

#include "model/spec/parallel_plan.h"

#include <cstdint>
#include <vector>

namespace fourwalls {

enum class CollectiveKind { AllReduce, ReduceScatter, AllGather, Broadcast };

/// One message: elements [first, first + count) of the logical buffer go from one member to another, which adds them
/// to its own (reduce) or replaces its own. Hops of a round depend only on earlier rounds.
struct CollectiveHop {
    int round = 0;
    int from = 0, to = 0;
    std::int64_t first = 0, count = 0;
    bool reduce = false;

    friend bool operator==(const CollectiveHop&, const CollectiveHop&) = default;
};

/// What is communicated. The logical buffer has `elements` elements: the buffer of an all-reduce or broadcast, the
/// whole input of a reduce-scatter, the whole output of an all-gather.
struct CollectiveShape {
    CollectiveKind kind = CollectiveKind::AllReduce;
    int members = 1;
    std::int64_t elements = 0;
    int root = 0;           ///< of a broadcast
    int membersPerNode = 0; ///< neighbours in member order that share a node (hierarchical); 0: all of them

    friend auto operator<=>(const CollectiveShape&, const CollectiveShape&) = default;
};

/// Part `part` of `parts` of a buffer: [partBegin(part), partBegin(part + 1)), the longer ones first.
std::int64_t partBegin(std::int64_t elements, int parts, int part);

/// The algorithm that really runs: Ring, Tree, Direct or Hierarchical. A tree all-gather or reduce-scatter runs as a
/// ring (it has nothing to gain), a hierarchical operation whose members all share a node, or are alone on theirs or
/// unevenly spread, too. Auto: see chooseAlgorithm.
CollectiveAlgorithm effectiveAlgorithm(const CollectiveShape& shape, CollectiveAlgorithm algorithm);

/// All hops, by round; empty ranges are left out.
/// Ring: 2(n-1) rounds of an n-th each (all-reduce), n-1 for gather and scatter; a broadcast runs along the chain in
/// n parts. Tree: binomial, towards member 0 (the root) and back. Direct: everybody sends each other member its part,
/// sums it and sends the sum to everybody, two rounds. Hierarchical: reduce-scatter inside the node, the same shape of
/// operation between nodes on the part, all-gather inside the node.
/// algorithm: not Auto.
std::vector<CollectiveHop> collectiveHops(const CollectiveShape& shape, CollectiveAlgorithm algorithm);

/// Elements that `member` sends in all. Closed forms, equal to the sum over collectiveHops.
/// n members, S elements: all-reduce by ring, direct: 2(n-1)/n S up to what does not divide; tree: S per child and S
/// to the parent. Source: Thakur, Rabenseifner, Gropp 2005; NVIDIA/nccl-tests doc/PERFORMANCE.md.
std::int64_t elementsSent(const CollectiveShape& shape, CollectiveAlgorithm algorithm, int member);

} // namespace fourwalls
