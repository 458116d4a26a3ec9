// SPDX-License-Identifier: GPL-3.0-or-later
// See memory_columns.h.
#include "views/memory/memory_columns.h"

#include <algorithm>
#include <cmath>

namespace fourwalls::views {

const MemorySample* sampleAt(const MemoryWindow& window, Instant at)
{
    if (at < window.range.begin || at >= window.range.end) return nullptr;
    const auto after = std::upper_bound(window.samples.begin(), window.samples.end(), at,
                                        [](Instant t, const MemorySample& sample) { return t < sample.at; });
    return after == window.samples.begin() ? nullptr : &*(after - 1);
}

AreaStack stackOf(const MemoryWindow& window, const TimeCamera& camera, const MemoryScale& scale, int columns,
                  double ratio, double top)
{
    AreaStack stack;
    stack.columns = std::max(0, columns);
    stack.layers = kMemoryCategoryCount;
    const float floor = static_cast<float>((scale.y(0) - top) * ratio);
    stack.tops.assign(static_cast<std::size_t>(stack.columns) * kMemoryCategoryCount, floor);
    const auto& samples = window.samples;
    if (samples.empty()) return stack;

    const double origin = static_cast<double>((camera.bounds().begin).ns) + camera.beginNs();
    const double nsPerColumn = camera.nsPerPixel() * camera.width() / std::max(1, columns);
    const double perByte = scale.linear().height() / scale.top() * ratio;
    std::size_t held = 0;       // the last sample at or before the column's begin
    for (int column = 0; column < columns; ++column) {
        const auto begin = static_cast<std::int64_t>(std::floor(origin + column * nsPerColumn));
        const auto end = std::max(begin + 1, static_cast<std::int64_t>(std::floor(origin + (column + 1) * nsPerColumn)));
        if (end <= window.range.begin.ns || begin >= window.range.end.ns) continue;
        while (held + 1 < samples.size() && samples[held + 1].at.ns <= begin) ++held;
        if (samples[held].at.ns >= end) continue;
        const MemorySample* largest = &samples[held];
        std::int64_t most = largest->total();
        for (std::size_t i = held + 1; i < samples.size() && samples[i].at.ns < end; ++i) {
            if (const std::int64_t total = samples[i].total(); total > most) {
                largest = &samples[i];
                most = total;
            }
        }
        double sum = 0;
        for (int layer = 0; layer < kMemoryCategoryCount; ++layer) {
            sum += static_cast<double>(largest->bytes[static_cast<std::size_t>(layer)]);
            stack.tops[static_cast<std::size_t>(layer) * static_cast<std::size_t>(columns) +
                       static_cast<std::size_t>(column)] = floor - static_cast<float>(sum * perByte);
        }
    }
    return stack;
}

std::int64_t staticBytes(const CategoryBytes& bytes)
{
    std::int64_t sum = 0;
    for (int i = 0; i < kMemoryCategoryCount; ++i) {
        if (isStatic(static_cast<MemoryCategory>(i))) sum += bytes[static_cast<std::size_t>(i)];
    }
    return sum;
}

} // namespace fourwalls::views
