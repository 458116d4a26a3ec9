// SPDX-License-Identifier: Apache-2.0
// Many byte streams that are written first and read afterwards. Beyond a budget of memory their chunks move to an
// unnamed temporary file, so that finishing a long trace needs little memory.
#pragma once

#include "model/base/result.h"
#include "model/store/codec.h"
#include "model/store/stored_rows.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace fourwalls::store {

class ChunkStore {
public:
    struct Chunk {
        std::string bytes;        ///< empty when it lies in the file
        std::int64_t offset = 0;  ///< in the file
        std::size_t size = 0;
    };

    /// Bytes that are appended to `tail` directly; `seal` is called now and then.
    struct Stream {
        std::vector<Chunk> chunks;
        std::string tail;
    };

    /// directory: where the temporary file goes when it is needed. budget: bytes kept in memory.
    ChunkStore(std::string directory, std::size_t budget) : m_directory(std::move(directory)), m_budget(budget) {}
    ~ChunkStore();
    ChunkStore(const ChunkStore&) = delete;
    ChunkStore& operator=(const ChunkStore&) = delete;

    /// Seals the tail when it has grown large.
    void grown(Stream& stream)
    {
        if (stream.tail.size() >= kChunkBytes) seal(stream);
    }
    void seal(Stream& stream);
    /// Gives the stream's memory back.
    void drop(Stream& stream);
    /// Reads a sealed chunk into `bytes`; false after a failure of the file (see status).
    bool load(const Chunk& chunk, std::string& bytes);
    Status status() const { return m_status; }

private:
    static constexpr std::size_t kChunkBytes = 32768;
    bool spill(Chunk& chunk);

    std::string m_directory;
    std::size_t m_budget;
    std::size_t m_held = 0;
    int m_file = -1;
    std::int64_t m_fileEnd = 0;
    Status m_status;
};

/// Slices by start, appended to a stream.
struct SliceStream {
    ChunkStore::Stream bytes;
    std::int64_t count = 0;
    std::int64_t previous = 0;

    void add(ChunkStore& store, const SliceRow& row);
};

/// Reads a SliceStream from the front.
class SliceCursor {
public:
    SliceCursor(ChunkStore& store, const SliceStream& stream);
    /// The current slice; null at the end.
    const SliceRow* get() const { return m_valid ? &m_row : nullptr; }
    void next();

private:
    ChunkStore& m_store;
    const SliceStream& m_stream;
    std::size_t m_chunk = 0;
    std::string m_bytes;
    Decoder m_in{{}};
    std::int64_t m_left;
    std::int64_t m_previous = 0;
    SliceRow m_row;
    bool m_valid = false;
};

} // namespace fourwalls::store
