// SPDX-License-Identifier: Apache-2.0
// Chunks in memory or in a file.
#include "model/base/chunk_store.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

namespace fourwalls {

ChunkStore::~ChunkStore()
{
    if (m_file >= 0) ::close(m_file);
}

bool ChunkStore::openFile()
{
    if (m_file >= 0) return true;
    if (m_directory.empty()) {
        std::error_code failure;
        m_directory = std::filesystem::temp_directory_path(failure).string();
        if (failure) m_directory = "/tmp";
    }
    std::string name = m_directory + "/fourwalls-chunks-XXXXXX";
    m_file = ::mkostemp(name.data(), O_CLOEXEC);
    if (m_file >= 0) ::unlink(name.c_str()); // nobody else shall see it, and a kill removes it
    return m_file >= 0;
}

bool ChunkStore::writeAt(std::int64_t offset, std::string_view bytes)
{
    if (!m_status.ok()) return false;
    const bool opened = openFile();
    std::size_t written = 0;
    while (opened && written < bytes.size()) {
        const ssize_t n = ::pwrite(m_file, bytes.data() + written, bytes.size() - written,
                                   offset + static_cast<std::int64_t>(written));
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        written += static_cast<std::size_t>(n);
    }
    if (written == bytes.size()) return true;
    m_status = Error{ErrorCode::Io, "a temporary file cannot be written: " + std::system_category().message(errno),
                     m_directory, "free some space"};
    return false;
}

bool ChunkStore::spill(Chunk& chunk)
{
    const bool written = writeAt(m_fileEnd, chunk.bytes);
    if (written) {
        chunk.offset = m_fileEnd;
        m_fileEnd += static_cast<std::int64_t>(chunk.size);
    } else {
        chunk.size = 0; // lost, as the status says: keeping it would fill the memory
    }
    std::string().swap(chunk.bytes); // an assignment would keep the memory
    return written;
}

void ChunkStore::overwrite(Chunk& chunk, std::size_t at, std::string_view bytes)
{
    if (!chunk.bytes.empty()) {
        chunk.bytes.replace(at, bytes.size(), bytes);
        return;
    }
    const std::lock_guard lock(m_mutex);
    writeAt(chunk.offset + static_cast<std::int64_t>(at), bytes);
}

void ChunkStore::seal(Stream& stream)
{
    if (stream.tail.empty()) return;
    Chunk chunk;
    chunk.size = stream.tail.size();
    chunk.bytes.assign(stream.tail); // exact capacity: most streams are far shorter than a chunk
    stream.tail.clear();
    {
        const std::lock_guard lock(m_mutex);
        if (m_held + chunk.size > m_budget)
            spill(chunk);
        else
            m_held += chunk.size;
    }
    stream.chunks.push_back(std::move(chunk));
}

void ChunkStore::drop(Stream& stream)
{
    std::size_t held = 0;
    for (const Chunk& chunk : stream.chunks) held += chunk.bytes.size();
    {
        const std::lock_guard lock(m_mutex);
        m_held -= held;
    }
    std::vector<Chunk>().swap(stream.chunks);
    std::string().swap(stream.tail);
}

std::string_view ChunkStore::view(const Chunk& chunk, std::string& buffer)
{
    if (!chunk.bytes.empty() || chunk.size == 0) return chunk.bytes;
    buffer.resize(chunk.size);
    const int file = [this] {
        const std::lock_guard lock(m_mutex);
        return m_file;
    }();
    std::size_t got = 0;
    while (file >= 0 && got < chunk.size) {
        const ssize_t n =
            ::pread(file, buffer.data() + got, chunk.size - got, chunk.offset + static_cast<std::int64_t>(got));
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        got += static_cast<std::size_t>(n);
    }
    if (got == chunk.size) return buffer;
    const std::lock_guard lock(m_mutex);
    if (m_status.ok()) m_status = Error{ErrorCode::Io, "a temporary file cannot be read back", m_directory, ""};
    return {};
}

} // namespace fourwalls
