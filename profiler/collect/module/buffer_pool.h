// SPDX-License-Identifier: Apache-2.0
// Host buffers for CUPTI: one reserved stretch of memory cut into equal buffers, of which only the ones in use cost
// anything. CUPTI's callbacks take a buffer and hand a full one over; nothing else happens on the program's threads.
#pragma once

#include "profiler/collect/module/system.h"

#include <cstddef>
#include <cstdint>

namespace fourwalls::collect::module {

/// CUPTI advises 1 to 10 MB. It fills one for every thread that calls CUDA, and keeps one that holds an unfinished record:
/// a small one bounds what many threads take and what a kill loses.
inline constexpr std::size_t kBufferBytes = 1 << 20;

/// A buffer that CUPTI has filled.
struct FilledBuffer {
    std::uint8_t* bytes = nullptr;
    std::size_t valid = 0;
};

class BufferPool {
public:
    BufferPool() = default;
    BufferPool(const BufferPool&) = delete;
    BufferPool& operator=(const BufferPool&) = delete;
    ~BufferPool();

    /// Reserves as many buffers as `limitBytes` holds (two at least) and touches the first `ready` of them, so that the
    /// first launches do not pay for it. False: no memory.
    bool reserve(std::uint64_t limitBytes, std::size_t ready);

    /// A zeroed buffer of kBufferBytes, nullptr when all are in use.
    std::uint8_t* take();
    /// CUPTI is done with a buffer of take(). False: it is not one of ours.
    bool complete(std::uint8_t* bytes, std::size_t valid);
    /// The filled buffer that has waited longest; bytes == nullptr: none.
    FilledBuffer nextFilled();
    /// Gives a buffer of nextFilled() back.
    void release(const FilledBuffer& buffer);

    std::size_t outside() const;     ///< buffers that CUPTI holds
    std::size_t waiting() const;     ///< filled buffers that nobody has taken yet
    std::uint64_t peakBytes() const; ///< most memory in use at once

private:
    std::uint8_t* m_memory = nullptr;
    std::size_t m_count = 0;
    std::uint32_t* m_free = nullptr; // a stack: the last one given back is the next one taken
    std::size_t m_freeCount = 0;
    FilledBuffer* m_filled = nullptr; // a ring
    std::size_t m_filledBegin = 0;
    std::size_t m_filledCount = 0;
    std::size_t m_outside = 0;
    std::size_t m_inUsePeak = 0;
    mutable Mutex m_mutex;
};

} // namespace fourwalls::collect::module
