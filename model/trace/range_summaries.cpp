// SPDX-License-Identifier: Apache-2.0
// One reading of each rank: first the devices' tracks, for the work of each launch, then threads, then the Python frames
// beside them, which need their thread's launches.
#include "model/trace/range_summaries.h"

#include "model/base/machine_memory.h"
#include "model/trace/duration_distribution.h"
#include "model/trace/slice_walk.h"

#include <algorithm>
#include <optional>

namespace fourwalls {

namespace {

constexpr std::int64_t kSlicesOfLargeBlocks = 2'500'000; ///< from here on blocks grow with the trace

/// What a tree's walk adds to.
struct BlockTarget {
    BlockSums<TreeTimes>* blocks;
    void entered(std::uint32_t node, const SliceView&) { blocks->count(node); }
    void add(std::uint32_t node, Duration total, Duration self) { blocks->add(node, {total, self, {}}); }
    void launched(std::uint32_t node, Duration device) { blocks->add(node, {{}, {}, device}); }
};

class RankSummarizer {
public:
    RankSummarizer(TraceQuery& trace, RankId rank, KnownOps& ops, const SummaryLimits& limits,
                   const std::stop_token& stop)
        : m_trace(trace)
        , m_rank(rank)
        , m_ops(ops)
        , m_stop(stop)
        , m_size(limits.blocks)
        , m_treeSize(limits.treeBlocks)
        , m_all{trace.info().range.begin, trace.info().range.end + Duration{1}}
    {
        const std::int64_t slices = trace.info().counts.slices;
        m_summary.hasDurations = slices <= limits.mostDurations;
        for (BlockSize* size : {&m_size, &m_treeSize})
            size->rowsPerKey = std::max(size->rowsPerKey, slices / kSlicesOfLargeBlocks);
    }

    Result<RankSummary> read()
    {
        std::vector<const TrackView*> devices, threads, frames;
        for (const TrackView& track : m_trace.tracks()) {
            if (track.info.rank != m_rank) continue;
            FOURWALLS_TRY(goesOn());
            auto& list = isDeviceTrack(track.info.kind)              ? devices
                         : threadOfFrames(m_trace, track) != nullptr ? frames
                                                                     : threads;
            list.push_back(&track);
        }
        for (const TrackView* track : devices) {
            FOURWALLS_TRY(goesOn());
            FOURWALLS_TRY(readTrack(*track, false, [this](const SliceView& slice) {
                m_summary.launched.add(slice);
                return Status();
            }));
        }
        FOURWALLS_TRY(goesOn());
        m_summary.launched.finish();
        for (const TrackView* track : threads) FOURWALLS_TRY(readThread(*track));
        for (const TrackView* track : frames) FOURWALLS_TRY(readThread(*track));
        for (TreeSummary& tree : m_summary.trees) {
            if (tree.nodes.isFull()) tree.tracks.clear(); // a part of it may have nodes of its own: rows are read
            tree.nodes.finish();
        }
        return std::move(m_summary);
    }

private:
    /// For what takes long without reading slices. Errors: Cancelled.
    Status goesOn() const
    {
        if (m_stop.stop_requested()) return Error{ErrorCode::Cancelled, "cancelled", "summaries", ""};
        return {};
    }

    using Launches = std::vector<std::pair<Instant, Duration>>;
    struct Tree {
        CallTreeBy by;
        CallTreeWalk<BlockTarget> walk;
    };

    /// Sums of one track; also(slice) hears of every slice.
    template <class Also>
    Status readTrack(const TrackView& track, bool splitsTrees, Also&& also)
    {
        TrackSummary& sums = m_summary.tracks[track.id];
        sums.blocks = BlockSums<RangeTimes>(m_all);
        NestingWalk<std::uint32_t> walk(m_all);
        std::unordered_map<OpId, std::uint32_t> keys;
        const auto leave = [&](const NestingWalk<std::uint32_t>::Left& left) {
            sums.blocks.add(left.tag, {left.inside, left.self});
        };
        Instant last = m_all.begin;
        Status problem;
        FOURWALLS_TRY(forEachSlice(
            m_trace, track, m_all,
            [&](const SliceView& slice) {
                if (slice.start > last) {
                    if (sums.blocks.isFull(m_size)) {
                        sums.busy.push_back(walk.busyUntil(slice.start));
                        walk.split(slice.start, leave, leave);
                        sums.blocks.beginBlock(slice.start);
                    }
                    if (splitsTrees) splitTrees(slice.start);
                }
                last = slice.start;
                walk.add(
                    slice, [&](const SliceView& each, const std::uint32_t*) { return enter(sums, keys, each); }, leave);
                problem = also(slice);
                return problem.ok();
            },
            m_stop));
        FOURWALLS_TRY(problem);
        walk.finish(leave);
        sums.busy.push_back(walk.busy());
        sums.blocks.finish();
        for (std::vector<std::uint32_t>& durations : sums.durations) durations.shrink_to_fit();
        return {};
    }

    std::uint32_t enter(TrackSummary& sums, std::unordered_map<OpId, std::uint32_t>& keys, const SliceView& slice)
    {
        const auto [found, isNew] = keys.try_emplace(slice.op, static_cast<std::uint32_t>(sums.ops.size()));
        const std::uint32_t key = found->second;
        if (isNew) {
            sums.ops.push_back(slice.op);
            if (m_summary.hasDurations) sums.durations.emplace_back();
        }
        sums.blocks.addRow();
        sums.blocks.count(key);
        if (!m_summary.hasDurations) return key;
        std::vector<std::uint32_t>& durations = sums.durations[key];
        const bool isShort = slice.duration.ns < DurationDistribution::kElsewhere;
        if (!isShort) sums.longer[key].emplace_back(durations.size(), slice.duration);
        durations.push_back(isShort ? static_cast<std::uint32_t>(slice.duration.ns) : DurationDistribution::kElsewhere);
        return key;
    }

