// SPDX-License-Identifier: Apache-2.0
// Chunks in memory or in a file, and slices in them.
#include "model/store/chunk_store.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <utility>

namespace fourwalls::store {

ChunkStore::~ChunkStore()
{
    if (m_file >= 0) ::close(m_file);
}

bool ChunkStore::spill(Chunk& chunk)
{
    if (!m_status.ok()) return false;
    if (m_file < 0) {
        std::string name = m_directory + "/fourwalls-finish-XXXXXX";
        m_file = ::mkostemp(name.data(), O_CLOEXEC);
        if (m_file >= 0) ::unlink(name.c_str()); // nobody else shall see it, and a kill removes it
    }
    std::size_t written = 0;
    while (m_file >= 0 && written < chunk.bytes.size()) {
        const ssize_t n = ::pwrite(m_file, chunk.bytes.data() + written, chunk.bytes.size() - written,
                                   m_fileEnd + static_cast<std::int64_t>(written));
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        written += static_cast<std::size_t>(n);
    }
    if (written < chunk.bytes.size()) {
        m_status = Error{ErrorCode::Io, "a temporary file cannot be written: " + std::system_category().message(errno),
                         m_directory, "free some space"};
        return false;
    }
    chunk.offset = m_fileEnd;
    m_fileEnd += static_cast<std::int64_t>(written);
    chunk.bytes = std::string();
    return true;
}

void ChunkStore::seal(Stream& stream)
{
    if (stream.tail.empty()) return;
    Chunk chunk;
    chunk.size = stream.tail.size();
    chunk.bytes.assign(stream.tail); // exact capacity: most streams are far shorter than a chunk
    stream.tail.clear();
    if (m_held + chunk.size > m_budget) spill(chunk);
    else m_held += chunk.size;
    stream.chunks.push_back(std::move(chunk));
}

void ChunkStore::drop(Stream& stream)
{
    for (const Chunk& chunk : stream.chunks) m_held -= chunk.bytes.size();
    stream = {};
}

bool ChunkStore::load(const Chunk& chunk, std::string& bytes)
{
    if (!chunk.bytes.empty() || chunk.size == 0) {
        bytes = chunk.bytes;
        return true;
    }
    bytes.resize(chunk.size);
    std::size_t got = 0;
    while (m_file >= 0 && got < chunk.size) {
        const ssize_t n = ::pread(m_file, bytes.data() + got, chunk.size - got,
                                  chunk.offset + static_cast<std::int64_t>(got));
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        got += static_cast<std::size_t>(n);
    }
    if (got == chunk.size) return true;
    if (m_status.ok()) m_status = Error{ErrorCode::Io, "a temporary file cannot be read back", m_directory, ""};
    return false;
}

void SliceStream::add(ChunkStore& store, const SliceRow& row)
{
    std::string& out = bytes.tail;
    putSigned(out, row.start - previous);
    putVarint(out, static_cast<std::uint64_t>(row.duration));
    putVarint(out, static_cast<std::uint64_t>(row.op));
    putVarint(out, row.microbatch == kAbsent ? 0 : zigzag(row.microbatch) + 1);
    putVarint(out, row.correlation == kAbsent ? 0 : zigzag(row.correlation) + 1);
    previous = row.start;
    ++count;
    store.grown(bytes);
}

SliceCursor::SliceCursor(ChunkStore& store, const SliceStream& stream)
    : m_store(store), m_stream(stream), m_left(stream.count)
{
    next();
}

void SliceCursor::next()
{
    m_valid = false;
    if (m_left == 0) return;
    while (m_in.atEnd()) {
        if (m_chunk < m_stream.bytes.chunks.size()) {
            if (!m_store.load(m_stream.bytes.chunks[m_chunk++], m_bytes)) return;
        } else if (m_chunk == m_stream.bytes.chunks.size()) {
            ++m_chunk;
            m_bytes = m_stream.bytes.tail;
        } else {
            return;
        }
        m_in = Decoder(m_bytes);
    }
    m_previous += m_in.signedVarint();
    m_row.start = m_previous;
    m_row.duration = static_cast<std::int64_t>(m_in.varint());
    m_row.op = static_cast<std::int32_t>(m_in.varint());
    const std::uint64_t microbatch = m_in.varint(), correlation = m_in.varint();
    m_row.microbatch = microbatch == 0 ? kAbsent : unzigzag(microbatch - 1);
    m_row.correlation = correlation == 0 ? kAbsent : unzigzag(correlation - 1);
    --m_left;
    m_valid = true;
}

} // namespace fourwalls::store
