// SPDX-License-Identifier: Apache-2.0
// Begins and ends, counted.
#include "model/import/spool/stream_captures.h"

#include <algorithm>
#include <iterator>

namespace fourwalls::importers {

void StreamCaptures::call(std::uint32_t thread, std::uint32_t string, std::string_view name, std::int64_t begin,
                          std::int64_t end)
{
    const auto [found, isNew] = m_kinds.try_emplace(string, 0);
    if (isNew)
        found->second = name.find("StreamBeginCapture") != std::string_view::npos ? 1
                        : name.find("StreamEndCapture") != std::string_view::npos ? -1
                                                                                  : 0;
    if (found->second != 0) m_changes[thread].push_back({found->second > 0 ? begin : end, found->second});
}

void StreamCaptures::finish()
{
    for (auto& [thread, changes] : m_changes) {
        std::stable_sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) { return a.at < b.at; });
        int open = 0;
        for (Change& change : changes) change.by = open = std::max(0, open + change.by);
    }
}

bool StreamCaptures::covers(std::uint32_t thread, std::int64_t at) const
{
    const auto found = m_changes.find(thread);
    if (found == m_changes.end()) return false;
    const auto behind = std::upper_bound(found->second.begin(), found->second.end(), at,
                                         [](std::int64_t time, const Change& change) { return time < change.at; });
    return behind != found->second.begin() && std::prev(behind)->by > 0;
}

} // namespace fourwalls::importers