    /// A track that is no device's: its sums, and its part of the call trees.
    Status readThread(const TrackView& track)
    {
        FOURWALLS_TRY(goesOn());
        m_trees.clear();
        const bool isHost = isHostTrack(track.info.kind);
        const TrackView* const thread = threadOfFrames(m_trace, track);
        const bool isFrames = thread != nullptr;
        for (int i = 0; isHost && i < kCallTreeByCount; ++i) {
            const auto by = static_cast<CallTreeBy>(i);
            if (!hasNodes(by, isFrames)) continue;
            TreeSummary& tree = m_summary.trees[static_cast<std::size_t>(i)];
            BlockSums<TreeTimes>& blocks = tree.tracks[track.id];
            blocks = BlockSums<TreeTimes>(m_all);
            m_trees.push_back({by, CallTreeWalk<BlockTarget>(tree.nodes, m_all, {&blocks})});
        }
        // Launches lie on the thread, not among its frames.
        Launches* forFrames = nullptr;
        if (isHost && !isFrames && framesTrackOf(m_trace, track)) forFrames = &m_launches[track.id];
        const Launches none;
        const auto found = thread ? m_launches.find(thread->id) : m_launches.end();
        const Launches& launches = isFrames && found != m_launches.end() ? found->second : none;
        std::size_t next = 0;
        const auto launchedBefore = [&](Instant until) {
            for (; next < launches.size() && launches[next].first < until; ++next)
                for (Tree& tree : m_trees) tree.walk.launched(launches[next].first, launches[next].second);
        };
        m_launchedBefore = launchedBefore;
        FOURWALLS_TRY(readTrack(track, isHost, [&](const SliceView& slice) -> Status {
            if (m_trees.empty()) return {};
            FOURWALLS_TRY_ASSIGN(const OpInfo* op, m_ops.info(slice.op));
            launchedBefore(slice.start);
            const Duration device = isFrames ? Duration{} : m_summary.launched.of(slice);
            if (device.ns > 0 && forFrames) forFrames->emplace_back(slice.start, device);
            for (Tree& tree : m_trees) {
                tree.walk.sums().blocks->addRow();
                if (isNode(tree.by, *op, isFrames)) tree.walk.enter(slice, *op);
                if (device.ns > 0) tree.walk.launched(slice.start, device);
            }
            return {};
        }));
        launchedBefore(Instant{std::numeric_limits<std::int64_t>::max()});
        for (Tree& tree : m_trees) {
            tree.walk.finish();
            tree.walk.sums().blocks->finish();
        }
        m_launchedBefore = {};
        return {};
    }

    void splitTrees(Instant at)
    {
        for (Tree& tree : m_trees) {
            BlockSums<TreeTimes>& blocks = *tree.walk.sums().blocks;
            if (!blocks.isFull(m_treeSize)) continue;
            m_launchedBefore(at); // of the block before
            tree.walk.split(at);
            blocks.beginBlock(at);
        }
    }

    TraceQuery& m_trace;
    RankId m_rank;
    KnownOps& m_ops;
    const std::stop_token& m_stop;
    BlockSize m_size, m_treeSize;
    TimeRange m_all;
    RankSummary m_summary;
    std::vector<Tree> m_trees;              ///< of the current track
    std::map<TrackId, Launches> m_launches; ///< by thread that has frames beside it
    std::function<void(Instant)> m_launchedBefore;
};

std::size_t bytesOf(const RankSummary& summary)
{
    std::size_t bytes = summary.launched.bytes();
    for (const auto& [id, track] : summary.tracks) {
        bytes += track.blocks.bytes() + track.busy.capacity() * sizeof(Duration);
        for (const std::vector<std::uint32_t>& durations : track.durations)
            bytes += durations.capacity() * sizeof(durations[0]) + sizeof(durations);
    }
    for (const TreeSummary& tree : summary.trees) {
        bytes += tree.nodes.nodes().capacity() * sizeof(CallTreeNodes::Node);
        for (const auto& [id, blocks] : tree.tracks) bytes += blocks.bytes();
    }
    return bytes;
}

} // namespace

std::size_t RangeSummaries::bytes() const
{
    const std::lock_guard lock(m_mutex);
    std::size_t bytes = 0;
    for (const auto& [rank, summary] : m_ranks) bytes += bytesOf(*summary);
    return bytes;
}

std::int64_t SummaryLimits::affordableDurations()
{
    constexpr std::int64_t kLeast = 16'000'000, kShare = 16, kBytes = sizeof(std::uint32_t);
    return std::max(kLeast, machineMemoryBytes() / kShare / kBytes);
}

Status summarize(TraceQuery& trace, RangeSummaries& summaries, const std::stop_token& stop, const SummaryLimits& limits)
{
    const TraceCounts& counts = trace.info().counts;
    if (counts.slices > limits.mostSlices || counts.ops > limits.mostOps) return {};
    KnownOps ops(trace);
    std::vector<RankId> ranks;
    for (const TrackView& track : trace.tracks()) ranks.push_back(track.info.rank);
    std::sort(ranks.begin(), ranks.end());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    for (const RankId rank : ranks) {
        if (summaries.of(rank)) continue;
        FOURWALLS_TRY_ASSIGN(RankSummary summary, RankSummarizer(trace, rank, ops, limits, stop).read());
        summaries.set(rank, std::make_shared<const RankSummary>(std::move(summary)));
    }
    return {};
}

} // namespace fourwalls
