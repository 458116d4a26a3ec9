// SPDX-License-Identifier: Apache-2.0
// First the devices' tracks: how long the work of each launch took. Then the hosts' tracks, with a path of names for each
// place in the nesting: block by block where these are summarized, else slice by slice.
#include "model/trace/call_tree.h"

#include "model/trace/range_summaries.h"
#include "model/trace/slice_walk.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace fourwalls {

namespace {

constexpr std::size_t kMostLaunches = 200'000; ///< whose arrows are read
constexpr Duration kBehindArrows{50'000'000};
constexpr std::size_t kMostBottomUp = 1'000'000; ///< nodes; deeper paths are left out

using NodeTotal = BlockSums<TreeTimes>::Total;

/// What the walk along the rows of a part adds to.
struct NodeTarget {
    std::vector<NodeTotal>* nodes;
    RangePart part;

    NodeTotal& at(std::uint32_t node)
    {
        if (node >= nodes->size()) nodes->resize(node + 1);
        return (*nodes)[node];
    }
    void entered(std::uint32_t node, const SliceView& slice)
    {
        const bool begins = slice.start >= part.range.begin;
        if (begins || part.use == RangePart::Use::All) at(node).count += part.isTaken() ? -1 : 1;
        if (part.use == RangePart::Use::NotBegun && slice.end() > part.range.end) ++at(node).count;
    }
    void add(std::uint32_t node, Duration total, Duration self)
    {
        at(node).sums += part.isTaken() ? TreeTimes{-total, -self, {}} : TreeTimes{total, self, {}};
    }
    void launched(std::uint32_t node, Duration device)
    {
        at(node).sums += TreeTimes{{}, {}, part.isTaken() ? -device : device};
    }
};

class TreeBuilder {
public:
    TreeBuilder(TraceQuery& trace, TimeRange range, CallTreeBy by, const RangeSummaries* summaries,
                std::stop_token stop)
        : m_trace(trace)
        , m_range(range)
        , m_by(by)
        , m_summaries(summaries)
        , m_stop(std::move(stop))
        , m_ops(trace)
    {}

    Status readDevices(std::span<const TrackId> tracks)
    {
        std::set<RankId> ranks;
        for (const TrackId track : tracks) {
            const RankId rank = viewOf(track).info.rank;
            if (m_ranks.contains(rank) || ranks.contains(rank)) continue;
            if (auto known = m_summaries ? m_summaries->of(rank) : nullptr)
                m_ranks[rank] = std::move(known);
            else
                ranks.insert(rank);
        }
        if (ranks.empty()) return {};
        FOURWALLS_TRY_ASSIGN(const Instant end, lastLaunched(tracks, ranks));
        for (const TrackView& track : m_trace.tracks()) {
            if (!isDeviceTrack(track.info.kind) || !ranks.contains(track.info.rank)) continue;
            LaunchedWork& launched = m_launched[track.info.rank];
            FOURWALLS_TRY(forEachSlice(
                m_trace, track, {m_range.begin, end},
                [&](const SliceView& slice) {
                    launched.add(slice);
                    return true;
                },
                m_stop));
        }
        for (auto& [rank, launched] : m_launched) launched.finish();
        return {};
    }

    Status readHost(const TrackView& track)
    {
        const bool isFrames = threadOfFrames(m_trace, track) != nullptr;
        if (!hasNodes(m_by, isFrames)) return {};
        if (const RankSummary* known = summaryOf(track.info.rank)) {
            const TreeSummary& tree = known->trees[static_cast<std::size_t>(m_by)];
            const auto found = tree.tracks.find(track.id);
            const auto inside =
                found == tree.tracks.end() ? BlockSums<TreeTimes>::Inside() : found->second.within(m_range);
            if (inside.any()) {
                for (const RangePart& part : inside.parts) FOURWALLS_TRY(readRows(track, part));
                std::vector<NodeTotal>& totals = m_known[&tree];
                totals.resize(tree.nodes.nodes().size());
                found->second.addBlocks(inside.first, inside.last, totals);
                return {};
            }
        }
        return readRows(track, {m_range, RangePart::Use::All});
    }

