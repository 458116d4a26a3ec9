// SPDX-License-Identifier: Apache-2.0
// Parameters that are reduced, sharded and gathered together, one behind the other in common buffers.
#pragma once

#include "profiler/engine/nn/parameter.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace fourwalls::engine {

/// A stretch of one parameter that this rank updates.
struct ParameterPiece {
    Parameter* parameter = nullptr;
    std::int64_t first = 0; ///< element of the rank's tensor of the parameter, row-major
    Tensor weight;          ///< master type, one row
    Tensor compute;         ///< the rounded copy that the update refreshes, or undefined
    Tensor gradient;        ///< added up over all ranks, once gradients are finished
    bool counts = true;     ///< no other rank counts it towards the norm of all gradients
    int bucket = -1;        ///< -1: none
    bool onHost = false;    ///< weight and compute lie in the host's pool (offloaded parameters)
};

/// Every parameter whole, with the tensors that it has: for a rank that runs alone.
std::vector<ParameterPiece> wholePieces(const ParameterList& parameters);

/// Where a bucket's tensors are. Whole tensors hold all elements of the bucket, shards the part of this rank.
struct ParameterBucket {
    struct Entry {
        Parameter* parameter = nullptr;
        std::int64_t offset = 0;
    };

    int chunk = 0;                    ///< of the rank's chunks
    Communicator* group = nullptr;    ///< gradients add up here
    bool rounded = false;             ///< products read a rounded copy, not the master weights
    bool shared = false;              ///< first and last stage hold copies
    std::vector<Entry> entries;       ///< those whose gradients add up over the tensor group first
    std::int64_t partialElements = 0; ///< of those
    std::int64_t elements = 0;        ///< padded so that the group's members have equal parts
    int units = 0;                    ///< that have parameters in it
    int unitsLeft = 0;                ///< backward passes of them until the bucket is reduced; 0: it is, for this step

    Tensor weights, rounding; ///< whole: master weights, their rounded copies; undefined while not needed
    Tensor weightShard,
        roundingShard;      ///< views of the above, or tensors of their own (in the host's pool, if offloaded)
    Tensor staged;          ///< an offloaded shard in the rank's memory, on its way to the other ranks
    Instant stagedAt;       ///< when it is there
    Tensor gradients;       ///< whole; undefined while not needed
    Tensor gradientShard;   ///< a view of the above, or a tensor of its own
    bool shardEmpty = true; ///< nothing was added to it in this step
    Tensor reduced;         ///< what arrives before it is added to the shard
    CommRequest reduction, gathering; ///< under way

    std::int64_t shardElements() const { return elements / group->size(); }
    std::int64_t shardFirst() const { return shardElements() * group->index(); }
    /// First element and length of each stretch that belongs to no parameter.
    std::vector<std::pair<std::int64_t, std::int64_t>> gaps() const;
    /// Adds a parameter at the end, aligned for vector instructions.
    void append(Parameter& parameter);
    /// Lets the parameters' tensors be parts of the bucket's.
    void bindWeights(DType master) const;
    void bindGradients() const;
};

/// Buckets for the parameters of one chunk, in the order in which the backward pass completes them. perUnit: no bucket
/// holds more than one unit; byRounding: parameters with and without rounded copies apart.
std::vector<ParameterBucket> makeBuckets(const RankContext& rank, int chunk, const ParameterList& list, bool perUnit,
                                         bool byRounding);

} // namespace fourwalls::engine
