// SPDX-License-Identifier: Apache-2.0
// See replay_change.h.
#include "model/replay/replay_change.h"

#include "model/replay/name_pattern.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <map>
#include <set>

namespace fourwalls::replay {

namespace {

Error wrongChange(std::string_view text, std::string what)
{
    return {ErrorCode::InvalidArgument, std::move(what), "--change " + std::string(text),
            "one of stragglers=none, rank:R=fleet, stage:S=fleet, link:TIER*F, kernels:PATTERN*F, host:PATTERN*F, "
            "launches=graph, hide:PATTERN, microbatches=N, schedule=NAME, vpp=N, plan=\"…\", batch=N, cluster=NAME"};
}

std::optional<double> numberOf(std::string_view text)
{
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
    return value;
}

Result<ReplayChange> scaledChange(std::string_view text, ChangeKind kind, std::string_view rest)
{
    const std::size_t star = rest.rfind('*');
    if (star == std::string_view::npos || (star == 0 && kind == ChangeKind::Link))
        return wrongChange(text, "lacks a factor: NAME*FACTOR");
    const auto factor = numberOf(rest.substr(star + 1));
    if (!factor || *factor < 0 || *factor > 1e6 || (kind == ChangeKind::Link && *factor <= 0))
        return wrongChange(text, "'" + std::string(rest.substr(star + 1)) + "' is no factor between 0 and 1e6");
    ReplayChange change;
    change.kind = kind;
    change.pattern = rest.substr(0, star);
    change.factor = *factor;
    return change;
}

Result<ReplayChange> placedChange(std::string_view text, ChangeKind kind, std::string_view rest)
{
    const std::size_t equals = rest.find('=');
    const std::string_view number = rest.substr(0, std::min(equals, rest.size()));
    const std::string_view to = equals == std::string_view::npos ? "" : rest.substr(equals + 1);
    ReplayChange change;
    change.kind = kind;
    change.recorded = to == "recorded";
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), change.index);
    if (error != std::errc() || end != number.data() + number.size() || change.index < 0)
        return wrongChange(text, "'" + std::string(number) + "' is no number of a rank or stage");
    if (to != "fleet" && to != "recorded") return wrongChange(text, "must end in =fleet or =recorded");
    return change;
}

constexpr std::pair<std::string_view, ChangeKind> kValued[] = {{"microbatches", ChangeKind::Microbatches},
                                                               {"schedule", ChangeKind::Schedule},
                                                               {"vpp", ChangeKind::Vpp},
                                                               {"plan", ChangeKind::Plan},
                                                               {"batch", ChangeKind::Batch},
                                                               {"cluster", ChangeKind::Cluster}};

Result<ReplayChange> valuedChange(std::string_view text, ChangeKind kind, std::string_view value)
{
    ReplayChange change;
    change.kind = kind;
    change.pattern = value;
    if (kind == ChangeKind::Microbatches || kind == ChangeKind::Vpp || kind == ChangeKind::Batch) {
        int number = 0;
        const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
        if (error != std::errc() || end != value.data() + value.size() || number < 1)
            return wrongChange(text, "'" + std::string(value) + "' is no whole number from 1 on");
    } else if (kind != ChangeKind::Cluster) {
        const std::string plan = kind == ChangeKind::Schedule ? "schedule=" + std::string(value) : std::string(value);
        const auto parsed = parsePlan(plan);
        if (!parsed.ok()) return parsed.error();
    }
    return change;
}

class Application {
public:
    Application(const Recording& recording, const ReplayGraph& graph, const PeerClasses& peers, NodeTimes times)
        : m_recording(recording)
        , m_graph(graph)
        , m_peers(peers)
        , m_recorded(times)
    {
        m_changed.times = std::move(times);
        m_changed.origin.assign(graph.nodes(), TimeOrigin::Measured);
        m_changed.averaged.assign(graph.nodes(), 0);
    }

