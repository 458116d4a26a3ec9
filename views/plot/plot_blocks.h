// SPDX-License-Identifier: GPL-3.0-or-later
// Rectangles written straight into an image, with a hair of the background between neighbours where there is room.
#pragma once

#include <QImage>
#include <QRectF>
#include <QRgb>

namespace fourwalls::views {

class BlockPainter {
public:
    /// image: Format_ARGB32_Premultiplied or Format_RGB32, alive as long as this. gap: colour between blocks.
    BlockPainter(QImage& image, QRgb gap);

    /// Fills `box` [image pixels], at least one pixel each way if any of it lies in the image. Boxes of 4 pixels or
    /// more get a right and upper edge halfway to the gap's colour, so that neighbours stay apart.
    void fill(const QRectF& box, QRgb color);

private:
    QRgb* m_pixels;
    qsizetype m_stride;
    int m_width, m_height;
    QRgb m_gap;
};

} // namespace fourwalls::views
