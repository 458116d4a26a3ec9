// SPDX-License-Identifier: Apache-2.0
// Any number of rows in order, in bounded memory: they are sorted part by part, the parts go to a chunk store, and
// reading merges them.
#pragma once

#include "model/base/chunk_store.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace fourwalls {

/// Memory that rows may take before a part of them is sorted and put away.
inline constexpr std::size_t kSortedBytes = std::size_t{16} << 20;

/// Rows that Less calls equal come in any order. The chunk store must outlive this; after a failure of its file (see
/// its status) rows are missing.
template <class T, class Less = std::less<T>>
class SortedRows {
    static_assert(std::is_trivially_copyable_v<T>);

public:
    explicit SortedRows(ChunkStore& chunks, std::size_t mostInMemory = kSortedBytes / sizeof(T), Less less = {})
        : m_chunks(&chunks)
        , m_most(std::max<std::size_t>(mostInMemory, 1))
        , m_less(std::move(less))
    {}
    ~SortedRows() { clear(); }
    SortedRows(SortedRows&& other) noexcept
        : m_chunks(other.m_chunks)
        , m_most(other.m_most)
        , m_less(other.m_less)
        , m_rows(std::move(other.m_rows))
        , m_parts(std::exchange(other.m_parts, {}))
        , m_size(std::exchange(other.m_size, 0))
    {}
    SortedRows& operator=(SortedRows&&) = delete;

    void add(const T& row)
    {
        if (m_rows.size() >= m_most) putAway();
        m_rows.push_back(row);
        ++m_size;
    }
    std::size_t size() const { return m_size; }
    /// Gives all memory back.
    void clear()
    {
        std::vector<T>().swap(m_rows); // an assignment of {} would keep the memory
        for (ChunkStore::Stream& part : m_parts) m_chunks->drop(part);
        m_parts.clear();
        m_size = 0;
    }

    /// Reads the rows from the first on. Nothing may be added meanwhile.
    class Cursor {
    public:
        explicit Cursor(SortedRows& rows) : m_less(rows.m_less)
        {
            rows.sort();
            m_readers.reserve(rows.m_parts.size() + 1);
            for (const ChunkStore::Stream& part : rows.m_parts) m_readers.emplace_back(*rows.m_chunks, part.chunks);
            m_readers.emplace_back(rows.m_rows);
            for (std::size_t i = 0; i < m_readers.size(); ++i)
                if (m_readers[i].next()) m_heap.push_back(i);
            std::make_heap(m_heap.begin(), m_heap.end(), later());
        }
        /// The current row; null at the end.
        const T* get() const { return m_heap.empty() ? nullptr : &m_readers[m_heap.front()].row; }
        void next()
        {
            if (m_heap.size() == 1) {
                if (!m_readers[m_heap.front()].next()) m_heap.clear();
                return;
            }
            std::pop_heap(m_heap.begin(), m_heap.end(), later());
            if (m_readers[m_heap.back()].next())
                std::push_heap(m_heap.begin(), m_heap.end(), later());
            else
                m_heap.pop_back();
        }

    private:
        struct Reader {
            Reader(ChunkStore& store, const std::vector<ChunkStore::Chunk>& from) : chunks(&store), part(&from) {}
            explicit Reader(const std::vector<T>& rows)
                : bytes(reinterpret_cast<const char*>(rows.data()), rows.size() * sizeof(T))
            {}
            bool next()
            {
                while (bytes.size() < sizeof(T)) {
                    if (!part || chunk == part->size()) return false;
                    bytes = chunks->view((*part)[chunk++], buffer);
                }
                std::memcpy(&row, bytes.data(), sizeof(T));
                bytes.remove_prefix(sizeof(T));
                return true;
            }
            ChunkStore* chunks = nullptr;
            const std::vector<ChunkStore::Chunk>* part = nullptr;
            std::size_t chunk = 0;
            std::string buffer;
            std::string_view bytes;
            T row{};
        };
        auto later() const
        {
            return [this](std::size_t a, std::size_t b) { return m_less(m_readers[b].row, m_readers[a].row); };
        }
        Less m_less;
        std::vector<Reader> m_readers; ///< never moved: they look into their own buffers
        std::vector<std::size_t> m_heap;
    };

    template <class Visit>
    void forEach(Visit&& visit)
    {
        for (Cursor cursor(*this); const T* row = cursor.get(); cursor.next()) visit(*row);
    }

private:
    void sort()
    {
        if (!std::is_sorted(m_rows.begin(), m_rows.end(), m_less)) std::sort(m_rows.begin(), m_rows.end(), m_less);
    }
    void putAway()
    {
        sort();
        ChunkStore::Stream part;
        constexpr std::size_t kPerChunk = std::max<std::size_t>(1, ChunkStore::kChunkBytes / sizeof(T));
        for (std::size_t i = 0; i < m_rows.size(); i += kPerChunk) {
            part.tail.assign(reinterpret_cast<const char*>(m_rows.data() + i),
                             std::min(kPerChunk, m_rows.size() - i) * sizeof(T));
            m_chunks->seal(part);
        }
        std::string().swap(part.tail);
        m_parts.push_back(std::move(part));
        m_rows.clear();
    }

    ChunkStore* m_chunks;
    std::size_t m_most;
    Less m_less;
    std::vector<T> m_rows;
    std::vector<ChunkStore::Stream> m_parts;
    std::size_t m_size = 0;
};

} // namespace fourwalls
