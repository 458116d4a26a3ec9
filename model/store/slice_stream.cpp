// SPDX-License-Identifier: Apache-2.0
// Appending and reading.
#include "model/store/slice_stream.h"

#include "model/store/slice_coding.h"

namespace fourwalls::store {

void SliceStream::add(ChunkStore& store, const SliceRow& row)
{
    putSlice(bytes.tail, previous, row);
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
    takeSlice(m_in, m_previous, m_row);
    --m_left;
    m_valid = true;
}

} // namespace fourwalls::store
