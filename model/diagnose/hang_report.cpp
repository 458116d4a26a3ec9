// SPDX-License-Identifier: Apache-2.0
// The rules in their order, and what they found in words.
#include "model/diagnose/hang_report.h"

#include "model/diagnose/hang_rules.h"
#include "model/diagnose/hang_waits.h"
#include "model/diagnose/hang_words.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace fourwalls::diagnose {

namespace {

/// Ranks that are in a set and were named by another rule are explained; a set of one rank is no set.
void dropExplained(std::vector<OneOf>& sets, const NamedRanks& named)
{
    std::erase_if(sets, [&](const OneOf& set) {
        return std::any_of(set.ranks.begin(), set.ranks.end(),
                           [&](std::int32_t rank) { return named.count(rank) > 0; });
    });
    // Of two sets of the same ranks, the first says why.
    std::set<std::vector<std::int32_t>> seen;
    std::erase_if(sets, [&](const OneOf& set) { return !seen.insert(set.ranks).second; });
}

HangDivergence divergenceOf(const HangState& state, const HangGroup& group, std::int32_t id)
{
    HangDivergence divergence;
    divergence.group = group.name;
    divergence.description = group.description;
    divergence.sequence = -1;
    std::int64_t most = -1, least = -1;
    bool isKnown = false;
    for (std::size_t i = 0; i < group.members.size(); ++i) {
        divergence.ranks.push_back(state.ranks[static_cast<std::size_t>(group.members[i])].rank);
        const HangProgress& progress = group.progress[i];
        if (!progress.completed) continue;
        least = isKnown ? std::min(least, *progress.completed) : *progress.completed;
        isKnown = true;
        most = std::max({most, *progress.completed, progress.entered.value_or(-1)});
    }
    if (!isKnown || least >= most) return divergence;
    divergence.sequence = least + 1;
    for (std::size_t i = 0; i < group.members.size(); ++i) {
        const HangRank& rank = state.ranks[static_cast<std::size_t>(group.members[i])];
        const HangProgress& progress = group.progress[i];
        const bool isKnownHere = rank.dump == DumpState::Read && progress.completed && progress.entered;
        auto& list = !isKnownHere                                 ? divergence.unknown
                     : *progress.completed >= divergence.sequence ? divergence.finished
                     : *progress.entered >= divergence.sequence   ? divergence.entered
                                                                  : divergence.notEntered;
        list.push_back(rank.rank);
        for (const HangRecord& record : rank.records)
            if (record.group == id && record.sequence == divergence.sequence && !record.isTransfer() &&
                divergence.operation.empty())
                divergence.operation = operationName(state.texts[record.name]);
    }
    return divergence;
}

HangFront frontOf(const HangState& state, const HangGroup& group)
{
    HangFront front{group.name, group.description, group.hasTransfers, {}, {}, {}, {}};
    for (std::size_t i = 0; i < group.members.size(); ++i) {
        const HangRank& rank = state.ranks[static_cast<std::size_t>(group.members[i])];
        front.ranks.push_back(rank.rank);
        const HangProgress progress = rank.dump == DumpState::Read ? group.progress[i] : HangProgress{};
        front.entered.push_back(progress.entered);
        front.started.push_back(progress.started);
        front.completed.push_back(progress.completed);
    }
    return front;
}

} // namespace

HangReport analyseHang(const std::vector<FlightDump>& dumps)
{
    HangReport report;
    HangState state = hangStateOf(dumps);
    // As the dumps say it, before the rules repair what frozen ranks could not mark.
    for (std::size_t g = 0; g < state.groups.size(); ++g) {
        report.fronts.push_back(frontOf(state, state.groups[g]));
        HangDivergence divergence = divergenceOf(state, state.groups[g], static_cast<std::int32_t>(g));
        if (divergence.sequence >= 0) report.divergences.push_back(std::move(divergence));
    }
    NamedRanks named;
    std::vector<OneOf> sets;
    nameFrozen(state, named);
    nameMissing(state, named);
    nameMismatched(state, named, sets);
    nameIdle(state, waitsOf(state, named), named);
    nameSkipped(state, named, sets);
    nameHostBehind(state, named);
    nameDeviceBehind(state, named);
    const std::vector<Wait> waits = waitsOf(state, named);
    nameRoots(state, waits, named, sets);
    dropExplained(sets, named);

    for (const auto& [rank, name] : named) report.suspects.push_back(suspectOf(state, rank, name));
    std::stable_sort(report.suspects.begin(), report.suspects.end(), [](const HangSuspect& a, const HangSuspect& b) {
        return std::pair(a.confidence, a.rank) < std::pair(b.confidence, b.rank);
    });
    for (const OneOf& set : sets) report.sets.push_back(setOf(state, set));
    report.chain = chainOf(state, waits, named, sets);
    for (const HangRank& rank : state.ranks) {
        report.ranks.push_back(rank.rank);
        if (rank.dump == DumpState::Unreadable) report.unreadable.push_back(rank.rank);
        if (rank.dump == DumpState::Missing) report.missing.push_back(rank.rank);
        if (!rank.stack.empty()) report.stacks.emplace(rank.rank, rank.stack);
    }
    for (const FlightDump& dump : dumps) {
        report.records += static_cast<std::int64_t>(dump.records.size());
        report.unreadableRecords += dump.unreadable;
    }
    report.contradictingGroups = state.contradictingGroups;
    return report;
}

} // namespace fourwalls::diagnose
