// SPDX-License-Identifier: Apache-2.0
// The parts of which call trees are made: nodes as paths of names, the device's work by launch, and the walk along one
// host track that puts both together.
#pragma once

#include "model/trace/call_tree.h"
#include "model/trace/slice_walk.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace fourwalls {

/// Paths of operators' names and phases; operators of one name and phase differ in their shape and are one node.
class CallTreeNodes {
public:
    struct Node {
        std::uint32_t parent = 0;
        OpId op; ///< the first one of that name and phase
    };

    /// [0] is the root; parents come before children.
    const std::vector<Node>& nodes() const { return m_nodes; }
    /// Deeper paths of a tree with too many nodes are their parent.
    bool isFull() const { return m_nodes.size() >= kMostNodes; }
    std::uint32_t nodeOf(std::uint32_t parent, OpId op, const OpInfo& info);
    /// No more nodes will come: what only finding needs is forgotten.
    void finish();

private:
    static constexpr std::size_t kMostNodes = 1'000'000;

    std::vector<Node> m_nodes{Node{}};
    std::unordered_map<std::uint64_t, std::uint32_t> m_byOp, m_byName; ///< by parent and operator, or name
    std::unordered_map<std::string, std::uint32_t> m_names;
};

/// How long the work of each launch of one rank took.
class LaunchedWork {
public:
    /// A slice of a device's track.
    void add(const SliceView& slice)
    {
        if (slice.correlation && slice.lane == 0) m_work.emplace_back(slice.correlation->value, slice.duration);
    }
    /// After the last one, before the first question.
    void finish();
    Duration of(const SliceView& launch) const;
    std::size_t bytes() const { return m_work.capacity() * sizeof(m_work[0]); }

private:
    std::vector<std::pair<std::int64_t, Duration>> m_work; ///< by correlation
};

/// Whether tracks of that kind hold what ran on a device, or what called and launched.
bool isDeviceTrack(TrackKind kind);
bool isHostTrack(TrackKind kind);
/// Whether a host track, of Python frames or not, has nodes of such a tree.
bool hasNodes(CallTreeBy by, bool isFrames);
bool isNode(CallTreeBy by, const OpInfo& op, bool isFrames);
/// What its node is called: all steps are one, whatever their numbers.
std::string nodeName(const OpInfo& op);

/// Follows one host track. Sums has entered(node, slice), add(node, total, self) and launched(node, device time).
template <class Sums>
class CallTreeWalk {
public:
    CallTreeWalk(CallTreeNodes& nodes, TimeRange range, Sums sums)
        : m_nodes(nodes)
        , m_sums(std::move(sums))
        , m_walk(range)
    {}

    /// A slice that is a node.
    void enter(const SliceView& slice, const OpInfo& op)
    {
        m_walk.add(
            slice,
            [&](const SliceView&, const std::uint32_t* parent) {
                const std::uint32_t node = m_nodes.nodeOf(parent ? *parent : 0, slice.op, op);
                m_sums.entered(node, slice);
                return node;
            },
            leave());
    }
    /// Work that was launched at an instant, not before the last slice.
    void launched(Instant at, Duration device)
    {
        const std::uint32_t* node = m_walk.deepestAt(at);
        m_sums.launched(node ? *node : 0, device);
    }
    void split(Instant at) { m_walk.split(at, leave(), leave()); }
    void finish() { m_walk.finish(leave()); }
    Sums& sums() { return m_sums; }

private:
    auto leave()
    {
        return [this](const NestingWalk<std::uint32_t>::Left& left) { m_sums.add(left.tag, left.inside, left.self); };
    }

    CallTreeNodes& m_nodes;
    Sums m_sums;
    NestingWalk<std::uint32_t> m_walk;
};

/// The operators of a trace by id, each asked once.
class KnownOps {
public:
    explicit KnownOps(TraceQuery& trace) : m_trace(trace) {}
    Result<const OpInfo*> info(OpId id)
    {
        const auto found = m_ops.find(id);
        if (found != m_ops.end()) return found->second.get();
        FOURWALLS_TRY_ASSIGN(std::shared_ptr<const OpInfo> op, m_trace.op(id));
        return m_ops.emplace(id, std::move(op)).first->second.get();
    }
    const OpDictionary& all() const { return m_ops; }

private:
    TraceQuery& m_trace;
    OpDictionary m_ops;
};

} // namespace fourwalls
