// SPDX-License-Identifier: Apache-2.0
// Chunks of events. A push takes its thread's shard for the time of a copy.
#include "profiler/collect/module/event_queue.h"

#include "profiler/collect/spool_file.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace fourwalls::collect::module {

namespace {

constexpr std::size_t kChunksKept = 32;

bool isEssential(RecordKind kind)
{
    return isKept(kind) || kind == RecordKind::StepMark || kind == RecordKind::ClockPair;
}

} // namespace

QueuedEvent measured(RecordKind kind, std::size_t structureBytes, const EventText* texts, std::size_t textCount,
                     std::size_t tailBytes)
{
    QueuedEvent event{};
    event.kind = static_cast<std::uint16_t>(kind);
    event.structureBytes = static_cast<std::uint16_t>(structureBytes);
    event.textCount = static_cast<std::uint16_t>(std::min(textCount, kMostTexts));
    event.tailBytes = static_cast<std::uint16_t>(std::min<std::size_t>(tailBytes, kLongestTail));
    std::size_t bytes = structureBytes + event.tailBytes;
    for (std::size_t i = 0; i < event.textCount; ++i) {
        event.fields[i] = static_cast<std::uint16_t>(texts[i].field);
        event.lengths[i] =
            static_cast<std::uint16_t>(texts[i].text == nullptr ? 0 : strnlen(texts[i].text, kLongestText));
        bytes += event.lengths[i] + 1U;
    }
    event.bytes = static_cast<std::uint32_t>(bytes);
    return event;
}

void copyBody(const QueuedEvent& event, const void* structure, const EventText* texts, const void* tail, std::byte* to)
{
    std::memcpy(to, structure, event.structureBytes);
    to += event.structureBytes;
    for (std::size_t i = 0; i < event.textCount; ++i) {
        if (event.lengths[i] > 0) std::memcpy(to, texts[i].text, event.lengths[i]);
        to[event.lengths[i]] = std::byte{0};
        to += event.lengths[i] + 1U;
    }
    if (event.tailBytes > 0) std::memcpy(to, tail, event.tailBytes);
}

EventQueue::~EventQueue()
{
    for (Shard& shard : m_shards) {
        while (shard.first != nullptr) {
            EventChunk* const next = shard.first->next;
            std::free(shard.first);
            shard.first = next;
        }
    }
    while (m_free != nullptr) {
        EventChunk* const next = m_free->next;
        std::free(m_free);
        m_free = next;
    }
}

EventChunk* EventQueue::newChunk(bool beyondLimit)
{
    const std::uint64_t used = m_usedBytes.fetch_add(sizeof(EventChunk)) + sizeof(EventChunk);
    if (used > m_limitBytes && !beyondLimit) {
        m_usedBytes.fetch_sub(sizeof(EventChunk));
        return nullptr;
    }
    std::uint64_t peak = m_peakBytes.load(std::memory_order_relaxed);
    while (used > peak && !m_peakBytes.compare_exchange_weak(peak, used, std::memory_order_relaxed)) {
    }
    EventChunk* chunk = nullptr;
    {
        const Locked lock(m_freeMutex);
        if (m_free != nullptr) {
            chunk = m_free;
            m_free = chunk->next;
            --m_freeCount;
        }
    }
    if (chunk == nullptr) chunk = static_cast<EventChunk*>(std::malloc(sizeof(EventChunk)));
    if (chunk == nullptr) {
        m_usedBytes.fetch_sub(sizeof(EventChunk));
        return nullptr;
    }
    chunk->next = nullptr;
    chunk->filled = 0;
    return chunk;
}

bool EventQueue::push(RecordKind kind, const void* structure, std::size_t structureBytes, const EventText* texts,
                      std::size_t textCount, const void* tail, std::size_t tailBytes)
{
    QueuedEvent event = measured(kind, structureBytes, texts, textCount, tailBytes);
    const std::size_t bytes = (sizeof event + event.bytes + 7) & ~std::size_t{7};
    event.bytes = static_cast<std::uint32_t>(bytes);

    Shard& shard = m_shards[threadId() % kShards];
    const Locked lock(shard.mutex);
    if (shard.last == nullptr || EventChunk::kBytes - shard.last->filled < bytes) {
        EventChunk* const chunk = newChunk(isEssential(kind));
        if (chunk == nullptr) {
            m_lost.fetch_add(1, std::memory_order_relaxed);
            return false;
        }
        (shard.last == nullptr ? shard.first : shard.last->next) = chunk;
        shard.last = chunk;
    }
    std::byte* const to = shard.last->bytes + shard.last->filled;
    std::memcpy(to, &event, sizeof event);
    copyBody(event, structure, texts, tail, to + sizeof event);
    shard.last->filled += bytes;
    return true;
}

EventChunk* EventQueue::takeAll()
{
    EventChunk* first = nullptr;
    EventChunk** end = &first;
    for (Shard& shard : m_shards) {
        const Locked lock(shard.mutex);
        *end = shard.first;
        if (shard.last != nullptr) end = &shard.last->next;
        shard.first = shard.last = nullptr;
    }
    return first;
}

void EventQueue::release(EventChunk* chunk)
{
    m_usedBytes.fetch_sub(sizeof(EventChunk));
    {
        const Locked lock(m_freeMutex);
        if (m_freeCount < kChunksKept) {
            chunk->next = m_free;
            m_free = chunk;
            ++m_freeCount;
            return;
        }
    }
    std::free(chunk);
}

} // namespace fourwalls::collect::module
