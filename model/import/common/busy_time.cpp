// SPDX-License-Identifier: Apache-2.0
// Intervals are joined in memory as long as there are few, then in a temporary file.
#include "model/import/common/busy_time.h"

#include <algorithm>
#include <type_traits>

namespace fourwalls::importers {

namespace {

/// Sorts intervals and joins those that overlap or touch.
template <class Time>
void compact(std::vector<std::pair<Time, Time>>& intervals)
{
    std::sort(intervals.begin(), intervals.end());
    std::size_t kept = 0;
    for (std::size_t i = 1; i < intervals.size(); ++i) {
        if (!(intervals[kept].second < intervals[i].first))
            intervals[kept].second = std::max(intervals[kept].second, intervals[i].second);
        else
            intervals[++kept] = intervals[i];
    }
    if (!intervals.empty()) intervals.resize(kept + 1);
}

/// Kept in memory.
constexpr std::size_t kMostIntervals = std::size_t{1} << 18;
constexpr std::size_t kIntervalBudget = std::size_t{8} << 20;

} // namespace

BusyTime::Rest::Rest(const std::string& folder)
    : chunks(folder, kIntervalBudget)
    , intervals(chunks, kIntervalBudget / sizeof(Interval))
{}

template <class Time>
void BusyTime::putAway(Intervals<Time>& intervals)
{
    if (!m_rest) m_rest = std::make_unique<Rest>(m_folder);
    for (const auto& [begin, end] : intervals) {
        if constexpr (std::is_same_v<Time, FineTime>)
            m_rest->intervals.add({begin, end});
        else
            m_rest->intervals.add({{begin, 0}, {end, 0}});
    }
    intervals.clear();
}

template <class Time>
void BusyTime::add(Intervals<Time>& intervals, Time begin, Time end)
{
    if (!intervals.empty()) {
        auto& last = intervals.back();
        if (!(begin < last.first) && !(last.second < begin)) {
            last.second = std::max(last.second, end);
            return;
        }
    }
    intervals.emplace_back(begin, end);
    if (intervals.size() >= m_compactAt) {
        compact(intervals);
        if (intervals.size() >= kMostIntervals) putAway(intervals);
        m_compactAt = std::max<std::size_t>(4096, intervals.size() * 2);
    }
}

void BusyTime::add(FineTime begin, FineTime end)
{
    if (m_fine.empty() && begin.ps == 0 && end.ps == 0) return add(m_plain, begin.ns, end.ns);
    for (const auto& [from, to] : m_plain) m_fine.emplace_back(FineTime{from, 0}, FineTime{to, 0});
    Intervals<std::int64_t>().swap(m_plain);
    add(m_fine, begin, end);
}

std::optional<std::int64_t> BusyTime::total()
{
    compact(m_plain);
    compact(m_fine);
    DurationSum sum;
    if (m_rest) {
        putAway(m_plain);
        putAway(m_fine);
        std::optional<Interval> joined;
        m_rest->intervals.forEach([&](const Interval& next) {
            if (joined && !(joined->end < next.begin)) {
                joined->end = std::max(joined->end, next.end);
                return;
            }
            if (joined) sum.add(joined->end - joined->begin);
            joined = next;
        });
        if (joined) sum.add(joined->end - joined->begin);
        return m_rest->chunks.status().ok() ? std::optional(sum.rounded()) : std::nullopt;
    }
    for (const auto& [begin, end] : m_plain) sum.add(FineTime{end - begin, 0});
    for (const auto& [begin, end] : m_fine) sum.add(end - begin);
    return sum.rounded();
}

} // namespace fourwalls::importers
