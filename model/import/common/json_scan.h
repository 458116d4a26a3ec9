// SPDX-License-Identifier: Apache-2.0
// Scanning of JSON as profilers really write it: tokens are found without being converted, bare backslashes, control
// characters, inf, nan and hexadecimal numbers are taken as they are. Nothing here recurses or allocates.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace fourwalls::importers {

/// How a scan ended. NeedMore: the text ended inside the token.
enum class Scan : std::uint8_t { Ok, NeedMore, Broken };

/// A value as written: strings without their quotes and with their escapes, arrays and objects with their brackets.
struct JsonToken {
    enum class Kind : std::uint8_t { None, String, Escaped, Bare, Array, Object };
    std::string_view text;
    Kind kind = Kind::None;

    bool isString() const { return kind == Kind::String || kind == Kind::Escaped; }
    explicit operator bool() const { return kind != Kind::None; }
};

inline const char* skipSpace(const char* at, const char* end)
{
    // Mostly there is none or one.
    if (at < end && static_cast<unsigned char>(*at) <= ' ') ++at;
    while (at < end && static_cast<unsigned char>(*at) <= ' ') ++at;
    return at;
}

namespace detail {
constexpr std::array<bool, 256> charactersOf(std::string_view characters, int upTo)
{
    std::array<bool, 256> are{};
    for (int c = 0; c <= upTo; ++c) are[static_cast<std::size_t>(c)] = true;
    for (const char c : characters) are[static_cast<std::size_t>(c)] = true;
    return are;
}
inline constexpr std::array<bool, 256> kBareEnds = charactersOf(",}]{[\":", ' ');
inline constexpr std::array<bool, 256> kStructure = charactersOf("}]{[\"", -1);

constexpr std::uint64_t kOnes = 0x0101010101010101ULL, kHigh = 0x8080808080808080ULL;
/// The high bits of bytes that are 0, and of some above the lowest of these.
constexpr std::uint64_t zeroBytes(std::uint64_t word)
{
    return (word - kOnes) & ~word & kHigh;
}

/// A place no further than the first of kBareEnds within the next eight bytes, mostly that: numbers end at a comma or a
/// bracket, and a loop over their digits guesses its end wrongly.
inline const char* nearBareEnd(const char* at, const char* end)
{
    if (end - at < 8) return at;
    std::uint64_t word;
    std::memcpy(&word, at, 8);
    const std::uint64_t folded = word | (kOnes * 0x20); // square brackets become curly ones
    const std::uint64_t marked = zeroBytes(folded ^ (kOnes * '}')) | zeroBytes(folded ^ (kOnes * '{')) |
                                 zeroBytes(word ^ (kOnes * ':')) | ((word - kOnes * '-') & ~word & kHigh);
    return marked == 0 ? at + 8 : at + std::countr_zero(marked) / 8;
}
} // namespace detail

/// From behind an opening quote to the closing one. A backslash keeps the next character from closing the string.
/// Text may be read up to 8 bytes past `end`. escaped: whether a backslash was met.
inline Scan scanString(const char*& at, const char* end, bool& escaped)
{
    using namespace detail;
    escaped = false;
    while (at < end) {
        std::uint64_t word;
        std::memcpy(&word, at, 8);
        const std::uint64_t marked = zeroBytes(word ^ (kOnes * '"')) | zeroBytes(word ^ (kOnes * '\\'));
        if (marked == 0) {
            at += 8;
            continue;
        }
        at += std::countr_zero(marked) / 8;
        if (at >= end) return Scan::NeedMore;
        if (*at == '"') return Scan::Ok;
        escaped = true;
        if (end - at < 2) return Scan::NeedMore;
        at += 2;
    }
    return Scan::NeedMore;
}

/// Over an array or object from its opening bracket to behind the closing one. Kinds of brackets are not matched.
inline Scan scanComposite(const char*& at, const char* end)
{
    std::int64_t depth = 0;
    for (;;) {
        while (at < end && !detail::kStructure[static_cast<unsigned char>(*at)]) ++at;
        if (at >= end) return Scan::NeedMore;
        const char c = *at++;
        if (c == '"') {
            bool escaped = false;
            if (const Scan scan = scanString(at, end, escaped); scan != Scan::Ok) return scan;
            ++at;
        } else if (c == '{' || c == '[') {
            ++depth;
        } else if (--depth == 0) {
            return Scan::Ok;
        }
    }
}

