// SPDX-License-Identifier: GPL-3.0-or-later
// The base of plots over time beside the timeline: the shared range with the timeline's gestures, the time axis, and
// a strip that says which step and phase one is looking at. Subclasses paint what stands above it.
#pragma once

#include "views/plot/frame_quality.h"
#include "views/plot/plot_ticks.h"
#include "views/plot/spoken.h"
#include "views/plot/time_camera.h"
#include "views/session/selection.h"
#include "views/session/step_spans.h"

#include <QImage>
#include <QPointer>
#include <QTimer>
#include <QWidget>

#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace fourwalls::views {

/// One notch of a wheel, and the part of the screen that one key press moves by.
inline constexpr int kKeyZoom = 120;
inline constexpr double kKeyPan = 0.1;

/// Wheel zooms at the pointer, Shift+wheel and dragging move, Ctrl+dragging (or dragging on the time axis) measures, a
/// double click zooms to what lies under it, a click selects an instant: the timeline's gestures. All of it goes through the Selection, so that other views follow.
class TimePlot : public QWidget, public Spoken {
    Q_OBJECT
public:
    explicit TimePlot(QWidget* parent = nullptr);

    /// Follows and moves this selection; null: none.
    void setSelection(Selection* selection);
    Selection* selection() const { return m_selection; }

    /// What the strip under the plot shows. Steps (of any number, never null) and phases (of the shown range) by time.
    void setContext(std::shared_ptr<const StepSpans> steps, std::vector<PhaseSpan> phases);

    /// The axis counts from here; absent: from the begin of the selection's whole range.
    void setZero(std::optional<Instant> zero);
    Instant zero() const { return m_zero.value_or(m_camera.bounds().begin); }

    const TimeCamera& camera() const { return m_camera; }
    /// The inside of the plot, in widget coordinates.
    QRectF plotRect() const;
    /// The plot's pixel columns on the screen.
    int deviceColumns() const;

    /// While on, data for the shown range is on its way: a repaint that would show none waits for it, for less than a
    /// frame, so that quick answers do not flicker.
    void setAwaiting(bool awaiting) { m_awaiting = awaiting; }

    void zoomBy(int units);   ///< about the middle; camera units
    void panBy(double share); ///< of the visible width, to later times
    /// While on, dragging measures without Ctrl.
    void setMeasuring(bool on) { m_measuring = on; }
    /// Draws the whole plot as it is, without pointer marks, for export.
    void paintTo(QPainter& painter);

    QSize sizeHint() const override { return {900, 320}; }
    QSize minimumSizeHint() const override { return {320, 170}; }
    QAccessible::Role spokenRole() const override { return QAccessible::Chart; }

signals:
    /// Another range or width is shown: new data should be asked for.
    void shownRangeChanged();
    void instantClicked(fourwalls::Instant at, QPointF where);
    void doubleClicked(fourwalls::Instant at, QPointF where);
    /// At the end of every paint.
    void painted(fourwalls::TimeRange range, fourwalls::views::FrameQuality quality);

protected:
    /// Everything that does not follow the pointer; kept as an image until invalidate().
    virtual void paintPlot(QPainter& painter) = 0;
    /// Marks at the pointer: hairline and readout. Called on every paint.
    virtual void paintHover(QPainter& painter) = 0;
    virtual FrameQuality quality() const = 0;
    /// Called before a change of hover is painted.
    virtual void hoverMoved() {}

    /// The picture must be painted again.
    void invalidate();
    std::optional<QPointF> hover() const { return m_hover; }
    double xOf(Instant at) const { return plotRect().left() + m_camera.xOf(at); }
    Instant instantAt(double x) const { return m_camera.timeAt(x - plotRect().left()); }
    void paintTimeAxis(QPainter& painter) const;
    void paintValueAxis(QPainter& painter, const QRectF& inside, const std::vector<ValueTick>& ticks,
                        const std::function<double(double)>& y, const QString& unit) const;
    /// A small card with lines of text beside `at`, kept inside the plot. The first line is bold.
    struct ReadoutLine {
        QColor chip; ///< invalid: none
        QString text;
        QString value; ///< right-aligned
    };
    void paintReadout(QPainter& painter, QPointF at, const std::vector<ReadoutLine>& lines) const;
    static QString textOf(const std::vector<ReadoutLine>& lines); ///< in one line

    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    enum class Drag { None, Pressed, Panning, Measuring };

    void followSelection();
    void pushRange();
    void repaintMoved();
    void paintStrip(QPainter& painter) const;
    void paintSteps(QPainter& painter, double top) const;
    /// names: the longest that fits is written on the bar.
    void paintBar(QPainter& painter, const TimeRange& range, double top, const QColor& fill,
                  const QStringList& names) const;
    void paintMeasure(QPainter& painter) const;
    /// When the slice ran that is selected in any view.
    void paintSlice(QPainter& painter) const;
    double stripHeight() const;

    QPointer<Selection> m_selection;
    TimeCamera m_camera;
    std::shared_ptr<const StepSpans> m_steps = stepSpansOf({});
    std::vector<PhaseSpan> m_phases;
    std::optional<Instant> m_zero;
    QImage m_picture;
    bool m_pictureValid = false, m_measuring = false, m_awaiting = false;
    QTimer m_hold; ///< runs while a repaint waits for data
    std::optional<QPointF> m_hover;
    Drag m_drag = Drag::None;
    QPointF m_pressed, m_last;
};

} // namespace fourwalls::views