    Result<CallTree> finish()
    {
        for (const auto& [tree, totals] : m_known) FOURWALLS_TRY(addKnown(*tree, totals));
        const std::vector<CallTreeNodes::Node>& all = m_nodes.nodes();
        m_totals.resize(all.size());
        // Parts that were taken away have left nodes without anything.
        std::vector<bool> isSeen(all.size());
        isSeen[0] = true;
        for (std::size_t i = all.size(); i-- > 1;)
            if (isSeen[i] || m_totals[i].count != 0) isSeen[i] = isSeen[all[i].parent] = true;
        CallTree result;
        std::vector<CallNode>& nodes = result.nodes;
        std::vector<std::uint32_t> places(all.size());
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (!isSeen[i]) continue;
            places[i] = static_cast<std::uint32_t>(nodes.size());
            CallNode& node = nodes.emplace_back();
            node.parent = places[all[i].parent];
            node.count = m_totals[i].count;
            node.total = m_totals[i].sums.total;
            node.self = m_totals[i].sums.self;
            node.deviceSelf = node.deviceTotal = m_totals[i].sums.device;
            if (node.deviceSelf.ns > 0) result.hasDevice = true;
            if (i == 0) continue;
            node.op = all[i].op;
            const auto op = m_ops.all().find(node.op);
            node.name = nodeName(*op->second);
            node.phase = op->second->phase;
            result.ops.insert(*op);
        }
        for (std::size_t i = nodes.size(); i-- > 1;) {
            nodes[nodes[i].parent].deviceTotal += nodes[i].deviceTotal;
            if (nodes[i].parent == 0) nodes[0].total += nodes[i].total;
        }
        return result;
    }

private:
    Status readRows(const TrackView& track, const RangePart& part)
    {
        const TrackView* thread = threadOfFrames(m_trace, track);
        // Launches lie on the thread, not among its frames.
        std::vector<std::pair<Instant, Duration>> launches;
        if (thread) {
            FOURWALLS_TRY(forEachSlice(
                m_trace, *thread, part.range,
                [&](const SliceView& slice) {
                    if (const Duration device = launchedBy(*thread, slice, part.range); device.ns > 0)
                        launches.emplace_back(slice.start, device);
                    return true;
                },
                m_stop));
        }
        CallTreeWalk<NodeTarget> walk(m_nodes, part.range, {&m_totals, part});
        std::size_t next = 0;
        Status problem;
        FOURWALLS_TRY(forEachSlice(
            m_trace, track, part.range,
            [&](const SliceView& slice) {
                for (; next < launches.size() && launches[next].first < slice.start; ++next)
                    walk.launched(launches[next].first, launches[next].second);
                const auto op = m_ops.info(slice.op);
                if (!op.ok()) {
                    problem = op.error();
                    return false;
                }
                if (isNode(m_by, **op, thread != nullptr)) walk.enter(slice, **op);
                if (thread) return true;
                if (const Duration device = launchedBy(track, slice, part.range); device.ns > 0)
                    walk.launched(slice.start, device);
                return true;
            },
            m_stop));
        if (!problem.ok()) return problem;
        for (; next < launches.size(); ++next) walk.launched(launches[next].first, launches[next].second);
        walk.finish();
        return {};
    }

    /// A rank's tree of whole blocks, by path.
    Status addKnown(const TreeSummary& tree, const std::vector<NodeTotal>& totals)
    {
        const std::vector<CallTreeNodes::Node>& from = tree.nodes.nodes();
        std::vector<bool> isNeeded(from.size());
        for (std::size_t i = totals.size(); i-- > 1;)
            if (isNeeded[i] || totals[i].count > 0 || totals[i].sums.total.ns > 0 || totals[i].sums.device.ns > 0)
                isNeeded[i] = isNeeded[from[i].parent] = true;
        std::vector<std::uint32_t> places(from.size());
        NodeTarget target{&m_totals, {}};
        for (std::uint32_t i = 0; i < totals.size(); ++i) {
            if (i > 0 && !isNeeded[i]) continue;
            if (i > 0) {
                FOURWALLS_TRY_ASSIGN(const OpInfo* op, m_ops.info(from[i].op));
                places[i] = m_nodes.nodeOf(places[from[i].parent], from[i].op, *op);
            }
            NodeTotal& total = target.at(places[i]);
            total.count += totals[i].count;
            total.sums += totals[i].sums;
        }
        return {};
    }

    /// A launch comes before its work: until when that runs which was launched in the range. The arrows tell; without
    /// any, as long again as the range is looked at.
    Result<Instant> lastLaunched(std::span<const TrackId> tracks, const std::set<RankId>& ranks)
    {
        if (m_trace.info().counts.flows == 0) return m_range.end + m_range.length();
        Instant last = m_range.end;
        for (const TrackId id : tracks) {
            if (isDeviceTrack(viewOf(id).info.kind) || !ranks.contains(viewOf(id).info.rank)) continue;
            const TrackView* thread = threadOfFrames(m_trace, viewOf(id));
            const TrackId from = thread ? thread->id : id;
            FOURWALLS_TRY_ASSIGN(const std::vector<FlowRecord> flows, m_trace.flows(from, m_range, kMostLaunches));
            if (flows.size() == kMostLaunches) return m_trace.info().range.end + Duration{1}; // there may be later ones
            for (const FlowRecord& flow : flows)
                if (flow.fromTrack == from) last = std::max(last, flow.to);
        }
        // The nodes of a graph have one arrow together.
        return last + kBehindArrows;
    }