    Status apply(const ReplayChange& change)
    {
        switch (change.kind) {
        case ChangeKind::Stragglers:
            FOURWALLS_TRY(havePeers(change));
            forEach([](const Piece&, NodeRole) { return true; }, [this](std::size_t node) { toFleet(node); });
            return {};
        case ChangeKind::Rank:
            FOURWALLS_TRY(havePeers(change));
            return place(change, "rank " + std::to_string(change.index), "the trace has ranks " + ranksText(),
                         [&](const Piece& piece) { return piece.rank.value == change.index; });
        case ChangeKind::Stage: {
            const bool staged = std::any_of(m_recording.info.header.ranks.begin(), m_recording.info.header.ranks.end(),
                                            [](const RankInfo& rank) { return rank.pipelineStage > 0; });
            if (!staged)
                return Error{ErrorCode::Unsupported, "the trace does not say which rank is on which pipeline stage",
                             "--change " + change.text,
                             "record with the ranks' pipeline groups, or name ranks with rank:R=fleet"};
            std::map<RankId, int> stages;
            for (const RankInfo& rank : m_recording.info.header.ranks) stages[rank.rank] = rank.pipelineStage;
            return place(change, "stage " + std::to_string(change.index), "stages are counted from 0",
                         [&, stages](const Piece& piece) {
                             const auto found = stages.find(piece.rank);
                             return found != stages.end() && found->second == change.index;
                         });
        }
        case ChangeKind::Kernels: return scaleNamed(change, NodeRole::Work, "kernel");
        case ChangeKind::Host: return scaleNamed(change, NodeRole::Host, "host work");
        case ChangeKind::Launches: return dropLaunches(change);
        case ChangeKind::Link: return scaleLink(change);
        default: return {}; // no change of times
        }
        return {};
    }

    ChangedTimes take() { return std::move(m_changed); }

private:
    void forEach(const std::function<bool(const Piece&, NodeRole)>& which, const std::function<void(std::size_t)>& act)
    {
        for (std::size_t node = 0; node < m_graph.nodes(); ++node)
            if (m_graph.piece[node] != kNone && which(m_recording.pieces[m_graph.piece[node]], m_graph.role[node]))
                act(node);
    }

    /// A rank alone has nobody to be like: the mean over its layers and steps is no other rank.
    Status havePeers(const ReplayChange& change) const
    {
        std::set<RankId> ranks;
        for (const Piece& piece : m_recording.pieces)
            if (ranks.insert(piece.rank).second && ranks.size() > 1) return {};
        return Error{ErrorCode::Unsupported, "the trace has the work of one rank, and no other one to compare it with",
                     "--change " + change.text, "open the traces of several ranks of the job together"};
    }

    void toFleet(std::size_t node)
    {
        const std::uint32_t peers = m_peers.of[node];
        if (peers == kNone) return;
        const PeerClasses::Spread& spread = m_peers.spreads[peers];
        const bool mean = m_graph.role[node] != NodeRole::Moving;
        m_changed.times.duration[node] = std::llround(mean ? spread.mean : spread.median);
        m_changed.averaged[node] = 1;
        m_changed.origin[node] = TimeOrigin::Measured;
    }
    void toRecorded(std::size_t node)
    {
        m_changed.times.duration[node] = m_recorded.duration[node];
        m_changed.averaged[node] = 0;
        m_changed.origin[node] = TimeOrigin::Measured;
    }
    void scale(std::size_t node, double factor)
    {
        std::int64_t& duration = m_changed.times.duration[node];
        duration = std::llround(static_cast<double>(duration) * factor);
        m_changed.origin[node] = TimeOrigin::Scaled;
    }

