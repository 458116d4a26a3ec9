// SPDX-License-Identifier: GPL-3.0-or-later
// See plot_blocks.h.
#include "views/plot/plot_blocks.h"

#include <algorithm>

namespace fourwalls::views {

namespace {
constexpr int kSmallestWithGap = 4;
}

BlockPainter::BlockPainter(QImage& image, QRgb gap)
    : m_pixels(reinterpret_cast<QRgb*>(image.bits()))
    , m_stride(image.bytesPerLine() / static_cast<qsizetype>(sizeof(QRgb)))
    , m_width(image.width())
    , m_height(image.height())
    , m_gap(gap)
{}

void BlockPainter::fill(const QRectF& box, QRgb color)
{
    // Clip in floating point first: far outside values do not fit into an int. What is left is not negative.
    const auto rounded = [](double value) { return static_cast<int>(value + 0.5); };
    if (!(box.right() > 0) || !(box.bottom() > 0) || !(box.left() < m_width) || !(box.top() < m_height)) return;
    const int left = rounded(std::max(box.left(), 0.0));
    const int top = rounded(std::max(box.top(), 0.0));
    const int right = std::min(m_width, std::max(left + 1, rounded(std::min(box.right(), m_width * 1.0))));
    const int bottom = std::min(m_height, std::max(top + 1, rounded(std::min(box.bottom(), m_height * 1.0))));
    const bool gapRight = right - left >= kSmallestWithGap && box.right() <= m_width;
    const bool gapTop = bottom - top >= kSmallestWithGap && box.top() >= 0;
    // Halfway to the gap's colour: a full gap would turn a pile of low blocks into stripes.
    const auto half = [&](int shift) { return (((color >> shift) & 0xff) + ((m_gap >> shift) & 0xff)) / 2 << shift; };
    const QRgb seam = half(0) | half(8) | half(16) | half(24);
    for (int row = top; row < bottom; ++row) {
        QRgb* const line = m_pixels + row * m_stride;
        std::fill(line + left, line + right, row == top && gapTop ? seam : color);
        if (gapRight) line[right - 1] = seam;
    }
}

} // namespace fourwalls::views
