// SPDX-License-Identifier: GPL-3.0-or-later
// The timeline's pixel loops.
#include "views/timeline/bar_painter.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace fourwalls::views {

namespace {

// In pixels at ratio 1.
constexpr int kGapFrom = 4;   ///< bars at least this wide leave their last column empty
constexpr int kRoundFrom = 7; ///< bars at least this wide (and this high) have soft corners
constexpr int kHatchPeriod = 8;
constexpr int kHatchLine = 2;
constexpr int kDimmedWeight = 46;

int barEnd(const BarRect& rect, int pixel)
{
    return rect.whole && rect.x1 - rect.x0 >= kGapFrom * pixel ? rect.x1 - pixel : rect.x1;
}

bool onHatchLine(int x, int y, int pixel)
{
    return (x + y) % (kHatchPeriod * pixel) < kHatchLine * pixel;
}

} // namespace

QRgb blend(QRgb under, QRgb over, int weight)
{
    const auto channel = [&](int shift) {
        const int a = static_cast<int>(under >> shift & 0xff), b = static_cast<int>(over >> shift & 0xff);
        return static_cast<QRgb>(a + ((b - a) * weight + (b >= a ? 127 : -127)) / 255) << shift;
    };
    return 0xff000000u | channel(16) | channel(8) | channel(0);
}

QColor changeColour(const Theme& theme, TimeChange change)
{
    constexpr int kLittle = 120, kPale = 90; // of 255
    const auto on = [&](const QColor& colour, int weight) {
        return QColor(blend(theme.card.rgb(), colour.rgb(), weight));
    };
    switch (change) {
    case TimeChange::MuchShorter: return theme.ok;
    case TimeChange::Shorter: return on(theme.ok, kLittle);
    case TimeChange::Same: return on(theme.structure, kPale);
    case TimeChange::Longer: return on(theme.error, kLittle);
    case TimeChange::MuchLonger: return theme.error;
    case TimeChange::Alone: return theme.prediction;
    }
    return theme.structure;
}

BarPalette barPaletteOf(const Theme& theme)
{
    BarPalette palette;
    palette.background = theme.card.rgb();
    palette.gridLine = blend(theme.card.rgb(), theme.line.rgb(), 150);
    palette.groupLine = theme.line.rgb();
    palette.hatchBase = theme.hatchBase.rgb();
    palette.hatchLine = theme.hatchLine.rgb();
    const auto set = [&](ColourKey key, const QColor& colour) {
        const auto index = static_cast<std::size_t>(key);
        palette.fill[index] = colour.rgb();
        palette.dimmed[index] = blend(palette.background, colour.rgb(), kDimmedWeight);
        palette.text[index] = textOn(colour).rgb();
    };
    set(ColourKey::Structure, theme.structure);
    set(ColourKey::Compute, theme.otherCompute);
    set(ColourKey::Communication, theme.communication);
    set(ColourKey::Copy, theme.copy);
    set(ColourKey::Waiting, theme.hatchBase);
    palette.text[static_cast<std::size_t>(ColourKey::Waiting)] = theme.text.rgb();
    for (int phase = 0; phase < kPhaseCount; ++phase)
        set(keyOf(static_cast<Phase>(phase)), colourOf(theme, static_cast<Phase>(phase)));
    for (int kernel = 0; kernel < kKernelClassCount; ++kernel)
        set(keyOf(static_cast<KernelClass>(kernel)), shadeOf(theme, static_cast<KernelClass>(kernel)));
    set(static_cast<ColourKey>(kHostOperatorKey), hostOperatorColour(theme));
    for (int group = 0; group < kGroupColourCount; ++group)
        set(groupColourKey(static_cast<std::size_t>(group)), groupColour(theme, group));
    for (int change = 0; change < kTimeChangeCount; ++change)
        set(keyOf(static_cast<TimeChange>(change)), changeColour(theme, static_cast<TimeChange>(change)));
    palette.dimmedText = blend(palette.background, theme.secondaryText.rgb(), 150);
    return palette;
}

BarPainter::BarPainter(QImage& image, const BarPalette& palette)
    : m_palette(palette)
    , m_bits(image.bits())
    , m_stride(image.bytesPerLine())
    , m_width(image.width())
    , m_height(image.height())
    , m_pixel(std::max(1, static_cast<int>(std::lround(image.devicePixelRatio()))))
    , m_clipTop(0)
    , m_clipBottom(image.height())
    , m_base(static_cast<std::size_t>(image.width()), palette.background)
    , m_line(m_base)
{}

void BarPainter::setClip(int top, int bottom)
{
    m_clipTop = std::clamp(top, 0, m_height);
    m_clipBottom = std::clamp(bottom, m_clipTop, m_height);
}

