// SPDX-License-Identifier: Apache-2.0
// The graph of waiting, and where its paths end (strongly connected components that nothing leaves).
#include "model/diagnose/hang_waits.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace fourwalls::diagnose {

namespace {

std::optional<WaitedOperation> keyOf(const HangRecord& record)
{
    if (!record.isTransfer()) return WaitedOperation{record.group, -1, -1, record.sequence};
    if (record.from < 0 || record.to < 0) return std::nullopt;
    return WaitedOperation{record.group, record.from, record.to, record.sequence};
}

/// A member's record of an operation.
struct Part {
    bool open = false;
    Live live = Live::No;
};

/// Both ends of a transfer have its key; the sender's record says send.
bool isPartOf(std::int32_t rank, const HangRecord& record)
{
    if (!record.isTransfer()) return true;
    return record.op == FlightOp::Send ? record.from == rank : record.to == rank;
}

} // namespace

std::vector<Wait> waitsOf(const HangState& state, const NamedRanks& named)
{
    std::map<WaitedOperation, Wait> waits;
    for (std::size_t r = 0; r < state.ranks.size(); ++r) {
        const auto rank = static_cast<std::int32_t>(r);
        if (named.count(rank) > 0) continue;
        for (const HangRecord& record : state.ranks[r].records) {
            const auto key = record.open && record.live == Live::Yes ? keyOf(record) : std::nullopt;
            if (!key || !isPartOf(rank, record)) continue;
            Wait& wait = waits[*key];
            wait.operation = *key;
            wait.name = record.name;
            wait.waiting.push_back(rank);
        }
    }
    std::map<WaitedOperation, std::map<std::int32_t, Part>> parts;
    for (std::size_t r = 0; r < state.ranks.size(); ++r)
        for (const HangRecord& record : state.ranks[r].records) {
            // A transfer that is finished has left the count of open ones.
            const auto key = record.isTransfer() && !record.open ? std::nullopt : keyOf(record);
            if (key && waits.count(*key) > 0 && isPartOf(static_cast<std::int32_t>(r), record))
                parts[*key][static_cast<std::int32_t>(r)] = {record.open, record.live};
        }
    std::vector<Wait> list;
    for (auto& [key, wait] : waits) {
        if (key.isTransfer())
            wait.members = {key.from, key.to};
        else
            wait.members = state.groups[static_cast<std::size_t>(key.group)].members;
        const auto& entered = parts[key];
        for (const std::int32_t member : wait.members) {
            const auto part = entered.find(member);
            const bool isNamed = named.count(member) > 0;
            if (part != entered.end()) {
                if (part->second.open && (part->second.live != Live::Yes || isNamed)) wait.heldBefore.push_back(member);
                continue;
            }
            const auto progress = key.isTransfer() ? std::nullopt : state.entered(member, key.group);
            if (!progress || *progress < key.sequence) wait.notEntered.push_back(member);
        }
        list.push_back(std::move(wait));
    }
    return list;
}

void nameIdle(const HangState& state, const std::vector<Wait>& waits, NamedRanks& named)
{
    NamedRanks found;
    for (const Wait& wait : waits)
        for (const std::int32_t rank : wait.notEntered) {
            const HangRank& of = state.ranks[static_cast<std::size_t>(rank)];
            if (named.count(rank) > 0 || of.dump != DumpState::Read || of.hasOpen()) continue;
            const bool isDrained =
                std::all_of(of.memberOf.begin(), of.memberOf.end(), [&state](const auto& membership) {
                    const HangProgress& progress = state.groups[static_cast<std::size_t>(membership.first)]
                                                       .progress[static_cast<std::size_t>(membership.second)];
                    return !progress.entered || !progress.completed || *progress.entered <= *progress.completed;
                });
            if (!isDrained) continue;
            const auto [there, isNew] = found.try_emplace(rank);
            NamedRank& name = there->second;
            name.by.insert(name.by.end(), wait.waiting.begin(), wait.waiting.end());
            // Of what peers wait at, a collective says more than a transfer.
            if (!isNew && (wait.operation.isTransfer() || name.sequence >= 0)) continue;
            name.reason = HangReason::HostStopped;
            name.confidence = HangConfidence::Strong;
            name.group = wait.operation.group;
            name.sequence = wait.operation.isTransfer() ? -1 : wait.operation.sequence;
            name.operation = wait.name;
        }
    for (auto& [rank, name] : found) {
        std::sort(name.by.begin(), name.by.end());
        name.by.erase(std::unique(name.by.begin(), name.by.end()), name.by.end());
    }
    named.merge(found);
}

namespace {

/// Strongly connected components by Tarjan's method, without recursion. Nodes: ranks, then waits.
class Components {
public:
    explicit Components(std::vector<std::vector<std::int32_t>> edges)
        : m_edges(std::move(edges))
        , m_index(m_edges.size(), -1)
        , m_low(m_edges.size(), 0)
        , m_of(m_edges.size(), -1)
    {
        for (std::size_t node = 0; node < m_edges.size(); ++node)
            if (m_index[node] < 0) visit(static_cast<std::int32_t>(node));
    }

    std::int32_t count() const { return m_count; }
    std::int32_t of(std::size_t node) const { return m_of[node]; }
    const std::vector<std::vector<std::int32_t>>& edges() const { return m_edges; }

private:
    struct Frame {
        std::int32_t node;
        std::size_t next;
    };

