// SPDX-License-Identifier: Apache-2.0
// A text file line by line.
#pragma once

#include "model/base/result.h"
#include "model/import/common/byte_source.h"

#include <cstdint>
#include <memory>
#include <string>

namespace fourwalls::importers {

class TextLines {
public:
    /// Of a longer line than `longest` bytes that much is kept. Errors: those of openByteSource.
    static Result<TextLines> open(const std::string& path, std::size_t longest);

    /// Whether there is another line; empty ones are passed over. Errors: Io.
    Result<bool> next();

    /// Without its end, followed by 8 bytes that may be read (json_scan.h).
    std::string_view line() const { return {m_line.data(), m_line.size() - kPadding}; }
    std::int64_t count() const { return m_count; }         ///< lines so far
    std::int64_t shortened() const { return m_shortened; } ///< of them: longer than `longest`
    /// After the end: why the file ended early; empty: it did not.
    std::string damage() const { return m_source->damage(); }

private:
    static constexpr std::size_t kPadding = 8;

    std::unique_ptr<ByteSource> m_source;
    std::size_t m_longest = 0, m_at = 0;
    std::string m_piece, m_line = std::string(kPadding, '\0');
    std::int64_t m_count = 0, m_shortened = 0;
    bool m_ended = false;
};

} // namespace fourwalls::importers
