// SPDX-License-Identifier: GPL-3.0-or-later
// See timeline_rows.h.
#include "views/timeline/timeline_rows.h"

#include <algorithm>
#include <utility>

namespace fourwalls::views {

void TimelineRows::setTrace(const std::vector<TrackView>& tracks, std::vector<CounterTrack> counters,
                            std::set<CounterId> hiddenCounters)
{
    m_tracks = tracks;
    m_tracksOf.clear();
    for (const TrackView& track : m_tracks)
        if (track.slices > 0) m_tracksOf[track.info.rank].push_back(track.id);
    m_counters = std::move(counters);
    m_arrangement = {};
    m_arrangement.collapsed = initiallyCollapsed(m_tracks);
    m_arrangement.hiddenCounters = std::move(hiddenCounters);
    m_scroll = 0;
    m_soughtRank.reset();
    m_soughtTrack.reset();
}

const TrackView* TimelineRows::track(TrackId id) const
{
    const auto at = std::ranges::find(m_tracks, id, &TrackView::id);
    return at == m_tracks.end() ? nullptr : &*at;
}

void TimelineRows::setArrangement(TimelineArrangement arrangement)
{
    m_arrangement = std::move(arrangement);
    emit arrangementChanged();
}

void TimelineRows::move(TrackId id, bool up)
{
    const TimelineRow* row = m_layout.rowOf(id);
    if (!row || row->kind != TimelineRow::Kind::Track || row->pinned) return;
    // The tracks of its rank, top to bottom; by stream the streams, each by its first row.
    std::vector<StreamKey> streams;
    const bool byStream = m_arrangement.order == RowOrder::ByStream;
    for (const TimelineRow& each : m_layout.rows) {
        if (each.kind != TimelineRow::Kind::Track || each.pinned) continue;
        if (byStream ? !each.startsGroup && !streams.empty() : each.rank != row->rank) continue;
        const StreamKey stream = streamOf(*track(*each.track));
        if (std::ranges::find(streams, stream) == streams.end()) streams.push_back(stream);
    }
    const StreamKey moved = streamOf(*track(id));
    const auto at = std::ranges::find(streams, moved) - streams.begin();
    if (up ? at == 0 : at + 1 >= static_cast<std::ptrdiff_t>(streams.size())) return;
    // Down: above the one after the next.
    const auto above = static_cast<std::size_t>(up ? at - 1 : at + 2);
    TimelineArrangement arrangement = m_arrangement;
    moveStream(arrangement, m_tracks, moved, above < streams.size() ? std::optional(streams[above]) : std::nullopt);
    setArrangement(std::move(arrangement));
}

int TimelineRows::heightPercent(TrackId id) const
{
    const TrackView* of = track(id);
    const auto pulled = of ? m_arrangement.streamHeight.find(streamOf(*of)) : m_arrangement.streamHeight.end();
    return pulled == m_arrangement.streamHeight.end() ? 100 : pulled->second;
}

void TimelineRows::setHeightPercent(TrackId id, int percent)
{
    const TrackView* of = track(id);
    percent = std::clamp(percent, kLowestRowPercent, kHighestRowPercent);
    if (!of || heightPercent(id) == percent) return;
    TimelineArrangement arrangement = m_arrangement;
    arrangement.streamHeight[streamOf(*of)] = percent;
    setArrangement(std::move(arrangement));
}

void TimelineRows::resetHeight(TrackId id)
{
    TimelineArrangement arrangement = m_arrangement;
    if (const TrackView* of = track(id)) arrangement.streamHeight.erase(streamOf(*of));
    setArrangement(std::move(arrangement));
}

void TimelineRows::changeHeight(TrackId id, int percent)
{
    setHeightPercent(id, heightPercent(id) + percent);
}

int TimelineRows::wantedHeight(int viewHeight) const
{
    const TimelineLayout laidOut = layoutTimeline(m_tracks, m_arrangement, viewHeight, m_counters);
    return laidOut.pinnedHeight + laidOut.height;
}

void TimelineRows::layOut(int viewHeight)
{
    m_viewHeight = viewHeight;
    m_layout = layoutTimeline(m_tracks, m_arrangement, viewHeight, m_counters);
    m_mostScroll = std::max(0, m_layout.pinnedHeight + m_layout.height - viewHeight);
    m_scroll = std::clamp(scrollToSought(), 0, m_mostScroll);
}

void TimelineRows::setScroll(int lines)
{
    if (lines == m_scroll) return;
    m_scroll = std::clamp(lines, 0, m_mostScroll);
    emit scrolled();
}

void TimelineRows::scrollTo(int lines)
{
    m_soughtRank.reset();
    m_soughtTrack.reset();
    setScroll(lines);
}

void TimelineRows::liftFilter()
{
    TimelineArrangement arrangement = m_arrangement;
    arrangement.filter.reset();
    setArrangement(std::move(arrangement));
    emit filterLifted();
}

void TimelineRows::revealTrack(TrackId id, int lane)
{
    const TrackView* found = track(id);
    if (!found) return;
    if (m_arrangement.filter && !m_arrangement.filter->tracks.contains(id)) liftFilter();
    if (m_arrangement.collapsed.contains(found->info.rank) || m_arrangement.hidden.contains(id)) {
        TimelineArrangement opened = m_arrangement;
        opened.collapsed.erase(found->info.rank);
        opened.hidden.erase(id);
        setArrangement(std::move(opened));
    }
    m_soughtRank.reset();
    m_soughtTrack = id;
    m_soughtLane = lane;
    setScroll(scrollToSought());
}

void TimelineRows::revealRank(RankId rank)
{
    if (m_arrangement.filter && std::ranges::find(m_layout.rows, rank, &TimelineRow::rank) == m_layout.rows.end())
        liftFilter();
    if (m_arrangement.collapsed.contains(rank)) {
        TimelineArrangement opened = m_arrangement;
        opened.collapsed.erase(rank);
        setArrangement(std::move(opened));
    }
    m_soughtTrack.reset();
    m_soughtRank = rank;
    setScroll(scrollToSought());
}

int TimelineRows::scrollToSought() const
{
    if (m_soughtRank) {
        const auto first = std::ranges::find(m_layout.rows, *m_soughtRank, &TimelineRow::rank);
        return first == m_layout.rows.end() ? m_scroll : first->top;
    }
    const TimelineRow* row = m_soughtTrack ? m_layout.rowOf(*m_soughtTrack) : nullptr;
    if (!row || row->pinned) return m_scroll;
    const int lines = m_viewHeight - m_layout.pinnedHeight;
    int top = row->top, height = row->height;
    if (height > lines) {
        const int lane = std::clamp(m_soughtLane, 0, row->lanes - 1);
        top += row->laneTop(lane);
        height = row->barHeight(lane);
    }
    const bool isShown = top >= m_scroll && top + height <= m_scroll + lines;
    return isShown ? m_scroll : top - std::max(0, lines - height) / 2;
}

std::span<const TimelineRow> TimelineRows::visible() const
{
    return m_layout.visible(m_scroll, m_scroll + std::max(0, m_viewHeight - m_layout.pinnedHeight));
}

const TimelineRow* TimelineRows::rowAt(int line) const
{
    if (line < 0 || line >= m_viewHeight) return nullptr;
    if (line < m_layout.pinnedHeight) {
        const auto at = std::ranges::find_if(
            m_layout.pinned, [line](const TimelineRow& row) { return line >= row.top && line < row.bottom(); });
        return at == m_layout.pinned.end() ? nullptr : &*at;
    }
    const int scrolled = line - m_layout.pinnedHeight + m_scroll;
    const auto rows = m_layout.visible(scrolled, scrolled + 1);
    return rows.empty() ? nullptr : &rows.front();
}

std::vector<const TimelineRow*> TimelineRows::rowsBetween(int top, int bottom) const
{
    std::vector<const TimelineRow*> rows;
    for (const auto* section : {&m_layout.pinned, &m_layout.rows})
        for (const TimelineRow& row : *section) {
            const int begin = topOf(row), end = begin + row.height;
            if (end > firstLineOf(row) && begin <= bottom && end > top) rows.push_back(&row);
        }
    return rows;
}

std::vector<TrackId> TimelineRows::tracksOf(const TimelineRow& row, bool alone) const
{
    std::vector<TrackId> tracks;
    const bool whole = row.kind == TimelineRow::Kind::Activity || (alone && row.kind == TimelineRow::Kind::Head);
    if (!whole) {
        if (row.track) tracks.push_back(*row.track);
        return tracks;
    }
    const auto found = m_tracksOf.find(row.rank);
    if (found == m_tracksOf.end()) return tracks;
    for (const TrackId track : found->second)
        if (!m_arrangement.hidden.contains(track)) tracks.push_back(track);
    return tracks;
}

std::vector<TrackId> TimelineRows::shownTracks() const
{
    std::vector<TrackId> tracks;
    for (const auto* section : {&m_layout.pinned, &m_layout.rows})
        for (const TimelineRow& row : *section) {
            const std::vector<TrackId> of = tracksOf(row);
            tracks.insert(tracks.end(), of.begin(), of.end());
        }
    std::sort(tracks.begin(), tracks.end()); // a pinned track of a folded rank came twice
    tracks.erase(std::unique(tracks.begin(), tracks.end()), tracks.end());
    return tracks;
}

const TimelineRow* TimelineRows::rowBelowGap(const TimelineRow& dragged, int line) const
{
    // Among its like: pinned ones, or by rank the tracks of its rank, by stream the streams.
    const bool byStream = m_arrangement.order == RowOrder::ByStream && !dragged.pinned;
    for (const TimelineRow& row : dragged.pinned ? m_layout.pinned : m_layout.rows) {
        if (row.kind != TimelineRow::Kind::Track) continue;
        if (byStream ? !row.startsGroup && row.top > 0 : !dragged.pinned && row.rank != dragged.rank) continue;
        if (line < topOf(row) + row.height / 2) return &row;
    }
    return nullptr;
}

int TimelineRows::gapAt(const TimelineRow& dragged, int line) const
{
    if (const TimelineRow* below = rowBelowGap(dragged, line)) return topOf(*below);
    // Below the last of its like.
    const bool all = dragged.pinned || m_arrangement.order == RowOrder::ByStream;
    int gap = 0;
    for (const TimelineRow& row : dragged.pinned ? m_layout.pinned : m_layout.rows)
        if (row.kind == TimelineRow::Kind::Track && (all || row.rank == dragged.rank)) gap = topOf(row) + row.height;
    return gap;
}

void TimelineRows::drop(TrackId dragged, int line)
{
    const TrackView* moved = track(dragged);
    const TimelineRow* from = m_layout.rowOf(dragged);
    if (!moved || !from) return;
    const TimelineRow* below = rowBelowGap(*from, line);
    TimelineArrangement arrangement = m_arrangement;
    if (from->pinned) {
        if (below && *below->track == moved->id) return;
        std::erase(arrangement.pinned, moved->id);
        const auto at = below ? std::ranges::find(arrangement.pinned, *below->track) : arrangement.pinned.end();
        arrangement.pinned.insert(at, moved->id);
    } else {
        const std::optional<StreamKey> above = below ? std::optional(streamOf(*track(*below->track))) : std::nullopt;
        moveStream(arrangement, m_tracks, streamOf(*moved), above);
    }
    setArrangement(std::move(arrangement));
}

} // namespace fourwalls::views
