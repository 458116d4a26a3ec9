// SPDX-License-Identifier: GPL-3.0-or-later
// Step time against peak memory of every plan: a density image, so that a million plans cost what a thousand do. What
// does not fit stands behind the wall of the device's capacity; the front of what nothing beats is a line.
#pragma once

#include "model/present/plan_cloud.h"
#include "views/plot/spoken.h"
#include "views/tuning/log_axis.h"
#include "views/words/format.h"

#include <QImage>
#include <QWidget>

#include <memory>
#include <optional>
#include <vector>

namespace fourwalls::views {

class PlanScatter : public QWidget, public Spoken {
    Q_OBJECT
public:
    explicit PlanScatter(QWidget* parent = nullptr);

    /// Outlives the widget's time with it; null: nothing.
    void setCloud(const PlanCloud* cloud);
    /// More points came, or brushes changed: the picture must be drawn again.
    void refresh();
    void setBrushes(const PlanBrushes& brushes);
    /// The device's memory [bytes]; 0: unknown.
    void setCapacity(double bytes);
    void setByteUnit(ByteUnit unit);
    /// A marked place: time [s] and peak [bytes].
    struct Mark {
        double seconds = 0, bytes = 0;
        QString name;
    };
    void setRecorded(std::optional<Mark> mark);
    void setSliders(std::optional<Mark> mark);
    /// The point that is emphasised (a row of the table).
    void setSelected(std::optional<std::uint32_t> index);

    /// The point nearest to a place in the widget, within a few pixels.
    std::optional<std::uint32_t> pointAt(QPointF where) const;
    /// Where a point is drawn.
    QPointF placeOf(std::uint32_t index) const;

    QSize sizeHint() const override { return {560, 300}; }
    QSize minimumSizeHint() const override { return {260, 150}; }
    QAccessible::Role spokenRole() const override { return QAccessible::Chart; }

signals:
    void planClicked(std::uint32_t index);
    void painted(); ///< all points

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    QRectF plotRect() const;
    void layoutAxes();
    /// Many are drawn beside the window's thread unless atOnce.
    void drawPoints(double ratio, bool atOnce);
    void paintAxes(QPainter& painter) const;
    void paintFront(QPainter& painter) const;
    /// Its name keeps away from what is taken, and is taken then.
    void paintMark(QPainter& painter, const Mark& mark, bool recorded, std::vector<QRectF>& taken) const;
    QPointF at(double seconds, double bytes) const { return {m_axes.time.pixel(seconds), m_axes.memory.pixel(bytes)}; }

    const PlanCloud* m_cloud = nullptr;
    PlanBrushes m_brushes;
    double m_capacity = 0;
    ByteUnit m_unit = ByteUnit::GB;
    std::optional<Mark> m_recorded, m_sliders;
    std::optional<std::uint32_t> m_selected, m_hovered;
    /// Of what is shown.
    struct Axes {
        LogAxis time, memory;
        bool broken = false; ///< the wall stands far above all plans, out of scale
    };
    Axes m_axes;
    QImage m_picture;
    bool m_valid = false;   ///< m_picture is of these points and this size, or is being drawn of them
    bool m_drawing = false; ///< beside the window's thread
};

} // namespace fourwalls::views
