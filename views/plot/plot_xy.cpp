// SPDX-License-Identifier: GPL-3.0-or-later
// See plot_xy.h.
#include "views/plot/plot_xy.h"

#include "views/plot/paper_plot.h"
#include "views/plot/plot_xy_ticker.h"
#include "views/plot/theme.h"

#include <QLabel>
#include <QPainterPath>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>

namespace fourwalls::views {

namespace {

QPainterPath shapeOf(XyMark mark, QPointF at, double size)
{
    QPainterPath path;
    const double r = size / 2;
    switch (mark) {
    case XyMark::Square: path.addRect(QRectF(at.x() - r * 0.9, at.y() - r * 0.9, 1.8 * r, 1.8 * r)); break;
    case XyMark::Diamond:
        path.addPolygon(QPolygonF({at + QPointF(0, -1.2 * r), at + QPointF(1.2 * r, 0), at + QPointF(0, 1.2 * r),
                                   at + QPointF(-1.2 * r, 0)}));
        path.closeSubpath();
        break;
    case XyMark::Triangle:
        path.addPolygon(
            QPolygonF({at + QPointF(0, -1.15 * r), at + QPointF(1.1 * r, 0.9 * r), at + QPointF(-1.1 * r, 0.9 * r)}));
        path.closeSubpath();
        break;
    case XyMark::Down:
        path.addPolygon(
            QPolygonF({at + QPointF(0, 1.15 * r), at + QPointF(1.1 * r, -0.9 * r), at + QPointF(-1.1 * r, -0.9 * r)}));
        path.closeSubpath();
        break;
    case XyMark::Bar: path.addRect(QRectF(at.x() - 1.3 * r, at.y() - 0.5 * r, 2.6 * r, r)); break;
    case XyMark::Upright: path.addRect(QRectF(at.x() - 0.5 * r, at.y() - 1.3 * r, r, 2.6 * r)); break;
    default: path.addEllipse(at, r, r);
    }
    return path;
}

/// Whether a stroke from a to b goes through the box.
bool meets(const QRectF& box, QPointF a, QPointF b)
{
    // Cut by one side after the other: what is left of the stroke lies inside.
    const auto cut = [&](double from, double to, double low, double high, double& begin, double& end) {
        const double length = to - from;
        if (std::abs(length) < 1e-9) return from >= low && from <= high;
        const double first = (low - from) / length, second = (high - from) / length;
        begin = std::max(begin, std::min(first, second));
        end = std::min(end, std::max(first, second));
        return begin <= end;
    };
    double begin = 0, end = 1;
    return cut(a.x(), b.x(), box.left(), box.right(), begin, end) &&
           cut(a.y(), b.y(), box.top(), box.bottom(), begin, end);
}

} // namespace

/// The wall below, the points above the lines: two of these in one plot.
class XyPlot::Layer : public QCPAbstractItem {
public:
    enum class What { Walls, Points };
    Layer(QCustomPlot* plot, const XyPlot& owner, What what) : QCPAbstractItem(plot), m_owner(owner), m_what(what)
    {
        setClipToAxisRect(true);
        setSelectable(false);
    }
    double selectTest(const QPointF&, bool, QVariant*) const override { return -1; }

protected:
    void draw(QCPPainter* painter) override
    {
        if (m_what == What::Walls)
            drawWalls(*painter);
        else
            drawPoints(*painter);
    }

private:
    QPointF pixel(double x, double y) const { return m_owner.pixelOf(x, y); }

