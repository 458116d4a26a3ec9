// SPDX-License-Identifier: Apache-2.0
// First the devices' tracks: how long the work of each launch took. Then the hosts' tracks, slice by slice, with a path of
// names for each place in the nesting.
#include "model/trace/call_tree.h"

#include "model/trace/slice_walk.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

namespace fourwalls {

namespace {

constexpr std::size_t kMostLaunches = 200'000; ///< whose arrows are read
constexpr Duration kBehindArrows{50'000'000};
constexpr std::size_t kMostNodes = 1'000'000; ///< deeper paths are counted with their parent

bool isDevice(TrackKind kind)
{
    return kind == TrackKind::ComputeStream || kind == TrackKind::CommStream || kind == TrackKind::CopyStream;
}

bool isHost(TrackKind kind)
{
    return kind == TrackKind::CpuThread || kind == TrackKind::Operators || kind == TrackKind::Other;
}

/// Device time by launch, of one rank.
using Launched = std::unordered_map<std::int64_t, Duration>;

class TreeBuilder {
public:
    TreeBuilder(TraceQuery& trace, TimeRange range, CallTreeBy by, std::stop_token stop)
        : m_trace(trace)
        , m_range(range)
        , m_by(by)
        , m_stop(std::move(stop))
    {
        m_tree.nodes.emplace_back();
    }

    Status readDevices(std::span<const TrackId> tracks)
    {
        std::set<RankId> ranks;
        for (const TrackId track : tracks) ranks.insert(viewOf(track).info.rank);
        FOURWALLS_TRY_ASSIGN(const Instant end, lastLaunched(tracks));
        for (const TrackView& track : m_trace.tracks()) {
            if (!isDevice(track.info.kind) || !ranks.contains(track.info.rank)) continue;
            Launched& launched = m_launched[track.info.rank];
            FOURWALLS_TRY(forEachSlice(
                m_trace, track, {m_range.begin, end},
                [&](const SliceView& slice) {
                    if (slice.correlation && slice.lane == 0) launched[slice.correlation->value] += slice.duration;
                    return true;
                },
                m_stop));
        }
        return {};
    }

    Status readHost(const TrackView& track)
    {
        const TrackView* thread = threadOfFrames(m_trace, track);
        const bool isFrames = thread != nullptr;
        if (m_by == CallTreeBy::Operator && isFrames) return {};
        if (m_by == CallTreeBy::Frame && !isFrames) return {};
        if (m_by == CallTreeBy::Range && isFrames) return {};
        // Launches lie on the thread, not among its frames.
        std::vector<std::pair<Instant, Duration>> launches;
        if (isFrames) {
            FOURWALLS_TRY(forEachSlice(
                m_trace, *thread, m_range,
                [&](const SliceView& slice) {
                    if (const Duration device = takeDevice(*thread, slice); device.ns > 0)
                        launches.emplace_back(slice.start, device);
                    return true;
                },
                m_stop));
        }
        NestingWalk<std::uint32_t> walk(m_range);
        const auto leave = [this](const NestingWalk<std::uint32_t>::Left& left) {
            CallNode& node = m_tree.nodes[left.tag];
            ++node.count;
            node.total += left.inside;
            node.self += left.self;
        };
        const auto attribute = [&](Instant at, Duration device) {
            const std::uint32_t* node = walk.deepestAt(at);
            m_tree.nodes[node ? *node : 0].deviceSelf += device;
            m_tree.hasDevice = true;
        };
        std::size_t next = 0;
        Status problem;
        FOURWALLS_TRY(forEachSlice(
            m_trace, track, m_range,
            [&](const SliceView& slice) {
                for (; next < launches.size() && launches[next].first < slice.start; ++next)
                    attribute(launches[next].first, launches[next].second);
                const auto op = infoOf(slice.op);
                if (!op.ok()) {
                    problem = op.error();
                    return false;
                }
                if (isNode(**op, isFrames))
                    walk.add(
                        slice,
                        [&](const SliceView&, const std::uint32_t* parent) {
                            return nodeOf(parent ? *parent : 0, slice.op, (*op)->name);
                        },
                        leave);
                if (isFrames) return true;
                if (const Duration device = takeDevice(track, slice); device.ns > 0) attribute(slice.start, device);
                return true;
            },
            m_stop));
        if (!problem.ok()) return problem;
        for (; next < launches.size(); ++next) attribute(launches[next].first, launches[next].second);
        walk.finish(leave);
        return {};
    }

