// SPDX-License-Identifier: GPL-3.0-or-later
// The drawing of the timeline as a widget: names of rows on the left, time axis on top, bars, and what lies over them
// (selection, pointer, measured range, arrows). Keeps the viewport; says what the user did by signals.
#pragma once

#include "model/trace/slice_surroundings.h"
#include "views/base/view.h"
#include "views/plot/spoken.h"
#include "views/timeline/timeline_renderer.h"

#include <QWidget>

#include <map>
#include <memory>
#include <optional>
#include <vector>

class QLineEdit;
class QScrollBar;
class QTimer;

namespace fourwalls {
struct StepSlack; // model/replay/step_slack.h
} // namespace fourwalls

namespace fourwalls::views {

class CounterCurves;
class MemoryStrip;
class PredictionStrip;
struct StripGhost;

/// What a person noted about a range or an instant.
struct TimelineNote {
    TimeRange range;
    QString text;
    std::optional<int> number = {}; ///< a mark's: stands in its flag
};

/// What the pointer is on.
struct TimelineHit {
    const TimelineRow* row = nullptr; ///< until the layout changes
    bool onLabel = false;             ///< on the row's name
    int lane = 0;
    LaneHit lanehit;
    Instant at;
};

/// Screen readers are told the selected slice, if there is one, and then the rows.
class TimelineCanvas : public QWidget, public Spoken {
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

    TimeRange range() const { return m_camera.range(); }
    void setRange(TimeRange range);
    void zoom(int units);   ///< about the middle, or the pointer when it is over the bars
    void pan(double share); ///< of the visible width, positive: to later times

    const TimelineArrangement& arrangement() const { return m_arrangement; }
    void setArrangement(TimelineArrangement arrangement);
    /// Shows only rows whose name, with that of their rank, has all these words; or with a slash before it the expression.
    /// Empty: all rows.
    void setRowFilter(const QString& text);
    QString rowFilter() const;
    /// To type into, in the corner above the names of the rows.
    QLineEdit& rowFilterEdit() { return *m_rowFilter; }
    /// Of the selected slice.
    std::optional<TrackId> selectedTrack() const
    {
        return m_selected ? std::optional(m_selected->slice.track) : std::nullopt;
    }
    /// Moves the row of a track one place up or down, with those of the same stream in all ranks.
    void moveRow(TrackId track, bool up);
    /// Changes the height of a track's row, with those of the same stream.
    void changeRowHeight(TrackId track, int percent);
    /// Of the column with the names of the rows [pixels].
    int labelWidth() const { return m_labelWidth; }
    void setLabelWidth(int width);
    const TimelineLayout& layout() const { return m_layout; }
    const std::vector<TrackView>& tracks() const { return m_tracks; }
    const TrackView* track(TrackId id) const;
    /// Scrolls, expanding the rank if needed, until the track's row is in view, of a row that is higher than the view the
    /// lane. It stays in view when the view gets another height, until somebody scrolls.
    void revealTrack(TrackId id, int lane = 0);
    /// The same for a rank: its first row becomes the topmost.
    void revealRank(RankId rank);
    void scrollBy(int lines);

    void setSelected(const std::optional<SelectedSlice>& slice);
    /// Between the selected slice and others.
    void setArrows(std::vector<SliceArrow> arrows);
    void setCursor(std::optional<Instant> at);
    void setSteps(std::shared_ptr<const StepSpans> steps);             ///< they number the slices of steps; never null
    void setEvents(std::vector<EventRecord> events);                   ///< by time; marked on the axis
    void setNotes(std::vector<TimelineNote> notes);                    ///< flags on the axis
    const std::vector<TimelineNote>& notes() const { return m_notes; } ///< by begin
    void setZero(Instant zero);                                        ///< the axis counts from here
    /// The area whose statistics are shown: a range on some tracks.
    void setArea(std::optional<TimeRange> range, std::vector<TrackId> tracks);
    /// Tracks that have a row, also within folded ranks; top to bottom.
    std::vector<TrackId> shownTracks() const;
    void setMeasuring(bool measuring); ///< dragging selects an area instead of panning
    /// What of a step could take longer without harm: pale; null: all bars as they are.
    void setSlack(std::shared_ptr<const StepSlack> slack);
    bool measuring() const { return m_measuring; }

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
    /// The last bar drawing, without overlays.
    const TimelineRenderer& renderer() const { return m_renderer; }