    void drawWalls(QCPPainter& painter)
    {
        const Theme& t = currentTheme();
        const QRectF rect = m_owner.m_plot->axisRect()->rect();
        for (const XyWall& wall : m_owner.m_content.walls) {
            if (wall.limit.empty()) continue;
            QPolygonF edge;
            edge << QPointF(rect.left() - 2, pixel(wall.limit.front().first, wall.limit.front().second).y());
            // A limit that does not begin at the left edge goes on as it begins.
            if (wall.limit.size() > 1) edge.clear();
            for (const auto& [x, y] : wall.limit) edge << pixel(x, y);
            if (wall.limit.size() == 1) edge << QPointF(rect.right() + 2, edge.back().y());
            QPolygonF area = edge;
            area << QPointF(edge.back().x(), rect.top() - 4) << QPointF(edge.front().x(), rect.top() - 4);
            painter.save();
            painter.setAntialiasing(true);
            QPainterPath clip;
            clip.addPolygon(area);
            clip.closeSubpath();
            painter.setClipPath(clip, Qt::IntersectClip);
            paintWall(painter, rect, t, WallEdge::None);
            painter.restore();
            painter.save();
            painter.setAntialiasing(true);
            painter.setPen(QPen(t.wallEdge, 2));
            painter.drawPolyline(edge);
            painter.restore();
        }
    }

    struct WallLabel {
        QRectF box;
        QString text;
    };

    /// A label without what its last comma adds, where there is no room for that.
    static QString fitting(QString label, const QFontMetricsF& metrics, double room)
    {
        const auto comma = label.lastIndexOf(QLatin1String(", "));
        if (comma > 0 && metrics.horizontalAdvance(label) > room) label.truncate(comma);
        return metrics.elidedText(label, Qt::ElideRight, room);
    }

    /// In the bricks where they are high enough, else just under the edge, at the end that hides no points.
    std::vector<WallLabel> wallLabels(const QFontMetricsF& metrics) const
    {
        const QRectF rect = m_owner.m_plot->axisRect()->rect();
        std::vector<WallLabel> labels;
        for (const XyWall& wall : m_owner.m_content.walls) {
            if (wall.limit.empty() || wall.label.isEmpty()) continue;
            const QString text = fitting(wall.label, metrics, std::max(0.0, rect.width() - 18));
            const double width = metrics.horizontalAdvance(text) + 10;
            const double edgeAt = pixel(wall.limit.back().first, wall.limit.back().second).y();
            double y = edgeAt - rect.top() >= 22 ? edgeAt - 20 : edgeAt + 3;
            y = std::clamp(y, rect.top() + 2, rect.bottom() - 18);
            if (!labels.empty() && std::abs(y - labels.back().box.top()) < 16) y = labels.back().box.top() + 16;
            if (y + 16 > rect.bottom()) continue;
            const QRectF atRight(rect.right() - width - 4, y, width, 16), atLeft(rect.left() + 4, y, width, 16);
            const auto hides = [&](const QRectF& box) {
                return std::ranges::any_of(m_owner.m_content.points, [&](const XyPoint& point) {
                    const double r = point.size / 2 + 4; // with the ring of a chosen one
                    return box.adjusted(-r, -r, r, r).contains(pixel(point.x, point.y));
                });
            };
            labels.push_back({hides(atRight) && !hides(atLeft) ? atLeft : atRight, text});
        }
        return labels;
    }

