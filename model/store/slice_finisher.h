// SPDX-License-Identifier: Apache-2.0
// Tracks: lanes, runs, slices in key order, fences, bins, and what operators took.
#pragma once

#include "model/store/activity_finisher.h"
#include "model/store/finish_context.h"
#include "model/store/slice_bins.h"
#include "model/trace/lane_assignment.h"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace fourwalls::store {

/// Puts track, lane, run, slice, fence, slice_bin and op_run rows, track by track.
class SliceFinisher {
public:
    explicit SliceFinisher(FinishContext& context) : m_context(context) {}

    /// One track; its slices also go to the rank's activity.
    Status finishTrack(std::int32_t track, ActivityFinisher& activity);
    /// After the last track: what is ordered by track or operator.
    void finish();

private:
    struct Lane {
        std::array<SliceStream, kClassCount> byClass;
        LevelCounter levels;
        std::int64_t slices = 0;
    };
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
    bool isWait(const SliceRow& slice) const;
    void sort(const SliceRow& slice, std::int32_t rank, ActivityFinisher& activity);
    void putRun(std::int32_t track, std::int32_t lane, int runClass, SliceStream& stream);
    bool isMeasured(std::int32_t rank, std::int64_t at);

    FinishContext& m_context;
    std::vector<std::unique_ptr<Lane>> m_lanes; ///< of the current track
    LaneAssigner m_assigner;
    std::optional<SliceRow> m_wait;         ///< held until it is known whether what waited comes next
    const StepRecord* m_lastStep = nullptr; ///< of the current track: slices come by time
    std::vector<OpRun> m_opRuns;
    std::vector<std::size_t> m_lastOpRun; ///< by operator: its latest place in m_opRuns
    std::vector<TrackRow> m_trackRows;    ///< tracks come rank by rank, their rows are written by id
    std::vector<LaneRow> m_laneRows;
    OpSummarizer m_ops;
    std::int64_t m_nextRun = 1, m_nextSlice = 1, m_nextBin = 1;
};

} // namespace fourwalls::store
