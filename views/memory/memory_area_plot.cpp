// SPDX-License-Identifier: GPL-3.0-or-later
// See memory_area_plot.h.
#include "views/memory/memory_area_plot.h"

#include "views/memory/memory_counter_plot.h"
#include "views/memory/memory_words.h"
#include "views/plot/paper.h"
#include "views/plot/plot_ticks.h"
#include "views/plot/theme.h"
#include "views/words/words.h"

#include <QMouseEvent>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace fourwalls::views {

namespace {

constexpr double kMostGhost = 8;      ///< times the recorded peak: a higher ghost is cut
constexpr double kLabelGap = 6;       ///< between labels beside each other [pixels]
constexpr double kGhostBelowEdge = 4; ///< a cut ghost runs this far below the plot's upper edge [pixels]

} // namespace

MemoryAreaPlot::MemoryAreaPlot(QWidget* parent) : TimePlot(parent)
{
    setAccessibleName(tr("Memory over time"));
    setAccessibleDescription(tr("Stacked area of live memory by category under the device's capacity"));
}

void MemoryAreaPlot::setPicture(std::shared_ptr<const MemoryPicture> picture)
{
    m_data = std::move(picture);
    invalidate();
}

void MemoryAreaPlot::setPeak(std::optional<MemorySummary> peak, const QString& label, std::int64_t highest)
{
    m_highest = highest;
    m_peak = std::move(peak);
    m_peakLabel = label;
    invalidate();
}

void MemoryAreaPlot::setCapacity(std::int64_t bytes, const QString& device)
{
    m_capacity = bytes;
    m_device = device;
    invalidate();
}

void MemoryAreaPlot::setWallToScale(bool toScale)
{
    m_toScale = toScale;
    invalidate();
}

void MemoryAreaPlot::setGhost(std::vector<MemorySample> ghost)
{
    m_ghost = std::move(ghost);
    invalidate();
}

void MemoryAreaPlot::setBuffers(std::shared_ptr<const AllocationList> buffers)
{
    m_buffers = std::move(buffers);
    update();
}

void MemoryAreaPlot::setMarked(std::optional<Instant> at)
{
    m_marked = at;
    tellCurrent(*this);
    invalidate();
}

void MemoryAreaPlot::setMoments(std::vector<OutOfMemory> moments)
{
    m_moments = std::move(moments);
    invalidate();
}

void MemoryAreaPlot::setByteUnit(ByteUnit unit)
{
    m_unit = unit;
    invalidate();
}

FrameQuality MemoryAreaPlot::quality() const
{
    if (!m_data) return FrameQuality::Blank;
    const TimeRange shown = camera().range();
    const TimeRange& have = m_data->window.range;
    if (have.begin > shown.begin || have.end < shown.end) return FrameQuality::Stale;
    const double nsPerColumn = static_cast<double>(have.length().ns) / std::max(1, m_data->pixels);
    const double nsShown = static_cast<double>(shown.length().ns) / deviceColumns();
    return nsPerColumn <= nsShown * 1.01 ? FrameQuality::Full : FrameQuality::Coarse;
}

double MemoryAreaPlot::largest() const
{
    // The whole trace's peak first, not the window's: the axis stands still while one pans. Only what lies outside of
    // all steps (evaluation, set-up) can be higher.
    double most = static_cast<double>(m_highest);
    if (m_data) {
        for (const auto& sample : m_data->window.samples) most = std::max(most, static_cast<double>(sample.total()));
    }
    // A ghost many times as high leaves through the top, so that what was recorded can still be read.
    const double ghost = ghostPeak();
    return std::max(most, most > 0 ? std::min(ghost, kMostGhost * most) : ghost);
}

double MemoryAreaPlot::ghostPeak() const
{
    double most = 0;
    for (const MemorySample& sample : m_ghost) most = std::max(most, static_cast<double>(sample.total()));
    return most;
}

