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

namespace {

/// Which times lie in which column.
struct Columns {
    double origin, nsPerColumn;

    Columns(const TimeCamera& camera, int columns)
        : origin(static_cast<double>(camera.bounds().begin.ns) + camera.beginNs())
        , nsPerColumn(camera.nsPerPixel() * camera.width() / std::max(1, columns))
    {}
    std::int64_t begin(int column) const
    {
        return static_cast<std::int64_t>(std::floor(origin + column * nsPerColumn));
    }
    std::int64_t end(int column) const { return std::max(begin(column) + 1, begin(column + 1)); }
};

} // namespace

AreaStack stackOf(const MemoryWindow& window, const TimeCamera& camera, const MemoryScale& scale, int columns,
                  double ratio, double top, double resolution)
{
    AreaStack stack;
    stack.columns = std::max(0, columns);
    stack.layers = kMemoryCategoryCount;
    const float floor = static_cast<float>((scale.y(0) - top) * ratio);
    stack.tops.assign(static_cast<std::size_t>(stack.columns) * kMemoryCategoryCount, floor);
    const auto& samples = window.samples;
    if (samples.empty()) return stack;

    const Columns times(camera, columns);
    const double perByte = scale.linear().height() / scale.top() * ratio;
    std::size_t held = 0; // the last sample at or before the column's begin
    for (int column = 0; column < columns; ++column) {
        const std::int64_t begin = times.begin(column), end = times.end(column);
        if (end <= window.range.begin.ns || begin >= window.range.end.ns) continue;
        while (held + 1 < samples.size() && samples[held + 1].at.ns <= begin) ++held;
        if (samples[held].at.ns >= end) continue;
        const MemorySample* largest = &samples[held];
        std::int64_t most = largest->total();
        const std::int64_t back = begin - static_cast<std::int64_t>(resolution);
        for (std::size_t i = held; i > 0 && samples[i - 1].at.ns > back; --i) {
            if (const std::int64_t total = samples[i - 1].total(); total > most) {
                largest = &samples[i - 1];
                most = total;
            }
        }
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

std::vector<float> lineOf(std::span<const CurvePoint> points, Instant end, const TimeCamera& camera,
                          const MemoryScale& scale, int columns, double ratio, double top)
{
    std::vector<float> ys(static_cast<std::size_t>(std::max(0, columns)), std::nanf(""));
    if (points.empty()) return ys;
    const Columns times(camera, columns);
    std::size_t held = 0;
    for (int column = 0; column < columns; ++column) {
        const std::int64_t first = times.begin(column), past = times.end(column);
        if (first >= end.ns) break;
        while (held + 1 < points.size() && points[held + 1].at.ns <= first) ++held;
        if (points[held].at.ns >= past) continue;
        double most = points[held].bytes;
        for (std::size_t i = held + 1; i < points.size() && points[i].at.ns < past; ++i)
            most = std::max(most, points[i].bytes);
        ys[static_cast<std::size_t>(column)] = static_cast<float>((scale.y(most) - top) * ratio);
    }
    return ys;
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
