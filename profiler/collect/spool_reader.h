// SPDX-License-Identifier: Apache-2.0
// Reads a spool (spool_format.h) record by record, of stream and ring files alike, finished, cut or still growing. A
// spool is a stranger's file: every length is checked, nothing of it is trusted.
#pragma once

#include "model/base/result.h"
#include "profiler/collect/spool_format.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fourwalls::collect {

/// One record. The bytes belong to the reader and are valid until its next().
struct SpoolRecord {
    RecordKind kind = RecordKind::None;
    std::span<const std::byte> bytes; ///< what follows the record's header

    /// The record's structure; what an older collector did not write is zero.
    template <class T>
    T as() const
    {
        T result{};
        std::memcpy(&result, bytes.data(), std::min(sizeof(T), bytes.size()));
        return result;
    }

    /// The `length` bytes that follow the structure; none where the record does not hold so many.
    std::span<const std::byte> tail(std::uint64_t length) const
    {
        if (length > bytes.size()) return {};
        const std::size_t padded = (static_cast<std::size_t>(length) + 7) & ~std::size_t{7};
        if (padded + 8 > bytes.size()) return {}; // no structure is shorter than that
        return bytes.last(padded).first(static_cast<std::size_t>(length));
    }

    /// The same as text.
    std::string_view text(std::uint64_t length) const
    {
        const auto found = tail(length);
        return {reinterpret_cast<const char*>(found.data()), found.size()};
    }
};

/// What reading has found out so far; complete when next() has returned nothing.
struct SpoolState {
    std::uint64_t records = 0;
    std::uint64_t bytesRead = 0;   ///< of valid records and headers
    bool ended = false;            ///< an End record was read: the recording was closed in order
    std::uint64_t unreadBytes = 0; ///< stream file: bytes after the last valid record (0 in a sound file)
    std::uint64_t segments = 0;    ///< ring file: segments with a valid header
    std::uint64_t badSegments = 0; ///< ring file: segments whose header is damaged
    std::uint64_t overwritten = 0; ///< ring file: event segments that younger ones replaced
};

/// Sequential reader. In a ring file the kept segments come first, then the event segments from the oldest to the
/// youngest: definitions always precede their use.
class SpoolReader {
public:
    /// Errors: Io (cannot be read), Format (not a spool, damaged header), Unsupported (a newer major version).
    static Result<SpoolReader> open(const std::string& path);

    SpoolReader(SpoolReader&&) noexcept;
    SpoolReader& operator=(SpoolReader&&) noexcept;
    SpoolReader(const SpoolReader&) = delete;
    SpoolReader& operator=(const SpoolReader&) = delete;
    ~SpoolReader();

    const FileHeader& header() const { return m_header; }
    std::string host() const;
    std::string executable() const;
    std::uint64_t fileBytes() const { return m_fileBytes; }

    /// The next record, or nothing at the end (or at the cut: state()). Errors: Io.
    Result<std::optional<SpoolRecord>> next();

    const SpoolState& state() const { return m_state; }

private:
    SpoolReader() = default;

    struct Segment {
        std::uint64_t offset;
        std::uint64_t sequence;
        bool kept;
    };

    Status listSegments();
    Result<std::size_t> readAt(std::uint64_t offset, std::byte* to, std::size_t size) const;
    /// Makes the buffer hold at least one more record if there is one. False: nothing more in this stream or segment.
    Result<bool> refill();
    Result<bool> beginSegment();

    std::string m_path;
    int m_file = -1;
    std::uint64_t m_fileBytes = 0;
    FileHeader m_header{};
    std::vector<Segment> m_segments; // in the order of reading
    std::size_t m_nextSegment = 0;
    std::uint32_t m_seed = 0;
    std::uint64_t m_readOffset = 0; // in the file, of what follows the buffer
    std::uint64_t m_readEnd = 0;    // of the stream or the segment
    std::vector<std::byte> m_buffer;
    std::size_t m_at = 0;
    std::size_t m_filled = 0;
    bool m_inStream = false;
    SpoolState m_state;
};

} // namespace fourwalls::collect