    const TrackView& viewOf(TrackId track) const { return m_trace.tracks()[static_cast<std::size_t>(track.value)]; }

    const RankSummary* summaryOf(RankId rank) const
    {
        const auto found = m_ranks.find(rank);
        return found == m_ranks.end() ? nullptr : found->second.get();
    }

    /// What the slice had the device do, if it began in the part.
    Duration launchedBy(const TrackView& track, const SliceView& slice, TimeRange part) const
    {
        if (!slice.correlation || !part.contains(slice.start)) return {};
        if (const RankSummary* known = summaryOf(track.info.rank)) return known->launched.of(slice);
        const auto rank = m_launched.find(track.info.rank);
        return rank == m_launched.end() ? Duration{} : rank->second.of(slice);
    }

    TraceQuery& m_trace;
    TimeRange m_range;
    CallTreeBy m_by;
    const RangeSummaries* m_summaries;
    std::stop_token m_stop;
    KnownOps m_ops;
    CallTreeNodes m_nodes;
    std::vector<NodeTotal> m_totals{1};                           ///< by node
    std::map<RankId, std::shared_ptr<const RankSummary>> m_ranks; ///< that are summarized
    std::map<RankId, LaunchedWork> m_launched;                    ///< of the others
    std::map<const TreeSummary*, std::vector<NodeTotal>> m_known; ///< by the node of that tree
};

} // namespace

std::string_view name(CallTreeBy by)
{
    constexpr std::array<std::string_view, kCallTreeByCount> kNames{"operator", "frame", "module", "range"};
    return kNames[static_cast<std::size_t>(by)];
}

Result<CallTree> callTree(TraceQuery& trace, std::span<const TrackId> tracks, TimeRange range, CallTreeBy by,
                          const RangeSummaries* summaries, const std::stop_token& stop)
{
    if (range.empty()) return Error{ErrorCode::InvalidArgument, "the time range is empty", "call tree", ""};
    for (const TrackId track : tracks)
        if (track.value < 0 || static_cast<std::size_t>(track.value) >= trace.tracks().size())
            return Error{ErrorCode::NotFound, "no track " + std::to_string(track.value), "call tree", ""};
    TreeBuilder builder(trace, range, by, summaries, stop);
    FOURWALLS_TRY(builder.readDevices(tracks));
    for (const TrackId id : tracks) {
        const TrackView& track = trace.tracks()[static_cast<std::size_t>(id.value)];
        if (isHostTrack(track.info.kind)) FOURWALLS_TRY(builder.readHost(track));
        if (stop.stop_requested()) return Error{ErrorCode::Cancelled, "cancelled", "call tree", ""};
    }
    return builder.finish();
}

CallTree bottomUp(const CallTree& tree)
{
    CallTree result;
    result.ops = tree.ops;
    result.hasDevice = tree.hasDevice;
    result.nodes.emplace_back();
    std::map<std::tuple<std::uint32_t, std::string_view, Phase>, std::uint32_t> places;
    const auto placeOf = [&](std::uint32_t parent, const CallNode& of) {
        const auto [found, isNew] = places.try_emplace({parent, of.name, of.phase}, 0);
        if (isNew) {
            found->second = static_cast<std::uint32_t>(result.nodes.size());
            CallNode node;
            node.name = of.name;
            node.phase = of.phase;
            node.op = of.op;
            node.parent = parent;
            result.nodes.push_back(std::move(node));
        }
        return found->second;
    };
    // What a path had by itself goes to each place on the way from its name back to the top.
    for (std::size_t i = 1; i < tree.nodes.size(); ++i) {
        const CallNode& from = tree.nodes[i];
        if (from.self.ns == 0 && from.deviceSelf.ns == 0 && from.count == 0) continue;
        std::uint32_t place = 0;
        for (std::size_t at = i; at != 0; at = tree.nodes[at].parent) {
            if (result.nodes.size() >= kMostBottomUp) break;
            place = placeOf(place, tree.nodes[at]);
            CallNode& node = result.nodes[place];
            node.count += from.count;
            node.total += from.self;
            node.deviceTotal += from.deviceSelf;
        }
    }
    for (CallNode& node : result.nodes)
        if (node.parent == 0) { // its own time is that of the name, not of who called it
            node.self = node.total;
            node.deviceSelf = node.deviceTotal;
        }
    result.nodes[0].total = {};
    for (std::size_t i = 1; i < result.nodes.size(); ++i)
        if (result.nodes[i].parent == 0) {
            result.nodes[0].total += result.nodes[i].total;
            result.nodes[0].deviceTotal += result.nodes[i].deviceTotal;
        }
    return result;
}

} // namespace fourwalls
