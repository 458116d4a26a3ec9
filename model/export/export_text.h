// SPDX-License-Identifier: Apache-2.0
// Numbers and texts as exported files spell them: exact, and the same in every locale.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace fourwalls {

/// Nanoseconds as microseconds with exactly three decimals: -1234567 -> "-1234.567". No rounding through doubles.
std::string microseconds(std::int64_t ns);
/// The shortest decimal text that reads back as the same double; empty for NaN and infinities.
std::string shortestNumber(double value);
/// Quoted and escaped for JSON; bytes that are not UTF-8 become replacement characters.
std::string jsonText(std::string_view text);
/// Text between tags or within a quoted attribute of HTML or SVG; bytes that are not UTF-8 become replacement
/// characters, control characters spaces.
std::string htmlText(std::string_view text);

} // namespace fourwalls
