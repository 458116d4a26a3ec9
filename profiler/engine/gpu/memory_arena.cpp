// SPDX-License-Identifier: Apache-2.0
// See memory_arena.h.
#include "profiler/engine/gpu/memory_arena.h"

#include <algorithm>
#include <iterator>

namespace fourwalls::engine {

void* MemoryArena::take(std::int64_t bytes)
{
    const auto found = std::ranges::find_if(m_free, [bytes](const auto& stretch) { return stretch.second >= bytes; });
    if (found == m_free.end()) return nullptr;
    const auto [begin, length] = *found;
    m_free.erase(found);
    if (length > bytes) m_free[begin + bytes] = length - bytes;
    m_taken[begin] = bytes;
    return begin;
}

bool MemoryArena::give(void* piece)
{
    const auto found = m_taken.find(static_cast<char*>(piece));
    if (found == m_taken.end()) return false;
    auto freed = m_free.insert(*found).first;
    m_taken.erase(found);
    if (const auto next = std::next(freed); next != m_free.end() && freed->first + freed->second == next->first) {
        freed->second += next->second;
        m_free.erase(next);
    }
    if (freed == m_free.begin()) return true;
    const auto before = std::prev(freed);
    if (before->first + before->second == freed->first) {
        before->second += freed->second;
        m_free.erase(freed);
    }
    return true;
}

} // namespace fourwalls::engine
