// SPDX-License-Identifier: Apache-2.0
// Training images made by formula: every class has a pattern of coloured waves of its own, every sample shows it
// shifted at random and under noise. So there is something to learn, without a data set to download.
#pragma once

#include "profiler/engine/train/data_source.h"

#include <cstdint>
#include <vector>

namespace fourwalls::engine {

class ImageData final : public DataSource {
public:
    /// Square images of imageSize pixels in three channels, of about zero mean and unit variance.
    ImageData(std::int64_t imageSize, std::int64_t classes, std::uint64_t seed);

    /// As the image is painted, in f32, with its class.
    std::int64_t sampleBytes(std::int64_t) const override
    {
        return 3 * m_size * m_size * bytesOf(DType::F32) + bytesOf(DType::I32);
    }

    Batch batch(RankContext& rank, std::int64_t step, std::int64_t globalBatch, std::int64_t first, std::int64_t count,
                std::int64_t length = 0) const override;

private:
    /// Three channels of one sample, as [channels][height][width].
    void paint(std::int64_t sample, std::int64_t label, std::vector<float>& pixels) const;

    std::int64_t m_size, m_classes;
    std::uint64_t m_seed;
};

} // namespace fourwalls::engine
