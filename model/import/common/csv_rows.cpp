// SPDX-License-Identifier: Apache-2.0
// Fields, quotes and line ends.
#include "model/import/common/csv_rows.h"

#include "model/base/ascii.h"

#include <algorithm>

namespace fourwalls::importers {

namespace {

constexpr std::size_t kCsvPiece = std::size_t{1} << 16;
constexpr std::size_t kLongestCsvRow = std::size_t{1} << 20;

bool sameWord(std::string_view a, std::string_view b)
{
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](char x, char y) { return lowerCase(x) == lowerCase(y); });
}

} // namespace

Result<CsvRows> CsvRows::open(const std::string& path)
{
    CsvRows rows;
    FOURWALLS_TRY_ASSIGN(rows.m_source, openByteSource(path));
    FOURWALLS_TRY(rows.fill());
    if (rows.m_buffer.substr(0, 3) == "\xef\xbb\xbf") rows.m_at = 3;
    FOURWALLS_TRY_ASSIGN(const bool any, rows.next());
    if (!any) return Error{ErrorCode::Format, "a table without a heading", path, "record or copy it again"};
    rows.m_heading.assign(rows.m_fields.begin(), rows.m_fields.begin() + static_cast<std::ptrdiff_t>(rows.m_count));
    return rows;
}

int CsvRows::column(std::string_view name) const
{
    for (std::size_t i = 0; i < m_heading.size(); ++i)
        if (sameWord(m_heading[i], name)) return static_cast<int>(i);
    return -1;
}

std::string_view CsvRows::text(int column) const
{
    const auto index = static_cast<std::size_t>(column);
    return column >= 0 && index < m_count ? std::string_view(m_fields[index]) : std::string_view();
}

/// Whether there are more bytes.
Result<bool> CsvRows::fill()
{
    if (m_ended) return false;
    m_buffer.resize(kCsvPiece);
    FOURWALLS_TRY_ASSIGN(const std::size_t got, m_source->read(m_buffer.data(), m_buffer.size()));
    m_buffer.resize(got);
    m_at = 0;
    m_ended = got == 0;
    return !m_ended;
}

Result<bool> CsvRows::next()
{
    m_count = 0;
    bool quoted = false, behindQuote = false, any = false;
    std::size_t length = 0;
    const auto field = [&]() -> std::string& {
        if (m_count == m_fields.size()) m_fields.emplace_back();
        m_fields[m_count].clear();
        return m_fields[m_count++];
    };
    std::string* text = nullptr;
    for (;;) {
        if (m_at == m_buffer.size()) {
            FOURWALLS_TRY_ASSIGN(const bool more, fill());
            if (!more) return any;
        }
        const char c = m_buffer[m_at++];
        if (!quoted && (c == '\n' || c == '\r')) {
            if (any) return true;
            continue; // an empty line, or the other half of a line's end
        }
        if (!any) text = &field();
        any = true;
        if (++length > kLongestCsvRow) {
            m_damaged = m_ended = true;
            m_at = m_buffer.size();
            return false;
        }
        if (quoted && c == '"') {
            quoted = false;
            behindQuote = true;
        } else if (c == '"' && behindQuote) { // two of them stand for one
            *text += c;
            quoted = true;
            behindQuote = false;
        } else if (c == '"' && text->empty()) {
            quoted = true;
        } else if (!quoted && c == ',') {
            text = &field();
            behindQuote = false;
        } else {
            *text += c;
        }
    }
}

} // namespace fourwalls::importers
