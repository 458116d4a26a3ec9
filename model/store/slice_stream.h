// SPDX-License-Identifier: Apache-2.0
// Slices by start as a stream of bytes in a chunk store.
#pragma once

#include "model/base/chunk_store.h"
#include "model/store/codec.h"
#include "model/store/stored_rows.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace fourwalls::store {

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
    std::string m_buffer;
    Decoder m_in{{}};
    std::int64_t m_left;
    std::int64_t m_previous = 0;
    SliceRow m_row;
    bool m_valid = false;
};

} // namespace fourwalls::store
