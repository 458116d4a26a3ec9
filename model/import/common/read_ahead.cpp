// SPDX-License-Identifier: Apache-2.0
// See read_ahead.h.
#include "model/import/common/read_ahead.h"

#include <cstring>
#include <new>
#include <utility>

namespace fourwalls::importers {

namespace {
constexpr int kPieces = 4;
} // namespace

ReadAhead::ReadAhead(std::unique_ptr<ByteSource> source, std::size_t pieceBytes, std::size_t headroom,
                     std::size_t padding)
    : m_source(std::move(source))
    , m_pieceBytes(pieceBytes)
    , m_headroom(headroom)
    , m_padding(padding)
    , m_outOfMemory{ErrorCode::Io, "out of memory", "reading ahead", "end other programs"}
    , m_thread([this] { runOrFail(); })
{}

ReadAhead::~ReadAhead()
{
    {
        const std::lock_guard lock(m_mutex);
        m_stopped = true;
    }
    m_changed.notify_all();
    m_thread.join();
}

/// The error of whoever reads is told to the parser, and so is that there is no memory for the next piece.
void ReadAhead::runOrFail()
{
    try {
        run();
    } catch (const std::bad_alloc&) {
        const std::lock_guard lock(m_mutex);
        m_ended = true;
        m_end.error = std::move(m_outOfMemory);
        m_changed.notify_all();
    }
}

/// Null once nobody wants more.
std::unique_ptr<ReadAhead::Piece> ReadAhead::freePiece()
{
    {
        std::unique_lock lock(m_mutex);
        m_changed.wait(lock, [this] { return m_stopped || !m_free.empty() || m_made < kPieces; });
        if (m_stopped) return nullptr;
        if (!m_free.empty()) {
            auto piece = std::move(m_free.back());
            m_free.pop_back();
            return piece;
        }
    }
    auto piece = std::make_unique<Piece>();
    piece->memory.reset(new char[m_headroom + m_pieceBytes + m_padding]);
    piece->data = piece->memory.get() + m_headroom;
    ++m_made;
    return piece;
}

void ReadAhead::run()
{
    for (bool atEnd = false; !atEnd;) {
        std::unique_ptr<Piece> piece = freePiece();
        if (!piece) return;
        piece->size = 0;
        std::optional<Error> failure;
        while (piece->size < m_pieceBytes && !atEnd) {
            const auto got = m_source->read(piece->data + piece->size, m_pieceBytes - piece->size);
            if (!got.ok()) failure = got.error();
            atEnd = !got.ok() || *got == 0;
            if (got.ok()) piece->size += *got;
        }
        std::memset(piece->data + piece->size, 0, m_padding);
        const std::lock_guard lock(m_mutex);
        if (piece->size > 0) m_ready.push_back(std::move(piece));
        if (atEnd) {
            m_ended = true;
            m_end = {std::move(failure), m_source->damage(), m_source->bytesBehind()};
        }
        m_changed.notify_all();
    }
}

std::unique_ptr<ReadAhead::Piece> ReadAhead::next()
{
    std::unique_lock lock(m_mutex);
    m_changed.wait(lock, [this] { return m_ended || !m_ready.empty(); });
    m_over = m_ready.empty();
    if (m_over) return nullptr;
    auto piece = std::move(m_ready.front());
    m_ready.pop_front();
    return piece;
}

const ReadAhead::End& ReadAhead::end() const
{
    static const End kNotYet;
    return m_over ? m_end : kNotYet;
}

void ReadAhead::giveBack(std::unique_ptr<Piece> piece)
{
    const std::lock_guard lock(m_mutex);
    m_free.push_back(std::move(piece));
    m_changed.notify_all();
}

} // namespace fourwalls::importers
