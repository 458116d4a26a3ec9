// SPDX-License-Identifier: Apache-2.0
// The varints of a slice.
#include "model/store/slice_stream.h"

namespace fourwalls::store {

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
    : m_store(store)
    , m_stream(stream)
    , m_left(stream.count)
{
    next();
}

void SliceCursor::next()
{
    m_valid = false;
    if (m_left == 0) return;
    while (m_in.atEnd()) {
        if (m_chunk < m_stream.bytes.chunks.size()) {
            const std::string_view bytes = m_store.view(m_stream.bytes.chunks[m_chunk++], m_buffer);
            if (bytes.empty()) return;
            m_in = Decoder(bytes);
        } else if (m_chunk == m_stream.bytes.chunks.size()) {
            ++m_chunk;
            m_in = Decoder(m_stream.bytes.tail);
        } else {
            return;
        }
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
