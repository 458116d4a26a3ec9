// SPDX-License-Identifier: Apache-2.0
// What many measurements of one thing came to.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace fourwalls::learn {

/// The middle of the samples and the quartiles around it.
struct Spread {
    double median = 0, low = 0, high = 0;
    std::size_t count = 0;
};

/// Quartiles lie between samples where their place does. Of none: all 0.
inline Spread spreadOf(std::vector<double> samples)
{
    if (samples.empty()) return {};
    std::sort(samples.begin(), samples.end());
    const auto at = [&samples](double share) {
        const double place = share * static_cast<double>(samples.size() - 1);
        const auto below = static_cast<std::size_t>(place);
        const std::size_t above = std::min(below + 1, samples.size() - 1);
        return samples[below] + (place - static_cast<double>(below)) * (samples[above] - samples[below]);
    };
    return {at(0.5), at(0.25), at(0.75), samples.size()};
}

} // namespace fourwalls::learn
