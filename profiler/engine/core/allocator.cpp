// SPDX-License-Identifier: Apache-2.0
// See allocator.h. Blocks of one segment form a doubly linked list by address.
#include "profiler/engine/core/allocator.h"

#include "model/base/format.h"
#include "profiler/engine/core/engine_error.h"
#include "profiler/engine/core/out_of_memory.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <string>
#include <sys/mman.h>

namespace fourwalls::engine {

struct Allocator::Block {
    char* data = nullptr;
    std::int64_t size = 0; // of the block, a multiple of kAlignment
    std::int64_t requested = 0;
    Block* previous = nullptr;
    Block* next = nullptr;
    bool used = false;
    std::size_t sizeClass = 0;
    RankMemory* device = nullptr; // whose memory only the device reads
    MemoryCategory category = MemoryCategory::Other;
    AllocationId id;
};

namespace {

// What matrix products on a GPU want of their operands' addresses.
constexpr std::int64_t kDeviceAlignment = 256;

} // namespace

bool Allocator::BySizeThenAddress::operator()(const Block* a, const Block* b) const
{
    if (a->size != b->size) return a->size < b->size;
    return std::less<const char*>{}(a->data, b->data);
}

Allocator::Allocator(Recorder& recorder, std::int64_t limitBytes, Pool pool, RankMemory* memory)
    : m_recorder(recorder)
    , m_limit(limitBytes)
    , m_pool(pool)
    , m_memory(memory)
    , m_counter(
          recorder.defineCounter(pool == Pool::Device ? "reserved_bytes" : "host_bytes", CounterUnit::Bytes, true))
{}

void Allocator::reportReserved()
{
    if (m_pool == Pool::Device)
        m_recorder.counter(m_counter, m_recorder.now(), static_cast<double>(m_statistics.reserved));
}

void Allocator::reportHost()
{
    m_recorder.counter(m_counter, m_recorder.now(), static_cast<double>(m_statistics.allocated));
}

Allocator::~Allocator()
{
    for (Block* first : m_segments) {
        giveSegment(first);
        while (first) {
            Block* next = first->next;
            delete first;
            first = next;
        }
    }
}

void* Allocator::address(const Block* block)
{
    return block->data;
}

RankMemory* Allocator::deviceMemory(const Block* block)
{
    return block->device;
}

void* Allocator::takeSegment(std::int64_t bytes, bool onHost)
{
    if (m_memory) return m_memory->take(bytes, onHost ? RankMemory::Place::Host : RankMemory::Place::Device);
    // Segments start on huge-page boundaries, so that the system can back them with huge pages.
    void* data = std::aligned_alloc(2 << 20, static_cast<std::size_t>(bytes));
    if (data) madvise(data, static_cast<std::size_t>(bytes), MADV_HUGEPAGE); // fewer page faults; a hint, it may fail
    return data;
}

void Allocator::giveSegment(Block* first)
{
    if (m_memory)
        m_memory->give(first->data, first->device ? RankMemory::Place::Device : RankMemory::Place::Host);
    else
        std::free(first->data);
}

Allocator::Block* Allocator::takeFree(std::int64_t size, std::size_t sizeClass)
{
    Block probe;
    probe.size = size;
    FreeSet& set = m_free[sizeClass];
    const auto found = set.lower_bound(&probe);
    if (found == set.end()) return nullptr;
    Block* block = *found;
    set.erase(found);
    return block;
}

Allocator::Block* Allocator::newSegment(std::int64_t size, std::size_t sizeClass)
{
    const bool small = sizeClass & 1, onHost = m_memory && (sizeClass & 2);
    const std::int64_t bytes = small ? kSmallSegment : std::max(roundUp(size, kSmallSegment), kLargeSegment);
    if (!onHost && m_limit > 0 && m_statistics.reserved + bytes > m_limit) return nullptr;
    char* data = static_cast<char*>(takeSegment(bytes, onHost));
    if (!data) return nullptr;
    auto* block = new Block;
    block->data = data;
    block->size = bytes;
    block->sizeClass = sizeClass;
    block->device = m_memory && !onHost ? m_memory : nullptr;
    m_segments.push_back(block);
    ++m_statistics.systemAllocations;
    if (onHost) return block;
    m_statistics.reserved += bytes;
    m_statistics.peakReserved = std::max(m_statistics.peakReserved, m_statistics.reserved);
    reportReserved();
    return block;
}

void Allocator::split(Block* block, std::int64_t size)
{
    // A remainder that nobody of this size class would ask for stays with the block.
    const std::int64_t rest = block->size - size;
    if (rest < (block->sizeClass & 1 ? kAlignment : kSmallLimit)) return;
    auto* tail = new Block;
    tail->data = block->data + size;
    tail->size = rest;
    tail->sizeClass = block->sizeClass;
    tail->device = block->device;
    tail->previous = block;
    tail->next = block->next;
    if (tail->next) tail->next->previous = tail;
    block->next = tail;
    block->size = size;
    m_free[block->sizeClass].insert(tail);
}

Allocator::Block* Allocator::allocate(std::int64_t bytes, MemoryCategory category, bool hostReads)
{
    const std::int64_t alignment = m_memory ? kDeviceAlignment : kAlignment;
    const std::int64_t size = std::max(roundUp(bytes, alignment), alignment);
    const bool small = size <= kSmallLimit;
    const std::size_t sizeClass = classOf(small, m_memory && (hostReads || m_pool == Pool::Host));
    reclaimPassed();
    Block* block = takeFree(size, sizeClass);
    if (!block) block = newSegment(size, sizeClass);
    if (!block) {
        trim();
        block = newSegment(size, sizeClass);
    }
    if (!block) {
        const std::string what = std::string(kOutOfMemory) + ": " + formatBytes(static_cast<double>(bytes)) + " of " +
                                 std::string(name(category)) + " asked for, " +
                                 formatBytes(static_cast<double>(m_statistics.allocated)) + " in use, " +
                                 formatBytes(static_cast<double>(m_statistics.reserved)) + " reserved";
        // Before anything is freed on the way out.
        m_recorder.event(EventKind::OutOfMemory, what);
        throw EngineError(ErrorCode::Internal, what, "rank " + std::to_string(m_recorder.rank().value),
                          "a smaller batch, a shorter sequence or a smaller model");
    }
    split(block, size);
    block->used = true;
    block->requested = bytes;
    block->category = category;
    block->id = AllocationId{m_nextId++};

    auto& s = m_statistics;
    const auto c = static_cast<std::size_t>(category);
    s.allocated += bytes;
    s.peakAllocated = std::max(s.peakAllocated, s.allocated);
    s.current[c] += bytes;
    s.categoryPeaks[c] = std::max(s.categoryPeaks[c], s.current[c]);
    ++s.liveBuffers;
    if (m_pool == Pool::Host)
        reportHost();
    else
        m_recorder.allocated(block->id, bytes, block->data, category);
    return block;
}

void Allocator::free(Block* block)
{
    if (m_pool == Pool::Device) m_recorder.freed(block->id);
    m_statistics.allocated -= block->requested;
    m_statistics.current[static_cast<std::size_t>(block->category)] -= block->requested;
    --m_statistics.liveBuffers;
    if (m_pool == Pool::Host) reportHost();

    if (m_memory && !block->device) // the host may write it at once when it gets it again
        m_leaving.emplace_back(m_memory->fence(), block);
    else
        putBack(block);
}

void Allocator::reclaimPassed()
{
    while (!m_leaving.empty() && m_memory->passed(m_leaving.front().first)) {
        putBack(m_leaving.front().second);
        m_leaving.pop_front();
    }
}

void Allocator::putBack(Block* block)
{
    block->used = false;
    FreeSet& set = m_free[block->sizeClass];
    if (Block* next = block->next; next && !next->used) {
        set.erase(next);
        block->size += next->size;
        block->next = next->next;
        if (block->next) block->next->previous = block;
        delete next;
    }
    if (Block* previous = block->previous; previous && !previous->used) {
        set.erase(previous);
        previous->size += block->size;
        previous->next = block->next;
        if (previous->next) previous->next->previous = previous;
        delete block;
        block = previous;
    }
    set.insert(block);
}

void Allocator::trim()
{
    if (m_memory) m_memory->settleAll(); // what is given back is no longer in use
    reclaimPassed();
    const std::size_t released = std::erase_if(m_segments, [this](Block* first) {
        if (first->used || first->next) return false;
        m_free[first->sizeClass].erase(first);
        if (!m_memory || first->device) m_statistics.reserved -= first->size;
        giveSegment(first);
        delete first;
        return true;
    });
    if (released > 0) reportReserved();
}

void Allocator::resetPeaks()
{
    m_statistics.peakAllocated = m_statistics.allocated;
    m_statistics.peakReserved = m_statistics.reserved;
    m_statistics.categoryPeaks = m_statistics.current;
}

} // namespace fourwalls::engine
