// SPDX-License-Identifier: Apache-2.0
// Matching by key; the bounds from messages.
#include "model/import/common/trace_clocks.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <unordered_map>

namespace fourwalls::importers {

namespace {

constexpr std::int64_t kUnseen = std::numeric_limits<std::int64_t>::max();

std::string operationKey(const ProcessGroupInfo& group, const CollectiveView& view)
{
    const CollectiveRecord& record = view.record;
    std::string key = group.name;
    for (const RankId rank : group.ranks) key += ' ' + std::to_string(rank.value);
    const bool sends = record.operation == CollectiveOp::Send;
    if (sends || record.operation == CollectiveOp::Receive) {
        if (!record.peer) return {};
        const RankId from = sends ? view.rank : *record.peer, to = sends ? *record.peer : view.rank;
        key += " message " + std::to_string(from.value) + '>' + std::to_string(to.value);
    } else {
        key += ' ' + std::to_string(static_cast<int>(record.operation));
    }
    return key + " #" + std::to_string(record.sequence);
}

using ByKey = std::unordered_map<std::string_view, const OperationMark*>;

/// Marks by key. A key that occurs twice (a trace with several members of one operation) says the same twice.
ByKey byKey(const std::vector<OperationMark>& marks)
{
    ByKey map;
    for (const OperationMark& mark : marks)
        if (!mark.key.empty()) map.emplace(mark.key, &mark);
    return map;
}

std::optional<ClockOffset> fromCollectives(const ByKey& reference, const std::vector<OperationMark>& other)
{
    std::vector<std::int64_t> differences;
    for (const OperationMark& mark : other) {
        if (mark.message || mark.key.empty()) continue;
        const auto found = reference.find(mark.key);
        if (found != reference.end()) differences.push_back((found->second->end - mark.end).ns);
    }
    if (differences.empty()) return std::nullopt;
    return offsetFromDifferences(differences);
}

/// The smallest time from sending to having received is positive in both directions; halfway between the two bounds
/// the error is at most half of their sum. (What the Network Time Protocol does.)
std::optional<ClockOffset> fromMessages(const ByKey& reference, const std::vector<OperationMark>& other)
{
    std::int64_t there = kUnseen, back = kUnseen; // reference to other, other to reference
    ClockOffset offset;
    for (const OperationMark& mark : other) {
        if (!mark.message || mark.key.empty()) continue;
        const auto found = reference.find(mark.key);
        if (found == reference.end() || found->second->sends == mark.sends) continue;
        ++offset.matched;
        if (mark.sends)
            back = std::min(back, (found->second->end - mark.begin).ns);
        else
            there = std::min(there, (mark.end - found->second->begin).ns);
    }
    if (there == kUnseen || back == kUnseen) return std::nullopt;
    offset.sameClock = there >= 0 && back >= 0 && std::abs((back - there) / 2) <= kSameClockNs;
    offset.offsetNs = offset.sameClock ? 0 : (back - there) / 2;
    offset.residualNs = std::abs((there + back) / 2);
    return offset;
}

} // namespace

std::vector<OperationMark> operationMarks(const TraceInfo& info, std::span<const CollectiveView> collectives,
                                          bool numbered)
{
    std::vector<OperationMark> marks;
    for (const CollectiveView& view : collectives) {
        const auto index = static_cast<std::size_t>(view.record.group.value);
        if (view.record.group.value < 0 || index >= info.groups.size()) continue;
        const ProcessGroupInfo& group = info.groups[index];
        OperationMark mark;
        mark.begin = view.record.start;
        mark.end = view.record.end;
        mark.kind = static_cast<int>(view.record.operation);
        mark.sends = view.record.operation == CollectiveOp::Send;
        mark.message = mark.sends || view.record.operation == CollectiveOp::Receive;
        if (numbered && group.ranks.size() < 2) continue;
        if (numbered) mark.key = operationKey(group, view);
        marks.push_back(std::move(mark));
    }
    std::stable_sort(marks.begin(), marks.end(),
                     [](const OperationMark& a, const OperationMark& b) { return a.begin < b.begin; });
    return marks;
}

std::optional<ClockOffset> alignClocks(const std::vector<OperationMark>& reference,
                                       const std::vector<OperationMark>& other)
{
    const ByKey known = byKey(reference);
    if (auto offset = fromCollectives(known, other)) return offset;
    if (auto offset = fromMessages(known, other)) return offset;
    const auto plain = [](const std::vector<OperationMark>& marks) {
        std::vector<CommunicationMark> list;
        for (const OperationMark& mark : marks)
            if (mark.key.empty()) list.push_back({mark.begin.ns, mark.end.ns, mark.kind});
        return list;
    };
    return estimateOffset(plain(reference), plain(other));
}

} // namespace fourwalls::importers
