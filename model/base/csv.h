// SPDX-License-Identifier: Apache-2.0
// A field of a CSV file.
#pragma once

#include <string>
#include <string_view>

namespace fourwalls {

/// Source: RFC 4180, section 2. Quoted only where needed.
inline std::string csvField(std::string_view text)
{
    if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
    std::string quoted = "\"";
    for (const char c : text) {
        if (c == '"') quoted += '"';
        quoted += c;
    }
    return quoted + '"';
}

} // namespace fourwalls
