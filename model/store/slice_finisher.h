// SPDX-License-Identifier: Apache-2.0
// Tracks: what comes into which lane, and what operators took.
#pragma once

#include "model/store/activity_finisher.h"
#include "model/store/finish_context.h"
#include "model/store/job_thread.h"
#include "model/store/track_rows.h"
#include "model/trace/lane_assignment.h"

#include <cstdint>
#include <memory>
#include <optional>

namespace fourwalls::store {

/// Puts the rows of TrackRows and op_summary, track by track.
class SliceFinisher {
public:
    explicit SliceFinisher(FinishContext& context)
        : m_context(context)
        , m_rows(context)
        , m_beside(context.threads == FinishThreads::Two)
    {}

    /// One track; its slices also go to the rank's activity. Until wait(), nobody else puts rows.
    Status finishTrack(std::int32_t track, ActivityFinisher& activity);
    /// Behind the rank's tracks: what its activity puts, without the pipeline's hulls.
    Status finishRank(std::shared_ptr<ActivityFinisher> activity);
    /// Until all of it is put.
    Status wait() { return m_beside.wait(); }
    /// After the last track: what is ordered by track or operator.
    void finish();

private:
    bool isWait(const SliceRow& slice) const;
    void sort(const SliceRow& slice, std::int32_t rank, ActivityFinisher& activity);
    bool isMeasured(std::int32_t rank, std::int64_t at);

    FinishContext& m_context;
    DealtTrack* m_dealt = nullptr; ///< the current track
    LaneAssigner m_assigner;
    std::optional<SliceRow> m_wait;         ///< held until it is known whether what waited comes next
    bool m_holdsMarks = false;              ///< the current track, of a rank's steps
    const StepRecord* m_lastStep = nullptr; ///< of the current track: slices come by time
    OpSummarizer m_ops;
    TrackRows m_rows; ///< of the jobs
    JobThread m_beside;
};

} // namespace fourwalls::store
