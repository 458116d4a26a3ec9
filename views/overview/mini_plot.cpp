// SPDX-License-Identifier: GPL-3.0-or-later
// See mini_plot.h.
#include "views/overview/mini_plot.h"

#include "views/plot/paper.h"
#include "views/plot/plot_area.h"
#include "views/plot/theme.h"
#include "views/words/format.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QPainterPath>

#include <algorithm>
#include <array>
#include <cmath>

namespace fourwalls::views {

namespace {

constexpr double kMiniLeft = 42, kMiniRight = 8, kMiniTop = 16, kMiniBottom = 18;
constexpr double kMiniTooth = 2.5; ///< half the height of a tooth where an axis is broken, in pixels

/// Of a wall that is drawn nearer than it is.
QString notToScale()
{
    return MiniPlot::tr("not to scale");
}

} // namespace

double MiniAxis::share(double value) const
{
    if (logarithmic) {
        if (!(value > 0) || !(low > 0) || !(high > low)) return 0;
        return std::log(value / low) / std::log(high / low);
    }
    return high > low ? (value - low) / (high - low) : 0;
}

std::vector<double> MiniAxis::marks(int atMost) const
{
    std::vector<double> found;
    if (!(high > low) || atMost < 1) return found;
    if (logarithmic) {
        const int first = static_cast<int>(std::ceil(std::log10(low) - 1e-9));
        const int last = static_cast<int>(std::floor(std::log10(high) + 1e-9));
        if (first >= last) {
            // Less than two powers of ten: without those between them there would be no scale.
            for (int power = first - 1; power <= last + 1; ++power)
                for (const double factor : {1.0, 2.0, 5.0}) {
                    const double mark = factor * std::pow(10.0, power);
                    if (mark >= low * (1 - 1e-9) && mark <= high * (1 + 1e-9)) found.push_back(mark);
                }
            if (found.size() >= 2) return found;
            found.clear();
            const double even = niceStep(high - low, atMost);
            for (double mark = std::ceil(low / even - 1e-9) * even; mark <= high + even * 1e-6; mark += even)
                found.push_back(mark);
            return found;
        }
        const int step = std::max(1, (last - first + atMost) / atMost);
        for (int power = first; power <= last; power += step) found.push_back(std::pow(10.0, power));
        return found;
    }
    const double step = niceStep(high - low, atMost);
    for (double mark = std::ceil(low / step - 1e-9) * step; mark <= high + step * 1e-6; mark += step)
        found.push_back(std::abs(mark) < step * 1e-9 ? 0 : mark);
    return found;
}

MiniPlot::MiniPlot(QWidget* parent) : QWidget(parent)
{
    setFocusPolicy(Qt::TabFocus);
    setCursor(Qt::PointingHandCursor);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
}

void MiniPlot::setPicture(MiniPicture picture)
{
    m_picture = std::move(picture);
    setToolTip(m_picture.breakAt && !m_picture.wallNames.isEmpty()
                   ? tr("%1: this limit is far above all that is drawn. The axis is broken below it.")
                         .arg(m_picture.wallNames.last())
                   : QString());
    setAccessibleName(m_picture.spoken.isEmpty() ? m_picture.empty : m_picture.spoken);
    update();
}

QRectF MiniPlot::plotRect() const
{
    return {QPointF(kMiniLeft, kMiniTop),
            QPointF(std::max(kMiniLeft + 1, width() - kMiniRight), std::max(kMiniTop + 1, height() - kMiniBottom))};
}

QPointF MiniPlot::pointOf(QPointF value) const
{
    const QRectF inside = plotRect();
    const auto bounded = [](double share) { return std::clamp(share, -1.0, 2.0); };
    return {inside.left() + inside.width() * bounded(m_picture.x.share(value.x())),
            inside.bottom() - inside.height() * bounded(m_picture.y.share(value.y()))};
}

QString MiniPlot::wallName() const
{
    const QStringList& names = m_picture.wallNames;
    if (names.isEmpty() || m_picture.wall.empty()) return {};
    const QFontMetricsF metrics(fontOf(TextRole::Small));
    const MiniAxis& axis = m_picture.y;
    for (const QString& beside : {axis.what.isEmpty() ? axis.unit : axis.what, axis.unit}) {
        const double room = plotRect().right() - metrics.horizontalAdvance(beside) - 10;
        for (const QString& name : names)
            if (metrics.horizontalAdvance(name) <= room) return name;
    }
    return names.last(); // the limit's figure is not cut: the unit is left out
}

double MiniPlot::unitRoom(const QRectF& inside) const
{
    const QString name = wallName();
    if (name.isEmpty()) return inside.right();
    return inside.right() - QFontMetricsF(fontOf(TextRole::Small)).horizontalAdvance(name) - 8;
}

void MiniPlot::paintAxes(QPainter& painter, const QRectF& inside) const
{
    const Theme& t = currentTheme();
    const QFontMetricsF metrics(painter.font());
    painter.setPen(t.secondaryText);
    // What has no room is left out, as the name of the wall has its unit.
    for (const QString& text : {m_picture.y.what, m_picture.y.unit}) {
        if (text.isEmpty() || metrics.horizontalAdvance(text) > unitRoom(inside)) continue;
        painter.drawText(QRectF(0, 0, inside.right(), kMiniTop), Qt::AlignLeft | Qt::AlignTop, text);
        break;
    }
    double free = inside.right() + 6;
    if (!m_picture.x.unit.isEmpty()) {
        const double width = metrics.horizontalAdvance(m_picture.x.unit);
        painter.drawText(QRectF(inside.right() - width, inside.bottom() + 3, width + 8, kMiniBottom - 3),
                         Qt::AlignLeft | Qt::AlignTop, m_picture.x.unit);
        free = inside.right() - width - 8;
    }
    double above = 1e9; ///< the label before
    for (const double mark : m_picture.y.marks(std::max(2, static_cast<int>(inside.height() / 28)))) {
        const double y = std::floor(pointOf({m_picture.x.low, mark}).y()) + 0.5;
        if (y < inside.top() - 1 || y > inside.bottom() + 1) continue;
        if (m_picture.breakAt && mark > *m_picture.breakAt) continue; // there the axis has no scale
        painter.setPen(t.line);
        painter.drawLine(QPointF(inside.left(), y), QPointF(inside.right(), y));
        if (y - metrics.height() / 2 < metrics.height() && !m_picture.y.unit.isEmpty()) continue; // its place is taken
        if (above - y < metrics.height() - 2) continue;
        above = y;
        painter.setPen(t.secondaryText);
        painter.drawText(QRectF(0, y - 8, inside.left() - 6, 16), Qt::AlignRight | Qt::AlignVCenter,
                         m_picture.y.label ? m_picture.y.label(mark) : QString::number(mark));
    }
    painter.setPen(t.secondaryText);
    double last = -1e9;
    for (const double mark : m_picture.x.marks(std::max(2, static_cast<int>(inside.width() / 50)))) {
        const double x = pointOf({mark, m_picture.y.low}).x();
        const QString text = m_picture.x.label ? m_picture.x.label(mark) : QString::number(mark);
        const double width = metrics.horizontalAdvance(text);
        const double left =
            std::clamp(x - width / 2, inside.left() - 4, std::max(inside.left() - 4, this->width() - width));
        if (x < inside.left() - 1 || left < last + 8 || left + width > free) continue;
        last = left + width;
        painter.drawText(QRectF(left, inside.bottom() + 3, width + 4, kMiniBottom - 3), Qt::AlignLeft | Qt::AlignTop,
                         text);
    }
}

void MiniPlot::paintBricks(QPainter& painter, const QRectF& inside) const
{
    if (m_picture.wall.size() < 2) return;
    const Theme& t = currentTheme();
    QPainterPath above, edge;
    for (std::size_t i = 0; i < m_picture.wall.size(); ++i) {
        const QPointF at = pointOf(m_picture.wall[i]);
        if (i == 0) {
            above.moveTo(at.x(), inside.top());
            above.lineTo(at);
            edge.moveTo(at);
        } else {
            above.lineTo(at);
            edge.lineTo(at);
        }
    }
    above.lineTo(pointOf(m_picture.wall.back()).x(), inside.top());
    above.closeSubpath();
    painter.save();
    painter.setClipRect(inside.adjusted(0, -1, 0, 1));
    painter.save();
    painter.setClipPath(above, Qt::IntersectClip);
    paintWall(painter, inside, t, WallEdge::None);
    painter.restore();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.strokePath(edge, QPen(t.wallEdge, 2));
    painter.restore();
}

void MiniPlot::paintBreak(QPainter& painter, const QRectF& inside) const
{
    if (!m_picture.breakAt) return;
    const Theme& t = currentTheme();
    const double y = pointOf({m_picture.x.low, *m_picture.breakAt}).y();
    QPolygonF teeth;
    for (double x = inside.left() - 5; x < inside.right(); x += 2 * kMiniTooth)
        teeth << QPointF(x, y + (teeth.size() % 2 == 0 ? kMiniTooth : -kMiniTooth));
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(t.card, 4));
    painter.drawPolyline(teeth);
    painter.setPen(QPen(t.secondaryText, 1));
    painter.drawPolyline(teeth);
    painter.restore();
}

