// SPDX-License-Identifier: Apache-2.0
// The rows of tracks whose slices have been dealt to lanes: runs, slices in key order, fences, bins.
#pragma once

#include "model/store/finish_context.h"
#include "model/store/slice_bins.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace fourwalls::store {

/// The slices of a lane by class, each by start.
struct DealtLane {
    std::array<SliceStream, kClassCount> byClass;
    LevelCounter levels;
    std::int64_t slices = 0;
};

struct DealtTrack {
    std::int32_t track = 0;
    std::int64_t slices = 0;
    std::vector<std::unique_ptr<DealtLane>> lanes;
};

/// Puts track, lane, run, slice, fence, slice_bin and op_run rows, track by track. Of the context it uses the output, the
/// chunks and the definitions: what else is there changes meanwhile.
class TrackRows {
public:
    explicit TrackRows(FinishContext& context) : m_context(context) {}

    /// Lanes give their memory back.
    Status put(DealtTrack& dealt);
    /// After the last track: what is ordered by track or operator.
    void finish();

private:
    struct OpRun {
        std::int32_t op = 0;
        std::int64_t run = 0, first = 0, last = 0, count = 0;
    };
    struct TrackRow {
        std::int32_t track = 0;
        std::int64_t lanes = 0, slices = 0, firstRun = 0, lastRun = 0;
    };
    struct LaneRow {
        std::int32_t track = 0, lane = 0;
        std::int64_t slices = 0;
        std::optional<LevelCounter::Levels> levels;
    };
    void putRun(std::int32_t track, std::int32_t lane, int runClass, SliceStream& stream);

    FinishContext& m_context;
    std::vector<OpRun> m_opRuns;
    std::vector<std::size_t> m_lastOpRun; ///< by operator: its latest place in m_opRuns
    std::vector<TrackRow> m_trackRows;    ///< tracks come rank by rank, their rows are written by id
    std::vector<LaneRow> m_laneRows;
    std::int64_t m_nextRun = 1, m_nextSlice = 1, m_nextBin = 1;
};

} // namespace fourwalls::store
