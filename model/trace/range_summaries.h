// SPDX-License-Identifier: Apache-2.0
// What is known of whole blocks of a trace, so that statistics and call trees of any range are exact without reading
// more than what the range's ends cut. Made once for an open trace, in the background (summarize), and kept in memory;
// docs/trace-format.md has no table for it, so that it serves every file. Until a rank is there, its rows are read.
#pragma once

#include "model/trace/block_sums.h"
#include "model/trace/call_tree_nodes.h"
#include "model/trace/trace_query.h"

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <stop_token>
#include <unordered_map>
#include <utility>
#include <vector>

namespace fourwalls {

struct RangeTimes {
    Duration total, self;
    RangeTimes& operator+=(const RangeTimes& other)
    {
        total += other.total;
        self += other.self;
        return *this;
    }
};

struct TreeTimes {
    Duration total, self, device;
    TreeTimes& operator+=(const TreeTimes& other)
    {
        total += other.total;
        self += other.self;
        device += other.device;
        return *this;
    }
};

/// One track; keys are indices into ops.
struct TrackSummary {
    std::vector<OpId> ops;
    BlockSums<RangeTimes> blocks;
    std::vector<Duration> busy; ///< by block
    /// By key, each slice's in the order in which they begin; longer ones are DurationDistribution::kElsewhere, and in
    /// `longer` with their index. Empty for very long traces.
    std::vector<std::vector<std::uint32_t>> durations;
    std::unordered_map<std::uint32_t, std::vector<std::pair<std::size_t, Duration>>> longer;
};

/// The call tree of one rank; keys of the blocks are nodes.
struct TreeSummary {
    CallTreeNodes nodes;
    std::map<TrackId, BlockSums<TreeTimes>> tracks;
};

struct RankSummary {
    std::map<TrackId, TrackSummary> tracks;
    std::array<TreeSummary, kCallTreeByCount> trees;
    LaunchedWork launched;
    bool hasDurations = false;
};

/// Of one open trace; for any number of threads.
class RangeSummaries {
public:
    /// Null: not there yet.
    std::shared_ptr<const RankSummary> of(RankId rank) const
    {
        const std::lock_guard lock(m_mutex);
        const auto found = m_ranks.find(rank);
        return found == m_ranks.end() ? nullptr : found->second;
    }
    void set(RankId rank, std::shared_ptr<const RankSummary> summary)
    {
        const std::lock_guard lock(m_mutex);
        m_ranks[rank] = std::move(summary);
    }
    /// Memory that they take.
    std::size_t bytes() const;

private:
    mutable std::mutex m_mutex;
    std::map<RankId, std::shared_ptr<const RankSummary>> m_ranks;
};

/// What summaries may take.
struct SummaryLimits {
    BlockSize blocks, treeBlocks{8192, 4};
    std::int64_t mostSlices = 400'000'000; ///< of longer traces there are none: their rows are read for each question
    std::int64_t mostOps = 2'000'000;      ///< likewise
    std::int64_t mostDurations = affordableDurations(); ///< that are kept one by one, 4 bytes each

    /// What a sixteenth of the machine's memory holds of them, 16 million at the least.
    static std::int64_t affordableDurations();
};

/// Reads the whole trace once, rank by rank. Errors: those of TraceQuery::slices; Cancelled.
Status summarize(TraceQuery& trace, RangeSummaries& summaries, const std::stop_token& stop = {},
                 const SummaryLimits& limits = {});

} // namespace fourwalls
