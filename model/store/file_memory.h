// SPDX-License-Identifier: Apache-2.0
// The memory of a file: buffers by lifetime class, and the curve from bins with exact edges.
#pragma once

#include "model/store/file_connection.h"
#include "model/store/largest_allocations.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

namespace fourwalls::store {

class FileMemory : public virtual MemoryQuestions {
public:
    /// file: must outlive this.
    explicit FileMemory(FileConnection& file) : m_file(file) {}

    Result<MemoryWindow> memory(RankId rank, TimeRange range, int pixels) override;
    Result<AllocationList> aliveAt(RankId rank, Instant at, std::size_t limit) override;
    Result<AllocationList> allocations(RankId rank, TimeRange range, std::size_t limit, std::int64_t mostRows) override;
    Status scanAllocations(const std::function<bool(const AllocationView&)>& visit, std::stop_token stop) override;

private:
    struct Run {
        std::int64_t id = 0, first = 0, last = 0;
        int runClass = 0;
    };
    /// Runs and levels of one rank's memory.
    struct RankData {
        std::vector<Run> runs;
        int finest = 0, top = -1;
    };

    Result<const RankData*> rankData(RankId rank);
    std::optional<AllocationView> allocationFromRow(const sqlite::Statement& row, RankId rank, int runClass) const;
    Status overlapping(RankId rank, TimeRange range, const std::function<void(const AllocationView&)>& visit);
    /// sum: bytes of all that were visited, kept below what 64 bits hold.
    Status overlappingOfRun(const Run& run, RankId rank, TimeRange range, std::int64_t firstId, std::int64_t& sum,
                            const std::function<void(const AllocationView&)>& visit);
    Result<std::int64_t> firstAlive(const Run& run, Instant at);
    Result<AllocationList> listed(LargestAllocations found);
    Status exactCurve(RankId rank, TimeRange range, std::vector<MemorySample>& samples);
    Status cover(RankId rank, const RankData& data, int level, TimeRange range, std::vector<MemorySample>& samples);
    Status addBins(RankId rank, int level, std::int64_t firstBin, std::int64_t lastBin,
                   std::vector<MemorySample>& samples);
    Result<MemorySample> lastChange(RankId rank, int level, std::int64_t bin);
    Result<std::optional<std::vector<AllocationView>>> storedPeak(RankId rank, Instant at);

    FileConnection& m_file;
    std::unordered_map<RankId, RankData> m_ranks;
};

} // namespace fourwalls::store
