// SPDX-License-Identifier: GPL-3.0-or-later
// See plan_lines.h.
#include "views/tuning/plan_lines.h"

#include "views/plot/paper.h"
#include "views/plot/theme.h"
#include "views/whatif/cost_words.h"
#include "views/words/plan_words.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace fourwalls::views {

namespace {

constexpr double kSide = 34, kNamesRow = 22, kValuesRow = 14, kLinesBottom = 18; ///< around the lines [pixels]
constexpr std::size_t kMostLines = 700; ///< more do not tell more, and take longer than a frame
constexpr double kGrab = 26;            ///< an axis is taken from this near [pixels]

/// Where a value lies on its axis, 0 to 1: degrees by doubling, switches evenly.
double placed(PlanAxis axis, double value, double low, double high)
{
    if (!(high > low)) return 0.5;
    if (axis == PlanAxis::Zero || axis == PlanAxis::Recompute) return (value - low) / (high - low);
    const double least = std::max(low, 1e-12);
    return std::log(std::max(value, least) / least) / std::log(high / least);
}

} // namespace

PlanLines::PlanLines(QWidget* parent) : QWidget(parent)
{
    setFocusPolicy(Qt::StrongFocus);
}

void PlanLines::setCloud(const PlanCloud* cloud)
{
    m_cloud = cloud;
    m_selected.reset();
    m_brushes = {};
    refresh();
}

void PlanLines::refresh()
{
    m_valid = false;
    update();
}

void PlanLines::setByteUnit(ByteUnit unit)
{
    m_unit = unit;
    update();
}

void PlanLines::setSelected(std::optional<std::uint32_t> index)
{
    m_selected = index;
    update();
}

void PlanLines::setBrushes(const PlanBrushes& brushes)
{
    if (brushes == m_brushes) return;
    m_brushes = brushes;
    refresh();
    emit brushesChanged();
}

QRectF PlanLines::plotRect() const
{
    return QRectF(rect()).adjusted(kSide, (m_crowded ? 2 * kNamesRow - 6 : kNamesRow) + kValuesRow, -kSide,
                                   -kLinesBottom);
}

void PlanLines::chooseAxes()
{
    m_axes.clear();
    for (std::size_t i = 0; i < kPlanAxes; ++i) {
        const auto axis = static_cast<PlanAxis>(i);
        const auto [low, high] = m_cloud->limits(axis);
        if (high > low || axis == PlanAxis::Time || axis == PlanAxis::Memory) m_axes.push_back(axis);
    }
    // Names that would touch their neighbours' stand in two rows, in turn.
    const QFontMetricsF metrics(fontOf(TextRole::Small));
    constexpr double kApart = 8;
    m_crowded = false;
    for (std::size_t i = 1; i < m_axes.size(); ++i) {
        const double half =
            (metrics.horizontalAdvance(name(m_axes[i - 1])) + metrics.horizontalAdvance(name(m_axes[i]))) / 2;
        if (half + kApart > xOf(m_axes[i]) - xOf(m_axes[i - 1])) m_crowded = true;
    }
}

double PlanLines::xOf(PlanAxis axis) const
{
    const auto found = std::find(m_axes.begin(), m_axes.end(), axis);
    const QRectF inside = plotRect();
    const double place =
        static_cast<double>(found - m_axes.begin()) / std::max<double>(1, static_cast<double>(m_axes.size()) - 1);
    return inside.left() + place * inside.width();
}

double PlanLines::yOf(PlanAxis axis, double value) const
{
    const auto [low, high] = m_cloud->limits(axis);
    const QRectF inside = plotRect();
    return inside.bottom() - placed(axis, value, low, high) * inside.height();
}

double PlanLines::valueAt(PlanAxis axis, double y) const
{
    const auto [low, high] = m_cloud->limits(axis);
    const QRectF inside = plotRect();
    const double share = std::clamp((inside.bottom() - y) / std::max(1.0, inside.height()), 0.0, 1.0);
    if (axis == PlanAxis::Zero || axis == PlanAxis::Recompute) return low + share * (high - low);
    return low * std::pow(high / std::max(low, 1e-12), share);
}

std::optional<PlanAxis> PlanLines::axisAt(double x) const
{
    for (const PlanAxis axis : m_axes)
        if (std::abs(xOf(axis) - x) <= kGrab) return axis;
    return std::nullopt;
}

QString PlanLines::name(PlanAxis axis) const
{
    switch (axis) {
    case PlanAxis::Tensor: return QStringLiteral("tp");
    case PlanAxis::Pipeline: return QStringLiteral("pp");
    case PlanAxis::Data: return QStringLiteral("dp");
    case PlanAxis::Context: return QStringLiteral("cp");
    case PlanAxis::Expert: return QStringLiteral("ep");
    case PlanAxis::Chunks: return tr("chunks");
    case PlanAxis::Microbatches: return tr("micro-b.");
    case PlanAxis::Zero: return QStringLiteral("ZeRO");
    case PlanAxis::Recompute: return tr("recompute");
    case PlanAxis::Time: return tr("step time");
    case PlanAxis::Memory: return tr("peak");
    }
    return {};
}

