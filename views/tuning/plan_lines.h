// SPDX-License-Identifier: GPL-3.0-or-later
// Parallel coordinates over what a plan is made of: one line per plan across the degrees to its time and peak. Dragging
// on an axis brushes it: only plans inside stay. Left and Right go from axis to axis, Up leaves out what is lowest on it,
// Down what is highest, Delete lets all through again.
#pragma once

#include "model/present/plan_cloud.h"
#include "views/plot/spoken.h"
#include "views/words/format.h"

#include <QImage>
#include <QLineF>
#include <QWidget>

#include <optional>
#include <span>
#include <vector>

namespace fourwalls::views {

/// A straight piece of the lines between two neighbouring axes, drawn once for all plans whose lines share it.
struct PlanStroke {
    enum class Ink { TooLarge, Fits, Best };
    QLineF line;
    Ink ink = Ink::Fits;
    int plans = 1;
};

/// The lines as strokes, those of the best on top. places: of each line the points on the axes, all of the same number.
/// Exact: plans share a stroke where they have the very same values on both axes, as most have of degrees.
std::vector<PlanStroke> planStrokes(std::span<const std::vector<QPointF>> places,
                                    std::span<const PlanStroke::Ink> inks);

class PlanLines : public QWidget, public Spoken {
    Q_OBJECT
public:
    explicit PlanLines(QWidget* parent = nullptr);

    void setCloud(const PlanCloud* cloud);
    /// More points came. What is drawn stays until the new lines are complete; many are drawn beside the window's thread.
    void refresh();
    /// The lines on the screen are those of all points.
    bool isComplete() const { return m_state == State::Complete; }
    void setByteUnit(ByteUnit unit);
    void setSelected(std::optional<std::uint32_t> index);
    const PlanBrushes& brushes() const { return m_brushes; }
    void setBrushes(const PlanBrushes& brushes);
    /// The axes that are drawn: those on which plans differ.
    const std::vector<PlanAxis>& axes() const { return m_axes; }
    double xOf(PlanAxis axis) const;
    double yOf(PlanAxis axis, double value) const;

    QSize sizeHint() const override { return {560, 220}; }
    QSize minimumSizeHint() const override { return {260, 120}; }

    /// The axes, each with what is let through on it.
    QAccessible::Role spokenRole() const override { return QAccessible::Chart; }
    int spokenParts() const override { return m_cloud ? static_cast<int>(m_axes.size()) : 0; }
    QString spokenText(int part) const override;
    QRect spokenPlace(int part) const override;
    int spokenCurrent() const override { return m_axis < spokenParts() ? m_axis : -1; }

signals:
    void brushesChanged();

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    QRectF plotRect() const;
    /// Leaves out the lowest or the highest of what is let through; not the last of it.
    void narrow(PlanAxis axis, bool fromBelow);
    void chooseAxes();
    void chooseStrokes();
    /// Begins the picture of the screen anew; few strokes are drawn at once.
    void drawScreen(double ratio);
    void take(const QImage& picture);
    /// What is to be shown: on the screen what there is so far.
    QImage picture(QPainter& painter);
    void paintAxis(QPainter& painter, PlanAxis axis) const;
    double valueAt(PlanAxis axis, double y) const;
    std::optional<PlanAxis> axisAt(double x) const;
    QString name(PlanAxis axis) const;
    QString text(PlanAxis axis, double value) const;

    const PlanCloud* m_cloud = nullptr;
    PlanBrushes m_brushes;
    std::vector<PlanAxis> m_axes;
    std::optional<std::uint32_t> m_selected;
    std::optional<PlanAxis> m_dragged;
    double m_dragFrom = 0;
    int m_axis = -1; ///< in m_axes: that the keys are at
    ByteUnit m_unit = ByteUnit::GB;
    /// Old: of other points, sizes or colours than are to be shown. Again: so is what is being drawn, too.
    enum class State { Old, Drawing, Again, Complete };
    State m_state = State::Old;
    std::vector<PlanStroke> m_strokes;
    bool m_manyLines = false;            ///< each is fainter then
    QImage m_shown;                      ///< complete, of the last points
    int m_nameRows = 1, m_valueRows = 1; ///< in which names and the ends of axes stand, in turn, so that none touch
};

} // namespace fourwalls::views
