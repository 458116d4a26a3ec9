// SPDX-License-Identifier: Apache-2.0
// Sorting by stack and time, then matching like brackets: an end closes the latest begin, whatever its name.
#include "model/import/duration_pairs.h"

#include <algorithm>
#include <tuple>

namespace fourwalls::importers {

void DurationPairs::pair()
{
    std::stable_sort(m_marks.begin(), m_marks.end(),
                     [](const Mark& a, const Mark& b) { return std::tie(a.key, a.at) < std::tie(b.key, b.at); });
    for (std::size_t i = 0; i < m_marks.size();) {
        const std::uint64_t key = m_marks[i].key;
        std::vector<Open>& open = m_open[key];
        for (; i < m_marks.size() && m_marks[i].key == key; ++i) {
            const Mark& mark = m_marks[i];
            if (mark.op >= 0) {
                open.push_back({mark.at, mark.lane, mark.op});
            } else if (open.empty()) {
                ++m_endsWithoutBegin;
            } else {
                const Open begun = open.back();
                open.pop_back();
                if (mark.at < begun.at) ++m_lateEvents;
                m_emit({begun.lane, OpId{begun.op}, begun.at, std::max(begun.at, mark.at)});
            }
        }
        if (open.empty()) m_open.erase(key);
    }
    m_marks.clear();
}

void DurationPairs::finish(std::int64_t last)
{
    pair();
    for (const auto& [key, open] : m_open) {
        for (const Open& begun : open) {
            ++m_beginsWithoutEnd;
            m_emit({begun.lane, OpId{begun.op}, begun.at, std::max(begun.at, last)});
        }
    }
    m_open.clear();
    m_marks = {};
}

} // namespace fourwalls::importers
