// SPDX-License-Identifier: Apache-2.0
// Which positions of every sample a rank of the context group works on.
#pragma once

#include "profiler/engine/nn/parameter.h"

#include <cstdint>
#include <vector>

namespace fourwalls::engine {

/// A sequence cut over `ranks` ranks. If it divides by twice their number, rank i has the i-th stretch from the front
/// and the i-th from the back, so that causal attention is the same work for all (zigzag); otherwise one stretch.
struct SequenceSplit {
    std::int64_t sequence = 0;
    int ranks = 1, index = 0;

    static SequenceSplit of(const RankContext& rank, std::int64_t sequence)
    {
        return {sequence, sizeOf(rank.contextGroup()), indexIn(rank.contextGroup())};
    }

    bool zigzag() const { return ranks > 1 && sequence % (2 * ranks) == 0; }
    /// Tokens per sample and rank. sequence divides by ranks.
    std::int64_t length() const { return sequence / ranks; }
    /// The stretches of positions of rank `owner`, in the order in which they lie in its tensors.
    std::vector<IndexRange> stretchesOf(int owner) const
    {
        if (!zigzag()) return {{owner * length(), length()}};
        const std::int64_t half = length() / 2;
        return {{owner * half, half}, {(2 * ranks - 1 - owner) * half, half}};
    }
    std::vector<IndexRange> stretches() const { return stretchesOf(index); }
    /// Position in the sequence of the rank's token `local`, 0 <= local < length().
    std::int64_t position(std::int64_t local) const
    {
        if (!zigzag()) return index * length() + local;
        const std::int64_t half = length() / 2;
        return local < half ? index * half + local : (2 * ranks - 1 - index) * half + local - half;
    }
};

} // namespace fourwalls::engine
