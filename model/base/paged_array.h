// SPDX-License-Identifier: Apache-2.0
// An array that only grows, in bounded memory: full pages go to a chunk store, and those read last are kept at hand.
#pragma once

#include "model/base/chunk_store.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace fourwalls {

/// Reading in order, or near to what was read last, is cheap. The chunk store must outlive this; after a failure of its
/// file (see its status) elements read as T{}.
template <class T>
class PagedArray {
    static_assert(std::is_trivially_copyable_v<T>);

public:
    static constexpr std::size_t kPerPage = std::max<std::size_t>(1, ChunkStore::kChunkBytes / sizeof(T));

    explicit PagedArray(ChunkStore& chunks) : m_chunks(&chunks) {}
    ~PagedArray() { m_chunks->drop(m_pages); }
    PagedArray(const PagedArray&) = delete;
    PagedArray& operator=(const PagedArray&) = delete;

    void push_back(const T& element)
    {
        m_pages.tail.append(reinterpret_cast<const char*>(&element), sizeof(T));
        if (++m_size % kPerPage == 0) m_chunks->seal(m_pages);
    }
    std::size_t size() const { return m_size; }
    bool empty() const { return m_size == 0; }

    T operator[](std::size_t index) const
    {
        const std::size_t page = index / kPerPage;
        const std::string_view bytes = page < m_pages.chunks.size() ? pageAt(page) : std::string_view(m_pages.tail);
        T element{};
        const std::size_t at = index % kPerPage * sizeof(T);
        if (at + sizeof(T) <= bytes.size()) std::memcpy(&element, bytes.data() + at, sizeof(T));
        return element;
    }

    void set(std::size_t index, const T& element)
    {
        const std::size_t page = index / kPerPage, at = index % kPerPage * sizeof(T);
        const std::string_view bytes(reinterpret_cast<const char*>(&element), sizeof(T));
        if (page < m_pages.chunks.size()) {
            m_chunks->overwrite(m_pages.chunks[page], at, bytes);
            if (!m_cache.empty() && m_cache[page % kCached].page == page) m_cache[page % kCached] = {};
        } else if (at + sizeof(T) <= m_pages.tail.size()) {
            m_pages.tail.replace(at, sizeof(T), bytes);
        }
    }

    /// Gives all memory back.
    void clear()
    {
        m_chunks->drop(m_pages);
        m_cache = {};
        m_size = 0;
    }

private:
    static constexpr std::size_t kCached = 32;
    struct Cached {
        std::size_t page = std::numeric_limits<std::size_t>::max();
        std::string buffer;
        std::string_view bytes;
    };

    std::string_view pageAt(std::size_t page) const
    {
        const ChunkStore::Chunk& chunk = m_pages.chunks[page];
        if (!chunk.bytes.empty()) return chunk.bytes;
        if (m_cache.empty()) m_cache.resize(kCached);
        Cached& cached = m_cache[page % kCached];
        if (cached.page != page) {
            cached.bytes = m_chunks->view(chunk, cached.buffer);
            cached.page = page;
        }
        return cached.bytes;
    }

    ChunkStore* m_chunks;
    ChunkStore::Stream m_pages;
    std::size_t m_size = 0;
    mutable std::vector<Cached> m_cache;
};

} // namespace fourwalls
