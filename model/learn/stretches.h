// SPDX-License-Identifier: Apache-2.0
// Stretches of time that something was going on, and how much of another stretch they cover.
#pragma once

#include "model/base/time.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace fourwalls::learn {

class Stretches {
public:
    void add(Instant begin, Instant end)
    {
        if (end > begin) m_all.push_back({begin, end});
    }
    /// Makes them disjoint: once, before within().
    void join()
    {
        std::sort(m_all.begin(), m_all.end(), [](const TimeRange& a, const TimeRange& b) { return a.begin < b.begin; });
        std::size_t kept = 0;
        for (const TimeRange& each : m_all)
            if (kept > 0 && each.begin <= m_all[kept - 1].end)
                m_all[kept - 1].end = std::max(m_all[kept - 1].end, each.end);
            else
                m_all[kept++] = each;
        m_all.resize(kept);
    }
    /// Of a stretch, what is in these.
    Duration within(Instant begin, Instant end) const
    {
        auto at = std::lower_bound(m_all.begin(), m_all.end(), begin,
                                   [](const TimeRange& each, Instant t) { return each.end <= t; });
        Duration sum;
        for (; at != m_all.end() && at->begin < end; ++at)
            sum = sum + (std::min(at->end, end) - std::max(at->begin, begin));
        return sum;
    }

private:
    std::vector<TimeRange> m_all;
};

} // namespace fourwalls::learn
