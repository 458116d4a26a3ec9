// SPDX-License-Identifier: Apache-2.0
// Reading ahead by a few pieces; every piece has headroom in front for what the parser carries over.
#include "model/import/common/text_window.h"

#include "model/trace/audit_counter.h"

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <vector>

namespace fourwalls::importers {

namespace {

constexpr std::size_t kHeadroom = std::size_t{1} << 17;
constexpr int kPieces = 4;

} // namespace

AuditRecord damageRecord(const std::string& damage)
{
    if (damage.find("cut") != std::string::npos) return auditRecord(AuditCounter::PackedStreamEnded, 1, damage);
    return auditRecord(AuditCounter::PackedStreamDamaged, 1, damage);
}

struct TextWindow::Piece {
    std::unique_ptr<char[]> memory;
    std::size_t size = 0;
    char* data() { return memory.get() + kHeadroom; }
};

struct TextWindow::ReadAhead {
    ReadAhead(std::unique_ptr<ByteSource> from, std::size_t bytes) : source(std::move(from)), pieceBytes(bytes)
    {
        thread = std::thread([this] { runOrFail(); });
    }

    ~ReadAhead()
    {
        {
            const std::lock_guard lock(mutex);
            stopped = true;
        }
        changed.notify_all();
        thread.join();
    }

    /// The error of whoever reads is told to the parser, and so is that there is no memory for the next piece.
    void runOrFail()
    {
        try {
            run();
        } catch (const std::bad_alloc&) {
            const std::lock_guard lock(mutex);
            ended = true;
            error = std::move(outOfMemory);
            changed.notify_all();
        }
    }

    void run()
    {
        for (;;) {
            std::unique_ptr<Piece> piece;
            {
                std::unique_lock lock(mutex);
                changed.wait(lock, [this] { return stopped || !free.empty() || made < kPieces; });
                if (stopped) return;
                if (!free.empty()) {
                    piece = std::move(free.back());
                    free.pop_back();
                }
            }
            if (!piece) {
                piece = std::make_unique<Piece>();
                piece->memory.reset(new char[kHeadroom + pieceBytes + kPadding]);
                ++made;
            }
            piece->size = 0;
            bool atEnd = false;
            std::optional<Error> failure;
            while (piece->size < pieceBytes && !atEnd) {
                const auto got = source->read(piece->data() + piece->size, pieceBytes - piece->size);
                if (!got.ok()) failure = got.error();
                atEnd = !got.ok() || *got == 0;
                if (got.ok()) piece->size += *got;
            }
            std::memset(piece->data() + piece->size, 0, kPadding);
            const std::lock_guard lock(mutex);
            if (piece->size > 0) ready.push_back(std::move(piece));
            if (atEnd) {
                ended = true;
                error = failure;
                damage = source->damage();
                behind = source->bytesBehind();
            }
            changed.notify_all();
            if (atEnd) return;
        }
    }

    /// The next piece; null at the end.
    std::unique_ptr<Piece> next()
    {
        std::unique_lock lock(mutex);
        changed.wait(lock, [this] { return ended || !ready.empty(); });
        if (ready.empty()) return nullptr;
        auto piece = std::move(ready.front());
        ready.pop_front();
        return piece;
    }

    void giveBack(std::unique_ptr<Piece> piece)
    {
        const std::lock_guard lock(mutex);
        free.push_back(std::move(piece));
        changed.notify_all();
    }

    std::unique_ptr<ByteSource> source;
    const std::size_t pieceBytes;
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<std::unique_ptr<Piece>> ready;
    std::vector<std::unique_ptr<Piece>> free;
    int made = 0; ///< pieces; of the reading thread
    bool stopped = false, ended = false;
    std::optional<Error> error;
    /// Made while there is memory.
    Error outOfMemory{ErrorCode::Io, "out of memory", "reading ahead", "end other programs"};
    std::string damage;
    std::int64_t behind = 0;
    std::thread thread; ///< last: it uses everything above
};

TextWindow::TextWindow(std::unique_ptr<ByteSource> source, std::size_t pieceBytes)
    : m_ahead(std::make_unique<ReadAhead>(std::move(source), pieceBytes))
{
    static const char kNothing[kPadding] = {};
    m_begin = m_end = kNothing;
    more(m_begin);
}

TextWindow::~TextWindow() = default;

std::int64_t TextWindow::fileBytesRead() const
{
    return m_ahead->source->position();
}

bool TextWindow::more(const char* keepFrom)
{
    if (m_last) return false;
    const auto kept = static_cast<std::size_t>(m_end - keepFrom);
    m_tooLarge = kept >= kLargestWindow;
    if (m_tooLarge) return false;
    std::unique_ptr<Piece> next = m_ahead->next();
    if (!next) {
        m_last = true;
        const std::lock_guard lock(m_ahead->mutex);
        m_error = m_ahead->error;
        m_damage = m_ahead->damage;
        m_behind = m_ahead->behind;
        return false;
    }
    m_offset += keepFrom - m_begin;
    if (kept <= kHeadroom) {
        char* const to = next->data() - kept;
        std::memcpy(to, keepFrom, kept);
        m_begin = to;
        m_end = next->data() + next->size;
        if (m_piece) m_ahead->giveBack(std::move(m_piece));
        m_piece = std::move(next);
        m_large.reset();
        return true;
    }
    std::unique_ptr<char[]> large(new char[kept + next->size + kPadding]);
    std::memcpy(large.get(), keepFrom, kept);
    std::memcpy(large.get() + kept, next->data(), next->size + kPadding);
    m_begin = large.get();
    m_end = large.get() + kept + next->size;
    m_large = std::move(large);
    if (m_piece) m_ahead->giveBack(std::move(m_piece));
    m_ahead->giveBack(std::move(next));
    return true;
}

} // namespace fourwalls::importers