void MemoryAreaPlot::paintPlot(QPainter& painter)
{
    const QRectF inside = plotRect();
    m_scale = MemoryScale::fit(inside, largest(), static_cast<double>(m_capacity), m_toScale);
    const int most = std::clamp(static_cast<int>(m_scale.linear().height() / 30), 2, 8);
    const double axisTop =
        std::min(m_scale.top(),
                 m_scale.wall() == WallPlacement::ToScale ? static_cast<double>(m_capacity) * 0.999 : m_scale.top());
    paintValueAxis(
        painter, inside, byteTicks(axisTop, m_unit, most), [&](double v) { return m_scale.y(v); },
        byteScale(axisTop, m_unit).name);
    paintWallBand(painter);
    painter.save();
    painter.setClipRect(inside);
    paintCurve(painter);
    paintMark(painter);
    painter.restore();
    paintWallLabel(painter); // a curve above the capacity stands before the wall
    m_plates.clear();
    paintMoments(painter, inside, m_moments, m_unit, [this](Instant at) { return xOf(at); });
    paintPeak(painter);
    paintGhostFigure(painter);
    paintStaticFigure(painter);
    paintReservedFigure(painter);
}

bool MemoryAreaPlot::paintPlate(QPainter& painter, QPointF baseline, const QString& text, const QColor& ink)
{
    // Outlining the letters instead would take QPainter longer than the rest of the plot.
    const QFontMetricsF metrics(painter.font());
    const QRectF box(baseline.x() - 3, baseline.y() - metrics.ascent(), metrics.horizontalAdvance(text) + 6,
                     metrics.height());
    const QRectF around = box.adjusted(-kLabelGap, 0, kLabelGap, 0);
    if (std::ranges::any_of(m_plates, [&](const QRectF& other) { return other.intersects(around); })) return false;
    m_plates.push_back(box);
    QColor plate = currentTheme().card;
    plate.setAlpha(205);
    painter.fillRect(box, plate);
    painter.setPen(ink);
    painter.drawText(baseline, text);
    return true;
}

void MemoryAreaPlot::paintCurve(QPainter& painter) const
{
    if (!m_data) return;
    const Theme& t = currentTheme();
    const QRectF inside = plotRect();
    const double ratio = imageRatio(painter, *this);
    const int columns = std::max(1, static_cast<int>(std::lround(inside.width() * ratio)));
    const int rows = std::max(1, static_cast<int>(std::lround(inside.height() * ratio)));
    QImage image(columns, rows, QImage::Format_ARGB32_Premultiplied);
    image.setDevicePixelRatio(ratio);
    image.fill(Qt::transparent);
    std::array<QRgb, kMemoryCategoryCount> colors;
    for (int i = 0; i < kMemoryCategoryCount; ++i) {
        colors[static_cast<std::size_t>(i)] = colourOf(t, static_cast<MemoryCategory>(i)).rgb();
    }
    const double resolution =
        static_cast<double>(m_data->window.range.length().ns) / static_cast<double>(std::max(1, m_data->pixels));
    const AreaStack stack = stackOf(m_data->window, camera(), m_scale, columns, ratio, inside.top(), resolution);
    paintStack(image, 0, rows, stack, colors);

    const auto line = [&](const std::vector<CurvePoint>& points, Instant end, const ColumnPen& pen) {
        paintColumnLine(image, 0, lineOf(points, end, camera(), m_scale, columns, ratio, inside.top()), pen);
    };
    const auto width = [&](double pixels) { return static_cast<float>(pixels * ratio); };
    // What stays between steps lies at the bottom of the stack: its edge is the static line.
    static_assert(isStatic(MemoryCategory::OptimizerState) && !isStatic(MemoryCategory::Activations));
    const auto staticLayer =
        static_cast<std::size_t>(MemoryCategory::OptimizerState) * static_cast<std::size_t>(columns);
    QColor ink = t.text;
    ink.setAlpha(150);
    paintColumnLine(image, 0, std::span(stack.tops).subspan(staticLayer, static_cast<std::size_t>(columns)),
                    {ink.rgba(), width(1.2)});
    // Out of scale: along the upper edge, in the bricks if it is beyond the capacity.
    const double beyond = m_scale.bytesAt(inside.top() + kGhostBelowEdge);
    const double upTo = m_scale.wall() == WallPlacement::Broken ? m_scale.top() : beyond;
    const auto within = [&](double bytes) {
        return std::min(bytes, m_capacity > 0 && bytes > static_cast<double>(m_capacity) ? beyond : upTo);
    };
    std::vector<CurvePoint> points;
    for (const CounterSample& sample : m_data->reserved) points.push_back({sample.at, within(sample.max)});
    line(points, m_data->window.range.end, {t.secondaryText.rgba(), width(1.5)});
    points.clear();
    for (const MemorySample& sample : m_ghost)
        points.push_back({sample.at, within(static_cast<double>(sample.total()))});
    line(points, m_ghost.empty() ? Instant{} : m_ghost.back().at,
         {t.prediction.rgba(), width(1.8), width(5), width(4)});
    painter.drawImage(inside.topLeft(), image);
}

