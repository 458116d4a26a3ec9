// SPDX-License-Identifier: GPL-3.0-or-later
// Questions and painting of the memory strip.
#include "views/timeline/memory_strip.h"

#include "views/memory/memory_columns.h"
#include "views/plot/plot_area.h"
#include "views/plot/plot_ticks.h"
#include "views/words/words.h"

#include <QFontMetrics>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace fourwalls::views {

namespace {

const QByteArray kSummaryChannel = QByteArrayLiteral("timeline.memory.summary");
const QByteArray kCurveChannel = QByteArrayLiteral("timeline.memory.curve");
constexpr int kStripTop = 10, kStripBottom = 6;
constexpr int kLegendLine = 14, kLeastLegendLine = 11;
constexpr int kPatchHeight = 16;

std::array<QRgb, kMemoryCategoryCount> coloursOf(const Theme& theme)
{
    std::array<QRgb, kMemoryCategoryCount> result{};
    for (int i = 0; i < kMemoryCategoryCount; ++i)
        result[static_cast<std::size_t>(i)] = colourOf(theme, static_cast<MemoryCategory>(i)).rgb();
    return result;
}

/// On a patch of the card's colour: the text may lie on any category, or on bricks.
void paintPatch(QPainter& painter, const QRectF& patch, const QString& text, const QColor& ink, const Theme& theme)
{
    QColor cover = theme.card;
    cover.setAlpha(225);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    painter.setBrush(cover);
    painter.drawRoundedRect(patch, 4, 4);
    painter.setFont(fontOf(TextRole::Small));
    painter.setPen(ink);
    painter.drawText(patch, Qt::AlignCenter, text);
}

} // namespace

MemoryStrip::MemoryStrip(QObject* parent) : QObject(parent) {}

void MemoryStrip::setSession(TraceSession* session, TimeRange whole, RankId rank)
{
    if (m_session) {
        m_session->cancel(this, kSummaryChannel);
        m_session->cancel(this, kCurveChannel);
    }
    m_session = session;
    m_whole = whole;
    m_rank = rank;
    m_curvePending = m_summaryPending = false;
    m_curve.reset();
    m_summary.reset();
    m_need = {};
    askSummary();
}

void MemoryStrip::setRank(RankId rank)
{
    if (rank == m_rank) return;
    m_rank = rank;
    m_curve.reset();
    askSummary();
}

void MemoryStrip::setByteUnit(ByteUnit unit)
{
    m_unit = unit;
    emit changed(false);
}

void MemoryStrip::askSummary()
{
    m_failed = false;
    if (!m_session) return;
    m_summaryPending = true;
    m_capacity = 0;
    for (const auto& info : m_session->info().header.ranks)
        if (info.rank == m_rank) m_capacity = info.memoryBytes;
    m_session->ask<std::vector<MemorySummary>>(
        this, kSummaryChannel,
        [rank = m_rank](TraceQuery& trace, std::stop_token) { return trace.memorySummaries(rank, 1); },
        [this](const Answer<std::vector<MemorySummary>>& answer) {
            m_summaryPending = false;
            const bool had = hasMemory();
            m_summary.reset();
            if (answer.ok() && !answer->empty()) m_summary = answer->front();
            emit changed(had != hasMemory());
            askCurve();
        },
        Urgency::Background);
}

bool MemoryStrip::covers() const
{
    if (!m_curve) return false;
    const TimeRange seen = m_need.intersected({m_whole.begin, m_whole.end + Duration{1}});
    if (seen.empty()) return true;
    const double have = static_cast<double>(m_curve->range.length().ns) / m_curvePixels;
    const double need = static_cast<double>(m_need.length().ns) / m_pixels;
    return m_curve->range.begin <= seen.begin && m_curve->range.end >= seen.end && have <= need * 1.001;
}

bool MemoryStrip::complete() const
{
    return m_failed || (!m_summaryPending && (!hasMemory() || covers()));
}

void MemoryStrip::setNeed(TimeRange range, int pixels)
{
    if (range == m_need && pixels == m_pixels) return;
    m_need = range;
    m_pixels = std::max(1, pixels);
    m_failed = false;
    askCurve();
}

void MemoryStrip::askCurve()
{
    if (!m_session || !hasMemory() || m_need.empty() || covers()) return;
    if (m_curvePending) return; // the next question follows the answer
    // Half a screen more on either side, so that a pan has its data at once.
    const Duration half{m_need.length().ns / 2};
    const TimeRange wide =
        TimeRange{m_need.begin - half, m_need.end + half}.intersected({m_whole.begin, m_whole.end + Duration{1}});
    if (wide.empty()) return;
    const double columns = static_cast<double>(wide.length().ns) / static_cast<double>(m_need.length().ns) * m_pixels;
    const int pixels = std::max(1, static_cast<int>(std::ceil(columns)));
    m_curvePending = true;
    m_session->ask<MemoryWindow>(
        this, kCurveChannel,
        [rank = m_rank, wide, pixels](TraceQuery& trace, std::stop_token) { return trace.memory(rank, wide, pixels); },
        [this, pixels, rank = m_rank](const Answer<MemoryWindow>& answer) {
            m_curvePending = false;
            m_failed = !answer.ok();
            if (answer.ok() && rank == m_rank) {
                m_curve = answer.value;
                m_curvePixels = pixels;
            }
            emit changed(false);
            if (!m_failed) askCurve();
        });
}

