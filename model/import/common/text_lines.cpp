// SPDX-License-Identifier: Apache-2.0
// Pieces of the file, cut at the ends of lines.
#include "model/import/common/text_lines.h"

#include <algorithm>

namespace fourwalls::importers {

namespace {
constexpr std::size_t kLinesPiece = std::size_t{1} << 16;
}

Result<TextLines> TextLines::open(const std::string& path, std::size_t longest)
{
    TextLines lines;
    FOURWALLS_TRY_ASSIGN(lines.m_source, openByteSource(path));
    lines.m_longest = longest;
    return lines;
}

Result<bool> TextLines::next()
{
    m_line.clear();
    bool any = false, cut = false;
    for (;;) {
        if (m_at == m_piece.size() && !m_ended) {
            m_piece.resize(kLinesPiece);
            FOURWALLS_TRY_ASSIGN(const std::size_t got, m_source->read(m_piece.data(), m_piece.size()));
            m_piece.resize(got);
            m_at = 0;
            m_ended = got == 0;
        }
        if (m_at == m_piece.size()) break;
        const std::size_t end = std::min(m_piece.find_first_of("\r\n", m_at), m_piece.size());
        const std::size_t room = m_longest - std::min(m_longest, m_line.size());
        m_line.append(m_piece, m_at, std::min(end - m_at, room));
        cut = cut || end - m_at > room;
        any = any || end > m_at;
        m_at = end;
        if (end == m_piece.size()) continue;
        ++m_at;
        if (any) break;
    }
    m_count += any;
    m_shortened += cut;
    m_line.append(kPadding, '\0');
    return any;
}

} // namespace fourwalls::importers