void MemoryAreaPlot::paintGhostFigure(QPainter& painter)
{
    const double most = ghostPeak();
    if (most <= m_scale.top() * 1.0001) return;
    const QRectF inside = plotRect();
    const QString label = tr("predicted %1, above this scale").arg(formatBytes(most, m_unit));
    const QFontMetricsF metrics(painter.font());
    const QPointF baseline(inside.left() + 8, m_scale.linear().top() + metrics.ascent() + 4);
    if (metrics.horizontalAdvance(label) + 16 < inside.width())
        paintPlate(painter, baseline, label, currentTheme().prediction);
}

void MemoryAreaPlot::paintReservedFigure(QPainter& painter)
{
    if (!m_data || m_data->reserved.empty()) return;
    const QRectF inside = plotRect();
    const double bytes = m_data->reserved.back().max;
    const bool leaves = bytes > m_scale.top() * 1.0001 && m_scale.wall() != WallPlacement::ToScale;
    const QString label =
        (leaves ? tr("reserved %1, above this scale") : tr("reserved %1")).arg(formatBytes(bytes, m_unit));
    const QFontMetricsF metrics(painter.font());
    const double right = std::min(inside.right(), xOf(m_data->window.range.end));
    // Above the line's right end, or below it; where both are taken, the legend has its name.
    const double left = right - metrics.horizontalAdvance(label) - 6, y = m_scale.y(leaves ? m_scale.top() : bytes);
    if (bytes <= 0 || left <= inside.left() + 40) return;
    const bool above = y - 5 - metrics.ascent() > m_scale.linear().top() + 2;
    if (above && paintPlate(painter, {left, y - 5}, label, currentTheme().secondaryText)) return;
    paintPlate(painter, {left, y + metrics.ascent() + 4}, label, currentTheme().secondaryText);
}

void MemoryAreaPlot::paintStaticFigure(QPainter& painter)
{
    if (!m_data) return;
    // Beside the line's right end, if the line is high enough to stand apart from the axis.
    const QRectF inside = plotRect();
    const MemorySample* last =
        sampleAt(m_data->window, std::min(camera().range().end, m_data->window.range.end) - Duration{1});
    if (!last) return;
    const double bytes = static_cast<double>(staticBytes(last->bytes));
    const QString label = tr("static %1").arg(formatBytes(bytes, m_unit));
    const QFontMetricsF metrics(painter.font());
    const double right = std::min(inside.right(), xOf(m_data->window.range.end));
    const QPointF baseline(right - metrics.horizontalAdvance(label) - 6, m_scale.y(bytes) - 5);
    if (bytes > 0 && baseline.x() > inside.left() + 40 && baseline.y() - metrics.ascent() > m_scale.linear().top()) {
        paintPlate(painter, baseline, label, currentTheme().text);
    }
}

