// SPDX-License-Identifier: Apache-2.0
// The stretch of buffers. The lock is held for a few instructions only and never while CUPTI is called.
#include "profiler/collect/module/buffer_pool.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>

namespace fourwalls::collect::module {

namespace {

// A burst touches many buffers; more free ones than this give their memory back.
constexpr std::size_t kWarmBuffers = 32;

} // namespace

BufferPool::~BufferPool()
{
    if (m_memory != nullptr) munmap(m_memory, m_count * kBufferBytes);
    std::free(m_free);
    std::free(m_filled);
}

bool BufferPool::reserve(std::uint64_t limitBytes, std::size_t ready)
{
    m_count = std::max<std::size_t>(2, limitBytes / kBufferBytes);
    void* memory = mmap(nullptr, m_count * kBufferBytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    m_free = static_cast<std::uint32_t*>(std::malloc(m_count * sizeof *m_free));
    m_filled = static_cast<FilledBuffer*>(std::malloc(m_count * sizeof *m_filled));
    if (memory == MAP_FAILED || m_free == nullptr || m_filled == nullptr) return false;
    m_memory = static_cast<std::uint8_t*>(memory);
    for (std::size_t i = 0; i < m_count; ++i) m_free[i] = static_cast<std::uint32_t>(m_count - 1 - i);
    m_freeCount = m_count;
    for (std::size_t i = 0; i < std::min(ready, m_count); ++i)
        std::memset(m_memory + i * kBufferBytes, 0, kBufferBytes);
    return true;
}

std::uint8_t* BufferPool::take()
{
    const Locked lock(m_mutex);
    if (m_freeCount == 0) return nullptr;
    ++m_outside;
    m_inUsePeak = std::max(m_inUsePeak, m_count - m_freeCount + 1);
    return m_memory + static_cast<std::size_t>(m_free[--m_freeCount]) * kBufferBytes;
}

bool BufferPool::complete(std::uint8_t* bytes, std::size_t valid)
{
    const auto offset = static_cast<std::size_t>(bytes - m_memory);
    if (bytes < m_memory || offset >= m_count * kBufferBytes || offset % kBufferBytes != 0) return false;
    const Locked lock(m_mutex);
    if (m_filledCount == m_count) return false;
    m_filled[(m_filledBegin + m_filledCount) % m_count] = {bytes, std::min(valid, kBufferBytes)};
    ++m_filledCount;
    m_outside -= m_outside > 0 ? 1 : 0;
    return true;
}

FilledBuffer BufferPool::nextFilled()
{
    const Locked lock(m_mutex);
    if (m_filledCount == 0) return {};
    const FilledBuffer result = m_filled[m_filledBegin];
    m_filledBegin = (m_filledBegin + 1) % m_count;
    --m_filledCount;
    return result;
}

void BufferPool::release(const FilledBuffer& buffer)
{
    // Zeroed again here, where it costs the program nothing: by hand, or by giving the pages back after a burst.
    bool cold = false;
    {
        const Locked lock(m_mutex);
        cold = m_freeCount > 0 && m_count - m_freeCount + kWarmBuffers < m_inUsePeak;
    }
    if (!cold || madvise(buffer.bytes, kBufferBytes, MADV_DONTNEED) != 0) std::memset(buffer.bytes, 0, buffer.valid);
    const Locked lock(m_mutex);
    m_free[m_freeCount++] =
        static_cast<std::uint32_t>((buffer.bytes - m_memory) / static_cast<std::ptrdiff_t>(kBufferBytes));
}

std::size_t BufferPool::outside() const
{
    const Locked lock(m_mutex);
    return m_outside;
}

std::size_t BufferPool::waiting() const
{
    const Locked lock(m_mutex);
    return m_filledCount;
}

std::uint64_t BufferPool::peakBytes() const
{
    const Locked lock(m_mutex);
    return static_cast<std::uint64_t>(m_inUsePeak) * kBufferBytes;
}

} // namespace fourwalls::collect::module
