// SPDX-License-Identifier: GPL-3.0-or-later
// What the pointer and the keys do on a plot of points.
#include "views/plot/paper_plot.h"
#include "views/plot/plot_xy.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QToolTip>

#include <algorithm>
#include <cmath>

namespace fourwalls::views {

namespace {
constexpr double kPointReach = 5; ///< a point is hit this far from its edge [pixels]
}

std::optional<QPointF> XyPlot::positionOf(int id) const
{
    for (const XyPoint& point : m_content.points)
        if (point.id == id) return placeOf(point);
    return std::nullopt;
}

bool XyPlot::isBelowAxis(const XyPoint& point) const
{
    return m_y.least && point.y < *m_y.least && point.y < m_plot->yAxis->range().lower;
}

QPointF XyPlot::pixelOf(double x, double y) const
{
    static constexpr double kFar = 1e5;
    const auto at = [](const QCPAxis& axis, double value) {
        if (axis.scaleType() == QCPAxis::stLogarithmic && value <= 0)
            return axis.orientation() == Qt::Horizontal ? -kFar : kFar;
        return std::clamp(axis.coordToPixel(value), -kFar, kFar);
    };
    return {at(*m_plot->xAxis, x), at(*m_plot->yAxis, y)};
}

QPointF XyPlot::placeOf(const XyPoint& point) const
{
    const QPointF at = pixelOf(point.x, point.y);
    return isBelowAxis(point) ? QPointF(at.x(), m_plot->axisRect()->rect().bottom() - point.size) : at;
}

int XyPlot::nearest(QPointF at) const
{
    int best = -1;
    double least = 1e300;
    if (!m_plot->axisRect()->rect().contains(at.toPoint())) return -1;
    for (const XyPoint& point : m_content.points) {
        if (point.id < 0) continue;
        const QPointF place = placeOf(point);
        const double distance = std::hypot(place.x() - at.x(), place.y() - at.y());
        if (distance <= point.size / 2 + kPointReach && distance < least) {
            least = distance;
            best = point.id;
        }
    }
    return best;
}

bool XyPlot::eventFilter(QObject* watched, QEvent* event)
{
    if (watched != m_plot) return QWidget::eventFilter(watched, event);
    if (event->type() == QEvent::MouseMove) {
        const auto* mouse = static_cast<QMouseEvent*>(event);
        if (mouse->buttons() != Qt::NoButton) {
            if ((mouse->position() - m_pressed).manhattanLength() > 4) m_dragged = true;
        } else if (const int id = nearest(mouse->position()); id != m_hovered) {
            m_hovered = id;
            m_plot->setCursor(id >= 0 ? Qt::PointingHandCursor : Qt::ArrowCursor);
            if (id >= 0 && m_toolTip)
                QToolTip::showText(mouse->globalPosition().toPoint(), m_toolTip(id), m_plot);
            else
                QToolTip::hideText();
            emit pointHovered(id);
        }
    } else if (event->type() == QEvent::Leave && m_hovered >= 0) {
        m_hovered = -1;
        emit pointHovered(-1);
    } else if (event->type() == QEvent::MouseButtonPress) {
        m_pressed = static_cast<QMouseEvent*>(event)->position();
        m_dragged = false;
    } else if (event->type() == QEvent::MouseButtonRelease && !m_dragged) {
        const int id = nearest(static_cast<QMouseEvent*>(event)->position());
        if (id >= 0) {
            setChosen(id);
            emit pointChosen(id);
        }
    } else if (event->type() == QEvent::MouseButtonDblClick) {
        const int id = nearest(static_cast<QMouseEvent*>(event)->position());
        if (id >= 0)
            emit pointActivated(id);
        else
            fit();
        return true;
    } else if (event->type() == QEvent::KeyPress) {
        if (takeKey(static_cast<QKeyEvent*>(event)->key())) return true;
    }
    return QWidget::eventFilter(watched, event);
}

void XyPlot::orderPoints()
{
    m_inOrder.clear();
    for (const XyPoint& point : m_content.points)
        if (point.id >= 0) m_inOrder.push_back(&point);
    std::ranges::stable_sort(m_inOrder, {}, [](const XyPoint* point) { return std::pair(point->x, point->y); });
}

int XyPlot::spokenParts() const
{
    return m_plot->isHidden() ? 0 : static_cast<int>(m_inOrder.size());
}

QString XyPlot::spokenText(int part) const
{
    const XyPoint& point = *m_inOrder[static_cast<std::size_t>(part)];
    if (m_toolTip) return m_toolTip(point.id);
    const auto text = [](const XyAxis& axis, double value) {
        return axis.title + QLatin1Char(' ') + (axis.text ? axis.text(value) : QString::number(value));
    };
    return QStringList{point.label, text(m_x, point.x), text(m_y, point.y)}.join(QStringLiteral(", "));
}

QRect XyPlot::spokenPlace(int part) const
{
    const XyPoint& point = *m_inOrder[static_cast<std::size_t>(part)];
    const QPointF at = placeOf(point);
    if (!m_plot->axisRect()->rect().contains(at.toPoint())) return {};
    const double r = point.size / 2 + kPointReach;
    return QRectF(at - QPointF(r, r), QSizeF(2 * r, 2 * r)).toRect();
}

int XyPlot::spokenCurrent() const
{
    const std::vector<const XyPoint*>& points = m_inOrder;
    const auto found = std::ranges::find(points, m_chosen, &XyPoint::id);
    return m_chosen < 0 || found == points.end() ? -1 : static_cast<int>(found - points.begin());
}

bool XyPlot::takeKey(int key)
{
    if ((key == Qt::Key_Return || key == Qt::Key_Enter) && m_chosen >= 0) {
        emit pointActivated(m_chosen);
        return true;
    }
    if (key != Qt::Key_Left && key != Qt::Key_Right) return false;
    const std::vector<const XyPoint*>& points = m_inOrder;
    if (points.empty()) return false;
    const auto present = std::ranges::find(points, m_chosen, &XyPoint::id);
    auto next = key == Qt::Key_Right ? points.begin() : std::prev(points.end());
    if (present != points.end()) {
        next = present;
        // One id may have several points, as a row of a table has for several curves.
        while (key == Qt::Key_Right && std::next(next) != points.end() && (*next)->id == m_chosen) ++next;
        if (key == Qt::Key_Left && present != points.begin()) --next;
    }
    const int id = (*next)->id;
    setChosen(id);
    if (const auto at = positionOf(id); at && m_toolTip)
        QToolTip::showText(m_plot->mapToGlobal(at->toPoint()), m_toolTip(id), m_plot);
    emit pointChosen(id);
    return true;
}

} // namespace fourwalls::views
