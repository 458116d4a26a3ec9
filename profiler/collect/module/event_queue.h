// SPDX-License-Identifier: Apache-2.0
// Events of the program's own threads (NVTX, NCCL, messages) on their way to the writer: copied into chunks, one open
// chunk per shard of threads, so that threads rarely meet at a lock and each thread's events stay in order. Texts travel
// with the event and get their string ids from the writer.
#pragma once

#include "profiler/collect/module/system.h"
#include "profiler/collect/spool_format.h"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace fourwalls::collect::module {

/// A text of an event: the writer puts its string id into the structure's field at `field` [byte offset].
struct EventText {
    const char* text = nullptr; ///< nullptr or empty: the field stays 0
    std::size_t field = 0;
};

inline constexpr std::size_t kLargestStructure = 128;
inline constexpr std::size_t kMostTexts = 4;
inline constexpr std::size_t kLongestText = 4096; ///< longer ones are cut

/// An event as it lies in a chunk: this, the structure, the texts (each zero-terminated), the tail; padded to 8.
struct QueuedEvent {
    std::uint32_t bytes; ///< of all of it
    std::uint16_t kind;
    std::uint16_t structureBytes;
    std::uint16_t textCount;
    std::uint16_t tailBytes;
    std::uint16_t fields[kMostTexts];
    std::uint16_t lengths[kMostTexts]; ///< without the zero
    std::uint32_t reserved;
};
static_assert(sizeof(QueuedEvent) == 32);

/// The head of an event with the lengths of what follows it; `bytes` is that of structure, texts and tail alone.
QueuedEvent measured(RecordKind kind, std::size_t structureBytes, const EventText* texts, std::size_t textCount,
                     std::size_t tailBytes);
/// Writes structure, texts and tail to `to`, as measured() found their lengths.
void copyBody(const QueuedEvent& event, const void* structure, const EventText* texts, const void* tail, std::byte* to);

struct EventChunk {
    static constexpr std::size_t kBytes = (128 << 10) - 24;
    EventChunk* next = nullptr;
    std::size_t filled = 0;
    std::size_t reserved = 0;
    alignas(8) std::byte bytes[kBytes];
};

class EventQueue {
public:
    EventQueue() = default;
    EventQueue(const EventQueue&) = delete;
    EventQueue& operator=(const EventQueue&) = delete;
    ~EventQueue();

    /// What the queue may take [bytes]. A chunk per shard of it is kept for what is said about the recording (messages,
    /// windows, steps, clocks: they are few), which finds room even beyond the limit.
    void limit(std::uint64_t bytes) { m_limitBytes = bytes - kShards * sizeof(EventChunk); }

    /// Copies an event into the queue. False: the queue is full and the event is lost (lost() counts it).
    bool push(RecordKind kind, const void* structure, std::size_t structureBytes, const EventText* texts,
              std::size_t textCount, const void* tail, std::size_t tailBytes);

    /// Everything queued so far, as a list of chunks for one reader, who gives each back with release().
    EventChunk* takeAll();
    void release(EventChunk* chunk);

    std::uint64_t lost() const { return m_lost.load(std::memory_order_relaxed); }
    std::uint64_t peakBytes() const { return m_peakBytes.load(std::memory_order_relaxed); }

private:
    static constexpr std::size_t kShards = 16;
    struct alignas(64) Shard {
        Mutex mutex;
        EventChunk* first = nullptr;
        EventChunk* last = nullptr;
    };

    EventChunk* newChunk(bool beyondLimit);

    Shard m_shards[kShards];
    Mutex m_freeMutex;
    EventChunk* m_free = nullptr;
    std::size_t m_freeCount = 0;
    std::uint64_t m_limitBytes = 64ULL << 20;
    std::atomic<std::uint64_t> m_usedBytes{0};
    std::atomic<std::uint64_t> m_peakBytes{0};
    std::atomic<std::uint64_t> m_lost{0};
};

} // namespace fourwalls::collect::module