void MemoryAreaPlot::paintWallBand(QPainter& painter) const
{
    if (m_scale.wall() == WallPlacement::None) return;
    const Theme& t = currentTheme();
    const QRectF band = m_scale.band();
    painter.save();
    painter.setClipRect(band.adjusted(0, 0, 0, 2));
    paintWall(painter, band, t, WallEdge::Bottom);
    painter.restore();
    if (m_scale.wall() != WallPlacement::Broken) return;
    // The interruption of the axis: two slanted strokes on its line, and a pale gap across.
    const double gap = (band.bottom() + m_scale.linear().top()) / 2;
    painter.setPen(QPen(t.line, 1, Qt::DotLine));
    painter.drawLine(QPointF(band.left(), gap), QPointF(band.right(), gap));
    painter.setPen(QPen(t.secondaryText, 1.2));
    for (const double dy : {-2.5, 2.5}) {
        painter.drawLine(QPointF(band.left() - 6, gap + dy + 2.5), QPointF(band.left() + 6, gap + dy - 2.5));
    }
}

void MemoryAreaPlot::paintWallLabel(QPainter& painter) const
{
    if (m_scale.wall() == WallPlacement::None) return;
    const Theme& t = currentTheme();
    const QRectF band = m_scale.band();
    QString label = formatBytes(static_cast<double>(m_capacity), m_unit);
    label = m_device.isEmpty() ? tr("%1 capacity").arg(label) : tr("%1: capacity of %2").arg(label, m_device);
    if (m_scale.wall() == WallPlacement::Broken && m_peak && m_peak->peakBytes > 0) {
        const double times = static_cast<double>(m_capacity) / static_cast<double>(m_peak->peakBytes);
        label = tr("%1 · %2 times the peak, not to scale").arg(label, formatFigure(times, 2));
    }
    const QFontMetricsF metrics(painter.font());
    const double width = metrics.horizontalAdvance(label) + 12;
    // On the bricks with the card's colour behind it, or under the wall's edge where the band is thin.
    const QRectF plate(band.right() - width - 8, band.center().y() - metrics.height() / 2 - 1, width,
                       metrics.height() + 2);
    if (band.height() >= metrics.height() + 6 && width + 16 < band.width()) {
        painter.setPen(Qt::NoPen);
        painter.setBrush(t.card);
        painter.drawRoundedRect(plate, 3, 3);
        painter.setPen(t.wallEdge);
        painter.drawText(plate, Qt::AlignCenter, label);
    }
}

double MemoryAreaPlot::measureTop() const
{
    return m_scale.wall() == WallPlacement::None ? plotRect().top() : m_scale.band().bottom();
}

void MemoryAreaPlot::paintPeak(QPainter& painter)
{
    m_peakBox = {};
    if (!m_peak || !m_data || m_peak->peakBytes <= 0) return;
    const QRectF inside = plotRect();
    const double x = xOf(m_peak->peakAt);
    if (x < inside.left() || x > inside.right()) return;
    const Theme& t = currentTheme();
    const QPointF dot(x, m_scale.y(static_cast<double>(m_peak->peakBytes)));
    painter.setPen(QPen(t.text, 1, Qt::DotLine));
    painter.drawLine(QPointF(x, dot.y() + 5), QPointF(x, inside.bottom()));
    painter.setPen(QPen(t.card, 1.5));
    painter.setBrush(t.text);
    painter.drawEllipse(dot, 4.5, 4.5);

    QString label = tr("peak %1").arg(formatBytes(static_cast<double>(m_peak->peakBytes), m_unit));
    const QFontMetricsF metrics(painter.font());
    const QString full = m_peakLabel.isEmpty() ? label : tr("%1 · %2").arg(label, m_peakLabel);
    const double room = std::max(inside.right() - x, x - inside.left()) - 16;
    if (metrics.horizontalAdvance(full) <= room) label = full;
    const double width = metrics.horizontalAdvance(label);
    const bool right = x + 10 + width <= inside.right();
    const double left = right ? x + 10 : std::max(inside.left(), x - 10 - width);
    // Never across the wall's edge: under it where the peak stands at the wall.
    const double lowest = m_scale.wall() == WallPlacement::None ? inside.top() : m_scale.band().bottom() + 4;
    const QPointF baseline(left, std::max(lowest + metrics.ascent(), dot.y() - 4));
    paintPlate(painter, baseline, label, t.text);
    m_peakBox = QRectF(QPointF(left, baseline.y() - metrics.ascent()), QSizeF(width, metrics.height()))
                    .united(QRectF(dot - QPointF(7, 7), QSizeF(14, 14)));
}