void MemoryStrip::render(const TimeCamera& camera, const TimeTicks& ticks, QSize size, double ratio, const Theme& theme)
{
    const QSize pixels = (QSizeF(size) * ratio).toSize();
    if (m_image.size() != pixels) m_image = QImage(pixels, QImage::Format_RGB32);
    if (m_image.isNull()) return;
    m_image.setDevicePixelRatio(ratio);
    m_image.fill(theme.card.rgb());
    const QRectF area(0, kStripTop, size.width(), std::max(1, size.height() - kStripTop - kStripBottom));
    m_scale = MemoryScale::fit(area, m_summary ? static_cast<double>(m_summary->peakBytes) : 1,
                               static_cast<double>(m_capacity), false);
    {
        QPainter painter(&m_image);
        painter.setPen(theme.line);
        for (const auto& tick : ticks.ticks) {
            if (!tick.major) continue;
            const int x = static_cast<int>(std::lround(camera.xOf(tick.at)));
            painter.drawLine(x, 0, x, size.height());
        }
        for (const auto& tick : byteTicks(m_scale.top(), m_unit, size.height() > 120 ? 4 : 2)) {
            const int y = static_cast<int>(std::lround(m_scale.y(tick.value)));
            painter.drawLine(0, y, size.width(), y);
        }
        if (m_scale.wall() != WallPlacement::None) paintWall(painter, m_scale.band(), theme, WallEdge::None);
    }
    if (m_curve) {
        const double resolution = static_cast<double>(m_curve->range.length().ns) / std::max(1, m_curvePixels);
        TimeCamera fine = camera;
        fine.setWidth(pixels.width());
        const AreaStack stack = stackOf(*m_curve, fine, m_scale, pixels.width(), ratio, 0, resolution);
        const auto colours = coloursOf(theme);
        paintStack(m_image, 0, static_cast<int>(std::lround(m_scale.linear().bottom() * ratio)), stack, colours);
    }
    QPainter painter(&m_image);
    const QRectF peak = paintPeak(painter, camera, size, theme);
    paintCapacity(painter, size, peak, theme);
}

QRectF MemoryStrip::paintPeak(QPainter& painter, const TimeCamera& camera, QSize size, const Theme& theme) const
{
    if (!m_summary) return {};
    const double x = camera.xOf(m_summary->peakAt);
    if (x < 0 || x > size.width()) return {};
    const double y = m_scale.y(static_cast<double>(m_summary->peakBytes));
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(theme.card, 1.5));
    painter.setBrush(theme.text);
    painter.drawEllipse(QPointF(x, y), 4, 4);
    const QString text = tr("peak %1").arg(formatBytes(static_cast<double>(m_summary->peakBytes), m_unit));
    const int width = QFontMetrics(fontOf(TextRole::Small)).horizontalAdvance(text);
    const double left = x + 9 + width < size.width() ? x + 9 : x - 9 - width;
    const QRectF patch(left - 4, std::max(1.0, y - 9), width + 8, kPatchHeight);
    paintPatch(painter, patch, text, theme.text, theme);
    return patch.united(QRectF(x - 5, y - 5, 10, 10));
}

void MemoryStrip::paintCapacity(QPainter& painter, QSize size, const QRectF& peak, const Theme& theme) const
{
    if (m_scale.wall() == WallPlacement::None) return;
    const QString capacity = formatBytes(static_cast<double>(m_capacity), m_unit);
    const QString text = m_scale.wall() == WallPlacement::Broken ? tr("capacity %1, not to scale").arg(capacity)
                                                                 : tr("capacity %1").arg(capacity);
    const double width = QFontMetrics(fontOf(TextRole::Small)).horizontalAdvance(text) + 8;
    // A curve above the capacity stands before the bricks; the wall's edge stands before the curve.
    const double edge = m_scale.band().bottom();
    painter.setRenderHint(QPainter::Antialiasing, false);
    painter.fillRect(QRectF(0, edge - 2, size.width(), 2), theme.wallEdge);
    // Under the edge where the strip goes on there, else over it; at the right, or left of what the peak says.
    const double top = edge + 3 + kPatchHeight <= size.height() ? edge + 3 : std::max(1.0, edge - 3 - kPatchHeight);
    QRectF patch(size.width() - 4 - width, top, width, kPatchHeight);
    if (patch.intersects(peak)) patch.moveRight(peak.left() - 4);
    if (patch.left() >= 0) paintPatch(painter, patch, text, theme.wallEdge, theme);
}

