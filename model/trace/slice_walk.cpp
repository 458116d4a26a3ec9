// SPDX-License-Identifier: Apache-2.0
// A range is read in pieces that hold about as many slices as are quick to sort.
#include "model/trace/slice_walk.h"

#include "model/trace/lane_assignment.h"

#include <cmath>
#include <string>
#include <string_view>

namespace fourwalls {

namespace {

constexpr double kSlicesPerPiece = 30'000;
/// With so many nanoseconds a piece has a pixel for each, so that every slice comes by itself.
constexpr std::int64_t kLongestPieceNs = std::numeric_limits<std::int32_t>::max();

std::int64_t pieceLength(double slicesPerNs)
{
    if (slicesPerNs * static_cast<double>(kLongestPieceNs) <= kSlicesPerPiece) return kLongestPieceNs;
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(kSlicesPerPiece / slicesPerNs));
}

constexpr int kColumnsOfLook = 4096;

/// Where the track's next slice may begin: a look from afar, which never misses one.
Result<Instant> nextOccupied(TraceQuery& trace, TrackId track, TimeRange range, const std::stop_token& stop)
{
    FOURWALLS_TRY_ASSIGN(const SliceWindow window, trace.slices({{track}, range, kColumnsOfLook}, stop));
    Instant next = range.end;
    for (const LaneSlices& lane : window.lanes) {
        for (const SliceView& slice : lane.exact)
            if (slice.start >= range.begin) {
                next = std::min(next, slice.start);
                break;
            }
        if (!lane.bins.empty()) next = std::min(next, std::max(range.begin, lane.bins.front().start));
    }
    return next;
}

bool comesBefore(const SliceView& a, const SliceView& b)
{
    if (a.start != b.start || a.duration != b.duration) return laneOrder(a.start, a.duration, b.start, b.duration);
    return a.lane < b.lane;
}

constexpr std::string_view kFramesSuffix = " frames"; ///< behind the thread's name, as importers write it

const TrackView* trackNamed(const TraceQuery& trace, RankId rank, std::string_view name)
{
    for (const TrackView& track : trace.tracks())
        if (track.info.rank == rank && track.info.kind == TrackKind::CpuThread && track.info.name == name)
            return &track;
    return nullptr;
}

} // namespace

const TrackView* framesTrackOf(const TraceQuery& trace, const TrackView& thread)
{
    return trackNamed(trace, thread.info.rank, thread.info.name + std::string(kFramesSuffix));
}

const TrackView* threadOfFrames(const TraceQuery& trace, const TrackView& frames)
{
    const std::string_view name = frames.info.name;
    if (!name.ends_with(kFramesSuffix)) return nullptr;
    return trackNamed(trace, frames.info.rank, name.substr(0, name.size() - kFramesSuffix.size()));
}

Status forEachSlice(TraceQuery& trace, const TrackView& track, TimeRange range,
                    const std::function<bool(const SliceView&)>& visit, const std::stop_token& stop)
{
    const TimeRange all{trace.info().range.begin, trace.info().range.end + Duration{1}};
    range = range.intersected(all);
    if (range.empty() || track.slices == 0) return {};
    // The trace's mean to begin with, then what the piece before had.
    double density = static_cast<double>(track.slices) / static_cast<double>(all.length().ns);
    std::vector<SliceView> piece;
    for (Instant from = range.begin; from < range.end;) {
        const Instant to = std::min(range.end, from + Duration{pieceLength(density)});
        const std::int64_t length = (to - from).ns;
        FOURWALLS_TRY_ASSIGN(const SliceWindow window,
                             trace.slices({{track.id}, {from, to}, static_cast<int>(length)}, stop));
        piece.clear();
        for (const LaneSlices& lane : window.lanes)
            for (const SliceView& slice : lane.exact)
                if (from == range.begin || slice.start >= from) piece.push_back(slice);
        if (window.lanes.size() > 1) std::sort(piece.begin(), piece.end(), comesBefore);
        for (const SliceView& slice : piece)
            if (!visit(slice)) return {};
        if (stop.stop_requested()) return Error{ErrorCode::Cancelled, "cancelled", "slices", ""};
        const double found = static_cast<double>(piece.size() + 1) / static_cast<double>(length);
        density = std::clamp(found, density / 8, density * 8);
        from = to;
        if (piece.empty() && from < range.end) {
            FOURWALLS_TRY_ASSIGN(from, nextOccupied(trace, track.id, {from, range.end}, stop));
        }
    }
    return {};
}

} // namespace fourwalls
