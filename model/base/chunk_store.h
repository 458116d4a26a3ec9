// SPDX-License-Identifier: Apache-2.0
// Many byte streams that are written first and read afterwards. Beyond a budget of memory their chunks move to an
// unnamed temporary file, so that importing and finishing a long trace need little memory.
#pragma once

#include "model/base/result.h"

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace fourwalls {

/// Threads may share a store; each stream is one thread's at a time.
class ChunkStore {
public:
    static constexpr std::size_t kChunkBytes = 32768;

    struct Chunk {
        std::string bytes;       ///< empty when it lies in the file
        std::int64_t offset = 0; ///< in the file
        std::size_t size = 0;
    };

    /// Bytes that are appended to `tail` directly; `grown` or `seal` is called now and then.
    struct Stream {
        std::vector<Chunk> chunks;
        std::string tail;
    };

    /// directory: where the temporary file goes when it is needed; empty: the system's folder for such files.
    /// budget: bytes kept in memory.
    ChunkStore(std::string directory, std::size_t budget) : m_directory(std::move(directory)), m_budget(budget) {}
    ~ChunkStore();
    ChunkStore(const ChunkStore&) = delete;
    ChunkStore& operator=(const ChunkStore&) = delete;

    /// Seals the tail when it has grown to a chunk.
    void grown(Stream& stream)
    {
        if (stream.tail.size() >= kChunkBytes) seal(stream);
    }
    /// The tail becomes a chunk, of whatever size.
    void seal(Stream& stream);
    /// Gives the stream's memory back.
    void drop(Stream& stream);
    /// The bytes of a sealed chunk, read into `buffer` if they lie in the file; empty after a failure (see status).
    std::string_view view(const Chunk& chunk, std::string& buffer);
    /// Changes bytes of a sealed chunk, from `at` on.
    void overwrite(Chunk& chunk, std::size_t at, std::string_view bytes);
    /// The first failure of the temporary file: what was read since is not to be trusted.
    Status status() const
    {
        const std::lock_guard lock(m_mutex);
        return m_status;
    }

private:
    // With the mutex held.
    bool openFile();
    bool spill(Chunk& chunk);
    bool writeAt(std::int64_t offset, std::string_view bytes);

    mutable std::mutex m_mutex; ///< guards everything below
    std::string m_directory;
    std::size_t m_budget;
    std::size_t m_held = 0;
    int m_file = -1;
    std::int64_t m_fileEnd = 0;
    Status m_status;
};

} // namespace fourwalls