    QAccessible::Role spokenRole() const override { return QAccessible::Chart; }
    int spokenParts() const override;
    QString spokenText(int part) const override;
    QRect spokenPlace(int part) const override;
    int spokenCurrent() const override { return m_selected ? 0 : -1; }

signals:
    /// The user moved the view.
    void rangeChanged(fourwalls::TimeRange range);
    void sliceClicked(const fourwalls::SliceView& slice);
    void emptyClicked();
    void sliceDoubleClicked(const fourwalls::SliceView& slice);
    void cursorMoved(std::optional<fourwalls::Instant> at);
    /// An area was dragged: over the rows that it touches, along the axis or beside the rows over all.
    void areaDragged(fourwalls::TimeRange range, const std::vector<fourwalls::TrackId>& tracks, bool finished);
    void arrangementChanged();
    void labelWidthChanged();
    void contextMenuAsked(const QPoint& globalPosition, std::optional<fourwalls::TrackId> track,
                          std::optional<fourwalls::RankId> rank);
    /// At the end of every paint.
    void painted(fourwalls::TimeRange range, fourwalls::views::FrameQuality quality);

protected:
    void paintEvent(QPaintEvent* event) override;
    bool eventFilter(QObject* watched, QEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void changeEvent(QEvent* event) override;
    bool event(QEvent* event) override;

private:
    static constexpr int kUsualLabelWidth = 156;
    enum class Drag { None, Pending, Pan, Area, Labels, Row, Height };

    void makeRowFilter();
    void retranslateRowFilter();
    void filterRows();
    bool onLabelEdge(QPointF position) const;
    /// The row whose name ends, with its lower border, at a point; null: none.
    const TimelineRow* rowEndingAt(QPointF position) const;
    void beginRowDrag(const TimelineRow& row, QPointF position);
    void dragHeight(QPointF to);
    /// Where a dragged row would be put: above this row; null: below all that it can be put below.
    const TimelineRow* rowBelowGap(QPointF position) const;
    void dropRow(QPointF position);
    void paintRowDrag(QPainter& painter) const;
    void relayout();
    int stripHeightFor(int available) const;
    void invalidate();  ///< bars need drawing again
    void repaintSoon(); ///< update(), unless an answer is about to arrive
    void holdRepaint();
    void tellNeed();
    void moved(); ///< the user changed the visible range
    void setScroll(int value);
    void scrollTo(int value);   ///< by hand: what was gone to may leave the view
    int scrollToSought() const; ///< the scroll position that shows it
    void updateHover(QPointF position);

    void paintAxis(QPainter& painter) const;
    void paintLabelColumn(QPainter& painter) const; ///< left of the bars
    void paintEvents(QPainter& painter) const;
    void paintNotes(QPainter& painter) const;
    void paintLabels(QPainter& painter) const;
    void paintLabel(QPainter& painter, const TimelineRow& row, const QRect& rect) const;
    void paintOverlays(QPainter& painter) const;
    void paintArea(QPainter& painter) const;
    void dragArea(QPointF to, bool finished);
    void addTracksOf(const TimelineRow& row, bool alone, std::vector<TrackId>& to) const;
    void paintArrows(QPainter& painter) const;
    void paintCounters(QPainter& painter) const;
    void paintSlack(QPainter& painter) const;
    QString slackLine(const SliceView& slice) const; ///< empty: nothing is known of it
    void paintHover(QPainter& painter) const;
    QRect sliceRect(const SliceView& slice) const;
    QStringList hoverLines() const;
    QStringList sliceLines(const SliceView& slice, const OpInfo* op) const;
    QString rowName(const TimelineRow& row) const;
    const TimelineRow& spokenRow(int part) const;
    QStringList eventLines() const;
    QRect labelRect(const TimelineRow& row) const;
    const TimelineRow* rowAt(int y) const;

    TimelineSource& m_source;
    TimelineRenderer m_renderer;
    TimeCamera m_camera;
    TimelineArrangement m_arrangement;
    TimelineLayout m_layout;
    QLineEdit* m_rowFilter;
    int m_labelWidth = kUsualLabelWidth;
    std::vector<TrackView> m_tracks;
    std::map<RankId, std::vector<TrackId>> m_tracksOf; ///< those with slices
    std::vector<RankInfo> m_ranks;
    std::shared_ptr<const StepSpans> m_steps = stepSpansOf({});
    std::vector<EventRecord> m_events;
    std::vector<TimelineNote> m_notes;
    QScrollBar* m_scrollBar;
    int m_scroll = 0;
    std::optional<RankId> m_soughtRank; ///< that was gone to
    std::optional<TrackId> m_soughtTrack;
    int m_soughtLane = 0;
    std::unique_ptr<PredictionStrip> m_prediction;
    MemoryStrip* m_strip;
    CounterCurves* m_counters;
    std::vector<CounterTrack> m_counterTracks;
    bool m_stripShown = true;
    int m_stripHeight = 0;
    QString m_emptyReason;

    double m_ratio = 1;        ///< device pixels by pixel of what is drawn now
    bool m_dirty = true;       ///< bars
    bool m_labelsDirty = true; ///< names of rows
    QImage m_labels;           ///< the column left of the bars, axis corner included
    QTimer* m_hold;
    TimeTicks m_ticks;
    FrameQuality m_quality = FrameQuality::Blank;

    std::optional<SelectedSlice> m_selected;
    std::vector<SliceArrow> m_arrows;
    std::shared_ptr<const StepSlack> m_slack;
    std::optional<Instant> m_cursor;
    Instant m_zero;
    std::optional<TimeRange> m_area;
    std::vector<TrackId> m_areaTracks; ///< by id
    bool m_measuring = false;

    Drag m_drag = Drag::None;
    QPointF m_pressAt, m_lastDrag;
    std::optional<TrackId> m_draggedRow;             ///< by its name or its lower border
    int m_draggedHeight = 0, m_draggedPercent = 100; ///< of its row when the hand took it
    Instant m_pressTime;
    std::optional<QPointF> m_pointer;
    TimelineHit m_hover;
};

} // namespace fourwalls::views

Q_DECLARE_METATYPE(fourwalls::SliceView)
Q_DECLARE_METATYPE(std::optional<fourwalls::Instant>)