void BarPainter::clear(const std::vector<int>& gridColumns)
{
    std::fill(m_base.begin(), m_base.end(), m_palette.background);
    for (const int column : gridColumns)
        for (int x = std::max(0, column); x < std::min(column + m_pixel, m_width); ++x)
            m_base[static_cast<std::size_t>(x)] = m_palette.gridLine;
    for (int y = m_clipTop; y < m_clipBottom; ++y) std::memcpy(line(y), m_base.data(), m_base.size() * sizeof(QRgb));
}

void BarPainter::horizontalLine(int y, QRgb colour)
{
    for (int each = std::max(y, m_clipTop); each < std::min(y + m_pixel, m_clipBottom); ++each)
        std::fill_n(line(each), m_width, colour);
}

void BarPainter::lane(int top, int height, const std::vector<BarRect>& rects)
{
    const int from = std::max(top, m_clipTop), to = std::min(top + height, m_clipBottom);
    if (from >= to || rects.empty()) return;

    std::memcpy(m_line.data(), m_base.data(), m_base.size() * sizeof(QRgb));
    bool hatched = false;
    for (const auto& rect : rects) {
        const auto index = static_cast<std::size_t>(rect.key);
        const QRgb colour = rect.dimmed ? m_palette.dimmed[index] : m_palette.fill[index];
        hatched = hatched || rect.key == ColourKey::Waiting;
        QRgb* const pixels = m_line.data();
        const int end = barEnd(rect, m_pixel);
        if (rect.coverage == 255) {
            for (int x = rect.x0; x < end; ++x) pixels[x] = colour;
        } else {
            for (int x = rect.x0; x < end; ++x) pixels[x] = blend(pixels[x], colour, rect.coverage);
        }
    }
    for (int y = from; y < to; ++y) std::memcpy(line(y), m_line.data(), m_line.size() * sizeof(QRgb));

    if (hatched) {
        for (const auto& rect : rects) {
            if (rect.key != ColourKey::Waiting) continue;
            const int end = barEnd(rect, m_pixel);
            const int weight = rect.dimmed ? rect.coverage / 3 : rect.coverage;
            for (int y = from; y < to; ++y) {
                QRgb* const pixels = line(y);
                for (int x = rect.x0; x < end; ++x)
                    if (onHatchLine(x, y, m_pixel)) pixels[x] = blend(pixels[x], m_palette.hatchLine, weight);
            }
        }
    }

    if (height < kRoundFrom * m_pixel) return;
    const auto soften = [&](int x, int y) {
        if (y < m_clipTop || y >= m_clipBottom) return;
        line(y)[x] = blend(line(y)[x], m_base[static_cast<std::size_t>(x)], 160);
    };
    for (const auto& rect : rects) {
        if (!rect.whole || rect.x1 - rect.x0 < kRoundFrom * m_pixel) continue;
        const int right = barEnd(rect, m_pixel) - 1;
        // A corner of one pixel, or of its share of a finer image.
        for (int down = 0; down < m_pixel; ++down) {
            for (int in = 0; in < m_pixel - down; ++in) {
                soften(rect.x0 + in, top + down);
                soften(rect.x0 + in, top + height - 1 - down);
                soften(right - in, top + down);
                soften(right - in, top + height - 1 - down);
            }
        }
    }
}

void BarPainter::activity(int top, int height, const std::vector<ActivityColumn>& columns)
{
    const QRgb compute = m_palette.fill[static_cast<std::size_t>(ColourKey::Compute)];
    const QRgb communication = m_palette.fill[static_cast<std::size_t>(ColourKey::Communication)];
    const QRgb other = m_palette.fill[static_cast<std::size_t>(ColourKey::Copy)];
    const int columnsShown = std::min(m_width, static_cast<int>(columns.size()));
    const int bottom = top + height;
    for (int x = 0; x < columnsShown; ++x) {
        const auto& column = columns[static_cast<std::size_t>(x)];
        const float busy = column.compute + column.communication + column.other;
        const float total = busy + column.waiting;
        if (total <= 0) continue;
        const float scale = static_cast<float>(height) / std::max(1.0f, total);
        // Rounded edges of the stacked parts, at least one line in all.
        const int computeTop = bottom - static_cast<int>(column.compute * scale + 0.5f);
        const int communicationTop = bottom - static_cast<int>((column.compute + column.communication) * scale + 0.5f);
        const int waitingTop = std::min(bottom - 1, bottom - static_cast<int>(total * scale + 0.5f));
        const int otherTop = column.waiting > 0 ? bottom - static_cast<int>(busy * scale + 0.5f) : waitingTop;
        const auto fill = [&](int from, int to, QRgb colour) {
            for (int y = std::max(from, m_clipTop); y < std::min(to, m_clipBottom); ++y) line(y)[x] = colour;
        };
        fill(otherTop, communicationTop, other);
        fill(communicationTop, computeTop, communication);
        fill(computeTop, bottom, compute);
        for (int y = std::max(waitingTop, m_clipTop); y < std::min(otherTop, m_clipBottom); ++y)
            line(y)[x] = onHatchLine(x, y, m_pixel) ? m_palette.hatchLine : m_palette.hatchBase;
    }
}

} // namespace fourwalls::views
