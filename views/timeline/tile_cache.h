// SPDX-License-Identifier: GPL-3.0-or-later
// What the timeline remembers of the trace: the time axis cut into tiles of 512 columns at resolutions of 1, 2, 4, …
// nanoseconds per column. Panning asks for new tiles only, zooming within a power of two asks for nothing, and while
// tiles are missing the ones of other resolutions are drawn in their place.
#pragma once

#include "model/trace/trace_query.h"

#include <array>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

namespace fourwalls::views {

/// Columns of a tile.
inline constexpr int kTileColumns = 512;

/// Lanes of a track that are shown; a stranger's file may name any number.
inline constexpr int kMostShownLanes = 256;

/// Neighbouring tiles [first, last] at 2^level nanoseconds per column.
struct TileSpan {
    int level = 0;
    std::int64_t first = 0, last = -1;

    bool empty() const { return last < first; }
    friend bool operator==(const TileSpan&, const TileSpan&) = default;
};

/// A part of a lane to draw: what `slices` holds inside `clip`.
struct LanePiece {
    const LaneSlices* slices = nullptr;
    TimeRange clip;
};

/// How a stretch of time is covered, from worst to best. Coarse: columns up to four times as wide as asked for, which
/// is a level of detail of the right place; Rough: wider still.
enum class Coverage { Missing, Rough, Coarse, Exact };

/// Pieces of all lanes of a track over a range, and the worst coverage in it.
struct TrackPieces {
    std::vector<std::vector<LanePiece>> lanes; ///< by lane, pieces by time
    Coverage coverage = Coverage::Exact;
};

/// A question for one window of slices that fills `span` for `tracks`.
struct TileRequest {
    TileSpan span;
    std::vector<TrackId> tracks;
};

class TileCache {
public:
    /// Forgets everything. Tiles are counted from `origin`.
    void reset(Instant origin);

    /// The level whose columns are at most `nsPerPixel` wide (at least 0), and the tiles at it that cover `range`.
    static int levelFor(double nsPerPixel);
    TileSpan spanFor(TimeRange range, int level) const;
    TimeRange rangeOf(const TileSpan& span) const;

    /// What is not there of `tracks` x `span`, as few rectangular questions as simple cutting gives: tracks with the
    /// same missing tiles are asked together. Empty when everything is there.
    std::vector<TileRequest> missing(const TileSpan& span, std::span<const TrackId> tracks) const;
    /// The query that answers a request.
    SliceQuery queryFor(const TileRequest& request) const;
    /// Takes the answer in. Lanes that it does not mention are empty there.
    void insert(const TileRequest& request, const SliceWindow& window);

    /// What to draw of a track over `range`, for columns of 2^level nanoseconds.
    TrackPieces pieces(TrackId track, TimeRange range, int level) const;

    /// The same for the heat map rows: columns of a rank, 512 per tile.
    std::vector<RankId> missingActivity(const TileSpan& span, std::span<const RankId> ranks) const;
    void insertActivity(const TileSpan& span, std::span<const RankActivity> ranks);
    struct ActivityPiece {
        std::span<const RankActivity::Column> columns; ///< kTileColumns of them over `range`
        TimeRange range;
        TimeRange clip;
    };
    std::vector<ActivityPiece> activity(RankId rank, TimeRange range, int level, Coverage& coverage) const;

    /// Drops tiles that were not looked at for the longest time until at most `bytes` are held.
    void trim(std::size_t bytes);
    std::size_t bytes() const { return m_bytes; }
    std::int64_t skippedRows() const { return m_skippedRows; }

private:
    struct Key {
        std::int32_t level = 0;
        std::int32_t row = 0; ///< track; ranks are stored as -1 - rank
        std::int64_t tile = 0;
        friend bool operator==(const Key&, const Key&) = default;
    };
    struct KeyHash {
        std::size_t operator()(const Key& key) const noexcept;
    };
    struct Tile {
        std::vector<LaneSlices> lanes;
        std::vector<RankActivity::Column> columns;
        std::size_t bytes = 0;
        mutable std::uint64_t used = 0;
    };

    TimeRange tileRange(int level, std::int64_t tile) const;
    const Tile* find(int level, std::int32_t row, std::int64_t tile) const;
    void store(const Key& key, Tile tile);
    /// Calls visit(tile, its range, clip, coverage) for the best tiles over one tile's place; returns what is left out.
    template <class Visit>
    Coverage best(int level, std::int32_t row, std::int64_t tile, TimeRange clip, Visit&& visit) const;
    template <class Visit>
    bool finer(int level, std::int32_t row, std::int64_t tile, TimeRange clip, int depth, Visit&& visit) const;

    Instant m_origin;
    std::unordered_map<Key, Tile, KeyHash> m_tiles;
    std::size_t m_bytes = 0;
    std::int64_t m_skippedRows = 0;
    mutable std::uint64_t m_clock = 0;
};

} // namespace fourwalls::views
