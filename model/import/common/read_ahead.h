// SPDX-License-Identifier: Apache-2.0
// Reads and unpacks a file a few pieces ahead on a thread of its own, so that neither takes the parser's time. Memory does not
// depend on the file's size.
#pragma once

#include "model/base/block_queue.h"
#include "model/import/common/byte_source.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>

namespace fourwalls::importers {

class ReadAhead {
public:
    struct Piece {
        std::unique_ptr<char[]> memory;
        char* data = nullptr; ///< behind the headroom
        std::size_t size = 0;
    };
    /// What reading met, once next() has given null.
    struct End {
        std::optional<Error> error;
        std::string damage;      ///< see ByteSource
        std::int64_t behind = 0; ///< bytes, see ByteSource
    };

    /// headroom: bytes in front of each piece that its user may write to; padding: bytes behind it, which are zero.
    ReadAhead(std::unique_ptr<ByteSource> source, std::size_t pieceBytes, std::size_t headroom = 0,
              std::size_t padding = 0);
    ~ReadAhead();
    ReadAhead(const ReadAhead&) = delete;
    ReadAhead& operator=(const ReadAhead&) = delete;

    /// The next piece, shorter than the others only at the end; null behind the last one.
    std::unique_ptr<Piece> next();
    /// A piece that is not needed any more is filled again.
    void giveBack(std::unique_ptr<Piece> piece) { m_pieces.giveBack(std::move(piece)); }
    /// Empty before the end.
    const End& end() const;
    /// Bytes of the file read so far (packed ones of a packed file).
    std::int64_t position() const { return m_source->position(); }

private:
    void runOrFail();
    void run();
    std::unique_ptr<Piece> newPiece() const;

    std::unique_ptr<ByteSource> m_source;
    const std::size_t m_pieceBytes, m_headroom, m_padding;
    BlockQueue<std::unique_ptr<Piece>> m_pieces;
    bool m_over = false;  ///< next() has given null; of the user
    End m_end;            ///< the reading thread's, until it ends the pieces
    Error m_outOfMemory;  ///< made while there is memory
    std::thread m_thread; ///< last: it uses everything above
};

} // namespace fourwalls::importers
