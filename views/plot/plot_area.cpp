// SPDX-License-Identifier: GPL-3.0-or-later
// See plot_area.h.
#include "views/plot/plot_area.h"

#include <algorithm>
#include <cmath>

namespace fourwalls::views {

namespace {

/// `over` at `coverage` of 0..255 on top of `under`, premultiplied.
QRgb cover(QRgb over, QRgb under, unsigned coverage)
{
    const unsigned rest = 255 - coverage;
    // Two channels at a time; +128 and the shift divide by 255 with rounding that is exact at both ends.
    const auto mix = [&](unsigned shift) {
        const unsigned a = ((over >> shift) & 0xff) * coverage + ((under >> shift) & 0xff) * rest + 128;
        return ((a + (a >> 8)) >> 8) << shift;
    };
    return mix(0) | mix(8) | mix(16) | mix(24);
}

/// Columns painted together: 16 pixels are one cache line of each row.
constexpr int kBlock = 16;

} // namespace

void paintStack(QImage& image, int left, int bottom, const AreaStack& stack, std::span<const QRgb> colors)
{
    const int layers = std::min(stack.layers, static_cast<int>(colors.size()));
    const int lastRow = std::min(bottom, image.height());
    const int firstColumn = std::max(0, -left);
    const int lastColumn = std::min(stack.columns, image.width() - left);
    if (layers <= 0 || lastRow <= 0) return;
    auto* const pixels = reinterpret_cast<QRgb*>(image.bits());
    const std::size_t stride = static_cast<std::size_t>(image.bytesPerLine()) / sizeof(QRgb);

    for (int block = firstColumn; block < lastColumn; block += kBlock) {
        const int blockEnd = std::min(block + kBlock, lastColumn);
        for (int column = block; column < blockEnd; ++column) {
            QRgb* const line = pixels + (left + column);
            // Top down: each layer fills past its lower edge to a whole pixel, and the next one is blended over it.
            for (int layer = layers - 1; layer >= 0; --layer) {
                const float limit = static_cast<float>(lastRow);
                const float top = std::clamp(stack.top(layer, column), 0.0f, limit);
                const float below = layer > 0 ? std::clamp(stack.top(layer - 1, column), top, limit) : limit;
                if (below <= top) continue;
                const QRgb color = colors[static_cast<std::size_t>(layer)];
                const int edge = static_cast<int>(top);
                const int end = static_cast<int>(std::ceil(below));
                const float fraction = top - static_cast<float>(edge);
                int row = edge;
                if (fraction > 0) {
                    QRgb& pixel = line[static_cast<std::size_t>(row) * stride];
                    pixel = cover(color, pixel, static_cast<unsigned>(std::lround((1 - fraction) * 255)));
                    ++row;
                }
                for (QRgb* p = line + static_cast<std::size_t>(row) * stride; row < end; ++row, p += stride) *p = color;
            }
        }
    }
}

void paintColumnLine(QImage& image, int left, std::span<const float> ys, const ColumnPen& pen)
{
    const float half = pen.width / 2;
    const float period = pen.dashOn + pen.dashOff;
    const QRgb color = qPremultiply(pen.color | 0xff000000);
    const float opacity = static_cast<float>(qAlpha(pen.color));
    const float rows = static_cast<float>(image.height());
    float walked = 0;
    float last = std::nanf("");
    for (std::size_t i = 0; i < ys.size(); ++i) {
        const float y = ys[i];
        const bool joined = !std::isnan(last) && !std::isnan(y);
        if (joined) walked += 1 + std::abs(y - last);
        const float from = joined ? last : y;
        last = y;
        const int x = left + static_cast<int>(i);
        if (std::isnan(y) || x < 0 || x >= image.width()) continue;
        if (pen.dashOff > 0 && std::fmod(walked, period) >= pen.dashOn) continue;
        const float top = std::clamp(std::min(from, y) - half, 0.0f, rows);
        const float bottom = std::clamp(std::max(from, y) + half, 0.0f, rows);
        for (int row = static_cast<int>(top); static_cast<float>(row) < bottom; ++row) {
            const float begin = std::max(top, static_cast<float>(row));
            const float end = std::min(bottom, static_cast<float>(row + 1));
            QRgb& pixel = reinterpret_cast<QRgb*>(image.scanLine(row))[x];
            pixel = cover(color, pixel, static_cast<unsigned>(std::lround((end - begin) * opacity)));
        }
    }
}

} // namespace fourwalls::views