QString PlanLines::text(PlanAxis axis, double value) const
{
    if (axis == PlanAxis::Time) return formatDuration(Duration::fromSeconds(value), 2);
    if (axis == PlanAxis::Memory) return formatBytes(value, m_unit, 2);
    if (axis == PlanAxis::Recompute)
        return words(static_cast<Recompute>(std::clamp(static_cast<int>(std::lround(value)), 0, 2)));
    return formatCount(std::llround(value));
}

void PlanLines::drawLines(double ratio)
{
    m_picture = QImage(size() * ratio, QImage::Format_ARGB32_Premultiplied);
    m_picture.setDevicePixelRatio(ratio);
    m_picture.fill(Qt::transparent);
    m_valid = true;
    if (!m_cloud || m_cloud->points().empty()) return;
    chooseAxes();
    QPainter painter(&m_picture);
    painter.setRenderHint(QPainter::Antialiasing, true);
    const Theme& t = currentTheme();
    // The quick ones on top, in the colour of computing; what does not fit in the wall's.
    std::vector<std::uint32_t> lines = m_cloud->sample(m_brushes, kMostLines);
    const std::vector<std::uint32_t> best = m_cloud->best(m_brushes, 40);
    lines.insert(lines.end(), best.rbegin(), best.rend());
    const std::size_t firstBest = lines.size() - best.size();
    QPolygonF polygon;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const PlanPoint& point = m_cloud->points()[lines[i]];
        QColor ink = point.feasible ? (i >= firstBest ? t.ok : colourOf(t, Phase::Forward)) : t.wallEdge;
        ink.setAlpha(i >= firstBest ? 150 : lines.size() > 200 ? 34 : 70);
        painter.setPen(QPen(ink, i >= firstBest ? 1.5 : 1));
        polygon.clear();
        for (const PlanAxis axis : m_axes) polygon << QPointF(xOf(axis), yOf(axis, valueOn(axis, point)));
        painter.drawPolyline(polygon);
    }
}

void PlanLines::paintAxis(QPainter& painter, PlanAxis axis) const
{
    const Theme& t = currentTheme();
    const QRectF inside = plotRect();
    const double x = xOf(axis);
    const auto& brush = m_brushes[static_cast<std::size_t>(axis)];
    painter.setPen(QPen(t.secondaryText, 1));
    painter.drawLine(QPointF(x, inside.top()), QPointF(x, inside.bottom()));
    if (brush) {
        const double top = yOf(axis, brush->high), bottom = yOf(axis, brush->low);
        QColor fill = t.accent;
        fill.setAlpha(70);
        const QRectF held(x - 6, std::min(top, bottom) - 3, 12, std::abs(bottom - top) + 6);
        painter.fillRect(held.intersected(inside.adjusted(-8, -4, 8, 4)), fill);
    }
    const auto [low, high] = m_cloud->limits(axis);
    painter.setPen(brush ? t.accent : t.text);
    const auto place = std::find(m_axes.begin(), m_axes.end(), axis) - m_axes.begin();
    painter.drawText(QRectF(x - 46, m_crowded && place % 2 == 0 ? kNamesRow - 6 : 0, 92, kNamesRow - 6),
                     Qt::AlignCenter, name(axis));
    painter.setPen(t.secondaryText);
    // Beyond the axis' ends, where no line runs.
    const auto label = [&](double value, double top) {
        painter.drawText(QRectF(x - kSide, top, 2 * kSide, kValuesRow), Qt::AlignCenter, text(axis, value));
    };
    label(high, inside.top() - kValuesRow - 2);
    if (high > low) label(low, inside.bottom() + 3);
}

void PlanLines::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    if (const double ratio = imageRatio(painter, *this); !m_valid || m_picture.devicePixelRatio() != ratio)
        drawLines(ratio);
    if (!m_cloud || m_cloud->points().empty()) return;
    painter.drawImage(QPointF(0, 0), m_picture);
    painter.setFont(fontOf(TextRole::Small));
    for (const PlanAxis axis : m_axes) paintAxis(painter, axis);
    if (hasFocus() && spokenCurrent() >= 0) {
        painter.setPen(QPen(currentTheme().accent, 1, Qt::DotLine));
        painter.setBrush(Qt::NoBrush);
        painter.drawRect(spokenPlace(m_axis).adjusted(0, 0, -1, -1));
    }
    if (!m_selected || *m_selected >= m_cloud->points().size()) return;
    painter.setRenderHint(QPainter::Antialiasing, true);
    QPolygonF polygon;
    for (const PlanAxis axis : m_axes)
        polygon << QPointF(xOf(axis), yOf(axis, valueOn(axis, m_cloud->points()[*m_selected])));
    painter.setPen(QPen(currentTheme().accent, 2.4));
    painter.drawPolyline(polygon);
}

