// SPDX-License-Identifier: Apache-2.0
// See replay_times.h.
#include "model/replay/replay_times.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>

namespace fourwalls::replay {

namespace {

struct DelayOfStep {
    std::int64_t delay;
    std::uint32_t step;
};

/// The median of values sorted by delay, without those of one step; `all` if nothing is left.
std::int64_t medianWithout(const std::vector<DelayOfStep>& sorted, std::uint32_t step, std::size_t others)
{
    const bool without = others > 0;
    const std::size_t count = without ? others : sorted.size();
    std::size_t at = 0;
    std::int64_t lower = 0;
    for (const DelayOfStep& each : sorted) {
        if (without && each.step == step) continue;
        if (at == (count - 1) / 2) lower = each.delay;
        if (at == count / 2) return lower + (each.delay - lower) / 2;
        ++at;
    }
    return lower;
}

} // namespace

NodeTimes timesOf(const ReplayGraph& graph, DelayRule rule)
{
    NodeTimes times{graph.delay, graph.duration};
    if (rule == DelayRule::Own) return times;
    const auto keeps = [&](std::size_t node) { return graph.role[node] == NodeRole::Source; };
    if (rule == DelayRule::None) {
        for (std::size_t node = 0; node < graph.nodes(); ++node)
            if (!keeps(node)) times.delay[node] = 0;
        return times;
    }
    std::uint32_t classes = 0;
    for (const std::uint32_t each : graph.delayClass) classes = std::max(classes, each + 1);
    std::vector<std::uint32_t> first(classes + 1, 0);
    const auto delayed = [&](std::size_t node) {
        const NodeRole role = graph.role[node];
        return role != NodeRole::Source && role != NodeRole::Meeting;
    };
    for (std::size_t node = 0; node < graph.nodes(); ++node)
        if (delayed(node)) ++first[graph.delayClass[node] + 1];
    for (std::uint32_t i = 0; i < classes; ++i) first[i + 1] += first[i];
    std::vector<std::uint32_t> members(first.back()), next(first.begin(), first.end() - 1);
    for (std::size_t node = 0; node < graph.nodes(); ++node)
        if (delayed(node)) members[next[graph.delayClass[node]]++] = static_cast<std::uint32_t>(node);
    std::vector<DelayOfStep> sorted;
    std::unordered_map<std::uint32_t, std::int64_t> expected; // by step
    for (std::uint32_t each = 0; each < classes; ++each) {
        sorted.clear();
        expected.clear();
        for (std::uint32_t i = first[each]; i < first[each + 1]; ++i)
            sorted.push_back({graph.delay[members[i]], graph.step[members[i]]});
        std::sort(sorted.begin(), sorted.end(), [](const DelayOfStep& a, const DelayOfStep& b) {
            return a.delay != b.delay ? a.delay < b.delay : a.step < b.step;
        });
        for (std::uint32_t i = first[each]; i < first[each + 1]; ++i) {
            const std::uint32_t step = graph.step[members[i]];
            const auto [found, isNew] = expected.try_emplace(step, 0);
            if (isNew) {
                const auto others = static_cast<std::size_t>(std::count_if(
                    sorted.begin(), sorted.end(), [&](const DelayOfStep& one) { return one.step != step; }));
                found->second = medianWithout(sorted, step, others);
            }
            times.delay[members[i]] = found->second;
        }
    }
    return times;
}

PeerClasses peerClasses(const Recording& recording, const ReplayGraph& graph, bool byName)
{
    PeerClasses peers;
    peers.of.assign(graph.nodes(), kNone);
    // Equal work of one operator is found once per operator, not per node.
    using OpClass = std::tuple<std::string, int, double, std::int64_t, std::string>;
    std::map<OpClass, std::uint32_t> opClasses;
    std::vector<std::uint32_t> classOfOp(recording.ops.size(), kNone);
    for (std::size_t i = 0; i < recording.ops.size(); ++i) {
        if (!recording.ops[i]) continue;
        const OpInfo& op = *recording.ops[i];
        OpClass key{op.name, 0, 0, 0, ""};
        if (!byName) key = {op.name, static_cast<int>(op.phase), op.flops, op.bytes, op.detail};
        classOfOp[i] = opClasses.try_emplace(key, static_cast<std::uint32_t>(opClasses.size())).first->second;
    }
    using Key = std::tuple<std::uint32_t, int, std::string, std::int64_t>;
    std::map<Key, std::uint32_t> classes;
    std::unordered_map<std::uint64_t, std::uint32_t> plain; // class of an operator's work: most nodes
    std::vector<std::vector<std::int64_t>> values;
    for (std::size_t node = 0; node < graph.nodes(); ++node) {
        const NodeRole role = graph.role[node];
        if (graph.piece[node] == kNone ||
            (role != NodeRole::Work && role != NodeRole::Host && role != NodeRole::Moving))
            continue;
        const Piece& piece = recording.pieces[graph.piece[node]];
        const auto op = static_cast<std::size_t>(piece.op.value);
        const std::uint32_t work = op < classOfOp.size() ? classOfOp[op] : kNone;
        std::uint32_t* of = nullptr;
        const auto fresh = static_cast<std::uint32_t>(values.size());
        if (role == NodeRole::Moving && piece.isCollective() && !byName) {
            const CollectiveRecord& record = recording.collectives[piece.collective].record;
            const std::string& group = recording.info.groups[static_cast<std::size_t>(record.group.value)].name;
            of =
                &classes
                     .try_emplace(
                         Key{kNone, static_cast<int>(record.operation), group, record.payloadBytes.value_or(-1)}, fresh)
                     .first->second;
        } else {
            of = &plain.try_emplace(std::uint64_t{work} << 8 | static_cast<std::uint64_t>(role), fresh).first->second;
        }
        if (*of == fresh) values.emplace_back();
        peers.of[node] = *of;
        values[*of].push_back(graph.duration[node]);
    }
    for (std::vector<std::int64_t>& each : values) {
        std::sort(each.begin(), each.end());
        PeerClasses::Spread spread;
        spread.count = each.size();
        const auto at = [&](double share) {
            const double place = share * static_cast<double>(each.size() - 1);
            const auto low = static_cast<std::size_t>(place);
            const std::size_t high = std::min(low + 1, each.size() - 1);
            return static_cast<double>(each[low]) +
                   (place - static_cast<double>(low)) * static_cast<double>(each[high] - each[low]);
        };
        for (const std::int64_t value : each) spread.mean += static_cast<double>(value);
        spread.mean /= static_cast<double>(each.size());
        for (const std::int64_t value : each) spread.deviation += std::pow(static_cast<double>(value) - spread.mean, 2);
        spread.deviation = std::sqrt(spread.deviation / static_cast<double>(each.size()));
        spread.median = at(0.5);
        spread.low = at(0.25);
        spread.high = at(0.75);
        peers.spreads.push_back(spread);
    }
    return peers;
}

} // namespace fourwalls::replay
