// SPDX-License-Identifier: Apache-2.0
// The search field's text as a test of names: plain text or an ECMAScript regular expression, case-insensitive.
#pragma once

#include "model/base/result.h"

#include <regex>
#include <string>
#include <string_view>

namespace fourwalls {

class NameMatcher {
public:
    /// Errors: InvalidArgument for a regular expression that does not parse.
    static Result<NameMatcher> create(std::string_view text, bool regularExpression);

    /// Whether the name contains the text (empty text: always). A name on which the expression gets too complex
    /// does not match.
    bool matches(std::string_view name) const;

private:
    std::string m_lowerText;
    std::regex m_expression;
    bool m_isExpression = false;
};

} // namespace fourwalls