void MemoryStrip::paintLabels(QPainter& painter, const QRect& rect, const Theme& theme) const
{
    QFont small = fontOf(TextRole::Small);
    QFont bold = small;
    bold.setWeight(QFont::Bold);
    const QFontMetrics metrics(small);
    const QString unit = byteScale(m_scale.top(), m_unit).name;
    painter.setFont(bold);
    painter.setPen(theme.text);
    const QRect heading(rect.left() + 18, rect.top() + 4, rect.width() - 18 - 9 - metrics.horizontalAdvance(unit) - 6,
                        16);
    painter.drawText(heading, Qt::AlignLeft | Qt::AlignVCenter,
                     QFontMetrics(bold).elidedText(this->heading(), Qt::ElideRight, heading.width()));
    painter.setFont(small);
    painter.setPen(theme.secondaryText);
    // The title line is the axis's heading; marks that would touch it are left out.
    painter.drawText(QRect(rect.left(), rect.top() + 4, rect.width() - 9, 16), Qt::AlignRight | Qt::AlignVCenter, unit);
    int highest = rect.bottom(), widest = 0; // of the axis's numbers
    for (const auto& tick : byteTicks(m_scale.top(), m_unit, rect.height() > 120 ? 4 : 2)) {
        const int y = rect.top() + static_cast<int>(std::lround(m_scale.y(tick.value)));
        if (y - 7 < rect.top() + 20) continue;
        painter.drawText(QRect(rect.left(), y - 8, rect.width() - 9, 16), Qt::AlignRight | Qt::AlignVCenter,
                         tick.label);
        highest = std::min(highest, y - 8);
        widest = std::max(widest, metrics.horizontalAdvance(tick.label));
    }
    paintLegend(painter, rect, highest, widest, theme);
}

std::vector<MemoryCategory> MemoryStrip::shownCategories() const
{
    std::vector<MemoryCategory> shown;
    if (!m_summary) return shown;
    for (int i = kMemoryCategoryCount - 1; i >= 0; --i)
        if (m_summary->categoryPeaks[static_cast<std::size_t>(i)] * 200 >= m_summary->peakBytes)
            shown.push_back(static_cast<MemoryCategory>(i));
    return shown;
}

QString MemoryStrip::heading() const
{
    return tr("rank %1 \u00b7 memory").arg(m_rank.value);
}

QString MemoryStrip::legendText() const
{
    QStringList names;
    for (const MemoryCategory category : shownCategories()) names << words(category);
    return names.join(QLatin1Char('\n'));
}

/// highest, widest: of the axis's numbers, which the names keep away from.
void MemoryStrip::paintLegend(QPainter& painter, const QRect& rect, int highest, int widest, const Theme& theme) const
{
    const std::vector<MemoryCategory> shown = shownCategories();
    if (shown.empty()) return;
    const QFontMetrics metrics(painter.font());
    int y = rect.top() + 26;
    const auto count = static_cast<int>(shown.size());
    // Lines move together before any is left out; then the last one says how many are. Letters of Chinese are higher.
    int least = kLeastLegendLine;
    for (const MemoryCategory category : shown)
        least = std::max(least, metrics.tightBoundingRect(words(category)).height() + 1);
    const int line = std::clamp((rect.bottom() - y) / count, least, std::max(least, kLegendLine));
    const int lines = std::min(count, std::max(0, (rect.bottom() - y) / line));
    for (int i = 0; i < lines; ++i) {
        // As far as the axis's numbers let it.
        const int right = y + line > highest ? rect.width() - 9 - widest - 6 : rect.width() - 9;
        const int room = std::max(0, right - 32);
        const auto category = shown[static_cast<std::size_t>(i)];
        QString name = words(category);
        const bool isRest = i + 1 == lines && lines < count;
        if (isRest) name = tr("%1 more").arg(count - i);
        // The first word tells the categories apart.
        else if (metrics.horizontalAdvance(name) > room && name.contains(QLatin1Char(' ')))
            name = name.section(QLatin1Char(' '), 0, 0);
        if (!isRest) painter.fillRect(QRect(rect.left() + 18, y + (line - 8) / 2, 8, 8), colourOf(theme, category));
        painter.drawText(QRect(rect.left() + 32, y, room, line), Qt::AlignLeft | Qt::AlignVCenter | Qt::TextDontClip,
                         metrics.elidedText(name, Qt::ElideRight, room));
        y += line;
    }
}

QStringList MemoryStrip::readout(Instant at) const
{
    const MemorySample* sample = m_curve ? sampleAt(*m_curve, at) : nullptr;
    if (!sample) return {};
    const QString total = formatBytes(static_cast<double>(sample->total()), m_unit);
    QStringList lines{m_capacity > 0
                          ? tr("%1 of %2 allocated").arg(total, formatBytes(static_cast<double>(m_capacity), m_unit))
                          : tr("%1 allocated").arg(total)};
    for (int i = kMemoryCategoryCount - 1; i >= 0; --i) {
        const auto bytes = sample->bytes[static_cast<std::size_t>(i)];
        if (bytes > 0)
            lines << words(static_cast<MemoryCategory>(i)) + QStringLiteral("  ") +
                         formatBytes(static_cast<double>(bytes), m_unit);
    }
    return lines;
}

} // namespace fourwalls::views
