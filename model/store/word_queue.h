// SPDX-License-Identifier: Apache-2.0
// A lock-free single-producer single-consumer queue of 64-bit words. Records are a few words each and appear to
// the consumer whole or not at all.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace fourwalls::store {

class WordQueue {
public:
    explicit WordQueue(std::size_t bytes)
        : m_capacity(std::bit_ceil(bytes < 4096 ? std::size_t{512} : bytes / 8))
        , m_mask(m_capacity - 1)
        , m_words(new std::uint64_t[m_capacity])
    {}

    /// Producer: puts all words or, when they do not fit, none.
    bool push(std::span<const std::uint64_t> words)
    {
        if (m_capacity - (m_writeAt - m_knownRead) < words.size()) {
            m_knownRead = m_read.load(std::memory_order_acquire);
            if (m_capacity - (m_writeAt - m_knownRead) < words.size()) return false;
        }
        for (std::size_t i = 0; i < words.size(); ++i) m_words[(m_writeAt + i) & m_mask] = words[i];
        m_writeAt += words.size();
        m_written.store(m_writeAt, std::memory_order_release);
        return true;
    }

    /// Producer: whether the queue looks more than half full. Refreshes its view of the consumer only then.
    bool halfFull()
    {
        if (m_writeAt - m_knownRead <= m_capacity / 2) return false;
        m_knownRead = m_read.load(std::memory_order_acquire);
        return m_writeAt - m_knownRead > m_capacity / 2;
    }

    /// Consumer: calls visit(word reader) for what is there now. visit takes words with `next` until `end`.
    class Reader {
    public:
        bool atEnd() const { return m_at == m_end; }
        std::uint64_t next() { return m_queue.m_words[m_at++ & m_queue.m_mask]; }

    private:
        friend class WordQueue;
        Reader(WordQueue& queue, std::size_t at, std::size_t end) : m_queue(queue), m_at(at), m_end(end) {}
        WordQueue& m_queue;
        std::size_t m_at, m_end;
    };

    Reader read() { return {*this, m_read.load(std::memory_order_relaxed), m_written.load(std::memory_order_acquire)}; }

    /// Consumer: gives the space of everything that the reader has taken back to the producer.
    void release(const Reader& reader) { m_read.store(reader.m_at, std::memory_order_release); }

    /// Producer: no more records will come.
    void close() { m_closed.store(true, std::memory_order_release); }
    bool closed() const { return m_closed.load(std::memory_order_acquire); }

private:
    const std::size_t m_capacity, m_mask;
    std::unique_ptr<std::uint64_t[]> m_words;
    alignas(64) std::atomic<std::size_t> m_written{0};
    std::size_t m_writeAt = 0, m_knownRead = 0; ///< the producer's own
    alignas(64) std::atomic<std::size_t> m_read{0};
    std::atomic<bool> m_closed{false};
};

} // namespace fourwalls::store
