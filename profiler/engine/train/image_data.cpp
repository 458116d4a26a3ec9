// SPDX-License-Identifier: Apache-2.0
// See image_data.h.
#include "profiler/engine/train/image_data.h"

#include "model/base/random.h"
#include "profiler/engine/core/host_access.h"

#include <cmath>
#include <cstring>
#include <numbers>

namespace fourwalls::engine {

namespace {

constexpr std::int64_t kChannels = 3;
constexpr std::int64_t kWaves = 3;
constexpr std::uint64_t kMostCycles = 6; // of a wave across the image

// Waves and noise have unit variance together: kWaves * kColour^2 / 2 + kNoise^2 = 1, with colours of +-kColour.
constexpr double kNoise = 0.5;
const double kColour = std::sqrt((1.0 - kNoise * kNoise) * 2.0 / static_cast<double>(kWaves));

} // namespace

ImageData::ImageData(std::int64_t imageSize, std::int64_t classes, std::uint64_t seed)
    : m_size(imageSize)
    , m_classes(classes)
    , m_seed(seed)
{}

void ImageData::paint(std::int64_t sample, std::int64_t label, std::vector<float>& pixels) const
{
    const auto n = static_cast<std::size_t>(m_size);
    const RandomStream pattern(mix64(m_seed) ^ static_cast<std::uint64_t>(label), 0x70617474); // of the class
    const RandomStream own(mix64(m_seed) ^ static_cast<std::uint64_t>(sample), 0x6f776e);      // of the sample
    for (std::size_t i = 0; i < pixels.size(); ++i)
        pixels[i] = static_cast<float>((own.uniform(i) - 0.5) * kNoise * std::sqrt(12.0));

    // cos(a + b) from tables of the rows' angles a and the columns' angles b.
    std::vector<float> rowCos(n), rowSin(n), colCos(n), colSin(n);
    for (std::uint64_t wave = 0; wave < kWaves; ++wave) {
        const std::uint64_t at = wave * 8;
        const auto cyclesDown = static_cast<double>(pattern.below(at, kMostCycles + 1));
        const auto cyclesAcross = static_cast<double>(1 + pattern.below(at + 1, kMostCycles));
        const double lean = pattern.bits(at + 2) & 1 ? 1.0 : -1.0;
        // A shifted pattern is one whose waves have other phases.
        const double shift = 2.0 * std::numbers::pi * own.uniform(pixels.size() + wave);
        for (std::size_t i = 0; i < n; ++i) {
            const double turn = 2.0 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(n);
            rowCos[i] = static_cast<float>(std::cos(turn * cyclesDown + shift));
            rowSin[i] = static_cast<float>(std::sin(turn * cyclesDown + shift));
            colCos[i] = static_cast<float>(std::cos(turn * cyclesAcross * lean));
            colSin[i] = static_cast<float>(std::sin(turn * cyclesAcross * lean));
        }
        for (std::uint64_t c = 0; c < kChannels; ++c) {
            const auto colour = static_cast<float>(pattern.bits(at + 3 + c) & 1 ? kColour : -kColour);
            float* plane = pixels.data() + c * n * n;
            for (std::size_t i = 0; i < n; ++i) {
                const float p = colour * rowCos[i], q = colour * rowSin[i];
                for (std::size_t j = 0; j < n; ++j) plane[i * n + j] += p * colCos[j] - q * colSin[j];
            }
        }
    }
}

Batch ImageData::batch(RankContext& rank, std::int64_t step, std::int64_t globalBatch, std::int64_t first,
                       std::int64_t count, std::int64_t) const
{
    Batch batch;
    batch.samples = count;
    const Shape shape{count, kChannels, m_size, m_size};
    batch.inputs = Tensor::make(rank.allocator, shape, rank.format.compute, MemoryCategory::Other);
    batch.targets = Tensor::make(rank.allocator, {count}, DType::I32, MemoryCategory::Other);
    const RandomStream labels = RandomStream::named(m_seed, "image labels");
    std::vector<float> pixels(static_cast<std::size_t>(kChannels * m_size * m_size));
    const HostAccess inputs(batch.inputs, HostAccess::Mode::Write);
    const auto size = static_cast<std::int64_t>(pixels.size());
    for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t sample = step * globalBatch + first + i;
        const auto label = static_cast<std::int64_t>(
            labels.below(static_cast<std::uint64_t>(sample), static_cast<std::uint64_t>(m_classes)));
        batch.targets.as<std::int32_t>()[i] = static_cast<std::int32_t>(label);
        paint(sample, label, pixels);
        if (batch.inputs.type() == DType::F32) {
            std::memcpy(static_cast<float*>(inputs.data()) + i * size, pixels.data(), pixels.size() * sizeof(float));
        } else {
            for (std::int64_t j = 0; j < size; ++j)
                inputs.set(i * size + j, static_cast<double>(pixels[static_cast<std::size_t>(j)]));
        }
    }
    return batch;
}

} // namespace fourwalls::engine
