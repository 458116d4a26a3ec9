// SPDX-License-Identifier: GPL-3.0-or-later
// See plan_lines.h.
#include "views/tuning/plan_lines.h"

#include "views/plot/paper.h"
#include "views/plot/theme.h"
#include "views/session/gui_call.h"
#include "views/whatif/cost_words.h"
#include "views/words/plan_words.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>

namespace fourwalls::views {

namespace {

constexpr double kSide = 34, kNamesRow = 16, kBelowNames = 6, kValuesRow = 14, kLinesBottom = 18; ///< around [pixels]
constexpr std::size_t kMostLines = 700;  ///< more do not tell more
constexpr std::size_t kMostTextRows = 3; ///< of names or values
constexpr double kGrab = 26;             ///< an axis is taken from this near [pixels]

/// Where a value lies on its axis, 0 to 1: degrees by doubling, switches evenly.
double placed(PlanAxis axis, double value, double low, double high)
{
    if (!(high > low)) return 0.5;
    if (axis == PlanAxis::Zero || axis == PlanAxis::Recompute) return (value - low) / (high - low);
    const double least = std::max(low, 1e-12);
    return std::log(std::max(value, least) / least) / std::log(high / least);
}

/// What n strokes over each other cover, each with that much.
double coveredBy(int n, double each)
{
    return 1 - std::pow(1 - each, n);
}

/// By PlanStroke::Ink.
using StrokeColours = std::array<QColor, 3>;

StrokeColours strokeColours()
{
    const Theme& t = currentTheme();
    return {t.wallEdge, colourOf(t, Phase::Forward), t.ok};
}

/// On any thread. many: each line is fainter.
QImage strokesPicture(const std::vector<PlanStroke>& strokes, QSize size, double ratio, bool many,
                      const StrokeColours& colours)
{
    QImage picture(size * ratio, QImage::Format_ARGB32_Premultiplied);
    picture.setDevicePixelRatio(ratio);
    picture.fill(Qt::transparent);
    QPainter painter(&picture);
    painter.setRenderHint(QPainter::Antialiasing, true);
    for (const PlanStroke& stroke : strokes) {
        const bool isBest = stroke.ink == PlanStroke::Ink::Best;
        QColor ink = colours[static_cast<std::size_t>(stroke.ink)];
        ink.setAlphaF(static_cast<float>(coveredBy(stroke.plans, (isBest ? 150 : many ? 34 : 70) / 255.0)));
        // Ends are flat: lines that go on behind an axis do not lie over themselves.
        painter.setPen(QPen(ink, isBest ? 1.5 : 1, Qt::SolidLine, Qt::FlatCap));
        painter.drawLine(stroke.line);
    }
    return picture;
}

} // namespace

std::vector<PlanStroke> planStrokes(std::span<const std::vector<QPointF>> places, std::span<const PlanStroke::Ink> inks)
{
    std::vector<PlanStroke> strokes;
    std::map<std::tuple<PlanStroke::Ink, double, double, double>, std::size_t> known;
    for (std::size_t i = 0; i < places.size(); ++i) {
        for (std::size_t axis = 1; axis < places[i].size(); ++axis) {
            const QPointF from = places[i][axis - 1], to = places[i][axis];
            const auto [found, isNew] = known.try_emplace({inks[i], from.x(), from.y(), to.y()}, strokes.size());
            if (isNew)
                strokes.push_back({QLineF(from, to), inks[i], 1});
            else
                ++strokes[found->second].plans;
        }
    }
    std::stable_partition(strokes.begin(), strokes.end(),
                          [](const PlanStroke& each) { return each.ink != PlanStroke::Ink::Best; });
    return strokes;
}

PlanLines::PlanLines(QWidget* parent) : QWidget(parent)
{
    setFocusPolicy(Qt::StrongFocus);
}

void PlanLines::setCloud(const PlanCloud* cloud)
{
    m_cloud = cloud;
    m_selected.reset();
    m_brushes = {};
    m_shown = {};
    refresh();
}

void PlanLines::refresh()
{
    m_state = m_state == State::Drawing || m_state == State::Again ? State::Again : State::Old;
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
    const double more = (m_valueRows - 1) * kValuesRow;
    return QRectF(rect()).adjusted(kSide, m_nameRows * kNamesRow + kBelowNames + kValuesRow + more, -kSide,
                                   -kLinesBottom - more);
}

void PlanLines::chooseAxes()
{
    m_axes.clear();
    for (std::size_t i = 0; i < kPlanAxes; ++i) {
        const auto axis = static_cast<PlanAxis>(i);
        const auto [low, high] = m_cloud->limits(axis);
        if (high > low || axis == PlanAxis::Time || axis == PlanAxis::Memory) m_axes.push_back(axis);
    }
    // Texts that would touch their neighbours' stand in several rows, in turn.
    const QFontMetricsF metrics(fontOf(TextRole::Small));
    constexpr double kApart = 8;
    const auto rowsFor = [&](const auto& textOf) {
        for (std::size_t rows = 1; rows < kMostTextRows; ++rows) {
            bool touch = false;
            for (std::size_t i = rows; i < m_axes.size() && !touch; ++i) {
                const PlanAxis before = m_axes[i - rows], axis = m_axes[i];
                const double half =
                    (metrics.horizontalAdvance(textOf(before)) + metrics.horizontalAdvance(textOf(axis))) / 2;
                touch = half + kApart > xOf(axis) - xOf(before);
            }
            if (!touch) return static_cast<int>(rows);
        }
        return static_cast<int>(kMostTextRows);
    };
    m_nameRows = rowsFor([this](PlanAxis axis) { return name(axis); });
    m_valueRows = std::max(rowsFor([this](PlanAxis axis) { return text(axis, m_cloud->limits(axis).first); }),
                           rowsFor([this](PlanAxis axis) { return text(axis, m_cloud->limits(axis).second); }));
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

void PlanLines::chooseStrokes()
{
    m_strokes.clear();
    if (!m_cloud || m_cloud->points().empty()) return;
    chooseAxes();
    // The quick ones on top, in the colour of computing; what does not fit in the wall's.
    std::vector<std::uint32_t> lines = m_cloud->sample(m_brushes, kMostLines);
    const std::vector<std::uint32_t> best = m_cloud->best(m_brushes, 40);
    lines.insert(lines.end(), best.rbegin(), best.rend());
    const std::size_t firstBest = lines.size() - best.size();
    m_manyLines = lines.size() > 200;
    std::vector<std::vector<QPointF>> places(lines.size());
    std::vector<PlanStroke::Ink> inks(lines.size(), PlanStroke::Ink::Best);
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const PlanPoint& point = m_cloud->points()[lines[i]];
        if (i < firstBest) inks[i] = point.feasible ? PlanStroke::Ink::Fits : PlanStroke::Ink::TooLarge;
        for (const PlanAxis axis : m_axes) places[i].emplace_back(xOf(axis), yOf(axis, valueOn(axis, point)));
    }
    m_strokes = planStrokes(places, inks);
}

void PlanLines::drawScreen(double ratio)
{
    chooseStrokes();
    double length = 0;
    for (const PlanStroke& stroke : m_strokes) length += stroke.line.length();
    constexpr double kLengthAtOnce = 40'000; // some milliseconds
    const auto draw = [size = size(), ratio, strokes = m_strokes, many = m_manyLines, colours = strokeColours()] {
        return strokesPicture(strokes, size, ratio, many, colours);
    };
    if (length * ratio <= kLengthAtOnce) {
        m_state = State::Complete;
        m_shown = draw();
        return;
    }
    m_state = State::Drawing;
    runLater(this, draw, [this](const QImage& picture) { take(picture); });
}

void PlanLines::take(const QImage& picture)
{
    if (picture.size() == size() * picture.devicePixelRatio()) m_shown = picture;
    m_state = m_state == State::Again ? State::Old : State::Complete;
    update();
}

QImage PlanLines::picture(QPainter& painter)
{
    const double ratio = imageRatio(painter, *this);
    if (isPaper(painter)) {
        chooseStrokes();
        return strokesPicture(m_strokes, size(), ratio, m_manyLines, strokeColours());
    }
    const bool isOfThisScreen = m_shown.isNull() || m_shown.devicePixelRatio() == ratio;
    if (m_state == State::Old || (m_state == State::Complete && !isOfThisScreen)) drawScreen(ratio);
    return m_shown;
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
    const auto rowOf = [&](int rows) { return static_cast<double>(rows - 1 - place % rows); }; // the first lowest
    painter.drawText(QRectF(x - 46, rowOf(m_nameRows) * kNamesRow, 92, kNamesRow), Qt::AlignCenter, name(axis));
    painter.setPen(t.secondaryText);
    // Beyond the axis' ends, where no line runs.
    const double away = rowOf(m_valueRows) * kValuesRow;
    const auto label = [&](double value, double top) {
        painter.drawText(QRectF(x - kSide, top, 2 * kSide, kValuesRow), Qt::AlignCenter, text(axis, value));
    };
    label(high, inside.top() - kValuesRow - 2 - away);
    if (high > low) label(low, inside.bottom() + 3 + away);
}

void PlanLines::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    const QImage lines = picture(painter);
    if (!m_cloud || m_cloud->points().empty()) return;
    painter.drawImage(QPointF(0, 0), lines);
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
    m_shown = {};
    refresh();
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
    if (event->type() == QEvent::PaletteChange) refresh();
}

} // namespace fourwalls::views
