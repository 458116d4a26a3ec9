// SPDX-License-Identifier: Apache-2.0
// Where traces come from: the one way to read a trace, whoever made it. Implemented by the .fourwalls file and by
// the in-memory trace. Queries reduce the data to what a screen of `pixels` columns can show.
#pragma once

#include "model/base/result.h"
#include "model/trace/job_step.h"
#include "model/trace/records.h"
#include "model/trace/step_summary.h"

#include <array>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <unordered_map>
#include <vector>

namespace fourwalls {

struct TraceCounts {
    std::int64_t slices = 0, allocations = 0, collectives = 0, counterSamples = 0, flows = 0, events = 0, ops = 0;
};

/// What `info` prints and the chips and status bar show.
struct TraceInfo {
    TraceHeader header;
    TraceClosing closing;
    TraceCounts counts;
    TimeRange range;      ///< from the earliest to the latest record
    bool complete = true; ///< finished in order (false: recovered after a kill)
    int formatVersion = 1;
    std::vector<AuditRecord> audit;
    std::vector<ProcessGroupInfo> groups; ///< by GroupId
    std::vector<CounterInfo> counters;    ///< by CounterId
    int stepCount = 0;                    ///< per rank, largest; without lost ones
    int lostSteps = 0;                    ///< that a rank took again after a failure, largest; see markLost
};

/// A row of the timeline with the lanes it needs (nesting depth plus sub-lanes for overlaps).
struct TrackView {
    TrackId id;
    TrackInfo info;
    int lanes = 1;
    std::int64_t slices = 0;
};

/// A slice as drawn or listed.
struct SliceView {
    SliceId id;
    TrackId track;
    int lane = 0;
    OpId op;
    Instant start;
    Duration duration;
    std::optional<Microbatch> microbatch;
    std::optional<CorrelationId> correlation;

    Instant end() const { return start + duration; }
};

/// Many short slices of one lane inside [start, start + width).
struct SliceBin {
    Instant start;
    Duration width;
    Duration busy; ///< union of the slices
    std::int64_t count = 0;
    OpId dominant; ///< name with the most time
    Duration longest;
};

using OpDictionary = std::unordered_map<OpId, std::shared_ptr<const OpInfo>>;

struct LaneSlices {
    TrackId track;
    int lane = 0;
    std::vector<SliceView> exact; ///< by start; complete for slices of a pixel or more
    std::vector<SliceBin> bins;   ///< by start; the shorter ones, disjoint from `exact`
};

struct SliceWindow {
    TimeRange range;
    int pixels = 0;
    std::vector<LaneSlices> lanes; ///< by (order of the asked tracks, lane); empty lanes are left out
    OpDictionary ops;              ///< every op that `lanes` names
    std::int64_t skippedRows = 0;  ///< damaged rows met and left out
};

struct SliceQuery {
    std::vector<TrackId> tracks;
    TimeRange range;
    int pixels = 1; ///< >= 1
};

/// Activity of one rank per column: shares of the column's width, each 0..1. What counts where several things happen at
/// once says activityPriority.
struct RankActivity {
    RankId rank;
    struct Column {
        float compute = 0, communication = 0, other = 0, waiting = 0;
    };
    std::vector<Column> columns; ///< `pixels` of them
};

using CategoryBytes = std::array<std::int64_t, kMemoryCategoryCount>;

/// Live bytes at one instant: the largest total inside the sample's column.
struct MemorySample {
    Instant at;
    CategoryBytes bytes{};
    std::int64_t total() const
    {
        std::int64_t sum = 0;
        for (const auto b : bytes) sum += b;
        return sum;
    }
};

/// A step function: each sample holds until the next one. The first sample covers the range's begin.
struct MemoryWindow {
    RankId rank;
    TimeRange range;
    std::vector<MemorySample> samples; ///< by time; at most a few per pixel
};

/// One buffer's life.
struct AllocationView {
    AllocationId id;
    RankId rank;
    Instant start;
    std::optional<Instant> end; ///< absent: never freed within the trace
    std::int64_t bytes = 0;
    std::int64_t address = 0;
    MemoryCategory category = MemoryCategory::Other;
    std::optional<OpId> op;
    std::optional<Microbatch> microbatch;
};

struct AllocationList {
    std::vector<AllocationView> items; ///< largest first
    OpDictionary ops;
    std::int64_t totalCount = 0; ///< before the limit
    std::int64_t totalBytes = 0;
    /// Buffers that lived shorter than this were not looked at and are in no total above; 0: all were looked at.
    Duration shortest;
    std::int64_t leftOut = 0; ///< how many those are, give or take a few at the edges
};

struct CounterSample {
    Instant at;
    double min = 0, max = 0, last = 0;
};

struct StepView {
    RankId rank;
    StepRecord record;
};

/// A collective as one rank took part in it.
struct CollectiveView {
    RankId rank;
    CollectiveRecord record;
};

struct SearchQuery {
    std::string text;               ///< empty matches everything
    bool regularExpression = false; ///< ECMAScript, case-insensitive like plain text
    TimeRange range;
    std::vector<TrackId> tracks; ///< empty: all
    std::size_t limit = 1000;
};

struct SearchResult {
    std::vector<SliceView> slices; ///< by start, at most limit
    OpDictionary ops;
    std::vector<OpId> matchingOps;
    bool limited = false;
};

/// One operator's totals over the measured steps of all ranks.
struct OpSummary {
    OpId op;
    std::int64_t count = 0;
    Duration total;
    Duration longest;
};

/// Questions about what lies on the tracks of the timeline.
class SliceQuestions {
public:
    virtual ~SliceQuestions() = default;

