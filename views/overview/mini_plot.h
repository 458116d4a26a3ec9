// SPDX-License-Identifier: GPL-3.0-or-later
// A small live plot of one wall: areas, dots and lines under (or beside) a wall of bricks.
#pragma once

#include "views/plot/spoken.h"

#include <QColor>
#include <QPointF>
#include <QString>
#include <QStringList>
#include <QWidget>

#include <functional>
#include <optional>
#include <vector>

namespace fourwalls::views {

/// An axis from `low` to `high`, both positive if logarithmic.
struct MiniAxis {
    double low = 0, high = 1;
    bool logarithmic = false;
    QString unit;                         ///< written once, at the axis's end
    std::function<QString(double)> label; ///< of a mark
    QString what = {};                    ///< what is measured, with the unit, where that has room; may be empty
    /// 0..1 along the axis, also outside of it.
    double share(double value) const;
    std::vector<double> marks(int atMost) const;
};

struct MiniDot {
    QPointF at;
    double radius = 3;
    QColor colour;
};

struct MiniLine {
    std::vector<QPointF> points;
    QColor colour;
    double width = 1.6;
    bool dashed = false;
    bool dotted = false;
};

/// One area of a stack: values at the stack's places, on top of the area before.
struct MiniArea {
    std::vector<double> values;
    QColor colour;
};

/// A point with a name beside it.
struct MiniMark {
    QPointF at;
    QString text;
    QColor colour;
    bool ring = false;
};

struct MiniPicture {
    MiniAxis x, y;
    std::vector<double> places; ///< x of the stack's values, rising; each holds until the next
    std::vector<MiniArea> stack;
    std::vector<MiniDot> dots;
    std::vector<MiniLine> lines;
    std::vector<MiniMark> marks;
    std::vector<QPointF> wall; ///< the limit from left to right: bricks lie above it; empty: no wall
    QStringList wallNames;     ///< the longest first: the first that has room is written
    /// Where the vertical axis is broken, for a wall above it that is not to scale. Absent: all is to scale.
    std::optional<double> breakAt;
    QString empty;  ///< why there is nothing to see; empty if there is
    QString spoken; ///< for screen readers
};

/// Draws one picture; a click or Enter asks to see more.
class MiniPlot : public QWidget, public Spoken {
    Q_OBJECT
public:
    explicit MiniPlot(QWidget* parent = nullptr);
    void setPicture(MiniPicture picture);
    const MiniPicture& picture() const { return m_picture; }
    /// The inside of the plot, in widget coordinates.
    QRectF plotRect() const;
    QPointF pointOf(QPointF value) const;

    QSize sizeHint() const override { return {300, 130}; }
    QSize minimumSizeHint() const override { return {120, 70}; }
    QAccessible::Role spokenRole() const override { return QAccessible::Button; }

signals:
    void activated();

protected:
    void paintEvent(QPaintEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    /// The longest name of the wall that has room above the plot beside what the axis measures or, if none has, its unit.
    QString wallName() const;
    /// Where it is said that the wall is not to scale; null where its name says so, or nothing has to.
    QRectF wordsOnWall(const QRectF& inside) const;
    /// How far the unit of the vertical axis may reach.
    double unitRoom(const QRectF& inside) const;
    void paintAxes(QPainter& painter, const QRectF& inside) const;
    /// A torn stretch across the plot below a wall that is not to scale, and the words for it.
    void paintBreak(QPainter& painter, const QRectF& inside) const;
    void paintWallName(QPainter& painter, const QRectF& inside) const;
    void paintBricks(QPainter& painter, const QRectF& inside) const;
    void paintStackOf(QPainter& painter, const QRectF& inside) const;
    void paintMarks(QPainter& painter, const QRectF& inside) const;

    MiniPicture m_picture;
};

} // namespace fourwalls::views
