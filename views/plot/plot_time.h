// SPDX-License-Identifier: GPL-3.0-or-later
// The base of plots over time beside the timeline: the time axis, and a strip that says which step and phase one is looking
// at. Subclasses paint what stands above it.
#pragma once

#include "model/present/step_spans.h"
#include "views/plot/plot_ticks.h"
#include "views/plot/time_surface.h"

#include <QImage>

#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace fourwalls::views {

/// A double click zooms to what lies under it, a click selects an instant.
class TimePlot : public TimeSurface {
    Q_OBJECT
public:
    explicit TimePlot(QWidget* parent = nullptr);

    /// What the strip under the plot shows. Steps (of any number, never null) and phases (of the shown range) by time.
    void setContext(std::shared_ptr<const StepSpans> steps, std::vector<PhaseSpan> phases);

    /// The axis counts from here; absent: from the begin of the selection's whole range.
    void setZero(std::optional<Instant> zero);
    Instant zero() const { return m_zero.value_or(camera().bounds().begin); }

    /// The inside of the plot, in widget coordinates.
    QRectF plotRect() const;
    /// The plot's pixel columns on the screen.
    int deviceColumns() const;

    /// While on, data for the shown range is on its way.
    void setAwaiting(bool awaiting) { m_awaiting = awaiting; }

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

protected:
    /// Everything that does not follow the pointer; kept as an image until invalidate().
    virtual void paintPlot(QPainter& painter) = 0;
    /// Marks at the pointer: hairline and readout. Called on every paint.
    virtual void paintHover(QPainter& painter) = 0;
    virtual FrameQuality quality() const = 0;
    /// Where the length of a measured range is written: its upper edge.
    virtual double measureTop() const { return plotRect().top(); }

    /// The picture must be painted again.
    void invalidate();
    /// Where the pointer is, if it is over the times that are shown.
    std::optional<QPointF> hover() const;
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
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    QRectF timeArea() const override { return plotRect(); }
    bool isOnTimeAxis(QPointF at) const override { return at.y() > plotRect().bottom() + stripHeight(); }
    TimeRange boundsOf(const Selection& selection) const override { return selection.whole(); }
    void rangeMoved() override;
    bool awaitsData() const override { return m_awaiting && quality() < FrameQuality::Coarse; }
    void measureTo(QPointF to, bool finished, bool still) override;
    void clicked(QPointF at) override;

    void paintStrip(QPainter& painter) const;
    void paintSteps(QPainter& painter, double top) const;
    /// names: the longest that fits is written on the bar.
    void paintBar(QPainter& painter, const TimeRange& range, double top, const QColor& fill,
                  const QStringList& names) const;
    void paintMeasure(QPainter& painter) const;
    /// When the slice ran that is selected in any view.
    void paintSlice(QPainter& painter) const;
    double stripHeight() const;

    std::shared_ptr<const StepSpans> m_steps = stepSpansOf({});
    std::vector<PhaseSpan> m_phases;
    std::optional<Instant> m_zero;
    QImage m_picture;
    bool m_pictureValid = false, m_awaiting = false;
};

} // namespace fourwalls::views
