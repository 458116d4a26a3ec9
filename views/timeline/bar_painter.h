// SPDX-License-Identifier: GPL-3.0-or-later
// Paints the timeline's bars straight into the pixels of an image. All bars of a lane have the same height, so a lane
// is composed once as one line of pixels and copied downwards; only hatching and corners differ from line to line.
#pragma once

#include "views/plot/theme.h"
#include "views/timeline/timeline_geometry.h"

#include <QImage>

#include <array>
#include <vector>

namespace fourwalls::views {

/// The colours of one theme as pixels.
struct BarPalette {
    QRgb background = 0;
    QRgb gridLine = 0;
    QRgb groupLine = 0; ///< between ranks
    QRgb hatchBase = 0, hatchLine = 0;
    std::array<QRgb, kColourKeyCount> fill{};
    std::array<QRgb, kColourKeyCount> dimmed{};
    std::array<QRgb, kColourKeyCount> text{}; ///< on `fill`
    QRgb dimmedText = 0;
};

BarPalette barPaletteOf(const Theme& theme);
/// Green for shorter, red for longer, pale for about the same.
QColor changeColour(const Theme& theme, TimeChange change);

/// `over` on `under` with weight 0..255 of `over`.
QRgb blend(QRgb under, QRgb over, int weight);

/// Paints into one image (Format_RGB32 or ARGB32_Premultiplied). All places are pixels of that image; its device pixel
/// ratio says how many of them a line, a gap or a corner takes. Lines outside [clipTop, clipBottom) and outside of the
/// image are left alone.
class BarPainter {
public:
    BarPainter(QImage& image, const BarPalette& palette);

    void setClip(int top, int bottom);
    /// Fills everything with the background and vertical lines at `gridColumns`. Later bars blend with these.
    void clear(const std::vector<int>& gridColumns);
    void horizontalLine(int y, QRgb colour);
    void lane(int top, int height, const std::vector<BarRect>& rects);

    /// Stacked shares of a rank's activity, one entry per pixel column, from the bottom of [top, top + height); waiting
    /// is on top and hatched.
    struct ActivityColumn {
        float compute = 0, communication = 0, other = 0, waiting = 0;
    };
    void activity(int top, int height, const std::vector<ActivityColumn>& columns);

private:
    QRgb* line(int y) { return reinterpret_cast<QRgb*>(m_bits + static_cast<std::ptrdiff_t>(y) * m_stride); }

    const BarPalette& m_palette;
    uchar* m_bits;
    std::ptrdiff_t m_stride;
    int m_width, m_height;
    int m_pixel; ///< the image's pixels that are one of the screen's at ratio 1
    int m_clipTop, m_clipBottom;
    std::vector<QRgb> m_base; ///< an empty line
    std::vector<QRgb> m_line; ///< the lane in work
};

} // namespace fourwalls::views
