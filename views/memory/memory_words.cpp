// SPDX-License-Identifier: GPL-3.0-or-later
// See memory_words.h.
#include "views/memory/memory_words.h"

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
#include <utility>

namespace fourwalls::views {

namespace {

/// The context of this file's texts, in a form that lupdate finds.
struct MemoryWords {
    Q_DECLARE_TR_FUNCTIONS(MemoryWords)
};

/// In a sentence both halves of backward are just that.
QString phaseInSentence(Phase phase)
{
    return phase == Phase::BackwardInput || phase == Phase::BackwardWeight ? MemoryWords::tr("backward") : words(phase);
}

} // namespace

QString labelOf(const MemoryGroup& group, MemoryGrouping by)
{
    if (group.remainder) return MemoryWords::tr("smaller buffers");
    switch (by) {
    case MemoryGrouping::Category: return words(group.category);
    case MemoryGrouping::Layer:
        return group.layer ? MemoryWords::tr("layer %1").arg(group.layer->value) : MemoryWords::tr("no layer");
    case MemoryGrouping::Operator:
    case MemoryGrouping::Buffer: return group.op.empty() ? MemoryWords::tr("unknown operator") : nameOfMaker(group.op);
    case MemoryGrouping::Phase: return group.phase == Phase::None ? MemoryWords::tr("no phase") : words(group.phase);
    }
    return {};
}

QString nameOfMaker(const std::string& name)
{
    if (name == kBeforeHistory) return MemoryWords::tr("from before the history");
    if (name == kNoStack) return MemoryWords::tr("no stack recorded");
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
    const OpInfo* op = makerOf(item, ops);
    if (item.category != MemoryCategory::Other || !op || op->name == kBeforeHistory || op->name == kNoStack)
        return category;
    std::uint32_t hash = 2166136261u; // the same for every run and machine
    for (const char c : op->name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
    // Muted, so that they are not taken for the categories.
    return QColor::fromHsl(static_cast<int>(hash % 360), 70, currentTheme().dark ? 105 : 165);
}

std::vector<BlockColour> blockColours(const AllocationList& list, std::size_t mostMakers)
{
    CategoryBytes categories{};
    std::map<QRgb, std::pair<std::int64_t, QString>> makers;
    for (const AllocationView& item : list.items) {
        const QColor colour = colourOfBlock(item, list.ops);
        if (colour == colourOf(currentTheme(), item.category)) {
            categories[static_cast<std::size_t>(item.category)] += std::max<std::int64_t>(1, item.bytes);
            continue;
        }
        auto& [bytes, name] = makers[colour.rgb()];
        bytes += item.bytes;
        if (const OpInfo* op = makerOf(item, list.ops); op && name.isEmpty()) name = nameOfMaker(op->name);
    }
    std::vector<BlockColour> found;
    for (std::size_t i = 0; i < categories.size(); ++i)
        if (const auto category = static_cast<MemoryCategory>(i); categories[i] > 0)
            found.push_back({colourOf(currentTheme(), category), words(category)});
    std::vector<std::pair<QRgb, std::pair<std::int64_t, QString>>> most(makers.begin(), makers.end());
    std::stable_sort(most.begin(), most.end(),
                     [](const auto& a, const auto& b) { return a.second.first > b.second.first; });
    constexpr qsizetype kLongestMaker = 32;
    for (std::size_t i = 0; i < std::min(most.size(), mostMakers); ++i) {
        QString name = most[i].second.second;
        if (name.size() > kLongestMaker) name = name.left(kLongestMaker - 1) + QChar(0x2026);
        found.push_back({QColor(most[i].first), name});
    }
    if (most.size() > mostMakers)
        found.push_back({{}, MemoryWords::tr("and %1 more operators").arg(most.size() - mostMakers)});
    return found;
}

QString originOf(const AllocationView& item, const OpDictionary& ops)
{
    const OpInfo* op = makerOf(item, ops);
    if (!op) return MemoryWords::tr("unknown operator");
    QStringList parts;
    if (op->layer) parts << MemoryWords::tr("layer %1").arg(op->layer->value);
    if (!op->name.empty()) parts << nameOfMaker(op->name);
    if (const QString aten = atenOf(*op); !aten.isEmpty() && !parts.contains(aten)) parts << aten;
    if (op->phase != Phase::None) parts << words(op->phase);
    return parts.isEmpty() ? MemoryWords::tr("unknown operator") : parts.join(QStringLiteral(" · "));
}

QString peakSentence(const QString& total, const CategoryBytes& parts, const InstantPhase& place)
{
    QString when;
    switch (place.place) {
    case PhasePlace::Unknown: when = MemoryWords::tr("peaks at %1").arg(total); break;
    case PhasePlace::Begin:
        when = MemoryWords::tr("peaks at %1 as %2 begins").arg(total, phaseInSentence(place.phase));
        break;
    case PhasePlace::During:
        when = MemoryWords::tr("peaks at %1 during %2").arg(total, phaseInSentence(place.phase));
        break;
    case PhasePlace::End:
        when = MemoryWords::tr("peaks at %1 as %2 ends").arg(total, phaseInSentence(place.phase));
        break;
    }
    const std::int64_t sum = std::accumulate(parts.begin(), parts.end(), std::int64_t{0});
    if (sum <= 0) return when;
    const auto most = std::max_element(parts.begin(), parts.end());
    const double share = static_cast<double>(*most) / static_cast<double>(sum);
    return MemoryWords::tr("%1: %2 %3")
        .arg(when, formatPercent(share, 0), words(static_cast<MemoryCategory>(most - parts.begin())));
}

} // namespace fourwalls::views
