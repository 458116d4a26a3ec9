// SPDX-License-Identifier: Apache-2.0
// Every piece has headroom in front for what the parser carries over.
#include "model/import/common/text_window.h"

#include "model/trace/audit_counter.h"

#include <cstring>
#include <string>
#include <utility>

namespace fourwalls::importers {

namespace {

constexpr std::size_t kHeadroom = std::size_t{1} << 17;

} // namespace

AuditRecord damageRecord(const std::string& damage)
{
    if (damage.find("cut") != std::string::npos) return auditRecord(AuditCounter::PackedStreamEnded, 1, damage);
    return auditRecord(AuditCounter::PackedStreamDamaged, 1, damage);
}

TextWindow::TextWindow(std::unique_ptr<ByteSource> source, std::size_t pieceBytes)
    : m_ahead(std::move(source), pieceBytes, kHeadroom, kPadding)
{
    static const char kNothing[kPadding] = {};
    m_begin = m_end = kNothing;
    more(m_begin);
}

bool TextWindow::more(const char* keepFrom)
{
    if (m_last) return false;
    const auto kept = static_cast<std::size_t>(m_end - keepFrom);
    m_tooLarge = kept >= kLargestWindow;
    if (m_tooLarge) return false;
    std::unique_ptr<ReadAhead::Piece> next = m_ahead.next();
    if (!next) {
        m_last = true;
        return false;
    }
    m_offset += keepFrom - m_begin;
    if (kept <= kHeadroom) {
        char* const to = next->data - kept;
        std::memcpy(to, keepFrom, kept);
        m_begin = to;
        m_end = next->data + next->size;
        if (m_piece) m_ahead.giveBack(std::move(m_piece));
        m_piece = std::move(next);
        m_large.reset();
        return true;
    }
    std::unique_ptr<char[]> large(new char[kept + next->size + kPadding]);
    std::memcpy(large.get(), keepFrom, kept);
    std::memcpy(large.get() + kept, next->data, next->size + kPadding);
    m_begin = large.get();
    m_end = large.get() + kept + next->size;
    m_large = std::move(large);
    if (m_piece) m_ahead.giveBack(std::move(m_piece));
    m_ahead.giveBack(std::move(next));
    return true;
}

} // namespace fourwalls::importers