void MiniPlot::paintWallName(QPainter& painter, const QRectF& inside) const
{
    const QString name = wallName();
    if (name.isEmpty()) return;
    const Theme& t = currentTheme();
    painter.setPen(t.wallEdge);
    painter.drawText(QRectF(0, 0, inside.right(), kMiniTop - 1), Qt::AlignRight | Qt::AlignTop, name);
    // Where the name that says so has no room, the words go below it.
    const QRectF box = wordsOnWall(inside);
    if (box.isNull()) return;
    QColor ground = t.card;
    ground.setAlpha(215);
    painter.fillRect(box.adjusted(-2, 0, 0, 0), ground);
    painter.drawText(box, Qt::AlignRight | Qt::AlignTop, notToScale());
}

void MiniPlot::paintStackOf(QPainter& painter, const QRectF& inside) const
{
    if (m_picture.stack.empty() || m_picture.places.empty()) return;
    const double ratio = imageRatio(painter, *this);
    QImage image((inside.size() * ratio).toSize().expandedTo({1, 1}), QImage::Format_ARGB32_Premultiplied);
    image.fill(Qt::transparent);
    AreaStack areas;
    areas.columns = image.width();
    areas.layers = static_cast<int>(m_picture.stack.size());
    std::vector<QRgb> colours;
    std::vector<double> base(static_cast<std::size_t>(areas.columns), 0.0);
    for (const MiniArea& area : m_picture.stack) {
        colours.push_back(area.colour.rgb());
        std::size_t at = 0;
        for (int column = 0; column < areas.columns; ++column) {
            const double share = (column + 0.5) / areas.columns;
            while (at + 1 < m_picture.places.size() && m_picture.x.share(m_picture.places[at + 1]) <= share) ++at;
            double& sum = base[static_cast<std::size_t>(column)];
            if (at < area.values.size()) sum += area.values[at];
            areas.tops.push_back(
                static_cast<float>(image.height() * (1 - std::clamp(m_picture.y.share(sum), 0.0, 1.0))));
        }
    }
    paintStack(image, 0, image.height(), areas, colours);
    image.setDevicePixelRatio(ratio);
    painter.drawImage(inside.topLeft(), image);
}

