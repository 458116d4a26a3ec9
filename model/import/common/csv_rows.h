// SPDX-License-Identifier: Apache-2.0
// Rows of a table in text (RFC 4180: commas, quotes), from a stream, with columns by name.
#pragma once

#include "model/base/result.h"
#include "model/import/common/byte_source.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace fourwalls::importers {

class CsvRows {
public:
    /// Opens a file and reads its heading. Errors: as openByteSource; Format for a file without one.
    static Result<CsvRows> open(const std::string& path);

    /// Index of a column, whatever the case of its letters; -1: there is none.
    int column(std::string_view name) const;

    /// The next row; false at the end. A row longer than a megabyte ends the file and counts as damaged. Errors: Io.
    Result<bool> next();
    /// "" for columns that the row, or the table (-1), does not have.
    std::string_view text(int column) const;
    bool damaged() const { return m_damaged || !m_source->damage().empty(); }

private:
    Result<bool> fill();
    std::unique_ptr<ByteSource> m_source;
    std::string m_buffer;
    std::size_t m_at = 0;
    bool m_ended = false, m_damaged = false;
    std::vector<std::string> m_heading, m_fields;
    std::size_t m_count = 0; ///< of m_fields, those of the row
};

} // namespace fourwalls::importers
