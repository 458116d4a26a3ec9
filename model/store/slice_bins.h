// SPDX-License-Identifier: Apache-2.0
// The level of detail of one lane: bins of width 4^L ns that hold the slices of class < L. Each level is the one
// below it, coarsened by four, plus the slices of the class between them; all levels are built in one pass over
// time, in little memory.
#pragma once

#include "model/store/duration_class.h"
#include "model/store/row_output.h"
#include "model/store/slice_stream.h"
#include "model/trace/trace_query.h"

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fourwalls::store {

/// One bin: count has the slices that begin in it, busy the time covered in it, longest the longest slice met.
struct Bin {
    std::int64_t index = 0;
    std::int64_t count = 0;
    std::int64_t busy = 0;
    std::int64_t longest = 0;
    std::int32_t op = 0; ///< the one with the most time, by SpaceSaving with three slots
};

/// Which levels a lane gets, decided from counts that are collected while its slices pass by start.
class LevelCounter {
public:
    void add(std::int64_t start, std::int64_t duration);

    /// The first level with at most half as many bins as slices that it replaces, and the first from there on with
    /// at most 16 bins; absent for lanes where bins would not help.
    struct Levels {
        int finest = 0, top = 0;
    };
    std::optional<Levels> levels() const;

private:
    std::array<std::int64_t, kClassCount + 1> m_bins{};
    std::array<std::int64_t, kClassCount + 1> m_last{};
    std::array<std::int64_t, kClassCount> m_slices{};
};

/// Calls visit(level, bin) for every bin of levels finest..top, each level by time.
/// byClass: the lane's slices of each class, by start.
void buildBins(ChunkStore& store, const std::array<SliceStream, kClassCount>& byClass, LevelCounter::Levels levels,
               const std::function<void(int level, const Bin& bin)>& visit);

/// Bins of one tile as a BLOB. All indexes lie in [tile * kBinsPerTile, (tile + 1) * kBinsPerTile), ascending.
void encodeTile(std::string& out, std::int64_t tile, const std::vector<Bin>& bins);

/// Reads a tile; false if the BLOB is damaged (the readable part is in `bins`).
bool decodeTile(std::string_view bytes, std::int64_t tile, int level, std::vector<Bin>& bins);

/// Puts the bins of a lane into slice_bin.
class SliceBinWriter {
public:
    SliceBinWriter(RowOutput& out, std::int64_t& nextId, int track, int lane)
        : m_out(out)
        , m_nextId(nextId)
        , m_track(track)
        , m_lane(lane)
    {}
    void add(int level, const Bin& bin);
    void finish();

private:
    void flush(int level);
    RowOutput& m_out;
    std::int64_t& m_nextId;
    int m_track, m_lane;
    std::array<std::vector<Bin>, kClassCount + 1> m_open;
    std::string m_bytes;
};

} // namespace fourwalls::store
