// SPDX-License-Identifier: Apache-2.0
// What the collective algorithms send: who, to whom, which part of the buffer, in which round. The engine executes
// exactly these hops and the cost model prices them, so that both mean the same thing by "ring" or "tree".
#pragma once

#include "model/spec/cluster_spec.h"
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

/// The links that a group's hops take.
struct CollectiveLinks {
    LinkSpec inside;            ///< between members on one node
    LinkSpec between;           ///< between nodes, one member's share
    bool fullyConnected = true; ///< inside a node everybody reaches everybody at full rate
};

/// Time of the whole operation when all members arrive together and only links take time: a hop takes latency +
/// bytes / rate, a member's port carries one message at a time in each direction. S bytes, n members, a latency,
/// b rate; operations that span nodes without being hierarchical go at the pace of the links between nodes:
/// ring all-reduce 2(n-1)(a + S/nb), half of it for gather and scatter; tree 2 ceil(log2 n)(a + S/b), exact where n is
/// a power of two; direct 2a + 2(n-1)S/nb; hierarchical, L members on each of N nodes: direct inside, ring between.
/// elementBytes: of one element. algorithm: not Auto.
double collectiveSeconds(const CollectiveShape& shape, CollectiveAlgorithm algorithm, double elementBytes,
                         const CollectiveLinks& links);

/// What Auto means: the algorithm with the least collectiveSeconds. Direct only where the members share a fully
/// connected node. Among equals the first of direct, tree, hierarchical, ring.
CollectiveAlgorithm chooseAlgorithm(const CollectiveShape& shape, double elementBytes, const CollectiveLinks& links);

} // namespace fourwalls
