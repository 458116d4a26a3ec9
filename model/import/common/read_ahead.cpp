// SPDX-License-Identifier: Apache-2.0
// See read_ahead.h.
#include "model/import/common/read_ahead.h"

#include <cstring>
#include <new>
#include <utility>

namespace fourwalls::importers {

namespace {
constexpr std::size_t kPiecesAhead = 2; ///< beside the one that is read and the one that is parsed
} // namespace

ReadAhead::ReadAhead(std::unique_ptr<ByteSource> source, std::size_t pieceBytes, std::size_t headroom,
                     std::size_t padding)
    : m_source(std::move(source))
    , m_pieceBytes(pieceBytes)
    , m_headroom(headroom)
    , m_padding(padding)
    , m_pieces(kPiecesAhead)
    , m_outOfMemory{ErrorCode::Io, "out of memory", "reading ahead", "end other programs"}
    , m_thread([this] { runOrFail(); })
{}

ReadAhead::~ReadAhead()
{
    m_pieces.refuse();
    m_thread.join();
}

/// The error of whoever reads is told to the parser, and so is that there is no memory for the next piece.
void ReadAhead::runOrFail()
{
    try {
        run();
    } catch (const std::bad_alloc&) {
        m_end.error = std::move(m_outOfMemory);
    }
    m_pieces.end();
}

std::unique_ptr<ReadAhead::Piece> ReadAhead::newPiece() const
{
    auto piece = std::make_unique<Piece>();
    piece->memory.reset(new char[m_headroom + m_pieceBytes + m_padding]);
    piece->data = piece->memory.get() + m_headroom;
    return piece;
}

void ReadAhead::run()
{
    std::unique_ptr<Piece> piece;
    for (bool atEnd = false; !atEnd && !m_pieces.isRefused();) {
        if (!piece) piece = newPiece();
        piece->size = 0;
        while (piece->size < m_pieceBytes && !atEnd) {
            const auto got = m_source->read(piece->data + piece->size, m_pieceBytes - piece->size);
            if (!got.ok()) m_end.error = got.error();
            atEnd = !got.ok() || *got == 0;
            if (got.ok()) piece->size += *got;
        }
        std::memset(piece->data + piece->size, 0, m_padding);
        if (piece->size > 0) piece = m_pieces.handOver(std::move(piece));
    }
    m_end.damage = m_source->damage();
    m_end.behind = m_source->bytesBehind();
}

std::unique_ptr<ReadAhead::Piece> ReadAhead::next()
{
    std::optional<std::unique_ptr<Piece>> piece = m_pieces.take();
    m_over = !piece;
    return piece ? std::move(*piece) : nullptr;
}

const ReadAhead::End& ReadAhead::end() const
{
    static const End kNotYet;
    return m_over ? m_end : kNotYet;
}

} // namespace fourwalls::importers
