// SPDX-License-Identifier: Apache-2.0
// See masked_text_data.h.
#include "profiler/engine/train/masked_text_data.h"

#include "model/base/random.h"
#include "profiler/engine/nn/sequence_split.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace fourwalls::engine {

std::int64_t MaskedTextData::maskedTokens(std::int64_t sequence)
{
    return std::clamp<std::int64_t>(std::llround(kMaskedShare * static_cast<double>(sequence)), 1, sequence);
}

Batch MaskedTextData::batch(RankContext& rank, std::int64_t step, std::int64_t globalBatch, std::int64_t first,
                            std::int64_t count, std::int64_t length) const
{
    Batch batch = m_text.batch(rank, step, globalBatch, first, count, length);
    const std::int64_t own = batch.inputs.columns(), sequence = batch.length;
    const SequenceSplit split = SequenceSplit::of(rank, sequence);
    const std::int64_t masked = maskedTokens(sequence);
    batch.targetShare = static_cast<double>(masked) / static_cast<double>(sequence);
    const RandomStream random = RandomStream::named(m_seed, "masked tokens");
    std::vector<std::int64_t> order(static_cast<std::size_t>(sequence)), guess(order.size());
    for (std::int64_t i = 0; i < count; ++i) {
        // Three numbers per guess: which token, what happens to it, and the random byte.
        const auto sample = static_cast<std::uint64_t>(step * globalBatch + first + i);
        const std::uint64_t base = sample * static_cast<std::uint64_t>(3 * masked);
        std::iota(order.begin(), order.end(), 0);
        std::fill(guess.begin(), guess.end(), -1);
        for (std::int64_t m = 0; m < masked; ++m) {
            // The first `masked` places of a shuffle.
            const auto pick = m + static_cast<std::int64_t>(random.below(base + static_cast<std::uint64_t>(3 * m),
                                                                         static_cast<std::uint64_t>(sequence - m)));
            std::swap(order[static_cast<std::size_t>(m)], order[static_cast<std::size_t>(pick)]);
            guess[static_cast<std::size_t>(order[static_cast<std::size_t>(m)])] = m;
        }
        std::int32_t* in = batch.inputs.as<std::int32_t>() + i * own;
        std::int32_t* target = batch.targets.as<std::int32_t>() + i * own;
        for (std::int64_t t = 0; t < own; ++t) {
            const std::int64_t m = guess[static_cast<std::size_t>(split.position(t))];
            target[t] = m < 0 ? -1 : in[t];
            if (m < 0) continue;
            const std::uint64_t at = base + static_cast<std::uint64_t>(3 * m), fate = random.below(at + 1, 10);
            if (fate < 8)
                in[t] = m_maskToken;
            else if (fate == 8)
                in[t] = static_cast<std::int32_t>(random.below(at + 2, 256));
        }
    }
    return batch;
}

} // namespace fourwalls::engine