/// Any value at `at` (behind white space). A missing one (", }") is an empty bare token.
inline Scan scanValue(const char*& at, const char* end, JsonToken& value)
{
    if (at >= end) return Scan::NeedMore;
    if (*at == '"') {
        const char* const begin = ++at;
        bool escaped = false;
        if (const Scan scan = scanString(at, end, escaped); scan != Scan::Ok) return scan;
        value = {{begin, static_cast<std::size_t>(at - begin)},
                 escaped ? JsonToken::Kind::Escaped : JsonToken::Kind::String};
        ++at;
        return Scan::Ok;
    }
    const char* const begin = at;
    if (*at == '{' || *at == '[') {
        const auto kind = *at == '{' ? JsonToken::Kind::Object : JsonToken::Kind::Array;
        if (const Scan scan = scanComposite(at, end); scan != Scan::Ok) return scan;
        value = {{begin, static_cast<std::size_t>(at - begin)}, kind};
        return Scan::Ok;
    }
    at = detail::nearBareEnd(at, end);
    while (at < end && !detail::kBareEnds[static_cast<unsigned char>(*at)]) ++at;
    if (at >= end) return Scan::NeedMore;
    value = {{begin, static_cast<std::size_t>(at - begin)}, JsonToken::Kind::Bare};
    return Scan::Ok;
}

/// Behind a key's closing quote, over the colon, to the value.
inline Scan scanColon(const char*& at, const char* end)
{
    at = skipSpace(at, end);
    if (at >= end) return Scan::NeedMore;
    if (*at != ':') return Scan::Broken;
    at = skipSpace(at + 1, end);
    return at < end ? Scan::Ok : Scan::NeedMore;
}

/// Walks the members of an object token: visit(key, value). Keys are as written. False where the text is broken;
/// what came before has been visited.
template <class Visit>
bool forEachMember(std::string_view object, Visit&& visit)
{
    // Tokens inside a complete object never touch its last byte, so NeedMore cannot be a matter of more text.
    const char* at = object.data();
    const char* const end = at + object.size();
    if (object.empty() || *at != '{') return false;
    ++at;
    for (;;) {
        at = skipSpace(at, end);
        if (at >= end) return false;
        if (*at == '}') return true;
        if (*at == ',') {
            ++at;
            continue;
        }
        if (*at != '"') return false;
        const char* const begin = ++at;
        bool escaped = false;
        if (scanString(at, end, escaped) != Scan::Ok) return false;
        const std::string_view key(begin, static_cast<std::size_t>(at - begin));
        ++at;
        JsonToken value;
        if (scanColon(at, end) != Scan::Ok || scanValue(at, end, value) != Scan::Ok) return false;
        visit(key, value);
    }
}

/// Walks the elements of an array token.
template <class Visit>
bool forEachElement(std::string_view array, Visit&& visit)
{
    const char* at = array.data();
    const char* const end = at + array.size();
    if (array.empty() || *at != '[') return false;
    ++at;
    for (;;) {
        at = skipSpace(at, end);
        if (at >= end) return false;
        if (*at == ']') return true;
        if (*at == ',') {
            ++at;
            continue;
        }
        const char* const before = at;
        JsonToken value;
        if (scanValue(at, end, value) != Scan::Ok || at == before) return false;
        visit(value);
    }
}

/// Adds a character in UTF-8: surrogates and what is none as U+FFFD, control characters but line breaks and tabs as spaces.
void appendUtf8(std::string& out, std::uint32_t code);

/// A token's text as valid UTF-8: escapes resolved (unknown ones are taken literally, as bare backslashes), bytes that
/// are no UTF-8 and unpaired surrogates replaced by U+FFFD, other control characters by spaces.
std::string decoded(const JsonToken& token);

/// The text with what is no UTF-8 replaced by U+FFFD.
std::string validUtf8(std::string_view text);

} // namespace fourwalls::importers