QRectF MiniPlot::wordsOnWall(const QRectF& inside) const
{
    if (!m_picture.breakAt || wallName().isEmpty() || wallName() == m_picture.wallNames.first()) return {};
    const QFontMetricsF metrics(fontOf(TextRole::Small));
    const double width = metrics.horizontalAdvance(notToScale());
    return {inside.right() - width - 1, inside.top(), width + 1, metrics.height()};
}

void MiniPlot::paintMarks(QPainter& painter, const QRectF& inside) const
{
    const Theme& t = currentTheme();
    const QFontMetricsF metrics(painter.font());
    constexpr double kRing = 5, kDisc = 3, kBesideMark = 9, kHeight = 16;
    std::vector<QRectF> taken{wordsOnWall(inside)};
    for (const MiniMark& mark : m_picture.marks) {
        const double radius = mark.ring ? kRing : kDisc;
        const QPointF at = pointOf(mark.at);
        painter.setPen(QPen(mark.colour, 2));
        painter.setBrush(mark.ring ? QBrush(t.card) : QBrush(mark.colour));
        painter.drawEllipse(at, radius, radius);
        taken.emplace_back(at.x() - radius, at.y() - radius, 2 * radius, 2 * radius);
    }
    for (const MiniMark& mark : m_picture.marks) {
        const QPointF at = pointOf(mark.at);
        const double width = metrics.horizontalAdvance(mark.text);
        const double right = at.x() + kBesideMark, left = at.x() - kBesideMark - width,
                     middle =
                         std::clamp(at.x() - width / 2, inside.left(), std::max(inside.left(), inside.right() - width));
        const double beside =
            std::clamp(at.y() - kHeight / 2, inside.top(), std::max(inside.top(), inside.bottom() - kHeight));
        const std::array<QRectF, 6> places{{{right, beside, width, kHeight},
                                            {left, beside, width, kHeight},
                                            {middle, at.y() - kBesideMark - kHeight, width, kHeight},
                                            {middle, at.y() + kBesideMark, width, kHeight},
                                            {middle, at.y() - kBesideMark - 2 * kHeight, width, kHeight},
                                            {middle, at.y() + kBesideMark + kHeight, width, kHeight}}};
        const auto isFree = [&](const QRectF& box) {
            if (box.left() < inside.left() || box.right() > inside.right() + kMiniRight) return false;
            if (box.top() < inside.top() || box.bottom() > inside.bottom()) return false;
            return std::ranges::none_of(taken, [&](const QRectF& other) { return box.intersects(other); });
        };
        const auto found = std::ranges::find_if(places, isFree);
        if (found == places.end()) continue; // its colour says what it is, and the plot's page
        taken.push_back(*found);
        QColor ground = t.card;
        ground.setAlpha(190);
        painter.fillRect(found->adjusted(-2, 1, 2, -1), ground);
        painter.setPen(t.text);
        painter.drawText(found->adjusted(0, 0, 2, 0), Qt::AlignLeft | Qt::AlignVCenter, mark.text);
    }
}

