// SPDX-License-Identifier: Apache-2.0
// See memory_groups.h.
#include "model/present/memory_groups.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <string>

namespace fourwalls {

namespace {

constexpr double kEdgeOfPhase = 0.15;

/// What makes two buffers one row. Only the member that the grouping looks at is set.
struct Key {
    int number = -1;
    std::string name;
    friend auto operator<=>(const Key&, const Key&) = default;
};

Key groupKey(const AllocationView& item, const OpInfo* op, MemoryGrouping by, std::size_t index)
{
    switch (by) {
    case MemoryGrouping::Category: return {static_cast<int>(item.category), {}};
    case MemoryGrouping::Layer: return {op && op->layer ? op->layer->value : -1, {}};
    case MemoryGrouping::Operator: return {-1, op ? op->name : std::string()};
    case MemoryGrouping::Phase: return {op ? static_cast<int>(op->phase) : static_cast<int>(Phase::None), {}};
    case MemoryGrouping::Buffer: return {static_cast<int>(index), {}};
    }
    return {};
}

} // namespace

const OpInfo* makerOf(const AllocationView& item, const OpDictionary& ops)
{
    if (!item.op) return nullptr;
    const auto found = ops.find(*item.op);
    return found == ops.end() ? nullptr : found->second.get();
}

std::vector<MemoryGroup> groupAlive(const AllocationList& alive, MemoryGrouping by)
{
    std::vector<MemoryGroup> groups;
    std::vector<CategoryBytes> parts;
    std::map<Key, std::size_t> places;
    std::int64_t listed = 0;
    for (std::size_t i = 0; i < alive.items.size(); ++i) {
        const AllocationView& item = alive.items[i];
        const OpInfo* op = makerOf(item, alive.ops);
        const auto [place, isNew] = places.try_emplace(groupKey(item, op, by, i), groups.size());
        if (isNew) {
            MemoryGroup group;
            group.category = item.category;
            if (op && (by == MemoryGrouping::Layer || by == MemoryGrouping::Buffer)) group.layer = op->layer;
            if (op && (by == MemoryGrouping::Operator || by == MemoryGrouping::Buffer)) group.op = op->name;
            if (op && (by == MemoryGrouping::Phase || by == MemoryGrouping::Buffer)) group.phase = op->phase;
            groups.push_back(group);
            parts.push_back({});
        }
        groups[place->second].bytes += item.bytes;
        ++groups[place->second].count;
        parts[place->second][static_cast<std::size_t>(item.category)] += item.bytes;
        listed += item.bytes;
    }
    for (std::size_t i = 0; i < groups.size(); ++i) {
        const auto most = std::max_element(parts[i].begin(), parts[i].end());
        groups[i].category = static_cast<MemoryCategory>(most - parts[i].begin());
    }
    std::stable_sort(groups.begin(), groups.end(),
                     [](const MemoryGroup& a, const MemoryGroup& b) { return a.bytes > b.bytes; });

    const std::int64_t unlisted = alive.totalCount - static_cast<std::int64_t>(alive.items.size());
    if (unlisted > 0) {
        MemoryGroup rest;
        rest.bytes = std::max<std::int64_t>(0, alive.totalBytes - listed);
        rest.count = unlisted;
        rest.remainder = true;
        groups.push_back(rest);
    }
    const double total = static_cast<double>(std::max(alive.totalBytes, listed));
    for (MemoryGroup& group : groups) group.share = total > 0 ? static_cast<double>(group.bytes) / total : 0;
    return groups;
}

const AllocationView* latestAlive(const AllocationList& list, Instant at, std::optional<MemoryCategory> category)
{
    const AllocationView* latest = nullptr;
    for (const AllocationView& item : list.items) {
        if (category && item.category != *category) continue;
        if (item.start > at || (item.end && *item.end <= at)) continue;
        if (!latest || item.start > latest->start || (item.start == latest->start && item.bytes > latest->bytes)) {
            latest = &item;
        }
    }
    return latest;
}

InstantPhase placeIn(const std::vector<PhaseSpan>& phases, Instant at)
{
    const PhaseSpan* around = nullptr;
    const PhaseSpan* before = nullptr;
    for (const PhaseSpan& span : phases) {
        if (span.phase == Phase::None) continue;
        if (span.range.contains(at) && (!around || span.range.length() < around->range.length())) around = &span;
        if (span.range.end <= at && (!before || span.range.end > before->range.end)) before = &span;
    }
    if (!around) return before ? InstantPhase{PhasePlace::End, before->phase} : InstantPhase{};
    const double share = static_cast<double>((at - around->range.begin).ns) /
                         static_cast<double>(std::max<std::int64_t>(1, around->range.length().ns));
    const PhasePlace place = share < kEdgeOfPhase       ? PhasePlace::Begin
                             : share > 1 - kEdgeOfPhase ? PhasePlace::End
                                                        : PhasePlace::During;
    return {place, around->phase};
}

} // namespace fourwalls
