// SPDX-License-Identifier: Apache-2.0
// Decimal arithmetic on digits.
#include "model/import/decimal_time.h"

#include <algorithm>
#include <limits>

namespace fourwalls::importers {

namespace {

bool isDigit(char c) { return c >= '0' && c <= '9'; }

/// The general form: digits, point and exponent. exponent is added to the one in the text.
std::optional<std::int64_t> scaledDecimal(std::string_view text, int exponent)
{
    std::size_t at = 0;
    bool negative = false;
    if (at < text.size() && (text[at] == '-' || text[at] == '+')) negative = text[at++] == '-';
    std::string digits;
    bool any = false, point = false;
    for (; at < text.size(); ++at) {
        if (text[at] == '.' && !point) {
            point = true;
        } else if (isDigit(text[at])) {
            any = true;
            if (digits.size() < 400 && !(digits.empty() && text[at] == '0')) digits += text[at];
            if (point) --exponent;
        } else {
            break;
        }
    }
    if (!any || digits.size() >= 400) return std::nullopt;
    if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
        ++at;
        bool down = false;
        if (at < text.size() && (text[at] == '-' || text[at] == '+')) down = text[at++] == '-';
        int written = 0;
        if (at == text.size()) return std::nullopt;
        for (; at < text.size() && isDigit(text[at]); ++at) written = std::min(written * 10 + (text[at] - '0'), 100000);
        exponent += down ? -written : written;
    }
    if (at != text.size()) return std::nullopt;

    bool roundUp = false;
    while (exponent < 0 && !digits.empty()) {
        roundUp = digits.back() >= '5';
        digits.pop_back();
        ++exponent;
    }
    if (exponent < 0) roundUp = false; // below half of the last place
    if (digits.empty()) return roundUp ? (negative ? -1 : 1) : 0;
    if (static_cast<int>(digits.size()) + exponent > 19) return std::nullopt;
    std::int64_t value = 0;
    for (int i = 0; i < static_cast<int>(digits.size()) + exponent; ++i) {
        const int digit = i < static_cast<int>(digits.size()) ? digits[static_cast<std::size_t>(i)] - '0' : 0;
        if (value > (kLargestTimeNs - digit) / 10) return std::nullopt;
        value = value * 10 + digit;
    }
    if (roundUp) ++value;
    return negative ? -value : value;
}

} // namespace

std::optional<std::int64_t> nanosecondsFromMicroseconds(std::string_view text)
{
    // The usual form first: up to 15 digits, a point, up to 3 decimals.
    const char* at = text.data();
    const char* const end = at + text.size();
    std::int64_t whole = 0;
    const char* const begin = at;
    while (at < end && isDigit(*at) && at - begin < 16) whole = whole * 10 + (*at++ - '0');
    if (at > begin && at - begin <= 15) {
        if (at == end) return whole * 1000;
        if (*at == '.' && end - at <= 4) {
            std::int64_t thousandths = 0;
            int places = 0;
            for (++at; at < end && isDigit(*at); ++at, ++places) thousandths = thousandths * 10 + (*at - '0');
            if (at == end) {
                for (; places < 3; ++places) thousandths *= 10;
                return whole * 1000 + thousandths;
            }
        }
    }
    return scaledDecimal(text, 3);
}

std::optional<std::int64_t> integerFromText(std::string_view text)
{
    std::size_t at = 0;
    bool negative = false;
    if (at < text.size() && (text[at] == '-' || text[at] == '+')) negative = text[at++] == '-';
    std::uint64_t value = 0;
    const auto grow = [&value](unsigned base, unsigned digit) {
        if (value > (std::numeric_limits<std::uint64_t>::max() - digit) / base) return false;
        value = value * base + digit;
        return true;
    };
    const std::size_t begin = at;
    if (text.size() - at > 2 && text[at] == '0' && (text[at + 1] == 'x' || text[at + 1] == 'X')) {
        for (at += 2; at < text.size(); ++at) {
            const char c = text[at];
            const int digit = isDigit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
            if (digit < 0 || !grow(16, static_cast<unsigned>(digit))) return std::nullopt;
        }
    } else {
        for (; at < text.size() && isDigit(text[at]); ++at)
            if (!grow(10, static_cast<unsigned>(text[at] - '0'))) return std::nullopt;
        if (at == begin) return std::nullopt;
        if (at < text.size() && text[at] == '.') {
            ++at;
            while (at < text.size() && text[at] == '0') ++at;
        }
        if (at != text.size()) return std::nullopt;
    }
    return static_cast<std::int64_t>(negative ? std::uint64_t{0} - value : value);
}

std::string microsecondsText(std::int64_t nanoseconds)
{
    const bool negative = nanoseconds < 0;
    const std::uint64_t magnitude =
        negative ? std::uint64_t{0} - static_cast<std::uint64_t>(nanoseconds) : static_cast<std::uint64_t>(nanoseconds);
    std::string text = (negative ? "-" : "") + std::to_string(magnitude / 1000);
    const auto rest = static_cast<int>(magnitude % 1000);
    if (rest != 0) {
        text += '.';
        text += static_cast<char>('0' + rest / 100);
        text += static_cast<char>('0' + rest / 10 % 10);
        text += static_cast<char>('0' + rest % 10);
        while (text.back() == '0') text.pop_back();
    }
    return text;
}

} // namespace fourwalls::importers
