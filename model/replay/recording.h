// SPDX-License-Identifier: Apache-2.0
// What a replay reads of a trace: the work of the chosen steps, with the operations that ranks meet in.
#pragma once

#include "model/base/result.h"
#include "model/trace/trace_query.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace fourwalls::replay {

/// One slice of the trace that a replay moves.
struct Piece {
    RankId rank;
    TrackId track;
    OpId op;
    Instant start, end;
    std::int32_t lane = 0;          ///< of its track
    std::int32_t microbatch = -1;   ///< -1: none
    std::uint32_t step = 0;         ///< in Recording::steps
    std::uint32_t collective = ~0u; ///< in Recording::collectives; all bits set: none
    std::int64_t correlation = -1;  ///< of a launch and what it launched; -1: none

    bool isCollective() const { return collective != ~0u; }
    Duration length() const { return end - start; }
};

/// A step as the trace has it: of the job, and of each of its ranks.
struct RecordedStep {
    StepIndex step;
    TimeRange range;
    std::map<RankId, TimeRange> ranks;
};

/// What the members of one operation have in common. The two ends of a message are one operation.
struct MeetingKey {
    GroupId group;
    CollectiveOp operation = CollectiveOp::Other; ///< Send also for a receive
    std::int64_t sequence = 0;                    ///< may count each operation of the group by itself, as NCCL does

    static MeetingKey of(const CollectiveRecord& record);
    auto operator<=>(const MeetingKey&) const = default;
};

/// Inclusive.
using StepChoiceRange = std::pair<StepIndex, StepIndex>;

struct Recording {
    TraceInfo info;
    std::vector<TrackInfo> tracks;                  ///< by TrackId
    std::vector<std::shared_ptr<const OpInfo>> ops; ///< by OpId; null: not met
    std::vector<RecordedStep> steps;                ///< by time
    std::vector<Piece> pieces;                      ///< by rank, track, start, longest first
    std::vector<CollectiveView> collectives;        ///< of the steps, and of the whole trace where it has not too many
    std::vector<FlowRecord> flows;
    bool wholeTrace = false; ///< the trace has no steps: all of it stands for one

    const OpInfo& op(const Piece& piece) const;
    const TrackInfo& track(const Piece& piece) const { return tracks[static_cast<std::size_t>(piece.track.value)]; }
    int stageOf(RankId rank) const;
    /// Members of an operation that the trace has, in the chosen steps or out of them.
    std::size_t membersOf(const MeetingKey& operation) const;
    /// Members that an operation of a group can have in the trace: all of the group, but where ranks of a prediction stand
    /// for equal ones those that do.
    std::size_t expectedMembers(GroupId group) const;
    /// "forward (rank 3, 12.3 ms)".
    std::string describe(std::uint32_t piece) const;
};

/// Slices that a replay holds at most.
inline constexpr std::int64_t kMostPieces = 8'000'000;

/// Reads the chosen steps; without a choice all measured ones, or the typical one where all are more than kMostPieces.
/// Errors: NotFound if no such step is there; Unsupported if the clocks of the ranks disagree, or one step is larger than
/// kMostPieces; those of the queries; Cancelled.
Result<Recording> readRecording(TraceQuery& trace, std::optional<StepChoiceRange> steps, std::stop_token stop = {});

} // namespace fourwalls::replay
