// SPDX-License-Identifier: GPL-3.0-or-later
// The drawing of the timeline as a widget: names of rows on the left, time axis on top, bars, and what lies over them
// (selection, pointer, measured range, arrows). Says what the user did by signals.
#pragma once

#include "model/trace/slice_surroundings.h"
#include "views/plot/time_surface.h"
#include "views/timeline/timeline_axis.h"
#include "views/timeline/timeline_labels.h"
#include "views/timeline/timeline_renderer.h"
#include "views/timeline/timeline_rows.h"

#include <memory>
#include <optional>
#include <vector>

class QScrollBar;

namespace fourwalls {
struct StepSlack; // model/replay/step_slack.h
} // namespace fourwalls

namespace fourwalls::views {

class CounterCurves;
class MemoryStrip;
class PredictionStrip;
struct StripGhost;

/// What the pointer is on.
struct TimelineHit {
    const TimelineRow* row = nullptr; ///< until the layout changes
    bool onLabel = false;             ///< on the row's name
    int lane = 0;
    LaneHit lanehit;
    Instant at;
};

/// Screen readers are told the selected slice, if there is one, and then the rows.
class TimelineCanvas : public TimeSurface {
    Q_OBJECT
public:
    TimelineCanvas(TimelineSource& source, QWidget* parent = nullptr);
    ~TimelineCanvas() override;

    /// The ruler, the field for the rows and two of them.
    QSize minimumSizeHint() const override { return {260, 90}; }

    /// A new trace: its tracks, its whole range. Resets what the user arranged.
    void setTrace(const TraceInfo& info, const std::vector<TrackView>& tracks, TimeRange whole);
    /// Why there is nothing to draw; empty to draw.
    void setEmptyReason(const QString& reason);

    TimeRange range() const { return camera().range(); }
    TimelineRows& rows() { return m_rows; }
    const TimelineRows& rows() const { return m_rows; }
    TimelineLabels& labels() { return *m_labels; }
    const TimelineAxis& axis() const { return m_axis; }

    /// Of the selected slice.
    std::optional<TrackId> selectedTrack() const
    {
        return m_selected ? std::optional(m_selected->slice.track) : std::nullopt;
    }
    void setSelected(const std::optional<SelectedSlice>& slice);
    /// Between the selected slice and others.
    void setArrows(std::vector<SliceArrow> arrows);
    void setSteps(std::shared_ptr<const StepSpans> steps); ///< they number the slices of steps; never null
    void setEvents(std::vector<EventRecord> events);       ///< by time; marked on the axis
    void setNotes(std::vector<TimelineNote> notes);        ///< flags on the axis
    void setZero(Instant zero);                            ///< the axis counts from here
    /// The area whose statistics are shown: a range on some tracks.
    void setArea(std::optional<TimeRange> range, std::vector<TrackId> tracks);
    /// What of a step could take longer without harm: pale; null: all bars as they are.
    void setSlack(std::shared_ptr<const StepSlack> slack);

    FrameQuality quality() const { return m_quality; }
    /// The drawing is up to date with the source and nothing is missing.
    bool showsEverything() const;
    TimelineHit hitAt(QPointF position) const;
    /// Where a lane's bar of a track is drawn; empty when it is not in view.
    QRect laneRect(TrackId track, int lane) const;
    QRect plotRect() const;
    /// Where the memory strip is drawn, below the rows; empty without one.
    QRect stripRect() const;
    MemoryStrip& memory() { return *m_strip; }
    CounterCurves& counters() { return *m_counters; }
    void setMemoryShown(bool shown);
    /// The job's, which a prediction is compared with; absent: not known (yet).
    void setStepTime(std::optional<Duration> time);
    /// The predicted step over the recorded ones, between the rows and the memory strip; null: none.
    void setPrediction(StripGhost ghost);
    const PredictionStrip& prediction() const { return *m_prediction; }
    /// Where it is drawn; empty without one.
    QRect predictionRect() const;
    /// All of what a label says that the column may be too narrow for; empty: there is none.
    QString labelTipAt(QPoint at) const;
    /// The last bar drawing, without overlays.
    const TimelineRenderer& renderer() const { return m_renderer; }

