// SPDX-License-Identifier: GPL-3.0-or-later
// See memory_groups.h.
#include "views/memory/memory_groups.h"

#include "model/trace/memory_facts.h"
#include "views/plot/theme.h"
#include "views/words/format.h"
#include "views/words/words.h"

#include <QCoreApplication>

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <string_view>

namespace fourwalls::views {

namespace {

constexpr double kEdgeOfPhase = 0.15;

/// The context of this file's texts, in a form that lupdate finds.
struct MemoryGroups {
    Q_DECLARE_TR_FUNCTIONS(MemoryGroups)
};

const OpInfo* groupInfo(const AllocationView& item, const OpDictionary& ops)
{
    if (!item.op) return nullptr;
    const auto found = ops.find(*item.op);
    return found == ops.end() ? nullptr : found->second.get();
}

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

/// In a sentence both halves of backward are just that.
QString phaseInSentence(Phase phase)
{
    return phase == Phase::BackwardInput || phase == Phase::BackwardWeight ? MemoryGroups::tr("backward")
                                                                           : words(phase);
}

} // namespace

std::vector<MemoryGroup> groupAlive(const AllocationList& alive, MemoryGrouping by)
{
    std::vector<MemoryGroup> groups;
    std::vector<CategoryBytes> parts;
    std::map<Key, std::size_t> places;
    std::int64_t listed = 0;
    for (std::size_t i = 0; i < alive.items.size(); ++i) {
        const AllocationView& item = alive.items[i];
        const OpInfo* op = groupInfo(item, alive.ops);
        const auto [place, isNew] = places.try_emplace(groupKey(item, op, by, i), groups.size());
        if (isNew) {
            MemoryGroup group;
            group.category = item.category;
            if (op && (by == MemoryGrouping::Layer || by == MemoryGrouping::Buffer)) group.layer = op->layer;
            if (op && (by == MemoryGrouping::Operator || by == MemoryGrouping::Buffer)) {
                group.op = nameOfMaker(op->name);
            }
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

QString labelOf(const MemoryGroup& group, MemoryGrouping by)
{
    if (group.remainder) return MemoryGroups::tr("smaller buffers");
    switch (by) {
    case MemoryGrouping::Category: return words(group.category);
    case MemoryGrouping::Layer:
        return group.layer ? MemoryGroups::tr("layer %1").arg(group.layer->value) : MemoryGroups::tr("no layer");
    case MemoryGrouping::Operator:
    case MemoryGrouping::Buffer: return group.op.isEmpty() ? MemoryGroups::tr("unknown operator") : group.op;
    case MemoryGrouping::Phase: return group.phase == Phase::None ? MemoryGroups::tr("no phase") : words(group.phase);
    }
    return {};
}

QString nameOfMaker(const std::string& name)
{
    if (name == kBeforeHistory) return MemoryGroups::tr("from before the history");
    if (name == kNoStack) return MemoryGroups::tr("no stack recorded");
    return QString::fromStdString(name);
}

QString atenOf(const OpInfo& op)
{
    constexpr std::string_view kAten = "aten::";
    if (!std::string_view(op.detail).starts_with(kAten)) return {};
    return QString::fromStdString(op.detail.substr(0, op.detail.find('\n')));
}

QColor colourOfBlock(const AllocationView& item, const OpDictionary& ops)
{
    const QColor category = colourOf(currentTheme(), item.category);
    const OpInfo* op = groupInfo(item, ops);
    if (item.category != MemoryCategory::Other || !op || op->name == kBeforeHistory || op->name == kNoStack)
        return category;
    std::uint32_t hash = 2166136261u; // the same for every run and machine
    for (const char c : op->name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
    // Muted, so that they are not taken for the categories.
    return QColor::fromHsl(static_cast<int>(hash % 360), 70, currentTheme().dark ? 105 : 165);
}

QString originOf(const AllocationView& item, const OpDictionary& ops)
{
    const OpInfo* op = groupInfo(item, ops);
    if (!op) return MemoryGroups::tr("unknown operator");
    QStringList parts;
    if (op->layer) parts << MemoryGroups::tr("layer %1").arg(op->layer->value);
    if (!op->name.empty()) parts << nameOfMaker(op->name);
    if (const QString aten = atenOf(*op); !aten.isEmpty() && !parts.contains(aten)) parts << aten;
    if (op->phase != Phase::None) parts << words(op->phase);
    return parts.isEmpty() ? MemoryGroups::tr("unknown operator") : parts.join(QStringLiteral(" · "));
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

QString peakSentence(const QString& total, const CategoryBytes& parts, const InstantPhase& place)
{
    QString when;
    switch (place.place) {
    case PhasePlace::Unknown: when = MemoryGroups::tr("peaks at %1").arg(total); break;
    case PhasePlace::Begin:
        when = MemoryGroups::tr("peaks at %1 as %2 begins").arg(total, phaseInSentence(place.phase));
        break;
    case PhasePlace::During:
        when = MemoryGroups::tr("peaks at %1 during %2").arg(total, phaseInSentence(place.phase));
        break;
    case PhasePlace::End:
        when = MemoryGroups::tr("peaks at %1 as %2 ends").arg(total, phaseInSentence(place.phase));
        break;
    }
    const std::int64_t sum = std::accumulate(parts.begin(), parts.end(), std::int64_t{0});
    if (sum <= 0) return when;
    const auto most = std::max_element(parts.begin(), parts.end());
    const double share = static_cast<double>(*most) / static_cast<double>(sum);
    return MemoryGroups::tr("%1: %2 %3")
        .arg(when, formatPercent(share, 0), words(static_cast<MemoryCategory>(most - parts.begin())));
}

} // namespace fourwalls::views
