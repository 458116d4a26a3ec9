// SPDX-License-Identifier: Apache-2.0
// A moving window over a file's text for a parser: what the parser has not finished is carried over to the front of the
// next piece that was read ahead.
#pragma once

#include "model/import/common/read_ahead.h"
#include "model/trace/records.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace fourwalls::importers {

/// What the audit says of a packed stream that was damaged or cut (ByteSource::damage, which is not empty).
AuditRecord damageRecord(const std::string& damage);

class TextWindow {
public:
    static constexpr std::size_t kLargestWindow = std::size_t{16} << 20; ///< of one unfinished value [bytes]
    static constexpr std::size_t kPadding = 64; ///< zero bytes after end(), so that scanning may read past it

    explicit TextWindow(std::unique_ptr<ByteSource> source, std::size_t pieceBytes = std::size_t{1} << 18);

    const char* begin() const { return m_begin; }
    const char* end() const { return m_end; }

    /// Moves the window on: afterwards begin() is what keepFrom was, and there is more behind it. All pointers into
    /// the window are void. False, with the window as it was, when the file has no more or when what is to be kept
    /// has reached kLargestWindow (tooLarge() tells).
    bool more(const char* keepFrom);
    bool tooLarge() const { return m_tooLarge; }

    /// Unpacked bytes before `at`, which lies in the window.
    std::int64_t offsetOf(const char* at) const { return m_offset + (at - m_begin); }
    /// Bytes of the file read so far (packed ones of a packed file).
    std::int64_t fileBytesRead() const { return m_ahead.position(); }

    /// What reading met; absent if nothing. damage: the unpacked stream ended too early, see ByteSource.
    const std::optional<Error>& error() const { return m_ahead.end().error; }
    const std::string& damage() const { return m_ahead.end().damage; }
    std::int64_t bytesBehind() const { return m_ahead.end().behind; } ///< of the source, see ByteSource

private:
    ReadAhead m_ahead;
    std::unique_ptr<ReadAhead::Piece> m_piece; ///< what the window shows
    std::unique_ptr<char[]> m_large;           ///< instead, when the kept part outgrew a piece's headroom
    const char* m_begin = nullptr;
    const char* m_end = nullptr;
    std::int64_t m_offset = 0;
    bool m_tooLarge = false, m_last = false;
};

} // namespace fourwalls::importers
