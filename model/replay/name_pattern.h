// SPDX-License-Identifier: Apache-2.0
// The PATTERN of a change: which names it means. There are no wildcards, so that a name needs no escaping.
#pragma once

#include "model/trace/name_matcher.h"

#include <string>
#include <string_view>

namespace fourwalls::replay {

/// Names with the text in them, in any case; of an empty text all names. A text in double quotes means one name, the text
/// between them.
class NamePattern {
public:
    explicit NamePattern(std::string_view text);
    bool matches(std::string_view name) const { return m_isExact ? name == m_name : m_part.matches(name); }
    bool isExact() const { return m_isExact; }

private:
    bool m_isExact;
    std::string m_name; ///< of exact patterns
    NameMatcher m_part; ///< of others
};

/// The pattern that means a name and no other.
std::string exactPattern(std::string_view name);

} // namespace fourwalls::replay
