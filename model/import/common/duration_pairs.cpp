// SPDX-License-Identifier: Apache-2.0
// Sorting by stack and time, then matching like brackets: an end closes the latest begin. Names only tell which ends are
// too many: tracers write other names at ends, or none.
#include "model/import/common/duration_pairs.h"

#include <algorithm>
#include <cstddef>
#include <tuple>

namespace fourwalls::importers {

bool DurationPairs::isOpen(const std::vector<Open>& open, std::int32_t name) const
{
    return std::any_of(open.begin(), open.end(), [&](const Open& begun) {
        const auto found = m_names.find(begun.op);
        return found == m_names.end() || found->second == name;
    });
}

void DurationPairs::pair()
{
    std::stable_sort(m_marks.begin(), m_marks.end(),
                     [](const Mark& a, const Mark& b) { return std::tie(a.key, a.at) < std::tie(b.key, b.at); });
    for (std::size_t i = 0; i < m_marks.size();) {
        const std::uint64_t key = m_marks[i].key;
        std::vector<Open>& open = m_open[key];
        std::ptrdiff_t surplus = -static_cast<std::ptrdiff_t>(open.size()); // ends beyond begins
        for (std::size_t k = i; k < m_marks.size() && m_marks[k].key == key; ++k) surplus += m_marks[k].op < 0 ? 1 : -1;
        for (; i < m_marks.size() && m_marks[i].key == key; ++i) {
            const Mark& mark = m_marks[i];
            if (mark.op >= 0) {
                open.push_back({mark.at, mark.lane, mark.op});
            } else if (open.empty() || (surplus > 0 && mark.lane != 0 && !isOpen(open, mark.lane))) {
                ++m_endsWithoutBegin;
                --surplus;
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
