// SPDX-License-Identifier: Apache-2.0
// Times of foreign files as text: decimal microseconds into whole nanoseconds, exactly, never through a double
// (a double has steps of a quarter of a microsecond at today's epoch times).
#pragma once

#include "model/base/time.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace fourwalls::importers {

constexpr bool isDigit(char c)
{
    return c >= '0' && c <= '9';
}

/// Microseconds as written ("1712.5", "-3", "12.0", "1.5e3") into nanoseconds, digits below a nanosecond rounded
/// half away from zero. Absent for anything else and for times beyond kLargestTimeNs.
std::optional<std::int64_t> nanosecondsFromMicroseconds(std::string_view text);

/// A time finer than a nanosecond: ns + ps / 1000, ps from 0 to 999.
struct FineTime {
    std::int64_t ns = 0;
    int ps = 0;

    std::int64_t rounded() const { return ns + (ps >= 500 ? 1 : 0); }
    friend bool operator==(const FineTime& a, const FineTime& b) { return a.ns == b.ns && a.ps == b.ps; }
    friend bool operator<(const FineTime& a, const FineTime& b) { return a.ns != b.ns ? a.ns < b.ns : a.ps < b.ps; }
    friend FineTime operator+(const FineTime& a, const FineTime& b)
    {
        const int sum = a.ps + b.ps;
        return {a.ns + b.ns + sum / 1000, sum % 1000};
    }
    friend FineTime operator-(const FineTime& a, const FineTime& b)
    {
        const int rest = a.ps - b.ps;
        return {a.ns - b.ns - (rest < 0 ? 1 : 0), rest < 0 ? rest + 1000 : rest};
    }
};

/// The same with what is below a nanosecond, rounded to picoseconds: sums of a file's durations need it.
std::optional<FineTime> fineTimeFromMicroseconds(std::string_view text);

/// A decimal number ("1.7e18", "12.5"), rounded to a whole one; absent as above.
std::optional<std::int64_t> roundedFromText(std::string_view text);

/// A whole number as written, also hexadecimal with 0x; a fraction of zeros is accepted ("12.0").
/// Absent for anything else and beyond 64 bits. Values from 2^63 to 2^64 - 1 wrap, as ids use them.
std::optional<std::int64_t> integerFromText(std::string_view text);

/// Nanoseconds as the shortest exact decimal of microseconds: 110881 -> "110.881", 45000 -> "45".
std::string microsecondsText(std::int64_t nanoseconds);

} // namespace fourwalls::importers