    QAccessible::Role spokenRole() const override { return QAccessible::Chart; }
    int spokenParts() const override;
    QString spokenText(int part) const override;
    QRect spokenPlace(int part) const override;
    int spokenCurrent() const override { return m_selected ? 0 : -1; }

signals:
    void sliceClicked(const fourwalls::SliceView& slice);
    void emptyClicked();
    void sliceDoubleClicked(const fourwalls::SliceView& slice);
    /// An area was dragged: over the rows that it touches, along the axis or beside the rows over all.
    void areaDragged(fourwalls::TimeRange range, const std::vector<fourwalls::TrackId>& tracks, bool finished);
    void contextMenuAsked(const QPoint& globalPosition, std::optional<fourwalls::TrackId> track,
                          std::optional<fourwalls::RankId> rank);

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void changeEvent(QEvent* event) override;
    bool event(QEvent* event) override;

private:
    QRectF timeArea() const override { return m_emptyReason.isEmpty() ? QRectF(plotRect()) : QRectF(); }
    bool isOnTimeAxis(QPointF at) const override { return at.y() < plotRect().top(); }
    TimeRange boundsOf(const Selection& selection) const override;
    void rangeMoved() override;
    bool awaitsData() const override;
    void pointerMoved() override;
    void draggedDown(double lines) override;
    void measureTo(QPointF to, bool finished, bool still) override;
    void clicked(QPointF at) override;

    void relayout();
    int stripHeightFor(int available) const;
    void invalidate(); ///< bars need drawing again
    void rowsScrolled();
    void tellNeed();

    void paintBars(const QRect& plot, double ratio);
    void paintStrips(QPainter& painter) const;
    void paintLabelColumn(QPainter& painter) const; ///< left of the bars
    void paintOverlays(QPainter& painter) const;
    void paintArea(QPainter& painter) const;
    void paintArrows(QPainter& painter) const;
    void paintCounters(QPainter& painter) const;
    void paintCursor(QPainter& painter, const QRect& over) const;
    void paintHover(QPainter& painter) const;
    QString slackLine(const SliceView& slice) const; ///< empty: nothing is known of it
    QRect sliceRect(const SliceView& slice) const;
    QStringList hoverLines() const;
    QStringList rankLines(RankId rank) const;
    QStringList sliceLines(const SliceView& slice, const OpInfo* op) const;
    const TimelineRow& spokenRow(int part) const;

    TimelineSource& m_source;
    TimelineRenderer m_renderer;
    TimelineRows m_rows;
    TimelineAxis m_axis;
    std::unique_ptr<PredictionStrip> m_prediction;
    MemoryStrip* m_strip;
    CounterCurves* m_counters;
    TimelineLabels* m_labels;
    QScrollBar* m_scrollBar;
    std::vector<RankInfo> m_ranks;
    std::shared_ptr<const StepSpans> m_steps = stepSpansOf({});
    bool m_stripShown = true;
    int m_stripHeight = 0;
    QString m_emptyReason;

    double m_ratio = 1;        ///< device pixels by pixel of what is drawn now
    bool m_dirty = true;       ///< bars
    bool m_labelsDirty = true; ///< names of rows
    QImage m_labelImage;       ///< the column left of the bars, axis corner included
    FrameQuality m_quality = FrameQuality::Blank;

    std::optional<SelectedSlice> m_selected;
    std::vector<SliceArrow> m_arrows;
    std::shared_ptr<const StepSlack> m_slack;
    std::optional<TimeRange> m_area;
    std::vector<TrackId> m_areaTracks; ///< by id
    TimelineHit m_hover;
};

} // namespace fourwalls::views

Q_DECLARE_METATYPE(fourwalls::SliceView)
