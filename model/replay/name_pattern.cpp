// SPDX-License-Identifier: Apache-2.0
// See name_pattern.h.
#include "model/replay/name_pattern.h"

namespace fourwalls::replay {

NamePattern::NamePattern(std::string_view text)
    : m_isExact(text.size() >= 2 && text.front() == '"' && text.back() == '"')
    , m_part(*NameMatcher::create(text, false)) // plain text cannot fail
{
    if (m_isExact) m_name = text.substr(1, text.size() - 2);
}

std::string exactPattern(std::string_view name)
{
    return '"' + std::string(name) + '"';
}

} // namespace fourwalls::replay
