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

void TimelineCanvas::revealTrack(TrackId id)
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
    const TimelineRow* row = m_layout.rowOf(id);
    if (!row || row->pinned) return;
    const int lines = plotRect().height() - m_layout.pinnedHeight;
    if (row->top < m_scroll || row->bottom() > m_scroll + lines)
        setScroll(row->top - std::max(0, lines - row->height) / 2);
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
    const auto at = std::find_if(m_layout.rows.begin(), m_layout.rows.end(), isOfRank);
    if (at != m_layout.rows.end()) setScroll(std::min(at->top, m_scrollBar->maximum()));
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