    /// Beside their points; none on what is taken.
    void drawNames(QCPPainter& painter, const QFontMetricsF& metrics, std::vector<QRectF> labels)
    {
        const Theme& t = currentTheme();
        const QRectF rect = m_owner.m_plot->axisRect()->rect();
        const auto isCrossed = [&](const QRectF& label) {
            const QRectF box = label.adjusted(-3, -1, 3, 1);
            const auto crosses = [&](const std::vector<std::pair<double, double>>& line) {
                for (std::size_t i = 1; i < line.size(); ++i)
                    if (meets(box, pixel(line[i - 1].first, line[i - 1].second), pixel(line[i].first, line[i].second)))
                        return true;
                return false;
            };
            const XyContent& content = m_owner.m_content;
            return std::ranges::any_of(content.lines, crosses, &XyLine::points) ||
                   std::ranges::any_of(content.walls, crosses, &XyWall::limit);
        };
        const auto isFree = [&](const QRectF& box, bool ofPoints) {
            const auto touches = [&](const QRectF& other) { return other.intersects(box); };
            const auto covers = [&](const XyPoint& point) {
                const double r = point.size / 2;
                return box.adjusted(-r, -r, r, r).contains(pixel(point.x, point.y));
            };
            return rect.contains(box) && std::ranges::none_of(labels, touches) &&
                   !(ofPoints && std::ranges::any_of(m_owner.m_content.points, covers));
        };
        for (const XyPoint& point : m_owner.m_content.points) {
            if (point.label.isEmpty()) continue;
            const QPointF at = pixel(point.x, point.y);
            const double width = metrics.horizontalAdvance(point.label) + 2;
            const QRectF sides[] = {QRectF(at.x() + point.size / 2 + 4, at.y() - 8, width, 16),
                                    QRectF(at.x() - point.size / 2 - 4 - width, at.y() - 8, width, 16),
                                    QRectF(at.x() - width / 2, at.y() - point.size / 2 - 18, width, 16),
                                    QRectF(at.x() - width / 2, at.y() + point.size / 2 + 3, width, 16),
                                    QRectF(at.x() - width, at.y() - point.size / 2 - 18, width, 16),
                                    QRectF(at.x() - width, at.y() + point.size / 2 + 3, width, 16),
                                    QRectF(at.x() + 6, at.y() + point.size / 2 + 3, width, 16)};
            // Beside all points and lines if that can be, else beside points, else beside other names.
            auto box =
                std::ranges::find_if(sides, [&](const QRectF& side) { return isFree(side, true) && !isCrossed(side); });
            if (box == std::end(sides))
                box = std::ranges::find_if(sides, [&](const QRectF& side) { return isFree(side, true); });
            if (box == std::end(sides))
                box = std::ranges::find_if(sides, [&](const QRectF& side) { return isFree(side, false); });
            if (box == std::end(sides)) continue;
            labels.push_back(*box);
            QColor back = t.card;
            back.setAlpha(170);
            painter.fillRect(box->adjusted(-1, 1, 1, -1), back);
            painter.setPen(t.text);
            painter.drawText(*box, Qt::AlignCenter, point.label);
        }
    }

    void drawPoints(QCPPainter& painter)
    {
        const Theme& t = currentTheme();
        const QRectF rect = m_owner.m_plot->axisRect()->rect();
        painter.save();
        painter.setAntialiasing(true);
        std::vector<QRectF> labels;
        painter.setFont(fontOf(TextRole::Small));
        const QFontMetricsF metrics(painter.font());
        // What a wall is called stands above points, and no point's name stands on it.
        const std::vector<WallLabel> walls = wallLabels(metrics);
        for (const WallLabel& wall : walls) labels.push_back(wall.box);
        const XyPoint* chosen = nullptr;
        for (const XyPoint& point : m_owner.m_content.points) {
            const QPointF at = m_owner.placeOf(point);
            if (!rect.adjusted(-20, -20, 20, 20).contains(at)) continue;
            if (point.id >= 0 && point.id == m_owner.m_chosen) chosen = &point;
            if (m_owner.isBelowAxis(point)) {
                painter.setBrush(t.card);
                painter.setPen(QPen(point.colour, 1.4));
                painter.drawPath(shapeOf(XyMark::Down, at, point.size));
                continue;
            }
            QColor fill = point.colour;
            fill.setAlphaF(0.78F * fill.alphaF());
            if (point.mark == XyMark::Ring) {
                painter.setBrush(t.card);
                painter.setPen(QPen(point.colour, 2.2));
            } else {
                painter.setBrush(fill);
                painter.setPen(QPen(t.card, point.size > 6 ? 0.8 : 0.4));
            }
            painter.drawPath(shapeOf(point.mark, at, point.size));
        }
        drawNames(painter, metrics, labels);
        if (chosen) {
            painter.setBrush(Qt::NoBrush);
            painter.setPen(QPen(t.accent, 2));
            painter.drawEllipse(m_owner.placeOf(*chosen), chosen->size / 2 + 4, chosen->size / 2 + 4);
        }
        for (const WallLabel& wall : walls) {
            QColor back = t.card;
            back.setAlpha(220);
            painter.fillRect(wall.box, back);
            painter.setPen(t.wallEdge);
            painter.drawText(wall.box, Qt::AlignCenter, wall.text);
        }
        painter.restore();
    }

