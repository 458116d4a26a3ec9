// SPDX-License-Identifier: Apache-2.0
// See hang_rows.h.
#include "model/present/hang_rows.h"

#include <algorithm>
#include <map>
#include <set>

namespace fourwalls {

namespace {

using diagnose::HangFront;
using diagnose::HangReport;

constexpr int kFewestCells = 4, kMostCells = 12;

const std::string& kindOf(const HangFront& front)
{
    return front.description.empty() ? front.group : front.description;
}

struct Kind {
    std::map<int, HangLag> lags; ///< by rank
    std::set<std::int64_t> newest;
    std::int64_t most = 0; ///< largest distance from the newest operation
};

/// A rank that is in two groups of a kind shows the one in which it is further behind.
void take(Kind& kind, int rank, const HangLag& lag)
{
    const auto [found, isNew] = kind.lags.try_emplace(rank, lag);
    if (!isNew && lag.completed.value_or(-1) > found->second.completed.value_or(-1)) found->second = lag;
}

std::map<std::string, Kind> kindsOf(const HangReport& report)
{
    std::map<std::string, Kind> kinds;
    for (const HangFront& front : report.fronts) {
        if (front.countsTransfers || front.ranks.size() < 2) continue;
        std::int64_t newest = -1;
        for (const auto& entered : front.entered) newest = std::max(newest, entered.value_or(-1));
        if (newest < 0) continue;
        Kind& kind = kinds[kindOf(front)];
        kind.newest.insert(newest);
        for (std::size_t i = 0; i < front.ranks.size(); ++i) {
            HangLag lag;
            if (front.entered[i]) lag.entered = newest - *front.entered[i];
            if (front.completed[i]) lag.completed = newest - *front.completed[i];
            kind.most = std::max({kind.most, lag.entered.value_or(0), lag.completed.value_or(0)});
            take(kind, front.ranks[i], lag);
        }
    }
    return kinds;
}

std::set<std::string> kindsThatAreNamed(const HangReport& report)
{
    std::set<std::string> names;
    const auto add = [&](const diagnose::HangPlace& place) {
        names.insert(place.description.empty() ? place.group : place.description);
    };
    for (const diagnose::HangSuspect& each : report.suspects) add(each.place);
    for (const diagnose::HangSet& each : report.sets) add(each.place);
    return names;
}

} // namespace

HangCell HangRow::cell(const HangColumn& column, std::size_t index, int cell) const
{
    const HangLag& lag = lags[index];
    const std::int64_t back = column.cells - 1 - cell; // behind the newest one
    if (!lag.entered && !lag.completed) return HangCell::Unknown;
    if (lag.completed && back >= *lag.completed) return HangCell::Finished;
    if (lag.entered && back >= *lag.entered) return HangCell::Entered;
    return HangCell::NotEntered;
}

HangRows hangRows(const HangReport& report, bool folded)
{
    HangRows rows;
    const std::map<std::string, Kind> kinds = kindsOf(report);
    const std::set<std::string> named = kindsThatAreNamed(report);
    std::vector<std::pair<std::string, const Kind*>> sorted;
    for (const auto& [name, kind] : kinds) {
        const auto differs = [first = kind.lags.begin()->second](const auto& each) { return each.second != first; };
        const bool isOpen = kind.lags.begin()->second.completed != std::optional<std::int64_t>(0);
        if (named.count(name) == 0 && !isOpen && std::none_of(kind.lags.begin(), kind.lags.end(), differs))
            ++rows.agreeing;
        else
            sorted.emplace_back(name, &kind);
    }
    std::stable_sort(sorted.begin(), sorted.end(), [&](const auto& a, const auto& b) {
        return std::pair(named.count(a.first), a.second->most) > std::pair(named.count(b.first), b.second->most);
    });
    for (const auto& [name, kind] : sorted) {
        HangColumn column{name, 1, {}};
        column.cells = static_cast<int>(std::clamp<std::int64_t>(kind->most + 2, kFewestCells, kMostCells));
        if (kind->newest.size() == 1) column.newest = *kind->newest.begin();
        rows.columns.push_back(std::move(column));
    }

    std::map<int, HangRowKind> special;
    for (const diagnose::HangSet& set : report.sets)
        for (const int rank : set.ranks) special[rank] = HangRowKind::InSet;
    for (const int rank : report.missing) special[rank] = HangRowKind::Missing;
    for (const int rank : report.unreadable) special[rank] = HangRowKind::Unreadable;
    for (const diagnose::HangSuspect& each : report.suspects)
        if (special[each.rank] != HangRowKind::Missing) special[each.rank] = HangRowKind::Named;

    std::map<std::pair<HangRowKind, std::vector<HangLag>>, std::size_t> known;
    for (const int rank : report.ranks) {
        HangRow row{{rank}, HangRowKind::Usual, {}};
        if (const auto found = special.find(rank); found != special.end()) row.kind = found->second;
        for (const auto& [name, kind] : sorted) {
            const auto found = kind->lags.find(rank);
            row.lags.push_back(found == kind->lags.end() ? HangLag{} : found->second);
        }
        const bool isAlone = !folded || row.kind == HangRowKind::Named;
        if (!isAlone) {
            const auto [found, isNew] = known.try_emplace({row.kind, row.lags}, rows.rows.size());
            if (!isNew) {
                rows.rows[found->second].ranks.push_back(rank);
                continue;
            }
        }
        rows.rows.push_back(std::move(row));
    }
    if (folded)
        std::stable_partition(rows.rows.begin(), rows.rows.end(),
                              [](const HangRow& row) { return row.kind != HangRowKind::Usual; });
    return rows;
}

} // namespace fourwalls
