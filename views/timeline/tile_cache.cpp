// SPDX-License-Identifier: GPL-3.0-or-later
// Tiles of slices and of rank activity: look-up with replacements, cutting of answers, forgetting.
#include "views/timeline/tile_cache.h"

#include "views/plot/floor_divide.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

namespace fourwalls::views {

namespace {

constexpr int kCoarseLevels = 2; ///< up to four times as wide
constexpr int kRoughLevels = 16;
constexpr int kFinerLevels = 3; ///< beyond that, too many tiles per pixel
constexpr int kLargestLevel = 50;

std::size_t bytesOf(const std::vector<LaneSlices>& lanes)
{
    std::size_t bytes = 0;
    for (const auto& lane : lanes)
        bytes += sizeof(LaneSlices) + lane.exact.size() * sizeof(SliceView) + lane.bins.size() * sizeof(SliceBin);
    return bytes;
}

} // namespace

std::size_t TileCache::KeyHash::operator()(const Key& key) const noexcept
{
    std::uint64_t hash = static_cast<std::uint64_t>(key.tile) * 0x9E3779B97F4A7C15ull;
    hash ^=
        (static_cast<std::uint64_t>(static_cast<std::uint32_t>(key.row)) << 8 | static_cast<std::uint32_t>(key.level)) *
        0xC2B2AE3D27D4EB4Full;
    return static_cast<std::size_t>(hash ^ hash >> 29);
}

void TileCache::reset(Instant origin)
{
    m_origin = origin;
    m_tiles.clear();
    m_bytes = 0;
    m_skippedRows = 0;
}

int TileCache::levelFor(double nsPerPixel)
{
    if (nsPerPixel < 2) return 0;
    return std::min(kLargestLevel, static_cast<int>(std::floor(std::log2(nsPerPixel))));
}

TileSpan TileCache::spanFor(TimeRange range, int level) const
{
    const std::int64_t width = std::int64_t{kTileColumns} << level;
    return {level, floorDivide((range.begin - m_origin).ns, width), floorDivide((range.end - m_origin).ns - 1, width)};
}

TimeRange TileCache::rangeOf(const TileSpan& span) const
{
    return {tileRange(span.level, span.first).begin, tileRange(span.level, span.last).end};
}

TimeRange TileCache::tileRange(int level, std::int64_t tile) const
{
    const std::int64_t width = std::int64_t{kTileColumns} << level;
    return {m_origin + Duration{tile * width}, m_origin + Duration{(tile + 1) * width}};
}

const TileCache::Tile* TileCache::find(int level, std::int32_t row, std::int64_t tile) const
{
    const auto at = m_tiles.find(Key{level, row, tile});
    if (at == m_tiles.end()) return nullptr;
    at->second.used = ++m_clock;
    return &at->second;
}

std::vector<TileRequest> TileCache::missing(const TileSpan& span, std::span<const TrackId> tracks) const
{
    // Tracks by the stretch from their first to their last missing tile.
    std::map<std::pair<std::int64_t, std::int64_t>, std::vector<TrackId>> stretches;
    for (const auto track : tracks) {
        std::int64_t first = 0, last = -1;
        for (std::int64_t tile = span.first; tile <= span.last; ++tile) {
            if (m_tiles.contains(Key{span.level, track.value, tile})) continue;
            if (last < first) first = tile;
            last = tile;
        }
        if (first <= last) stretches[{first, last}].push_back(track);
    }
    std::vector<TileRequest> requests;
    for (auto& [stretch, asked] : stretches)
        requests.push_back({{span.level, stretch.first, stretch.second}, std::move(asked)});
    return requests;
}

SliceQuery TileCache::queryFor(const TileRequest& request) const
{
    SliceQuery query;
    query.tracks = request.tracks;
    query.range = rangeOf(request.span);
    query.pixels = static_cast<int>((request.span.last - request.span.first + 1) * kTileColumns);
    return query;
}

void TileCache::insert(const TileRequest& request, const SliceWindow& window)
{
    m_skippedRows = std::max(m_skippedRows, window.skippedRows);
    for (std::int64_t number = request.span.first; number <= request.span.last; ++number) {
        const TimeRange range = tileRange(request.span.level, number);
        std::unordered_map<TrackId, Tile> tiles;
        for (const auto track : request.tracks) tiles[track];
        for (const auto& lane : window.lanes) {
            const auto target = tiles.find(lane.track);
            if (target == tiles.end()) continue;
            LaneSlices part{lane.track, lane.lane, {}, {}};
            // Within a lane nothing overlaps, so ends rise with starts.
            const auto exactFrom =
                std::partition_point(lane.exact.begin(), lane.exact.end(), [&](const SliceView& slice) {
                    return slice.end() <= range.begin && slice.start < range.begin;
                });
            const auto exactTo = std::partition_point(exactFrom, lane.exact.end(),
                                                      [&](const SliceView& slice) { return slice.start < range.end; });
            part.exact.assign(exactFrom, exactTo);
            const auto binsFrom = std::partition_point(lane.bins.begin(), lane.bins.end(), [&](const SliceBin& bin) {
                return bin.start + bin.width <= range.begin;
            });
            const auto binsTo = std::partition_point(binsFrom, lane.bins.end(),
                                                     [&](const SliceBin& bin) { return bin.start < range.end; });
            part.bins.assign(binsFrom, binsTo);
            if (!part.exact.empty() || !part.bins.empty()) target->second.lanes.push_back(std::move(part));
        }
        for (auto& [track, tile] : tiles) {
            tile.bytes = sizeof(Tile) + bytesOf(tile.lanes);
            store(Key{request.span.level, track.value, number}, std::move(tile));
        }
    }
}

void TileCache::store(const Key& key, Tile tile)
{
    tile.used = ++m_clock;
    m_bytes += tile.bytes;
    auto& place = m_tiles[key];
    m_bytes -= place.bytes;
    place = std::move(tile);
}

template <class Visit>
bool TileCache::finer(int level, std::int32_t row, std::int64_t tile, TimeRange clip, int depth, Visit&& visit) const
{
    bool complete = true;
    for (std::int64_t child = 2 * tile; child <= 2 * tile + 1; ++child) {
        const TimeRange part = clip.intersected(tileRange(level - 1, child));
        if (part.empty()) continue;
        if (const Tile* found = find(level - 1, row, child)) {
            visit(*found, tileRange(level - 1, child), part);
        } else if (depth <= 1 || level <= 1 || !finer(level - 1, row, child, part, depth - 1, visit)) {
            complete = false;
        }
    }
    return complete;
}

template <class Visit>
Coverage TileCache::best(int level, std::int32_t row, std::int64_t tile, TimeRange clip, Visit&& visit) const
{
    if (const Tile* found = find(level, row, tile)) {
        visit(*found, tileRange(level, tile), clip);
        return Coverage::Exact;
    }
    for (int up = 1; up <= kRoughLevels && level + up <= kLargestLevel; ++up) {
        const std::int64_t ancestor = tile >> up;
        const Tile* found = find(level + up, row, ancestor);
        if (!found) continue;
        visit(*found, tileRange(level + up, ancestor), clip);
        return up <= kCoarseLevels ? Coverage::Coarse : Coverage::Rough;
    }
    // Finer tiles are exact where they are, but pieces may be missing between them.
    if (level >= 1 && finer(level, row, tile, clip, kFinerLevels, visit)) return Coverage::Exact;
    return Coverage::Missing;
}

TrackPieces TileCache::pieces(TrackId track, TimeRange range, int level) const
{
    TrackPieces result;
    const TileSpan span = spanFor(range, level);
    for (std::int64_t number = span.first; number <= span.last; ++number) {
        const TimeRange clip = range.intersected(tileRange(level, number));
        const auto coverage = best(level, track.value, number, clip, [&](const Tile& tile, TimeRange, TimeRange part) {
            for (const auto& lane : tile.lanes) {
                if (lane.lane < 0 || lane.lane >= kMostShownLanes) continue;
                const auto index = static_cast<std::size_t>(lane.lane);
                if (result.lanes.size() <= index) result.lanes.resize(index + 1);
                result.lanes[index].push_back({&lane, part});
            }
        });
        result.coverage = std::min(result.coverage, coverage);
    }
    return result;
}

std::vector<RankId> TileCache::missingActivity(const TileSpan& span, std::span<const RankId> ranks) const
{
    std::vector<RankId> missing;
    for (const auto rank : ranks) {
        bool complete = true;
        for (std::int64_t tile = span.first; tile <= span.last && complete; ++tile)
            complete = m_tiles.contains(Key{span.level, -1 - rank.value, tile});
        if (!complete) missing.push_back(rank);
    }
    return missing;
}

void TileCache::insertActivity(const TileSpan& span, std::span<const RankActivity> ranks)
{
    for (const auto& rank : ranks) {
        for (std::int64_t number = span.first; number <= span.last; ++number) {
            Tile tile;
            tile.columns.resize(kTileColumns);
            const auto offset = static_cast<std::size_t>(number - span.first) * kTileColumns;
            if (offset < rank.columns.size()) {
                const auto count = std::min<std::size_t>(kTileColumns, rank.columns.size() - offset);
                std::copy_n(rank.columns.begin() + static_cast<std::ptrdiff_t>(offset), count, tile.columns.begin());
            }
            tile.bytes = sizeof(Tile) + tile.columns.size() * sizeof(RankActivity::Column);
            store(Key{span.level, -1 - rank.rank.value, number}, std::move(tile));
        }
    }
}

std::vector<TileCache::ActivityPiece> TileCache::activity(RankId rank, TimeRange range, int level,
                                                          Coverage& coverage) const
{
    std::vector<ActivityPiece> result;
    coverage = Coverage::Exact;
    const TileSpan span = spanFor(range, level);
    for (std::int64_t number = span.first; number <= span.last; ++number) {
        const TimeRange clip = range.intersected(tileRange(level, number));
        coverage = std::min(coverage, best(level, -1 - rank.value, number, clip,
                                           [&](const Tile& tile, TimeRange whole, TimeRange part) {
                                               result.push_back({tile.columns, whole, part});
                                           }));
    }
    return result;
}

void TileCache::trim(std::size_t bytes)
{
    if (m_bytes <= bytes) return;
    std::vector<std::pair<std::uint64_t, Key>> byAge;
    byAge.reserve(m_tiles.size());
    for (const auto& [key, tile] : m_tiles) byAge.emplace_back(tile.used, key);
    std::sort(byAge.begin(), byAge.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [used, key] : byAge) {
        if (m_bytes <= bytes) break;
        const auto at = m_tiles.find(key);
        m_bytes -= at->second.bytes;
        m_tiles.erase(at);
    }
}

} // namespace fourwalls::views