    const XyPlot& m_owner;
    What m_what;
};

XyPlot::XyPlot(QWidget* parent) : QWidget(parent), m_plot(new PaperPlot(this)), m_nothing(new QLabel(this))
{
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(m_plot);
    layout->addWidget(m_nothing);
    m_nothing->setAlignment(Qt::AlignCenter);
    m_nothing->setWordWrap(true);
    m_nothing->setForegroundRole(QPalette::PlaceholderText);
    m_nothing->hide();
    setFocusProxy(m_plot);
    m_plot->speakFor(*this);
    m_plot->setFocusPolicy(Qt::StrongFocus);
    m_plot->setMouseTracking(true);
    m_plot->installEventFilter(this);
    m_plot->setNoAntialiasingOnDrag(false);
    m_plot->setMinimumSize(64, 48); // QCustomPlot cannot draw into nothing, which a hidden layout may give it
    m_plot->setInteractions(QCP::iRangeDrag | QCP::iRangeZoom);
    connect(m_plot, &QCustomPlot::afterReplot, this, &XyPlot::painted);
    m_plot->setBackground(QBrush(currentTheme().card));
}

void XyPlot::setContent(XyAxis x, XyAxis y, XyContent content)
{
    m_x = std::move(x);
    m_y = std::move(y);
    m_content = std::move(content);
    orderPoints();
    m_hovered = -1;
    m_nothing->hide();
    m_plot->show();
    setFocusProxy(m_plot);
    m_plot->setAccessibleName(accessibleName()); // the picture has the focus and speaks for all
    rebuild();
}

void XyPlot::setNothing(const QString& why)
{
    m_content = {};
    orderPoints();
    m_hovered = -1;
    m_nothing->setText(why);
    setFocusProxy(nullptr); // what is hidden takes no keys, and Tab would not get on
    m_plot->hide();
    m_nothing->show();
}

void XyPlot::applyTheme()
{
    rebuild();
}

void XyPlot::setChosen(int id)
{
    if (id == m_chosen) return;
    m_chosen = id;
    tellCurrent(*m_plot);
    m_plot->replot(QCustomPlot::rpQueuedReplot);
}

void XyPlot::dress(QCPAxis& axis, const XyAxis& wanted, bool isValue)
{
    const Theme& t = currentTheme();
    axis.setScaleType(wanted.log ? QCPAxis::stLogarithmic : QCPAxis::stLinear);
    axis.setTicker(
        QSharedPointer<QCPAxisTicker>(new XyTicker(axis, wanted.log, wanted.whole, wanted.text, isValue ? 6 : 8)));
    axis.setBasePen(isValue ? QPen(Qt::NoPen) : QPen(t.line));
    axis.setTickPen(isValue ? QPen(Qt::NoPen) : QPen(t.line));
    axis.setSubTickPen(QPen(Qt::NoPen));
    axis.setTickLabelColor(t.secondaryText);
    axis.setTickLabelFont(fontOf(TextRole::Small));
    axis.setTickLengthIn(0);
    axis.setTickLengthOut(isValue ? 0 : 4);
    axis.grid()->setVisible(true);
    axis.grid()->setPen(QPen(t.line, 1));
    axis.grid()->setZeroLinePen(QPen(t.line, 1));
    axis.grid()->setSubGridVisible(false);
    axis.setLabelColor(t.secondaryText);
    axis.setLabelFont(fontOf(TextRole::Small));
    axis.setLabelPadding(2);
    axis.setLabel(isValue ? QString() : wanted.title);
}

std::pair<double, double> XyPlot::rangeOf(bool isValue) const
{
    const XyAxis& axis = isValue ? m_y : m_x;
    if (axis.range) return *axis.range;
    double low = 1e300, high = -1e300;
    const auto add = [&](double x, double y) {
        const double value = isValue ? y : x;
        if (!std::isfinite(value) || (axis.log && value <= 0)) return;
        if (axis.least && value < *axis.least) return;
        low = std::min(low, value);
        high = std::max(high, value);
    };
    for (const XyPoint& point : m_content.points) add(point.x, point.y);
    for (const XyLine& line : m_content.lines)
        for (const auto& [x, y] : line.points) add(x, y);
    if (isValue)
        for (const XyWall& wall : m_content.walls)
            for (const auto& [x, y] : wall.limit) add(x, y);
    if (low > high) return axis.log ? std::pair(1.0, 10.0) : std::pair(0.0, 1.0);
    if (axis.log) {
        if (high < low * 4) {
            low /= 2;
            high *= 2;
        }
        const double room = std::pow(high / low, 0.06);
        // A wall needs some height to be one.
        const bool walled = isValue && !m_content.walls.empty();
        return {low / room, high * room * (walled ? std::pow(high / low, 0.07) : 1)};
    }
    const double room = high > low ? (high - low) * 0.06 : std::max(std::abs(high) * 0.1, 1e-9);
    return {low >= 0 && low < 0.4 * high ? std::min(low, 0.0) : low - room, high + room};
}

void XyPlot::rebuild()
{
    m_plot->clearItems();
    m_plot->clearPlottables();
    m_plot->setBackground(QBrush(currentTheme().card));
    dress(*m_plot->xAxis, m_x, false);
    dress(*m_plot->yAxis, m_y, true);
    m_plot->axisRect()->setAutoMargins(QCP::msLeft | QCP::msBottom);
    m_plot->axisRect()->setMargins({0, 20, 12, 0});
    m_plot->axisRect()->setMinimumMargins({36, 20, 12, 18});

    auto* walls = new Layer(m_plot, *this, Layer::What::Walls);
    walls->setLayer(QStringLiteral("grid")); // over the grid, which came first
    for (const XyLine& line : m_content.lines) {
        QCPGraph* graph = m_plot->addGraph();
        graph->setPen(line.pen);
        graph->setAdaptiveSampling(true);
        QVector<double> xs, ys;
        for (const auto& [x, y] : line.points) {
            xs << x;
            ys << y;
        }
        graph->setData(xs, ys, true);
        if (line.dots) graph->setScatterStyle(QCPScatterStyle(QCPScatterStyle::ssDisc, line.pen.color(), 5));
        graph->setSelectable(QCP::stNone);
    }
    new Layer(m_plot, *this, Layer::What::Points);
    auto* title = new QCPItemText(m_plot);
    title->position->setType(QCPItemPosition::ptAxisRectRatio);
    title->position->setCoords(0, 0);
    title->setPositionAlignment(Qt::AlignLeft | Qt::AlignBottom);
    title->setPadding({0, 0, 0, 3});
    title->setClipToAxisRect(false);
    title->setText(m_y.title);
    title->setFont(fontOf(TextRole::Small));
    title->setColor(currentTheme().secondaryText);
    title->setSelectable(false);
    fit();
}

void XyPlot::fit()
{
    const auto [left, right] = rangeOf(false);
    const auto [low, high] = rangeOf(true);
    m_plot->xAxis->setRange(left, right);
    m_plot->yAxis->setRange(low, high);
    if (isVisible() && m_plot->width() >= 64) m_plot->replot(QCustomPlot::rpImmediateRefresh);
}

void XyPlot::showEvent(QShowEvent* event)
{
    QWidget::showEvent(event);
    m_plot->setAccessibleName(accessibleName());
    m_plot->replot(QCustomPlot::rpQueuedReplot);
}

} // namespace fourwalls::views
