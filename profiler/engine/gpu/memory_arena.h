// SPDX-License-Identifier: Apache-2.0
// A stretch of memory that is taken once and given out in pieces.
#pragma once

#include <cstdint>
#include <map>

namespace fourwalls::engine {

/// First fit; free neighbours are joined. One thread.
class MemoryArena {
public:
    MemoryArena(void* memory, std::int64_t bytes) : m_memory(memory) { m_free[static_cast<char*>(memory)] = bytes; }

    void* memory() const { return m_memory; }
    /// bytes > 0. Null: no stretch is free that is as long.
    void* take(std::int64_t bytes);
    /// Whether the piece is of this arena: it is free again then.
    bool give(void* piece);

private:
    using Stretches = std::map<char*, std::int64_t>; // with their lengths
    void* m_memory;
    Stretches m_free, m_taken;
};

} // namespace fourwalls::engine
