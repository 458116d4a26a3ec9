// SPDX-License-Identifier: Apache-2.0
// Decimal arithmetic on digits.
#include "model/import/common/decimal_time.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

namespace fourwalls::importers {

namespace {

/// A decimal number's digits without leading zeros; its value is 0.DIGITS times ten to the power of `point`.
struct Decimal {
    std::string digits;
    int point = 0;
    bool negative = false;

    int digitAt(int place) const
    {
        return place >= 0 && place < static_cast<int>(digits.size()) ? digits[static_cast<std::size_t>(place)] - '0'
                                                                     : 0;
    }
};

std::optional<Decimal> decimalOf(std::string_view text)
{
    Decimal decimal;
    std::size_t at = 0;
    if (at < text.size() && (text[at] == '-' || text[at] == '+')) decimal.negative = text[at++] == '-';
    int exponent = 0;
    bool any = false, point = false;
    for (; at < text.size(); ++at) {
        if (text[at] == '.' && !point) {
            point = true;
        } else if (isDigit(text[at])) {
            any = true;
            if (decimal.digits.size() < 400 && !(decimal.digits.empty() && text[at] == '0')) decimal.digits += text[at];
            if (point) --exponent;
        } else {
            break;
        }
    }
    if (!any || decimal.digits.size() >= 400) return std::nullopt;
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
    decimal.point = static_cast<int>(decimal.digits.size()) + exponent;
    return decimal;
}

/// |decimal| times ten to the power of `shift`: the whole part, and the next `places` digits rounded. Absent beyond
/// kLargestTimeNs.
struct Split {
    std::int64_t whole = 0;
    int rest = 0;
};
std::optional<Split> split(const Decimal& decimal, int shift, int places)
{
    if (decimal.digits.empty()) return Split{};
    const int point = decimal.point + shift;
    if (point > 19) return std::nullopt;
    Split parts;
    for (int place = 0; place < point; ++place) {
        const int digit = decimal.digitAt(place);
        if (parts.whole > (kLargestTimeNs - digit) / 10) return std::nullopt;
        parts.whole = parts.whole * 10 + digit;
    }
    int modulus = 1;
    for (int place = point; place < point + places; ++place, modulus *= 10)
        parts.rest = parts.rest * 10 + decimal.digitAt(place);
    if (decimal.digitAt(point + places) >= 5) ++parts.rest;
    if (parts.rest >= modulus) {
        parts.rest -= modulus;
        ++parts.whole;
    }
    if (parts.whole > kLargestTimeNs) return std::nullopt;
    return parts;
}

std::optional<std::int64_t> scaledDecimal(std::string_view text, int shift)
{
    const auto decimal = decimalOf(text);
    const auto parts = decimal ? split(*decimal, shift, 0) : std::nullopt;
    if (!parts) return std::nullopt;
    return decimal->negative ? -parts->whole : parts->whole;
}

/// The number that eight digits are: by twos, by fours, all of them.
std::optional<std::int64_t> eightDigits(const char* text)
{
    static_assert(std::endian::native == std::endian::little, "the first digit is in the lowest byte");
    constexpr std::uint64_t kOnes = 0x0101010101010101ULL;
    std::uint64_t word;
    std::memcpy(&word, text, sizeof word);
    // Above '9' six more leave the row of sixteen in which digits stand.
    if ((word & kOnes * 0xf0) != kOnes * '0' || ((word + kOnes * 6) & kOnes * 0xf0) != kOnes * '0') return std::nullopt;
    word -= kOnes * '0';
    word = (word * 10 + (word >> 8)) & 0x00ff00ff00ff00ffULL;
    word = (word * 100 + (word >> 16)) & 0x0000ffff0000ffffULL;
    return static_cast<std::int64_t>((word * 10000 + (word >> 32)) & 0xffffffffULL);
}

/// The usual form: up to 15 digits, and a point with up to 3 decimals.
std::optional<std::int64_t> usualMicroseconds(std::string_view text)
{
    const char* at = text.data();
    const char* const end = at + text.size();
    std::int64_t whole = 0;
    const char* const begin = at;
    if (text.size() >= 8) {
        if (const auto eight = eightDigits(at)) {
            whole = *eight;
            at += 8;
        }
    }
    while (at < end && isDigit(*at) && at - begin < 16) whole = whole * 10 + (*at++ - '0');
    if (at == begin || at - begin > 15) return std::nullopt;
    if (at == end) return whole * 1000;
    if (*at != '.' || end - at > 4) return std::nullopt;
    std::int64_t thousandths = 0;
    int places = 0;
    for (++at; at < end && isDigit(*at); ++at, ++places) thousandths = thousandths * 10 + (*at - '0');
    if (at != end) return std::nullopt;
    for (; places < 3; ++places) thousandths *= 10;
    return whole * 1000 + thousandths;
}

} // namespace

std::optional<std::int64_t> nanosecondsFromMicroseconds(std::string_view text)
{
    if (const auto usual = usualMicroseconds(text)) return usual;
    return scaledDecimal(text, 3);
}

std::optional<FineTime> fineTimeFromMicroseconds(std::string_view text)
{
    if (const auto usual = usualMicroseconds(text)) return FineTime{*usual, 0};
    const auto decimal = decimalOf(text);
    const auto parts = decimal ? split(*decimal, 3, 3) : std::nullopt;
    if (!parts) return std::nullopt;
    const FineTime magnitude{parts->whole, parts->rest};
    return decimal->negative ? FineTime{} - magnitude : magnitude;
}

std::optional<std::int64_t> roundedFromText(std::string_view text)
{
    return scaledDecimal(text, 0);
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
            const int digit = isDigit(c)             ? c - '0'
                              : c >= 'a' && c <= 'f' ? c - 'a' + 10
                              : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                     : -1;
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