    Status place(const ReplayChange& change, const std::string& what, const std::string& hint,
                 const std::function<bool(const Piece&)>& which)
    {
        std::size_t met = 0;
        forEach([&](const Piece& piece, NodeRole) { return which(piece); },
                [&](std::size_t node) {
                    ++met;
                    change.recorded ? toRecorded(node) : toFleet(node);
                });
        if (met > 0) return {};
        return Error{ErrorCode::NotFound, what + " has no work in the chosen steps", "--change " + change.text, hint};
    }

    std::string ranksText() const
    {
        const auto& ranks = m_recording.info.header.ranks;
        if (ranks.empty()) return "of no number";
        return std::to_string(ranks.front().rank.value) + " to " + std::to_string(ranks.back().rank.value);
    }

    /// Operators whose name the pattern means, by OpId.
    std::vector<bool> matching(const NamePattern& pattern) const
    {
        std::vector<bool> found(m_recording.ops.size());
        for (std::size_t i = 0; i < found.size(); ++i)
            found[i] = m_recording.ops[i] && pattern.matches(m_recording.ops[i]->name);
        return found;
    }

    Status scaleNamed(const ReplayChange& change, NodeRole role, const std::string& what)
    {
        const NamePattern pattern(change.pattern);
        const std::vector<bool> named = matching(pattern);
        std::size_t met = 0;
        bool transfers = false;
        for (std::size_t node = 0; node < m_graph.nodes(); ++node) {
            const NodeRole of = m_graph.role[node];
            bool meant = of == role && change.pattern.empty(); // of no operator
            if (m_graph.piece[node] != kNone) {
                const Piece& piece = m_recording.pieces[m_graph.piece[node]];
                const auto op = static_cast<std::size_t>(piece.op.value);
                if (op >= named.size() || !named[op]) continue;
                // Reading data is a program's work, on whatever track it was recorded.
                const bool loading = m_recording.op(piece).kind == SliceKind::DataLoading;
                meant = role == NodeRole::Host ? of == NodeRole::Host || (loading && of == NodeRole::Work)
                                               : of == role && !loading;
                transfers = transfers || of == NodeRole::Moving;
            }
            if (!meant) continue;
            ++met;
            scale(node, change.factor);
        }
        const bool ofTransfers = role == NodeRole::Work && transfers && !change.pattern.empty();
        if (met > 0) {
            if (ofTransfers)
                assume({FOURWALLS_WORDS("ReplaySentences",
                                        "transfers that '%1' names keep their time: link:GROUP*F changes them"),
                        {change.pattern}});
            return {};
        }
        if (ofTransfers)
            return Error{ErrorCode::NotFound, "'" + change.pattern + "' names transfers, which links make faster",
                         "--change " + change.text, "link:GROUP*F with a group of the trace: " + groupsText()};
        return Error{ErrorCode::NotFound,
                     "no " + what +
                         (change.pattern.empty() ? " is in the chosen steps"
                          : pattern.isExact()    ? " of the chosen steps is called " + change.pattern
                                                 : " of the chosen steps has '" + change.pattern + "' in its name"),
                     "--change " + change.text,
                     role == NodeRole::Host ? "record the program's calls (CPU activities), or choose another name"
                                            : "`fourwalls-cli summary` or the tables view list the names"};
    }

    Status dropLaunches(const ReplayChange& change)
    {
        std::size_t met = 0;
        for (std::size_t node = 0; node < m_graph.nodes(); ++node) {
            if (m_graph.role[node] != NodeRole::Host) continue;
            if (m_graph.piece[node] != kNone &&
                m_recording.op(m_recording.pieces[m_graph.piece[node]]).kind == SliceKind::DataLoading)
                continue;
            ++met;
            m_changed.times.duration[node] = 0;
            m_changed.origin[node] = TimeOrigin::Scaled;
        }
        if (met == 0)
            return Error{ErrorCode::Unsupported, "the trace has no calls of the program that launch work",
                         "--change " + change.text, "record CPU activities together with the device's"};
        assume({FOURWALLS_WORDS(
                    "ReplaySentences",
                    "the whole step can be captured: the program decides nothing by values that the device computes"),
                {}});
        return {};
    }

