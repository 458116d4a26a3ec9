// SPDX-License-Identifier: Apache-2.0
// ASCII letters without regard to case, whatever the locale.
#pragma once

#include <string>
#include <string_view>

namespace fourwalls {

constexpr char lowerCase(char c)
{
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

inline std::string lowerCase(std::string_view text)
{
    std::string lower(text);
    for (char& c : lower) c = lowerCase(c);
    return lower;
}

} // namespace fourwalls