    void enter(std::int32_t node)
    {
        m_index[static_cast<std::size_t>(node)] = m_low[static_cast<std::size_t>(node)] = m_next++;
        m_stack.push_back(node);
        m_frames.push_back({node, 0});
    }

    void visit(std::int32_t root)
    {
        enter(root);
        while (!m_frames.empty()) {
            Frame& frame = m_frames.back();
            const auto node = static_cast<std::size_t>(frame.node);
            if (frame.next < m_edges[node].size()) {
                const std::int32_t target = m_edges[node][frame.next++];
                const auto at = static_cast<std::size_t>(target);
                if (m_index[at] < 0)
                    enter(target);
                else if (m_of[at] < 0)
                    m_low[node] = std::min(m_low[node], m_index[at]);
                continue;
            }
            m_frames.pop_back();
            if (!m_frames.empty()) {
                const auto parent = static_cast<std::size_t>(m_frames.back().node);
                m_low[parent] = std::min(m_low[parent], m_low[node]);
            }
            if (m_low[node] == m_index[node]) close(static_cast<std::int32_t>(node));
        }
    }

    void close(std::int32_t root)
    {
        for (;;) {
            const std::int32_t node = m_stack.back();
            m_stack.pop_back();
            m_of[static_cast<std::size_t>(node)] = m_count;
            if (node == root) break;
        }
        ++m_count;
    }

    std::vector<std::vector<std::int32_t>> m_edges;
    std::vector<std::int32_t> m_index, m_low, m_of, m_stack;
    std::vector<Frame> m_frames;
    std::int32_t m_next = 0, m_count = 0;
};

Components componentsOf(const HangState& state, const std::vector<Wait>& waits)
{
    const std::size_t ranks = state.ranks.size();
    std::vector<std::vector<std::int32_t>> edges(ranks + waits.size());
    for (std::size_t w = 0; w < waits.size(); ++w) {
        for (const std::int32_t rank : waits[w].waiting)
            edges[static_cast<std::size_t>(rank)].push_back(static_cast<std::int32_t>(ranks + w));
        edges[ranks + w] = waits[w].notEntered;
        edges[ranks + w].insert(edges[ranks + w].end(), waits[w].heldBefore.begin(), waits[w].heldBefore.end());
    }
    return Components(std::move(edges));
}

/// What is in a component, and whether anything leaves it.
struct Root {
    std::vector<std::int32_t> ranks, waits;
    bool isLeft = false;
};

std::vector<Root> rootsOf(const Components& components, std::size_t ranks)
{
    std::vector<Root> roots(static_cast<std::size_t>(components.count()));
    for (std::size_t node = 0; node < components.edges().size(); ++node) {
        Root& root = roots[static_cast<std::size_t>(components.of(node))];
        if (node < ranks)
            root.ranks.push_back(static_cast<std::int32_t>(node));
        else
            root.waits.push_back(static_cast<std::int32_t>(node - ranks));
        for (const std::int32_t target : components.edges()[node])
            root.isLeft = root.isLeft || components.of(static_cast<std::size_t>(target)) != components.of(node);
    }
    std::erase_if(roots, [](const Root& root) { return root.isLeft; });
    return roots;
}

} // namespace

void nameRoots(const HangState& state, const std::vector<Wait>& waits, NamedRanks& named, std::vector<OneOf>& sets)
{
    std::map<std::int32_t, std::vector<const Wait*>> waitedFor;
    for (const Wait& wait : waits)
        for (const auto* targets : {&wait.notEntered, &wait.heldBefore})
            for (const std::int32_t rank : *targets) waitedFor[rank].push_back(&wait);

    for (const Root& root : rootsOf(componentsOf(state, waits), state.ranks.size())) {
        if (root.ranks.size() == 1 && root.waits.empty()) {
            const std::int32_t rank = root.ranks[0];
            const auto found = waitedFor.find(rank);
            if (found == waitedFor.end() || named.count(rank) > 0) continue;
            const HangRank& of = state.ranks[static_cast<std::size_t>(rank)];
            if (of.dump == DumpState::Unreadable) continue; // it may be sound: the report lists it
            const Wait& wait = *found->second.front();
            NamedRank& name = named[rank];
            name.group = wait.operation.group;
            name.sequence = wait.operation.isTransfer() ? -1 : wait.operation.sequence;
            name.operation = wait.name;
            for (const Wait* each : found->second)
                name.by.insert(name.by.end(), each->waiting.begin(), each->waiting.end());
            std::sort(name.by.begin(), name.by.end());
            name.by.erase(std::unique(name.by.begin(), name.by.end()), name.by.end());
            continue;
        }
        if (root.waits.empty()) continue;
        std::set<std::int32_t> members(root.ranks.begin(), root.ranks.end());
        const Wait& wait = waits[static_cast<std::size_t>(root.waits[0])];
        const bool isTransfer = root.ranks.empty();
        if (isTransfer) members.insert(wait.members.begin(), wait.members.end());
        if (std::any_of(members.begin(), members.end(), [&](std::int32_t rank) { return named.count(rank) > 0; }))
            continue;
        sets.push_back({{members.begin(), members.end()},
                        wait.operation.group,
                        wait.operation.isTransfer() ? -1 : wait.operation.sequence,
                        wait.name,
                        isTransfer ? OneOf::Why::Transfer : OneOf::Why::Circle});
    }
}

} // namespace fourwalls::diagnose