void MemoryAreaPlot::paintMark(QPainter& painter) const
{
    if (!m_marked) return;
    const QRectF inside = plotRect();
    const double x = xOf(*m_marked);
    painter.setPen(QPen(currentTheme().accent, 1.5));
    painter.drawLine(QPointF(x, inside.top()), QPointF(x, inside.bottom()));
}

std::optional<Instant> MemoryAreaPlot::listed() const
{
    if (m_marked) return m_marked;
    return m_peak ? std::optional(m_peak->peakAt) : std::nullopt;
}

std::vector<TimePlot::ReadoutLine> MemoryAreaPlot::readoutAt(Instant at) const
{
    std::vector<ReadoutLine> lines;
    const MemorySample* sample = m_data ? sampleAt(m_data->window, at) : nullptr;
    if (!sample) return lines;
    lines.push_back(
        {{}, formatDuration(at - camera().bounds().begin), formatBytes(static_cast<double>(sample->total()), m_unit)});
    for (int i = kMemoryCategoryCount - 1; i >= 0; --i) {
        const auto category = static_cast<MemoryCategory>(i);
        const std::int64_t bytes = sample->bytes[static_cast<std::size_t>(i)];
        if (bytes == 0) continue;
        lines.push_back(
            {colourOf(currentTheme(), category), words(category), formatBytes(static_cast<double>(bytes), m_unit)});
    }
    // Along the climb the newest output says which layer one is at; scratch memory comes and goes in between.
    const AllocationView* output = m_buffers ? latestAlive(*m_buffers, at, MemoryCategory::Activations) : nullptr;
    const AllocationView* latest = m_buffers ? latestAlive(*m_buffers, at) : nullptr;
    if (output) {
        lines.push_back({{},
                         tr("newest output: %1").arg(originOf(*output, m_buffers->ops)),
                         formatBytes(static_cast<double>(output->bytes), m_unit)});
    }
    if (latest && latest != output) {
        lines.push_back({{},
                         tr("made last: %1").arg(originOf(*latest, m_buffers->ops)),
                         formatBytes(static_cast<double>(latest->bytes), m_unit)});
    }
    return lines;
}

void MemoryAreaPlot::paintHover(QPainter& painter)
{
    // The pointer may be over another view of the same trace.
    std::optional<Instant> at;
    if (selection())
        at = selection()->cursor();
    else if (hover())
        at = instantAt(hover()->x());
    if (!at) return;
    const QRectF inside = plotRect();
    const double x = xOf(*at);
    if (x < inside.left() || x > inside.right()) return;
    painter.setPen(QPen(currentTheme().text, 1, Qt::DotLine));
    painter.drawLine(QPointF(x, inside.top()), QPointF(x, inside.bottom()));
    if (!hover()) return;
    if (const MemorySample* sample = m_data ? sampleAt(m_data->window, *at) : nullptr) {
        painter.setPen(QPen(currentTheme().card, 1.5));
        painter.setBrush(currentTheme().text);
        painter.drawEllipse(QPointF(x, m_scale.y(static_cast<double>(sample->total()))), 3.5, 3.5);
    }
    paintReadout(painter, *hover(), readoutAt(*at));
}

void MemoryAreaPlot::mousePressEvent(QMouseEvent* event)
{
    if (event->button() == Qt::LeftButton && m_peakBox.contains(event->position())) {
        emit peakClicked();
        event->accept();
        return;
    }
    TimePlot::mousePressEvent(event);
}

} // namespace fourwalls::views