void PlanLines::resizeEvent(QResizeEvent*)
{
    m_valid = false;
}

void PlanLines::mousePressEvent(QMouseEvent* event)
{
    if (event->button() != Qt::LeftButton || !m_cloud) return;
    m_dragged = axisAt(event->position().x());
    m_dragFrom = event->position().y();
}

void PlanLines::mouseMoveEvent(QMouseEvent* event)
{
    if (!m_dragged) return;
    const double y = event->position().y();
    if (std::abs(y - m_dragFrom) < 3) return;
    PlanBrushes brushes = m_brushes;
    // A hair beyond, so that a value at the brush's end is inside.
    brushes[static_cast<std::size_t>(*m_dragged)] =
        PlanBrush{valueAt(*m_dragged, std::max(y, m_dragFrom) + 2) * 0.9999,
                  valueAt(*m_dragged, std::min(y, m_dragFrom) - 2) * 1.0001};
    setBrushes(brushes);
}

void PlanLines::mouseReleaseEvent(QMouseEvent* event)
{
    // A click without a drag takes the brush away.
    if (m_dragged && std::abs(event->position().y() - m_dragFrom) < 3) {
        PlanBrushes brushes = m_brushes;
        brushes[static_cast<std::size_t>(*m_dragged)].reset();
        setBrushes(brushes);
    }
    m_dragged.reset();
}

void PlanLines::mouseDoubleClickEvent(QMouseEvent*)
{
    setBrushes({});
}

void PlanLines::keyPressEvent(QKeyEvent* event)
{
    const int last = spokenParts() - 1;
    PlanBrushes brushes = m_brushes;
    switch (event->key()) {
    case Qt::Key_Escape: return setBrushes({});
    case Qt::Key_Left:
    case Qt::Key_Right:
        if (last < 0) break;
        m_axis = spokenCurrent() < 0 ? 0 : std::clamp(m_axis + (event->key() == Qt::Key_Right ? 1 : -1), 0, last);
        tellCurrent(*this);
        return update();
    case Qt::Key_Up:
    case Qt::Key_Down:
        if (spokenCurrent() < 0) break;
        narrow(m_axes[static_cast<std::size_t>(m_axis)], event->key() == Qt::Key_Up);
        return tellCurrent(*this);
    case Qt::Key_Delete:
    case Qt::Key_Backspace:
        if (spokenCurrent() < 0) break;
        brushes[static_cast<std::size_t>(m_axes[static_cast<std::size_t>(m_axis)])].reset();
        setBrushes(brushes);
        return tellCurrent(*this);
    default: break;
    }
    QWidget::keyPressEvent(event);
}

void PlanLines::narrow(PlanAxis axis, bool fromBelow)
{
    const auto [low, high] = m_cloud->limits(axis);
    PlanBrush brush = m_brushes[static_cast<std::size_t>(axis)].value_or(PlanBrush{low * 0.9999, high * 1.0001});
    if (axis == PlanAxis::Time || axis == PlanAxis::Memory) {
        const double step = plotRect().height() / 20; // they have a value of their own for each plan
        if (fromBelow)
            brush.low = valueAt(axis, yOf(axis, std::max(brush.low, low)) - step);
        else
            brush.high = valueAt(axis, yOf(axis, std::min(brush.high, high)) + step);
    } else {
        std::optional<double> end, next; // the outermost value inside, and the one behind it
        const auto isOuter = [&](double a, double b) { return fromBelow ? a < b : a > b; };
        for (const PlanPoint& point : m_cloud->points()) {
            const double value = valueOn(axis, point);
            if (!brush.holds(value) || value == end) continue;
            if (!end || isOuter(value, *end)) {
                next = end;
                end = value;
            } else if (!next || isOuter(value, *next)) {
                next = value;
            }
        }
        if (!next) return;
        (fromBelow ? brush.low : brush.high) = *next * (fromBelow ? 0.9999 : 1.0001);
    }
    if (brush.low >= brush.high) return;
    PlanBrushes brushes = m_brushes;
    brushes[static_cast<std::size_t>(axis)] = brush;
    setBrushes(brushes);
}

QString PlanLines::spokenText(int part) const
{
    const PlanAxis axis = m_axes[static_cast<std::size_t>(part)];
    const auto [low, high] = m_cloud->limits(axis);
    const auto& brush = m_brushes[static_cast<std::size_t>(axis)];
    const QString all = tr("%1: %2 to %3").arg(name(axis), text(axis, low), text(axis, high));
    return brush ? tr("%1, shown from %2 to %3").arg(all, text(axis, brush->low), text(axis, brush->high)) : all;
}

QRect PlanLines::spokenPlace(int part) const
{
    const double x = xOf(m_axes[static_cast<std::size_t>(part)]);
    return QRectF(x - kGrab, 0, 2 * kGrab, height()).toRect();
}

void PlanLines::changeEvent(QEvent* event)
{
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange || event->type() == QEvent::StyleChange) refresh();
}

} // namespace fourwalls::views
