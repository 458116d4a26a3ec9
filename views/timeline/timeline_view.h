// SPDX-License-Identifier: GPL-3.0-or-later
// The timeline: what every rank did when. Puts the toolbar, the canvas and the details together, follows the shared
// selection, and asks the session for what belongs to the selected slice.
#pragma once

#include "model/present/step_spans.h"
#include "views/base/view.h"
#include "views/timeline/timeline_source.h"

#include <functional>
#include <optional>

class QAction;
class QMenu;
class QSplitter;

namespace fourwalls::views {

class AreaPanel;
class DetailsPanel;
class RowActions;
class SliceReader;
class TimelineCanvas;
class TimelineMinimap;
struct TimelineNote;
class TimelineToolbar;

class TimelineView : public View {
    Q_OBJECT
public:
    explicit TimelineView(QWidget* parent = nullptr);

    QString id() const override { return QStringLiteral("timeline"); }
    QString title() const override { return tr("Timeline"); }
    bool showsFinalData() const override;
    QString problem() const override;
    QString emptyReason() const override;
    QString tableAsCsv() const override;

    TimelineCanvas& canvas() { return *m_canvas; }
    TimelineToolbar& toolbar() { return *m_toolbar; }
    DetailsPanel& details() { return *m_details; }
    AreaPanel& area() { return *m_area; }
    const TimelineSource& source() const { return *m_source; }
    TimelineMinimap& minimap() { return *m_minimap; }

    /// Selects a slice and brings it into view.
    void goTo(const SelectedSlice& slice);
    /// Selects the next (1) or previous (-1) match of the search after the selected slice or the visible range.
    void goToMatch(int direction);
    /// What people noted about the trace: flags on the axis.
    void setNotes(std::vector<TimelineNote> notes);
    /// Shows the next (1) or previous (-1) note after the middle of the visible range.
    void goToNote(int direction);
    /// Selects the neighbour in the lane of the selected slice.
    void goToNeighbour(int direction);
    /// Shows the selected slice, else the measured range, else all slices.
    void fit();
    void fitSlices(); ///< from the first slice to the last

protected:
    void traceChanged() override;
    void themeChanged() override;
    void languageChanged() override;
    void predictionChanged() override;
    void predictedStepChanged() override;
    void resizeEvent(QResizeEvent* event) override;

private:
    void showPrediction();
    void showSlack();
    void askStepTime();
    void createActions();
    QAction* addSlackAction();
    QAction* addViewAction(const char* name, const QList<QKeySequence>& keys, std::function<void()> run);
    void retranslateActions();
    void connectSelection();
    void opened();
    void fitAtFirst();
    void readSteps();
    void showEmptyState();

    void select(const SliceView& slice, bool bringIntoView);
    void selectedSliceChanged();
    void showDetails();
    void showMatches();
    void chooseStep(std::optional<StepIndex> step);
    void chooseRank(std::optional<RankId> rank);
    void dragArea(TimeRange range, const std::vector<TrackId>& tracks, bool finished);
    /// Statistics of a range on some tracks, or of nothing.
    void setArea(const std::optional<TimeRange>& range, std::vector<TrackId> tracks);
    void measuredElsewhere();
    void find(const QString& name);
    void selectLikeThis(const QString& name);
    void fitDock();
    void fitDetails();
    void askContextMenu(const QPoint& at, std::optional<TrackId> track, std::optional<RankId> rank);
    void bringIntoView(const SliceView& slice);
    void goToLaunch();
    /// What can be done with the selected slice.
    void addSliceActions(QMenu& menu);

    TimelineSource* m_source;
    TimelineToolbar* m_toolbar;
    TimelineMinimap* m_minimap;
    TimelineCanvas* m_canvas;
    DetailsPanel* m_details;
    AreaPanel* m_area;
    SliceReader* m_reader;
    RowActions* m_rowActions = nullptr;
    QSplitter* m_rows;                                          ///< timeline above, panels below
    std::shared_ptr<const StepSpans> m_steps = stepSpansOf({}); ///< of the selected rank
    std::optional<RankId> m_stepsRank;
    bool m_timeAsked = false, m_timeKnown = false; ///< of the job's step
    bool m_showsSlack = false;
    bool m_dockMoved = false; ///< by hand: its height stays
    bool m_ownArea = false;   ///< so does the measured range
    bool m_ownSlice = false;  ///< and the selected slice, which a pointer is on
    bool m_fitting = false;   ///< workers look for where the slices begin and end
    bool m_failed = false;
    QString m_openError;
    std::size_t m_currentMatch = 0; ///< 1-based; 0: none
    int m_awaitedMatch = 0;         ///< Enter came before the matches: 1 or -1; 0: it did not
    std::size_t m_note = 0;         ///< that was gone to
    TimeRange m_noteRange;          ///< what was visible then
    std::vector<QAction*> m_actions;
};

} // namespace fourwalls::views
