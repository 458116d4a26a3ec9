// SPDX-License-Identifier: Apache-2.0
// What the tests of image operators and networks share: images of any layout by index, and copies between layouts.
#pragma once

#include "tests/profiler/engine/engine_fixture.h"

#include "profiler/engine/device/image_onednn.h"
#include "profiler/engine/device/image_reference.h"

namespace fourwalls::engine::testing {

/// Where pixel (n, c, h, w) lies.
inline std::int64_t placeOf(const Tensor& image, std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w)
{
    const Shape& s = image.shape();
    const auto blocked = [&](std::int64_t block) {
        return (((n * (s[1] / block) + c / block) * s[2] + h) * s[3] + w) * block + c % block;
    };
    switch (image.layout()) {
    case Layout::RowMajor: return ((n * s[1] + c) * s[2] + h) * s[3] + w;
    case Layout::ChannelsLast: return ((n * s[2] + h) * s[3] + w) * s[1] + c;
    case Layout::ChannelBlocks16: return blocked(16);
    case Layout::ChannelBlocks8: return blocked(8);
    }
    return 0;
}

/// Copies every pixel, whatever the layouts and types.
inline void copyPixels(const Tensor& from, const Tensor& to)
{
    const Shape& s = from.shape();
    for (std::int64_t n = 0; n < s[0]; ++n)
        for (std::int64_t c = 0; c < s[1]; ++c)
            for (std::int64_t h = 0; h < s[2]; ++h)
                for (std::int64_t w = 0; w < s[3]; ++w)
                    setElement(to, placeOf(to, n, c, h, w), element(from, placeOf(from, n, c, h, w)));
}

/// Root of the sum of squared differences over that of `expected`.
inline double relativeNorm(const Tensor& actual, const Tensor& expected)
{
    double difference = 0, scale = 0;
    for (std::int64_t i = 0; i < expected.elements(); ++i) {
        difference += std::pow(element(actual, i) - element(expected, i), 2);
        scale += std::pow(element(expected, i), 2);
    }
    return scale > 0 ? std::sqrt(difference / scale) : std::sqrt(difference);
}

} // namespace fourwalls::engine::testing
