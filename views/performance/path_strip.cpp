// SPDX-License-Identifier: GPL-3.0-or-later
// See path_strip.h.
#include "views/performance/path_strip.h"

#include "model/trace/communication_step.h"
#include "views/plot/theme.h"
#include "views/words/format.h"
#include "views/words/words.h"

#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>

#include <algorithm>
#include <cmath>

namespace fourwalls::views {

namespace {
constexpr double kPathLeft = 62, kPathRight = 10, kPathAxis = 22;
constexpr std::size_t kMostPathRows = 16;
} // namespace

QString pathWords(const PathSegment& segment, const TraceInfo& info)
{
    if (segment.part == PathPart::Gap) return PathStrip::tr("nothing ran");
    if (segment.part == PathPart::Transfer) {
        QString text = words(segment.operation);
        if (segment.group) text += QStringLiteral(" · ") + QString::fromStdString(groupName(info, *segment.group));
        return segment.holdsWaiting ? PathStrip::tr("%1 (wait + transfer)").arg(text) : text;
    }
    if (segment.activity == Activity::Copy || segment.activity == Activity::DataLoading) return words(segment.activity);
    return segment.phase == Phase::None ? PathStrip::tr("compute") : words(segment.phase);
}

PathStrip::PathStrip(QWidget* parent) : QWidget(parent)
{
    setMouseTracking(true);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
}

void PathStrip::setPath(std::shared_ptr<const CriticalPath> path, const TraceInfo& info)
{
    m_path = std::move(path);
    m_info = info;
    m_hover = -1;
    m_rows.clear();
    m_hidden = 0;
    if (m_path) {
        if (m_path->window.ranks.size() <= kMostPathRows) {
            for (const auto& [rank, range] : m_path->window.ranks) m_rows.push_back(rank);
        } else {
            // Those that the path leads through, most of it first.
            for (const auto& [rank, time] : m_path->byRank())
                if (m_rows.size() < kMostPathRows) m_rows.push_back(rank);
            std::sort(m_rows.begin(), m_rows.end());
            m_hidden = static_cast<int>(m_path->window.ranks.size() - m_rows.size());
        }
    }
    update();
}

QRectF PathStrip::inside() const
{
    return {kPathLeft, 2, std::max(10.0, width() - kPathLeft - kPathRight), std::max(10.0, height() - kPathAxis - 2.0)};
}

double PathStrip::rowHeight() const
{
    return std::min(44.0, inside().height() / static_cast<double>(std::max<std::size_t>(1, m_rows.size())));
}

double PathStrip::xOf(Instant at) const
{
    const TimeRange range = m_path->window.range;
    const double length = static_cast<double>(std::max<std::int64_t>(1, range.length().ns));
    return inside().left() + static_cast<double>((at - range.begin).ns) / length * inside().width();
}

int PathStrip::rowOf(RankId rank) const
{
    const auto found = std::find(m_rows.begin(), m_rows.end(), rank);
    return found == m_rows.end() ? -1 : static_cast<int>(found - m_rows.begin());
}

QRectF PathStrip::rectOf(int index) const
{
    if (!m_path || index < 0 || index >= static_cast<int>(m_path->segments.size())) return {};
    const PathSegment& segment = m_path->segments[static_cast<std::size_t>(index)];
    const int row = rowOf(segment.rank);
    if (row < 0) return {};
    const double high = rowHeight(), left = xOf(segment.range.begin), right = xOf(segment.range.end);
    return {left, inside().top() + row * high + 3, std::max(0.75, right - left), high - 6};
}

int PathStrip::segmentAt(QPointF at) const
{
    if (!m_path || m_path->segments.empty() || !inside().contains(at)) return -1;
    const TimeRange range = m_path->window.range;
    const double share = (at.x() - inside().left()) / inside().width();
    const Instant when{range.begin.ns + static_cast<std::int64_t>(share * static_cast<double>(range.length().ns))};
    const auto next = std::upper_bound(m_path->segments.begin(), m_path->segments.end(), when,
                                       [](Instant t, const PathSegment& s) { return t < s.range.end; });
    return next == m_path->segments.end() ? static_cast<int>(m_path->segments.size()) - 1
                                          : static_cast<int>(next - m_path->segments.begin());
}

QString PathStrip::textOf(int index) const
{
    if (!m_path || index < 0 || index >= static_cast<int>(m_path->segments.size())) return {};
    const PathSegment& segment = m_path->segments[static_cast<std::size_t>(index)];
    QString text = tr("rank %1: %2, %3")
                       .arg(segment.rank.value)
                       .arg(pathWords(segment, m_info), formatDuration(segment.range.length(), 4));
    if (segment.layer) text += tr(", layer %1").arg(segment.layer->value);
    if (!segment.name.empty())
        text += segment.pieces > 1 ? tr("\n%1 operators, the longest %2")
                                         .arg(formatCount(segment.pieces), QString::fromStdString(segment.name))
                                   : QStringLiteral("\n") + QString::fromStdString(segment.name);
    return text;
}

void PathStrip::paintEvent(QPaintEvent*)
{
    const Theme& t = currentTheme();
    QPainter painter(this);
    painter.setFont(fontOf(TextRole::Small));
    if (!m_path || m_path->segments.empty()) return;
    const QRectF box = inside();
    const double high = rowHeight();
    const double bottom = box.top() + high * static_cast<double>(m_rows.size());
    for (std::size_t row = 0; row < m_rows.size(); ++row) {
        const double y = box.top() + static_cast<double>(row) * high;
        const auto every = static_cast<std::size_t>(std::max(1.0, std::ceil(13 / high)));
        painter.setPen(t.secondaryText);
        if (row % every == 0)
            painter.drawText(QRectF(0, y + high / 2 - 8, kPathLeft - 8, 16), Qt::AlignRight | Qt::AlignVCenter,
                             tr("rank %1").arg(m_rows[row].value));
        painter.fillRect(QRectF(box.left(), y + high / 2, box.width(), 1), t.line);
    }
    // Jumps first, under the pieces.
    painter.setPen(QPen(t.secondaryText, 1));
    double lastJump = -10;
    for (std::size_t i = 1; i < m_path->segments.size(); ++i) {
        const int a = rowOf(m_path->segments[i - 1].rank), b = rowOf(m_path->segments[i].rank);
        if (a < 0 || b < 0 || a == b) continue;
        const double x = std::round(xOf(m_path->segments[i].range.begin)) + 0.5;
        if (x - lastJump < 1) continue;
        lastJump = x;
        painter.drawLine(QPointF(x, box.top() + (a + 0.5) * high), QPointF(x, box.top() + (b + 0.5) * high));
    }
    for (int i = 0; i < static_cast<int>(m_path->segments.size()); ++i) {
        const QRectF rect = rectOf(i);
        if (rect.isEmpty()) continue;
        const PathSegment& segment = m_path->segments[static_cast<std::size_t>(i)];
        QColor fill;
        if (segment.part == PathPart::Gap)
            paintHatch(painter, rect, t);
        else {
            fill = segment.part == PathPart::Transfer ? t.communication
                   : segment.activity == Activity::Copy || segment.activity == Activity::DataLoading
                       ? t.copy
                       : colourOf(t, segment.phase);
            painter.fillRect(rect, fill);
        }
        const QString name = pathWords(segment, m_info);
        if (rect.width() > painter.fontMetrics().horizontalAdvance(name) + 10 && rect.height() > 13) {
            painter.setPen(fill.isValid() ? textOn(fill) : t.secondaryText);
            painter.drawText(rect, Qt::AlignCenter, name);
        }
        if (i == m_hover) {
            painter.setPen(QPen(t.accent, 2));
            painter.setBrush(Qt::NoBrush);
            painter.drawRect(rect.adjusted(0, 0, -1, -1));
        }
    }
    painter.setPen(t.secondaryText);
    const Duration length = m_path->window.range.length();
    const Duration step = niceTimeStep(length, std::max(2, static_cast<int>(box.width() / 110)));
    for (std::int64_t at = 0; at <= length.ns; at += step.ns) {
        const double x = xOf(m_path->window.range.begin + Duration{at});
        painter.fillRect(QRectF(x, bottom, 1, 4), t.line);
        const double left = std::clamp(x - 50, box.left() - 20, box.right() - 100.0 + kPathRight);
        const auto side = x - 50 < left ? Qt::AlignLeft : x - 50 > left ? Qt::AlignRight : Qt::AlignHCenter;
        painter.drawText(QRectF(side == Qt::AlignLeft ? x : left, bottom + 4, 100, 16), side | Qt::AlignVCenter,
                         formatAxisTime(Instant{at}, step));
    }
    if (m_hidden > 0)
        painter.drawText(QRectF(box.left(), bottom + 4, box.width(), 16), Qt::AlignRight | Qt::AlignVCenter,
                         tr("%1 other ranks").arg(m_hidden));
}

void PathStrip::mouseMoveEvent(QMouseEvent* event)
{
    const int at = segmentAt(event->position());
    if (at == m_hover) return;
    m_hover = at;
    if (at >= 0)
        QToolTip::showText(event->globalPosition().toPoint(), textOf(at), this);
    else
        QToolTip::hideText();
    update();
}

void PathStrip::mousePressEvent(QMouseEvent* event)
{
    if (const int at = segmentAt(event->position()); at >= 0) emit segmentChosen(at);
}

void PathStrip::mouseDoubleClickEvent(QMouseEvent* event)
{
    if (const int at = segmentAt(event->position()); at >= 0) emit segmentActivated(at);
}

void PathStrip::leaveEvent(QEvent*)
{
    if (hasFocus()) return; // the keys go on from here
    m_hover = -1;
    update();
}

void PathStrip::focusOutEvent(QFocusEvent* event)
{
    QWidget::focusOutEvent(event);
    m_hover = -1;
    update();
}

void PathStrip::keyPressEvent(QKeyEvent* event)
{
    const int key = event->key(), last = spokenParts() - 1;
    if (m_hover >= 0 && (key == Qt::Key_Return || key == Qt::Key_Enter)) return emit segmentActivated(m_hover);
    if (last < 0 || (key != Qt::Key_Left && key != Qt::Key_Right)) return QWidget::keyPressEvent(event);
    m_hover = m_hover < 0 ? 0 : std::clamp(m_hover + (key == Qt::Key_Right ? 1 : -1), 0, last);
    QToolTip::showText(mapToGlobal(rectOf(m_hover).center().toPoint()), textOf(m_hover), this);
    tellCurrent(*this);
    update();
    emit segmentChosen(m_hover);
}

int PathStrip::spokenParts() const
{
    return m_path ? static_cast<int>(m_path->segments.size()) : 0;
}

QString PathStrip::spokenText(int part) const
{
    return textOf(part).replace(QLatin1Char('\n'), QLatin1String(", "));
}

QRect PathStrip::spokenPlace(int part) const
{
    return rectOf(part).toAlignedRect();
}

int PathStrip::spokenCurrent() const
{
    return m_hover < spokenParts() ? m_hover : -1;
}

} // namespace fourwalls::views
