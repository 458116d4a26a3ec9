// SPDX-License-Identifier: GPL-3.0-or-later
// The rows of the timeline in a view of some height: what the user arranged, where each row is, and how far they are
// scrolled.
#pragma once

#include "views/timeline/timeline_layout.h"

#include <QObject>

#include <map>
#include <optional>
#include <span>
#include <vector>

namespace fourwalls::views {

/// Lines count pixels below the top of the bars, pinned rows included.
class TimelineRows : public QObject {
    Q_OBJECT
public:
    explicit TimelineRows(QObject* parent) : QObject(parent) {}

    /// The rows of a new trace. Resets what the user arranged, without a signal.
    void setTrace(const std::vector<TrackView>& tracks, std::vector<CounterTrack> counters,
                  std::set<CounterId> hiddenCounters);
    const std::vector<TrackView>& tracks() const { return m_tracks; }
    const TrackView* track(TrackId id) const; ///< null: there is none
    const std::vector<CounterTrack>& counters() const { return m_counters; }

    const TimelineArrangement& arrangement() const { return m_arrangement; }
    void setArrangement(TimelineArrangement arrangement);
    /// Moves the row of a track one place up or down, with those of the same stream in all ranks.
    void move(TrackId id, bool up);
    /// Changes the height of a track's row, with those of the same stream.
    void changeHeight(TrackId id, int percent);
    /// Of a track's row, with those of the same stream [percent of the others].
    int heightPercent(TrackId id) const;
    void setHeightPercent(TrackId id, int percent);
    void resetHeight(TrackId id);

    /// How high all rows would be, pinned ones included, in a view of a height.
    int wantedHeight(int viewHeight) const;
    /// Lays the rows out for a view of this height.
    void layOut(int viewHeight);
    const TimelineLayout& layout() const { return m_layout; }

    int scroll() const { return m_scroll; } ///< lines of the unpinned rows above the view
    int mostScroll() const { return m_mostScroll; }
    /// Scrolls by hand: what was revealed may leave the view.
    void scrollTo(int lines);
    void scrollBy(int lines) { scrollTo(m_scroll + lines); }
    /// Scrolls, expanding the rank if needed, until the track's row is in view, of a row that is higher than the view the
    /// lane. It stays in view when the view gets another height, until somebody scrolls.
    void revealTrack(TrackId id, int lane = 0);
    /// The same for a rank: its first row becomes the topmost.
    void revealRank(RankId rank);

    int topOf(const TimelineRow& row) const { return row.top + (row.pinned ? 0 : m_layout.pinnedHeight - m_scroll); }
    /// The first line that a row may be drawn on.
    int firstLineOf(const TimelineRow& row) const { return row.pinned ? 0 : m_layout.pinnedHeight; }
    /// Unpinned rows that are in view.
    std::span<const TimelineRow> visible() const;
    const TimelineRow* rowAt(int line) const;
    /// Rows that touch both lines or lie between them.
    std::vector<const TimelineRow*> rowsBetween(int top, int bottom) const;

    /// Tracks that have a row, also within folded ranks; by id.
    std::vector<TrackId> shownTracks() const;
    /// The tracks that a row stands for; alone: the head of a rank stands for the whole rank.
    std::vector<TrackId> tracksOf(const TimelineRow& row, bool alone = false) const;

    /// Where a dragged row would be put: above this row; null: below all that it can be put below.
    const TimelineRow* rowBelowGap(const TimelineRow& dragged, int line) const;
    /// The line of that gap.
    int gapAt(const TimelineRow& dragged, int line) const;
    void drop(TrackId dragged, int line);

signals:
    void arrangementChanged();
    void scrolled();
    /// What is revealed has no row under the filter, so it has ended.
    void filterLifted();

private:
    void setScroll(int lines);
    int scrollToSought() const; ///< the scroll position that shows what was revealed
    void liftFilter();

    std::vector<TrackView> m_tracks;
    std::map<RankId, std::vector<TrackId>> m_tracksOf; ///< those with slices
    std::vector<CounterTrack> m_counters;
    TimelineArrangement m_arrangement;
    TimelineLayout m_layout;
    int m_viewHeight = 1, m_scroll = 0, m_mostScroll = 0;
    std::optional<RankId> m_soughtRank; ///< that was revealed
    std::optional<TrackId> m_soughtTrack;
    int m_soughtLane = 0;
};

} // namespace fourwalls::views