    CallTree finish()
    {
        std::vector<CallNode>& nodes = m_tree.nodes;
        for (CallNode& node : nodes) node.deviceTotal = node.deviceSelf;
        for (std::size_t i = nodes.size(); i-- > 1;) {
            nodes[nodes[i].parent].deviceTotal += nodes[i].deviceTotal;
            if (nodes[i].parent == 0) nodes[0].total += nodes[i].total;
        }
        for (std::size_t i = 1; i < nodes.size(); ++i)
            if (const auto op = m_infos.find(nodes[i].op); op != m_infos.end()) m_tree.ops.insert(*op);
        return std::move(m_tree);
    }

private:
    /// A launch comes before its work: until when that runs which was launched in the range. The arrows tell; without
    /// any, as long again as the range is looked at.
    Result<Instant> lastLaunched(std::span<const TrackId> tracks)
    {
        if (m_trace.info().counts.flows == 0) return m_range.end + m_range.length();
        Instant last = m_range.end;
        for (const TrackId id : tracks) {
            if (isDevice(viewOf(id).info.kind)) continue;
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

    Result<std::shared_ptr<const OpInfo>> infoOf(OpId id)
    {
        const auto found = m_infos.find(id);
        if (found != m_infos.end()) return found->second;
        FOURWALLS_TRY_ASSIGN(std::shared_ptr<const OpInfo> op, m_trace.op(id));
        m_infos.emplace(id, op);
        return op;
    }

    bool isNode(const OpInfo& op, bool isFrames) const
    {
        switch (m_by) {
        case CallTreeBy::Operator: return true;
        case CallTreeBy::Frame: return isFrames;
        case CallTreeBy::Module: return op.kind == SliceKind::Layer;
        case CallTreeBy::Range: return op.kind == SliceKind::Marker;
        }
        return false;
    }

    /// What the slice had the device do, if it began in the range.
    Duration takeDevice(const TrackView& track, const SliceView& slice)
    {
        if (!slice.correlation || !m_range.contains(slice.start)) return {};
        const auto rank = m_launched.find(track.info.rank);
        if (rank == m_launched.end()) return {};
        const auto found = rank->second.find(slice.correlation->value);
        return found == rank->second.end() ? Duration{} : found->second;
    }

    std::uint32_t nodeOf(std::uint32_t parent, OpId op, const std::string& name)
    {
        const auto [byOp, isNewOp] = m_byOp.try_emplace({parent, op}, 0);
        if (!isNewOp) return byOp->second;
        // Operators of one name differ in their shape; the tree has names.
        const auto [byName, isNew] = m_byName.try_emplace({parent, name}, 0);
        if (isNew) {
            if (m_tree.nodes.size() >= kMostNodes) return byName->second = byOp->second = parent;
            byName->second = static_cast<std::uint32_t>(m_tree.nodes.size());
            CallNode node;
            node.name = name;
            node.op = op;
            node.parent = parent;
            m_tree.nodes.push_back(std::move(node));
        }
        return byOp->second = byName->second;
    }

    TraceQuery& m_trace;
    TimeRange m_range;
    CallTreeBy m_by;
    std::stop_token m_stop;
    CallTree m_tree;
    std::map<RankId, Launched> m_launched;
    std::unordered_map<OpId, std::shared_ptr<const OpInfo>> m_infos;
    std::map<std::pair<std::uint32_t, OpId>, std::uint32_t> m_byOp;
    std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> m_byName;
};

} // namespace

std::string_view name(CallTreeBy by)
{
    constexpr std::array<std::string_view, kCallTreeByCount> kNames{"operator", "frame", "module", "range"};
    return kNames[static_cast<std::size_t>(by)];
}

Result<CallTree> callTree(TraceQuery& trace, std::span<const TrackId> tracks, TimeRange range, CallTreeBy by,
                          const std::stop_token& stop)
{
    if (range.empty()) return Error{ErrorCode::InvalidArgument, "the time range is empty", "call tree", ""};
    for (const TrackId track : tracks)
        if (track.value < 0 || static_cast<std::size_t>(track.value) >= trace.tracks().size())
            return Error{ErrorCode::NotFound, "no track " + std::to_string(track.value), "call tree", ""};
    TreeBuilder builder(trace, range, by, stop);
    FOURWALLS_TRY(builder.readDevices(tracks));
    for (const TrackId id : tracks) {
        const TrackView& track = trace.tracks()[static_cast<std::size_t>(id.value)];
        if (isHost(track.info.kind)) FOURWALLS_TRY(builder.readHost(track));
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
    std::map<std::pair<std::uint32_t, std::string_view>, std::uint32_t> places;
    const auto placeOf = [&](std::uint32_t parent, const CallNode& of) {
        const auto [found, isNew] = places.try_emplace({parent, of.name}, 0);
        if (isNew) {
            found->second = static_cast<std::uint32_t>(result.nodes.size());
            CallNode node;
            node.name = of.name;
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
            if (result.nodes.size() >= kMostNodes) break;
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
