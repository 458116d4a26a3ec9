// SPDX-License-Identifier: GPL-3.0-or-later
// Stacked areas painted column by column straight into an image: QPainter's polygon fill takes seconds where this
// takes two milliseconds.
#pragma once

#include <QImage>
#include <QRect>
#include <QRgb>
#include <span>
#include <vector>

namespace fourwalls::views {

/// The upper edges of a stack of areas, in pixels. Edges are stored layer after layer, bottom layer first, each with
/// one value per column: y [pixel, downwards] of the layer's top, never below the one of the layer under it.
struct AreaStack {
    int columns = 0;
    int layers = 0;
    std::vector<float> tops; ///< layers x columns; tops[layer * columns + column]
    float top(int layer, int column) const
    {
        return tops[static_cast<std::size_t>(layer) * static_cast<std::size_t>(columns) +
                    static_cast<std::size_t>(column)];
    }
};

/// Paints the stack over what the image already shows: column c at x = left + c, every layer from its top down to the
/// layer below, the lowest down to row `bottom` (exclusive). Edges are blended by coverage of their pixel.
/// image: Format_ARGB32_Premultiplied or Format_RGB32. colors: one opaque colour per layer.
/// Columns and rows outside the image are skipped. An empty layer (top equal to the one below) paints nothing.
void paintStack(QImage& image, int left, int bottom, const AreaStack& stack, std::span<const QRgb> colors);

/// How a curve over the columns is drawn. Dashes are lengths along the curve [pixels]; off 0: solid.
struct ColumnPen {
    QRgb color = 0xff000000; ///< not premultiplied; may be translucent
    float width = 1.5f;      ///< [pixels]
    float dashOn = 0, dashOff = 0;
};

/// Paints a step curve over what the image already shows: column c at x = left + c with its middle at ys[c]
/// [pixel, downwards], neighbours joined by upright strokes; a NaN is a gap. A path of that many corners takes
/// QPainter tens of milliseconds.
void paintColumnLine(QImage& image, int left, std::span<const float> ys, const ColumnPen& pen);

} // namespace fourwalls::views
