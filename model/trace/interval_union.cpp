// SPDX-License-Identifier: Apache-2.0
// Sorting and joining of the intervals of a union.
#include "model/trace/interval_union.h"

namespace fourwalls {

std::span<const TimeRange> IntervalUnion::ranges()
{
    if (!m_sorted) {
        std::sort(m_ranges.begin(), m_ranges.end(),
                  [](const TimeRange& a, const TimeRange& b) { return a.begin < b.begin; });
        std::size_t kept = 0;
        for (std::size_t i = 1; i < m_ranges.size(); ++i) {
            if (m_ranges[i].begin <= m_ranges[kept].end) {
                m_ranges[kept].end = std::max(m_ranges[kept].end, m_ranges[i].end);
            } else {
                m_ranges[++kept] = m_ranges[i];
            }
        }
        m_ranges.resize(kept + 1);
        m_sorted = true;
    }
    return m_ranges;
}

Duration IntervalUnion::length()
{
    Duration sum;
    for (const TimeRange& range : ranges()) sum += range.length();
    return sum;
}

Duration IntervalUnion::within(TimeRange range)
{
    const std::span<const TimeRange> all = ranges();
    auto at = std::lower_bound(all.begin(), all.end(), range.begin,
                               [](const TimeRange& each, Instant t) { return each.end <= t; });
    Duration sum;
    for (; at != all.end() && at->begin < range.end; ++at) sum += at->intersected(range).length();
    return sum;
}

} // namespace fourwalls