    /// Which links an operation uses: "inside" one host or "between" hosts; empty: not known.
    std::string tierOf(const ProcessGroupInfo& group) const
    {
        std::set<std::string> hosts;
        for (const RankId rank : group.ranks)
            for (const RankInfo& info : m_recording.info.header.ranks)
                if (info.rank == rank) hosts.insert(info.host);
        if (hosts.empty() || hosts.count("")) return "";
        return hosts.size() == 1 ? "inside" : "between";
    }

    /// Whether a group, or another one of the same members, has a name: such groups share their links, and a transfer is
    /// recorded in one of them.
    bool isCalled(const ProcessGroupInfo& group, const std::string& name) const
    {
        const std::vector<ProcessGroupInfo>& groups = m_recording.info.groups;
        return std::any_of(groups.begin(), groups.end(), [&](const ProcessGroupInfo& each) {
            return each.name == name &&
                   std::is_permutation(each.ranks.begin(), each.ranks.end(), group.ranks.begin(), group.ranks.end());
        });
    }

    using ShortestBySize = std::map<std::int64_t, std::int64_t>; ///< payload [bytes] to the shortest moving of it [ns]

    /// What an operation takes however small it is [ns]: the line through the smallest and the largest payload's shortest
    /// times, at no bytes; 0 where payloads do not differ.
    static std::int64_t latencyOf(const ShortestBySize& shortest)
    {
        if (shortest.size() < 2) return 0;
        const auto [fewBytes, few] = *shortest.begin();
        const auto [manyBytes, many] = *shortest.rbegin();
        const double perByte = static_cast<double>(many - few) / static_cast<double>(manyBytes - fewBytes);
        return std::clamp(few - std::llround(perByte * static_cast<double>(fewBytes)), 0LL,
                          static_cast<long long>(few));
    }

    Status scaleLink(const ReplayChange& change)
    {
        const bool tier = change.pattern == "inside" || change.pattern == "between";
        std::vector<bool> chosen;
        bool known = true;
        for (const ProcessGroupInfo& group : m_recording.info.groups) {
            const std::string of = tierOf(group);
            known = known && (!tier || !of.empty());
            chosen.push_back(tier ? of == change.pattern : isCalled(group, change.pattern));
        }
        if (tier && !known)
            return Error{ErrorCode::Unsupported, "the trace does not say which ranks share a host",
                         "--change " + change.text, "record the hosts' names, or name a group: link:GROUP*F"};
        std::map<std::pair<int, std::int32_t>, ShortestBySize> shortest; // of a kind and group
        const auto recordOf = [&](std::size_t node) -> const CollectiveRecord* {
            if (m_graph.piece[node] == kNone || m_graph.role[node] != NodeRole::Moving) return nullptr;
            const Piece& piece = m_recording.pieces[m_graph.piece[node]];
            if (!piece.isCollective()) return nullptr;
            const CollectiveRecord& record = m_recording.collectives[piece.collective].record;
            return chosen[static_cast<std::size_t>(record.group.value)] ? &record : nullptr;
        };
        std::size_t met = 0;
        for (std::size_t node = 0; node < m_graph.nodes(); ++node)
            if (const CollectiveRecord* record = recordOf(node)) {
                ++met;
                ShortestBySize& of = shortest[{static_cast<int>(record->operation), record->group.value}];
                if (!record->payloadBytes) continue;
                const auto took = std::max<std::int64_t>(0, m_graph.duration[node]);
                const auto [found, isNew] = of.try_emplace(*record->payloadBytes, took);
                found->second = std::min(found->second, took);
            }
        if (met == 0)
            return Error{ErrorCode::NotFound, "no transfer of the chosen steps uses '" + change.pattern + "'",
                         "--change " + change.text, "groups with transfers: " + groupsText()};
        for (std::size_t node = 0; node < m_graph.nodes(); ++node)
            if (const CollectiveRecord* record = recordOf(node)) {
                const ShortestBySize& of = shortest[{static_cast<int>(record->operation), record->group.value}];
                const std::int64_t latency = latencyOf(of);
                if (of.size() < 2)
                    assume({FOURWALLS_WORDS(
                                "ReplaySentences",
                                "latency 0 of %1 in group %2: the trace has it with one payload or unknown ones"),
                            {std::string(name(record->operation)), groupOf(*record).name}});
                std::int64_t& duration = m_changed.times.duration[node];
                const std::int64_t beyond = std::max<std::int64_t>(0, duration - latency);
                duration = duration - beyond + std::llround(static_cast<double>(beyond) / change.factor);
                m_changed.origin[node] = TimeOrigin::Scaled;
            }
        return {};
    }

