// SPDX-License-Identifier: GPL-3.0-or-later
// Points and lines over two axes, linear or logarithmic, under a wall: what lies above the limit is bricks. Hover names
// a point, a click chooses it, a double click opens it; the wheel zooms and dragging moves; the arrow keys go from point to point.
#pragma once

#include "views/plot/spoken.h"

#include <QColor>
#include <QPen>
#include <QString>
#include <QWidget>

#include <functional>
#include <optional>
#include <utility>
#include <vector>

class QCPAxis;
class QCPItemText;
class QLabel;

namespace fourwalls::views {

class PaperPlot;

struct XyAxis {
    QString title; ///< with its unit
    bool log = false;
    std::function<QString(double)> text;            ///< of a mark
    std::optional<std::pair<double, double>> range; ///< absent: what the data need
    bool whole = false;                             ///< counts: no marks between whole numbers
    /// Of the vertical axis: it begins no lower, whatever the data; points that lie lower are arrows at its edge.
    std::optional<double> least = {};
};

enum class XyMark { Disc, Square, Diamond, Triangle, Ring, Down, Bar, Upright };

struct XyPoint {
    double x = 0, y = 0;
    double size = 7; ///< [pixels]
    QColor colour;
    XyMark mark = XyMark::Disc;
    int id = -1;   ///< what signals name; -1: not to be hit
    QString label; ///< beside the point, if there is room; earlier points first
};

struct XyLine {
    std::vector<std::pair<double, double>> points; ///< by x
    QPen pen;
    bool dots = false;
};

/// The limit as a broken line by x; above it is the wall.
struct XyWall {
    std::vector<std::pair<double, double>> limit;
    QString label;
};

struct XyContent {
    std::vector<XyPoint> points;
    std::vector<XyLine> lines;
    std::vector<XyWall> walls;
};

/// What screen readers are told of the points is told by the plot inside, which has the focus.
class XyPlot : public QWidget, private Spoken {
    Q_OBJECT
public:
    explicit XyPlot(QWidget* parent = nullptr);

    void setContent(XyAxis x, XyAxis y, XyContent content);
    const XyContent& content() const { return m_content; }
    /// No axes, but why there is nothing to see.
    void setNothing(const QString& why);
    /// The text of a point's tool tip.
    void setToolTips(std::function<QString(int id)> text) { m_toolTip = std::move(text); }
    /// Marks a point; -1: none.
    void setChosen(int id);
    int chosen() const { return m_chosen; }
    /// Shows everything.
    void fit();
    /// Draws anew with the current theme (after setContent with its colours).
    void applyTheme();
    /// Where a point is drawn in this widget; for tests.
    std::optional<QPointF> positionOf(int id) const;

    QSize sizeHint() const override { return {420, 260}; }
    QSize minimumSizeHint() const override { return {200, 110}; }

signals:
    void pointHovered(int id);
    void pointChosen(int id);
    void pointActivated(int id);
    void painted();

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;
    void showEvent(QShowEvent* event) override;

private:
    class Layer;
    QAccessible::Role spokenRole() const override { return QAccessible::Chart; }
    int spokenParts() const override;
    QString spokenText(int part) const override;
    QRect spokenPlace(int part) const override;
    int spokenCurrent() const override;
    /// Those that have an id, from left to right, and upwards where several stand above one another.
    void orderPoints();
    void rebuild();
    void dress(QCPAxis& axis, const XyAxis& wanted, bool isValue);
    std::pair<double, double> rangeOf(bool isValue) const;
    /// Whether the axis begins above it, and it is drawn as an arrow at the edge.
    bool isBelowAxis(const XyPoint& point) const;
    QPointF pixelOf(double x, double y) const;
    QPointF placeOf(const XyPoint& point) const;
    int nearest(QPointF at) const;
    /// Left and Right choose the point beside, Return opens it.
    bool takeKey(int key);

    PaperPlot* m_plot;
    QLabel* m_nothing;
    XyAxis m_x, m_y;
    XyContent m_content;
    std::vector<const XyPoint*> m_inOrder; ///< those with an id, from left to right, and upwards above one another
    std::function<QString(int)> m_toolTip;
    int m_chosen = -1, m_hovered = -1;
    QPointF m_pressed;
    bool m_dragged = false;
};

} // namespace fourwalls::views
