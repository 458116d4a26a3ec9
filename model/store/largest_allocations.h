// SPDX-License-Identifier: Apache-2.0
// Keeps the largest buffers of a scan of any length, so that a query over millions of them needs memory for the
// few that it returns.
#pragma once

#include "model/trace/trace_query.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace fourwalls::store {

class LargestAllocations {
public:
    explicit LargestAllocations(std::size_t limit) : m_limit(limit) {}

    void add(const AllocationView& view)
    {
        ++m_count;
        m_bytes += view.bytes;
        m_items.push_back(view);
        if (m_items.size() / 2 > std::max<std::size_t>(m_limit, 512)) keepLargest();
    }

    /// At most `limit` buffers, largest first, with the count and bytes of all that were added.
    AllocationList take()
    {
        keepLargest();
        std::sort(m_items.begin(), m_items.end(), larger);
        AllocationList list;
        list.totalCount = m_count;
        list.totalBytes = m_bytes;
        list.items = std::move(m_items);
        return list;
    }

private:
    static bool larger(const AllocationView& a, const AllocationView& b)
    {
        if (a.bytes != b.bytes) return a.bytes > b.bytes;
        return a.start != b.start ? a.start < b.start : a.id < b.id;
    }

    void keepLargest()
    {
        if (m_items.size() <= m_limit) return;
        const auto end = m_items.begin() + static_cast<std::ptrdiff_t>(m_limit);
        std::nth_element(m_items.begin(), end, m_items.end(), larger);
        m_items.erase(end, m_items.end());
    }

    std::size_t m_limit;
    std::int64_t m_count = 0, m_bytes = 0;
    std::vector<AllocationView> m_items;
};

} // namespace fourwalls::store