    /// Groups that the chosen steps have transfers of.
    std::string groupsText() const
    {
        std::set<std::string> names;
        for (const Piece& piece : m_recording.pieces)
            if (piece.isCollective()) names.insert(groupOf(m_recording.collectives[piece.collective].record).name);
        std::string text;
        for (const std::string& each : names) {
            if (text.size() > 200) return text + ", …";
            text += (text.empty() ? "" : ", ") + each;
        }
        return text.empty() ? "none" : text;
    }
    const ProcessGroupInfo& groupOf(const CollectiveRecord& record) const
    {
        return m_recording.info.groups[static_cast<std::size_t>(record.group.value)];
    }

    void assume(Sentence sentence)
    {
        if (std::find(m_changed.assumed.begin(), m_changed.assumed.end(), sentence) == m_changed.assumed.end())
            m_changed.assumed.push_back(std::move(sentence));
    }

    const Recording& m_recording;
    const ReplayGraph& m_graph;
    const PeerClasses& m_peers;
    NodeTimes m_recorded;
    ChangedTimes m_changed;
};

} // namespace

Result<ReplayChange> parseChange(std::string_view text)
{
    Result<ReplayChange> change = [&]() -> Result<ReplayChange> {
        ReplayChange plain;
        if (text == "stragglers=none") return plain;
        if (text == "launches=graph") {
            plain.kind = ChangeKind::Launches;
            return plain;
        }
        const std::size_t colon = text.find(':');
        const std::string_view word = text.substr(0, std::min(colon, text.size()));
        const std::string_view rest = colon == std::string_view::npos ? "" : text.substr(colon + 1);
        if (word == "rank") return placedChange(text, ChangeKind::Rank, rest);
        if (word == "stage") return placedChange(text, ChangeKind::Stage, rest);
        if (word == "link") return scaledChange(text, ChangeKind::Link, rest);
        if (word == "kernels") return scaledChange(text, ChangeKind::Kernels, rest);
        if (word == "host") return scaledChange(text, ChangeKind::Host, rest);
        if (word == "hide" && !rest.empty()) {
            plain.kind = ChangeKind::Hide;
            plain.pattern = rest;
            return plain;
        }
        const std::size_t equals = text.find('=');
        const std::string_view key = text.substr(0, std::min(equals, text.size()));
        for (const auto& [name, kind] : kValued)
            if (key == name && equals != std::string_view::npos)
                return valuedChange(text, kind, text.substr(equals + 1));
        return wrongChange(text, "is no change that a replay knows");
    }();
    if (change.ok()) change->text = text;
    return change;
}

bool changesTimes(ChangeKind kind)
{
    return kind < ChangeKind::Hide;
}

Result<ChangedTimes> applyChanges(const Recording& recording, const ReplayGraph& graph, const PeerClasses& peers,
                                  NodeTimes times, std::span<const ReplayChange> changes)
{
    Application application(recording, graph, peers, std::move(times));
    for (const ReplayChange& change : changes) FOURWALLS_TRY(application.apply(change));
    return application.take();
}

} // namespace fourwalls::replay
