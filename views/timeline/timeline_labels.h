// SPDX-License-Identifier: GPL-3.0-or-later
// The column with the names of the timeline's rows: the field above it that filters them, and what dragging in it does.
#pragma once

#include "views/timeline/timeline_rows.h"

#include <QImage>
#include <QPointF>
#include <QRect>
#include <QString>

class QLineEdit;
class QPainter;
class QWidget;

namespace fourwalls::views {

class CounterCurves;

/// Points are in the coordinates of the canvas. A drag moves the right edge of the column, the lower border of a row, or a
/// row.
class TimelineLabels : public QObject {
    Q_OBJECT
public:
    TimelineLabels(TimelineRows& rows, const CounterCurves& counters, QWidget* canvas);

    /// Bars begin to the right of the column; plot: where they are.
    void place(const QRect& plot);
    int width() const { return m_width; } ///< [pixels]
    void setWidth(int width);

    /// Shows only rows whose name, with that of their rank, has all these words; or with a slash before it the expression.
    /// Empty: all rows.
    void setFilter(const QString& text);
    QString filter() const;
    /// To type into, in the corner above the names.
    QLineEdit& filterEdit() { return *m_filter; }

    QString nameOf(const TimelineRow& row) const;
    QRect rectOf(const TimelineRow& row) const;
    bool isOnEdge(QPointF at) const;
    /// The row whose name ends, with its lower border, at a point; null: none.
    const TimelineRow* rowEndingAt(QPointF at) const;

    /// Whether a drag or a choice of the column begins at a point, where a row's name may be.
    bool press(QPointF at, const TimelineRow* named);
    /// Back to the usual height of the row that ends there.
    bool resetHeightAt(QPointF at);
    bool isDragging() const { return m_drag != Drag::None; }
    void drag(QPointF to);
    void release(QPointF at);

    /// hovered: the row whose name the pointer is on; null: none.
    void paint(QPainter& painter, const TimelineRow* hovered) const;
    /// What a row is moved to, over the bars.
    void paintDrag(QPainter& painter, QPointF pointer) const;

    void retranslate();

signals:
    void widthChanged();

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    enum class Drag { None, Edge, Height, Row };

    void applyFilter();
    void beginRowDrag(Drag drag, const TimelineRow& row);
    bool hasMoved(QPointF to) const;
    int lineOf(QPointF at) const { return static_cast<int>(at.y()) - m_plot.top(); }
    void paintRow(QPainter& painter, const TimelineRow& row, bool hovered) const;

    static constexpr int kUsualWidth = 156;

    TimelineRows& m_rows;
    const CounterCurves& m_counters;
    QWidget* m_canvas;
    QLineEdit* m_filter;
    QRect m_plot;
    int m_width = kUsualWidth;
    Drag m_drag = Drag::None;
    QPointF m_pressed;
    TrackId m_dragged;                               ///< whose row or border it is
    int m_draggedHeight = 0, m_draggedPercent = 100; ///< of its row when the hand took it
};

} // namespace fourwalls::views