    virtual Result<SliceWindow> slices(const SliceQuery& query, std::stop_token stop = {}) = 0;
    virtual Result<std::vector<RankActivity>> rankActivity(std::span<const RankId> ranks, TimeRange range,
                                                           int pixels) = 0;
    virtual Result<SliceView> slice(SliceId id) = 0;
    virtual Result<SearchResult> search(const SearchQuery& query, std::stop_token stop = {}) = 0;
    virtual Status scanSlices(const std::function<bool(const SliceView&)>& visit, std::stop_token stop = {}) = 0;
};

/// Questions about buffers and live bytes.
class MemoryQuestions {
public:
    virtual ~MemoryQuestions() = default;

    virtual Result<MemoryWindow> memory(RankId rank, TimeRange range, int pixels) = 0;
    virtual Result<AllocationList> aliveAt(RankId rank, Instant at, std::size_t limit) = 0;
    /// Buffers whose life overlaps the range, largest first. mostRows: how many may be looked at, long lives first
    /// (a trace may have millions, most of them shorter than a pixel); traces in memory look at all.
    virtual Result<AllocationList> allocations(RankId rank, TimeRange range, std::size_t limit,
                                               std::int64_t mostRows = std::numeric_limits<std::int64_t>::max()) = 0;
    virtual Status scanAllocations(const std::function<bool(const AllocationView&)>& visit,
                                   std::stop_token stop = {}) = 0;
};

/// Questions about the other records.
class RecordQuestions {
public:
    virtual ~RecordQuestions() = default;

    virtual Result<std::vector<CounterSample>> counter(CounterId counter, TimeRange range, int pixels) = 0;
    virtual Result<std::vector<StepView>> steps(RankId rank) = 0;
    virtual Result<std::vector<CollectiveView>> collectives(std::optional<RankId> rank, TimeRange range,
                                                            std::size_t limit) = 0;
    virtual Result<std::vector<FlowRecord>> flows(TrackId track, TimeRange range, std::size_t limit) = 0;
    /// By time; kind: those of it, absent: all.
    virtual Result<std::vector<EventRecord>> events(TimeRange range, std::size_t limit,
                                                    std::optional<EventKind> kind = std::nullopt) = 0;
    virtual Status scanCounters(const std::function<bool(const CounterRecord&)>& visit, std::stop_token stop = {}) = 0;
    virtual Status scanFlows(const std::function<bool(const FlowRecord&)>& visit, std::stop_token stop = {}) = 0;
};

/// Questions whose answers were stored when the trace was finished; none is computed from rows.
class SummaryQuestions {
public:
    virtual ~SummaryQuestions() = default;

    virtual Result<std::vector<JobStep>> jobSteps() = 0;                        ///< by number
    virtual Result<std::vector<StepSummary>> stepSummaries() = 0;               ///< by rank, each by time
    virtual Result<std::vector<StepSummary>> stepSummaries(StepIndex step) = 0; ///< of one step, by rank
    virtual Result<std::vector<MemorySummary>> memorySummaries() = 0;
    /// The first `limit` of one rank's: over all measured steps, then each step by time. Costs what it returns.
    virtual Result<std::vector<MemorySummary>> memorySummaries(RankId rank, std::size_t limit) = 0;
    virtual Result<std::vector<CollectiveSummary>> collectiveSummaries() = 0;
    virtual Result<std::vector<OpSummary>> opSummaries(std::size_t limit) = 0; ///< most time first
};

/// Reads a trace. One thread at a time; `reopen` gives another thread its own. No call draws or waits for a person.
/// The scans give everything in file order, for export, trim and check; their callback returns false to stop.
/// The bases are virtual so that a trace can be put together from classes that each answer one subject.
class TraceQuery : public virtual SliceQuestions,
                   public virtual MemoryQuestions,
                   public virtual RecordQuestions,
                   public virtual SummaryQuestions {
public:
    virtual const TraceInfo& info() const = 0;
    virtual const std::vector<TrackView>& tracks() const = 0; ///< by TrackId
    virtual Result<std::shared_ptr<const OpInfo>> op(OpId id) = 0;
    virtual Result<std::unique_ptr<TraceQuery>> reopen() const = 0;
};

} // namespace fourwalls
