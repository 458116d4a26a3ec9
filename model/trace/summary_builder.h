// SPDX-License-Identifier: Apache-2.0
// Builders of the summaries that a finished trace stores: of all steps of a rank, of collectives, of operators. The
// file's writer, the in-memory trace and `check` use these same ones, so that their figures cannot differ.
#pragma once

#include "model/trace/step_summary.h"
#include "model/trace/trace_query.h"

#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace fourwalls {

/// Peak rate of one device [FLOP/s] that the figures of a trace refer to: the measured one, else the datasheet's.
std::optional<double> devicePeakFlops(const TraceHeader& header, const TraceClosing& closing);
/// Memory bandwidth of one device [bytes/s], likewise.
std::optional<double> deviceBytesPerSecond(const TraceHeader& header, const TraceClosing& closing);
/// Whether the trace's plan has pipeline stages; without a specification: whether its ranks are of several stages.
bool isPipelined(const TraceHeader& header);
/// Which pipeline a rank belongs to: ranks of equal number are the stages of one pipeline.
int pipelineOf(const TraceHeader& header, RankId rank);

/// What a RankActivity column counts an activity as.
enum class ActivityClass { Compute = 0, Communication = 1, Other = 2, Waiting = 3 };
inline constexpr int kActivityClassCount = 4;
/// The class of an activity; absent for structure and for launching.
std::optional<ActivityClass> activityClass(Activity activity);

/// A rank's steps by time, for finding the step of an instant. Steps of a rank do not overlap in sound traces; in
/// others the latest one that has begun counts.
class StepLookup {
public:
    explicit StepLookup(std::span<const StepRecord> steps);
    /// The step in whose range `at` lies, or null.
    const StepRecord* find(Instant at) const;
    /// The first and one past the last of steps() that may overlap the range.
    std::pair<std::size_t, std::size_t> overlapping(TimeRange range) const;
    const std::vector<StepRecord>& steps() const { return m_steps; }

private:
    std::vector<StepRecord> m_steps;
    std::vector<Instant> m_latestEnd; ///< over steps 0..i: a binary search needs monotonous ends
};

/// The marks of a rank's steps on its program's threads. A step lasts until its device's work is done, and the program may be
/// steps ahead by then: what it only asked for is of the step whose mark holds the request.
class StepMarks {
public:
    /// A slice of kind Step on a thread.
    void add(OpId op, Instant start, Duration duration) { m_marks.push_back({op, {start, start + duration}}); }
    /// The same steps, each over its mark. Empty where marks and steps do not belong together: steps were found otherwise.
    /// steps: of the rank, by time.
    std::vector<StepRecord> marked(std::span<const StepRecord> steps) const;

private:
    struct Mark {
        OpId op;
        TimeRange range;
    };
    std::vector<Mark> m_marks;
};

/// Whether what begins at `at` is of a measured step.
inline bool isMeasuredAt(const StepLookup& steps, Instant at)
{
    const StepRecord* step = steps.find(at);
    return step && step->measured();
}

/// The step summaries of one rank: hands each slice to the steps that it overlaps.
class RankStepSummarizer {
public:
    RankStepSummarizer(RankId rank, std::span<const StepRecord> steps, const TraceHeader& header,
                       const TraceClosing& closing);
    void add(const OpInfo& op, Instant start, Duration duration);

    /// Own window per step, for the hull over the pipeline's stages.
    std::map<StepIndex, TimeRange> pipelineWindows() const;
    /// windows: the hulls, see StepAccumulator::finish; steps that are missing use the rank's own window.
    std::vector<StepSummary> finish(const std::map<StepIndex, TimeRange>& windows = {});

private:
    StepLookup m_lookup;
    std::vector<StepAccumulator> m_steps; ///< parallel to m_lookup.steps()
};

/// Grows the hulls by another stage's windows.
void mergePipelineWindows(std::map<StepIndex, TimeRange>& hulls, const std::map<StepIndex, TimeRange>& windows);

/// Totals per kind and group of the collectives that begin in measured steps. Members of one operation are those
/// of equal (group, operation, sequence), and a send or a receive has one; its payload and wire bytes are the largest
/// member's, its transfer runs from the last arrival to the last end.
class CollectiveSummarizer {
public:
    /// groups: by GroupId. Sizes let finished operations be folded at once. ranks: if the trace is known to hold no
    /// others, so that nobody waits for members that never come; empty: any.
    explicit CollectiveSummarizer(std::span<const ProcessGroupInfo> groups, std::span<const RankInfo> ranks = {});
    /// Another one, behind those before.
    void addGroup(const ProcessGroupInfo& group);
    void add(const CollectiveRecord& member);
    std::vector<CollectiveSummary> finish(); ///< by group, then operation

private:
    using Kind = std::pair<GroupId, CollectiveOp>;
    struct Operation {
        std::size_t members = 0;
        Instant lastArrival, end;
        std::optional<std::int64_t> payloadBytes, wireBytes; ///< of the member with most
    };
    static void fold(CollectiveSummary& total, const Operation& operation);

    std::vector<std::size_t> m_groupSizes; ///< of members that may come
    std::vector<RankId> m_ranks;           ///< sorted; empty: any may come
    std::map<Kind, CollectiveSummary> m_totals;
    struct OperationKey {
        Kind kind;
        std::int64_t sequence = 0;
        friend bool operator==(const OperationKey&, const OperationKey&) = default;
    };
    struct OperationHash {
        std::size_t operator()(const OperationKey& key) const noexcept;
    };
    std::unordered_map<OperationKey, Operation, OperationHash> m_open;
};

/// Totals per operator of the slices that begin in measured steps (in traces without steps: of all slices).
class OpSummarizer {
public:
    void add(OpId op, Duration duration);
    /// A slice of one track; they come by start, longer first. Compute inside of compute counts once: an operator's
    /// total is without the operators that ran within it.
    void addInTrack(OpId op, Activity activity, Instant start, Duration duration);
    /// The slices that follow are of another track.
    void nextTrack() { m_open.clear(); }
    std::vector<OpSummary> finish() const; ///< most time first, then by id

private:
    struct Open {
        OpId op;
        Instant end;
        Duration own; ///< not taken by slices within
    };
    std::vector<OpSummary> m_byOp;
    static constexpr std::size_t kMostOpen = 256; ///< no call stack is deeper; more are side by side
    std::vector<Open> m_open;                     ///< compute slices of the track that may hold others, outermost first
};

} // namespace fourwalls
