// SPDX-License-Identifier: GPL-3.0-or-later
// Where things are in the timeline: what is under a point, where a lane is, and how a row comes into sight.
#include "views/timeline/timeline_canvas.h"

#include <QScrollBar>

#include <algorithm>

namespace fourwalls::views {

namespace {
constexpr double kHitTolerance = 3;
} // namespace

const TrackView* TimelineCanvas::track(TrackId id) const
{
    const auto at =
        std::find_if(m_tracks.begin(), m_tracks.end(), [&](const TrackView& track) { return track.id == id; });
    return at == m_tracks.end() ? nullptr : &*at;
}

void TimelineCanvas::revealTrack(TrackId id, int lane)
{
    const TrackView* found = track(id);
    if (!found) return;
    if (m_arrangement.filter && !m_arrangement.filter->tracks.contains(id)) setRowFilter({});
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

int TimelineCanvas::scrollToSought() const
{
    if (m_soughtRank) {
        const auto isOfRank = [this](const TimelineRow& row) { return row.rank == *m_soughtRank; };
        const auto first = std::find_if(m_layout.rows.begin(), m_layout.rows.end(), isOfRank);
        return first == m_layout.rows.end() ? m_scroll : first->top;
    }
    const TimelineRow* row = m_soughtTrack ? m_layout.rowOf(*m_soughtTrack) : nullptr;
    if (!row || row->pinned) return m_scroll;
    const int lines = plotRect().height() - m_layout.pinnedHeight;
    int top = row->top, height = row->height;
    if (height > lines) {
        const int lane = std::clamp(m_soughtLane, 0, row->lanes - 1);
        top += row->laneTop(lane);
        height = row->barHeight(lane);
    }
    const bool isShown = top >= m_scroll && top + height <= m_scroll + lines;
    return isShown ? m_scroll : top - std::max(0, lines - height) / 2;
}

void TimelineCanvas::revealRank(RankId rank)
{
    const auto isOfRank = [rank](const TimelineRow& row) { return row.rank == rank; };
    if (m_arrangement.filter && std::none_of(m_layout.rows.begin(), m_layout.rows.end(), isOfRank)) setRowFilter({});
    if (m_arrangement.collapsed.contains(rank)) {
        TimelineArrangement opened = m_arrangement;
        opened.collapsed.erase(rank);
        setArrangement(std::move(opened));
    }
    m_soughtTrack.reset();
    m_soughtRank = rank;
    setScroll(scrollToSought());
}

void TimelineCanvas::addTracksOf(const TimelineRow& row, bool alone, std::vector<TrackId>& to) const
{
    // The head of a rank stands for the rank where nothing else was meant.
    const bool whole = row.kind == TimelineRow::Kind::Activity || (alone && row.kind == TimelineRow::Kind::Head);
    if (!whole && row.track) to.push_back(*row.track);
    if (!whole) return;
    const auto found = m_tracksOf.find(row.rank);
    if (found == m_tracksOf.end()) return;
    for (const TrackId track : found->second)
        if (!m_arrangement.hidden.contains(track)) to.push_back(track);
}

std::vector<TrackId> TimelineCanvas::shownTracks() const
{
    std::vector<TrackId> tracks;
    for (const auto& row : m_layout.pinned) addTracksOf(row, false, tracks);
    for (const auto& row : m_layout.rows) addTracksOf(row, false, tracks);
    std::sort(tracks.begin(), tracks.end()); // a pinned track of a folded rank came twice
    tracks.erase(std::unique(tracks.begin(), tracks.end()), tracks.end());
    return tracks;
}

const TimelineRow* TimelineCanvas::rowAt(int y) const
{
    if (y < 0 || y >= plotRect().height()) return nullptr;
    if (y < m_layout.pinnedHeight) {
        for (const auto& row : m_layout.pinned)
            if (y >= row.top && y < row.bottom()) return &row;
        return nullptr;
    }
    const int line = y - m_layout.pinnedHeight + m_scroll;
    const auto rows = m_layout.visible(line, line + 1);
    return rows.empty() ? nullptr : &rows.front();
}

TimelineHit TimelineCanvas::hitAt(QPointF position) const
{
    TimelineHit hit;
    const QRect plot = plotRect();
    const int y = static_cast<int>(position.y()) - plot.top();
    const double x = position.x() - plot.left();
    hit.at = m_camera.timeAt(x);
    hit.row = rowAt(y);
    hit.onLabel = x < 0;
    if (!hit.row || hit.onLabel || !hit.row->track) return hit;
    const int inside = y - TimelineRenderer::topOf(*hit.row, m_layout, m_scroll);
    hit.lane = hit.row->laneAt(inside);
    const auto pieces = m_source.tiles().pieces(*hit.row->track, m_camera.range(), m_source.level());
    const auto lane = static_cast<std::size_t>(hit.lane);
    if (lane < pieces.lanes.size())
        hit.lanehit = hitLane(pieces.lanes[lane], TimelineRenderer::mapOf(m_camera), x, kHitTolerance);
    return hit;
}

QRect TimelineCanvas::laneRect(TrackId track, int lane) const
{
    const TimelineRow* row = m_layout.rowOf(track);
    if (!row) return {};
    const QRect plot = plotRect();
    const int top =
        plot.top() + TimelineRenderer::topOf(*row, m_layout, m_scroll) + row->laneTop(std::min(lane, row->lanes - 1));
    const QRect rect(plot.left(), top, plot.width(), row->barHeight(std::min(lane, row->lanes - 1)));
    const int visibleTop = plot.top() + (row->pinned ? 0 : m_layout.pinnedHeight);
    return rect.bottom() < visibleTop || rect.top() > plot.bottom() ? QRect() : rect;
}

} // namespace fourwalls::views
