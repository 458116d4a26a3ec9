// SPDX-License-Identifier: Apache-2.0
// Case-insensitive matching; exceptions of std::regex end here.
#include "model/trace/name_matcher.h"

#include "model/base/ascii.h"

#include <algorithm>

namespace fourwalls {

Result<NameMatcher> NameMatcher::create(std::string_view text, bool regularExpression)
{
    NameMatcher matcher;
    if (!regularExpression || text.empty()) {
        matcher.m_lowerText = lowerCase(text);
        return matcher;
    }
    try {
        matcher.m_expression.assign(text.begin(), text.end(), std::regex::ECMAScript | std::regex::icase);
    } catch (const std::regex_error&) {
        return Error{ErrorCode::InvalidArgument, "not a regular expression: " + std::string(text), "search",
                     "escape ( ) [ ] { } . * + ? ^ $ | with a backslash, or search as plain text"};
    }
    matcher.m_isExpression = true;
    return matcher;
}

bool NameMatcher::matches(std::string_view name) const
{
    // std::regex recurses once per character: longer names could exhaust the stack.
    constexpr std::size_t kLongestExpressionName = 2000;
    if (!m_isExpression) {
        return std::search(name.begin(), name.end(), m_lowerText.begin(), m_lowerText.end(),
                           [](char a, char b) { return lowerCase(a) == b; }) != name.end() ||
               m_lowerText.empty();
    }
    try {
        return std::regex_search(
            name.begin(), name.begin() + static_cast<std::ptrdiff_t>(std::min(name.size(), kLongestExpressionName)),
            m_expression);
    } catch (const std::regex_error&) {
        return false;
    }
}

} // namespace fourwalls
