// SPDX-License-Identifier: Apache-2.0
// Training text for encoders: some tokens of every sample are hidden, and the network is to say what they were.
#pragma once

#include "profiler/engine/train/text_data.h"

#include <cstdint>
#include <utility>

namespace fourwalls::engine {

class MaskedTextData final : public DataSource {
public:
    /// Share of the tokens that are to be guessed (Devlin et al. 2018, arXiv:1810.04805, section 3.1).
    static constexpr double kMaskedShare = 0.15;

    MaskedTextData(TextData text, std::int64_t vocabulary, std::uint64_t seed)
        : m_text(std::move(text))
        , m_maskToken(static_cast<std::int32_t>(vocabulary > 256 ? 256 : 0))
        , m_seed(seed)
    {}

    std::int64_t sampleBytes(std::int64_t length) const override { return m_text.sampleBytes(length); }
    std::shared_ptr<const std::vector<std::int64_t>> documents(std::int64_t step, std::int64_t globalBatch,
                                                               std::int64_t first, std::int64_t count,
                                                               std::int64_t length = 0) const override
    {
        return m_text.documents(step, globalBatch, first, count, length);
    }
    /// The same number of tokens of every sample is to be guessed: of these eight in ten are replaced by the mask (a
    /// token that no text holds: 256, or byte 0 if the vocabulary has bytes only), one by a random byte, one stays.
    /// Targets of all others are -1.
    Batch batch(RankContext& rank, std::int64_t step, std::int64_t globalBatch, std::int64_t first, std::int64_t count,
                std::int64_t length = 0) const override;

    /// How many tokens of a sample are to be guessed; at least one.
    static std::int64_t maskedTokens(std::int64_t sequence);

private:
    TextData m_text;
    std::int32_t m_maskToken;
    std::uint64_t m_seed;
};

} // namespace fourwalls::engine