void MiniPlot::paintEvent(QPaintEvent*)
{
    const Theme& t = currentTheme();
    QPainter painter(this);
    painter.setFont(fontOf(TextRole::Small));
    const QRectF inside = plotRect();
    if (!m_picture.empty.isEmpty()) {
        painter.setPen(t.secondaryText);
        painter.drawText(QRectF(rect()).adjusted(8, 0, -8, 0), Qt::AlignCenter | Qt::TextWordWrap, m_picture.empty);
    } else {
        paintAxes(painter, inside);
        paintBricks(painter, inside);
        paintStackOf(painter, inside);
        paintBreak(painter, inside);
        painter.setRenderHint(QPainter::Antialiasing);
        painter.save();
        painter.setClipRect(inside.adjusted(-4, -6, 6, 4));
        painter.setPen(Qt::NoPen);
        for (const MiniDot& dot : m_picture.dots) {
            painter.setBrush(dot.colour);
            painter.drawEllipse(pointOf(dot.at), dot.radius, dot.radius);
        }
        painter.setBrush(Qt::NoBrush);
        for (const MiniLine& line : m_picture.lines) {
            QPen pen(line.colour, line.width);
            if (line.dashed) pen.setDashPattern({4, 3});
            if (line.dotted) pen.setStyle(Qt::DotLine);
            painter.setPen(pen);
            QPolygonF points;
            for (const QPointF& point : line.points) points << pointOf(point);
            painter.drawPolyline(points);
        }
        painter.restore();
        paintMarks(painter, inside);
        paintWallName(painter, inside);
    }
    if (hasFocus()) {
        painter.setRenderHint(QPainter::Antialiasing, false);
        painter.setBrush(Qt::NoBrush);
        painter.setPen(QPen(t.accent, 1, Qt::DotLine));
        painter.drawRect(rect().adjusted(0, 0, -1, -1));
    }
}

void MiniPlot::mouseReleaseEvent(QMouseEvent* event)
{
    if (event->button() == Qt::LeftButton && rect().contains(event->position().toPoint())) emit activated();
}

void MiniPlot::keyPressEvent(QKeyEvent* event)
{
    if (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter || event->key() == Qt::Key_Space)
        emit activated();
    else
        QWidget::keyPressEvent(event);
}

} // namespace fourwalls::views
