// SPDX-License-Identifier: Apache-2.0
// The queries over one connection to a finished trace file. The implementation is spread over file_slices.cpp,
// file_search.cpp, file_memory.cpp, file_records.cpp and file_scan.cpp.
#pragma once

#include "model/store/file_data.h"
#include "model/store/largest_allocations.h"
#include "model/trace/trace_query.h"
#include "model/trace/user_query.h"

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace fourwalls::store {

class FileQuery final : public TraceQuery, public SqlQuestions {
public:
    FileQuery(sqlite::Database database, std::shared_ptr<const FileData> data)
        : m_database(std::move(database))
        , m_data(std::move(data))
    {}

    const TraceInfo& info() const override { return m_data->info; }
    const std::vector<TrackView>& tracks() const override { return m_data->tracks; }
    Result<std::unique_ptr<TraceQuery>> reopen() const override;

    Result<SliceWindow> slices(const SliceQuery& query, std::stop_token stop) override;
    Result<std::vector<RankActivity>> rankActivity(std::span<const RankId> ranks, TimeRange range, int pixels) override;
    Result<SliceView> slice(SliceId id) override;
    Result<std::shared_ptr<const OpInfo>> op(OpId id) override;
    Result<std::vector<FlowRecord>> flows(TrackId track, TimeRange range, std::size_t limit) override;
    Result<SearchResult> search(const SearchQuery& query, std::stop_token stop) override;

    Result<MemoryWindow> memory(RankId rank, TimeRange range, int pixels) override;
    Result<AllocationList> aliveAt(RankId rank, Instant at, std::size_t limit) override;
    Result<AllocationList> allocations(RankId rank, TimeRange range, std::size_t limit,
                                       std::int64_t mostRows = std::numeric_limits<std::int64_t>::max()) override;

    Result<std::vector<CounterSample>> counter(CounterId counter, TimeRange range, int pixels) override;
    Result<std::vector<StepView>> steps(RankId rank) override;
    Result<std::vector<CollectiveView>> collectives(std::optional<RankId> rank, TimeRange range,
                                                    std::size_t limit) override;
    Result<std::vector<EventRecord>> events(TimeRange range, std::size_t limit, std::optional<EventKind> kind) override;

    Result<std::vector<JobStep>> jobSteps() override;
    Result<std::vector<StepSummary>> stepSummaries() override;
    Result<std::vector<StepSummary>> stepSummaries(StepIndex step) override;
    Result<std::vector<MemorySummary>> memorySummaries() override;
    Result<std::vector<MemorySummary>> memorySummaries(RankId rank, std::size_t limit) override;
    Result<std::vector<CollectiveSummary>> collectiveSummaries() override;
    Result<std::vector<OpSummary>> opSummaries(std::size_t limit) override;
    Result<UserRows> userQuery(const UserQuery& query, std::stop_token stop) override;

    Status scanSlices(const std::function<bool(const SliceView&)>& visit, std::stop_token stop) override;
    Status scanAllocations(const std::function<bool(const AllocationView&)>& visit, std::stop_token stop) override;
    Status scanCounters(const std::function<bool(const CounterRecord&)>& visit, std::stop_token stop) override;
    Status scanFlows(const std::function<bool(const FlowRecord&)>& visit, std::stop_token stop) override;

private:
    struct Run {
        std::int64_t id = 0, first = 0, last = 0;
        std::int32_t track = 0;
        int lane = 0, runClass = 0;
    };
    struct LaneLevels {
        int finest = 0, top = -1; ///< top < finest: no bins
    };
    /// Runs and levels of one track, loaded when it is first shown.
    struct TrackData {
        std::vector<Run> runs; ///< by lane, then class
        std::map<int, LaneLevels> levels;
        std::int64_t damaged = 0;
    };
    struct AllocationRun {
        std::int64_t id = 0, first = 0, last = 0;
        int runClass = 0;
    };
    /// Runs and levels of one rank's memory.
    struct MemoryData {
        std::vector<AllocationRun> runs;
        int finest = 0, top = -1;
    };

    static constexpr const char* kSlicesSql =
        "SELECT id, run, start, dur, op, mb, corr FROM slice WHERE id>=?1 AND id<=?2";
    static constexpr const char* kNextSliceSql = "SELECT min(id) FROM slice WHERE id>=?1";
    static constexpr const char* kSliceFenceSql =
        "SELECT id FROM fence WHERE run=?1 AND start<=?2 ORDER BY start DESC, id DESC LIMIT 1";

    /// A statement that is prepared once per connection and reset for every use.
    Result<sqlite::Statement*> statement(const char* sql);
    /// Steps through the statement's rows, keyed by their first column; rows too large to read are passed over.
    /// sql must be "... WHERE id>=?1 AND id<=?2" over the table; visit returns false to stop.
    Status forIds(const char* sql, const char* nextSql, std::int64_t first, std::int64_t last,
                  const std::function<bool(const sqlite::Statement&)>& visit);

    Result<const TrackData*> trackData(TrackId track);
    Result<std::optional<Run>> runOf(std::int64_t id);
    std::optional<Run> runFromRow(const sqlite::Statement& row) const;
    std::optional<SliceView> sliceFromRow(const sqlite::Statement& row, const Run& run) const;
    /// The first id of the run from which slices that reach beyond `left` must be read.
    Result<std::int64_t> seek(const char* fenceSql, std::int64_t run, std::int64_t first, std::int64_t last,
                              int runClass, std::int64_t left);
    Status exactSlices(const Run& run, TimeRange range, SliceWindow& window, std::vector<SliceView>& to);
    Status binsOf(TrackId track, int lane, int level, TimeRange range, SliceWindow& window, std::vector<SliceBin>& to);
    /// Adds the op to the dictionary; a missing or damaged one is entered as "(damaged)" and counted.
    Status addOp(OpDictionary& ops, OpId id, std::int64_t& damaged);
    Result<std::optional<OpInfo>> readOp(OpId id);

    Result<const MemoryData*> memoryData(RankId rank);
    std::optional<AllocationView> allocationFromRow(const sqlite::Statement& row, RankId rank, int runClass) const;
    Status overlapping(RankId rank, TimeRange range, const std::function<void(const AllocationView&)>& visit);
    /// sum: bytes of all that were visited, kept below what 64 bits hold.
    Status overlappingOfRun(const AllocationRun& run, RankId rank, TimeRange range, std::int64_t firstId,
                            std::int64_t& sum, const std::function<void(const AllocationView&)>& visit);
    Result<std::int64_t> firstAlive(const AllocationRun& run, Instant at);
    Result<AllocationList> listed(LargestAllocations found);
    Status exactCurve(RankId rank, TimeRange range, std::vector<MemorySample>& samples);
    Status coverMemory(RankId rank, const MemoryData& data, int level, TimeRange range,
                       std::vector<MemorySample>& samples);
    Status memoryBins(RankId rank, int level, std::int64_t firstBin, std::int64_t lastBin,
                      std::vector<MemorySample>& samples);
    Result<MemorySample> lastChange(RankId rank, int level, std::int64_t bin);
    Result<std::optional<std::vector<AllocationView>>> storedPeak(RankId rank, Instant at);
    std::optional<RankId> rankOf(TrackId track) const;
    const std::string& string(std::int64_t id) const;

    sqlite::Database m_database;
    std::shared_ptr<const FileData> m_data;
    std::map<std::string, sqlite::Statement, std::less<>> m_statements; ///< after m_database: destroyed before it
    std::unordered_map<TrackId, TrackData> m_tracks;
    std::unordered_map<RankId, MemoryData> m_memory;
    std::unordered_map<OpId, std::shared_ptr<const OpInfo>> m_ops;
    std::optional<std::vector<JobStep>> m_jobSteps; ///< most questions begin with them
};

} // namespace fourwalls::store
