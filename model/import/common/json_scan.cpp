// SPDX-License-Identifier: Apache-2.0
// From a token as written to text that may be shown and stored.
#include "model/import/common/json_scan.h"

namespace fourwalls::importers {

namespace {

constexpr std::uint32_t kReplacement = 0xfffd;

} // namespace

void appendUtf8(std::string& out, std::uint32_t code)
{
    if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) code = kReplacement;
    if (code < 0x20 && code != '\n' && code != '\t') code = ' ';
    if (code < 0x80) {
        out += static_cast<char>(code);
    } else if (code < 0x800) {
        out += static_cast<char>(0xc0 | (code >> 6));
        out += static_cast<char>(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
        out += static_cast<char>(0xe0 | (code >> 12));
        out += static_cast<char>(0x80 | ((code >> 6) & 0x3f));
        out += static_cast<char>(0x80 | (code & 0x3f));
    } else {
        out += static_cast<char>(0xf0 | (code >> 18));
        out += static_cast<char>(0x80 | ((code >> 12) & 0x3f));
        out += static_cast<char>(0x80 | ((code >> 6) & 0x3f));
        out += static_cast<char>(0x80 | (code & 0x3f));
    }
}

namespace {

/// The character at text[at], which is moved behind it; kReplacement for a byte that begins none.
std::uint32_t takeUtf8(std::string_view text, std::size_t& at)
{
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const std::uint32_t first = byte(at++);
    if (first < 0x80) return first;
    const int length = first >= 0xf0 && first < 0xf5   ? 4
                       : first >= 0xe0 && first < 0xf0 ? 3
                       : first >= 0xc2 && first < 0xe0 ? 2
                                                       : 0;
    if (length == 0 || at + static_cast<std::size_t>(length) - 1 > text.size()) return kReplacement;
    std::uint32_t code = first & (0x7fU >> length);
    for (int i = 1; i < length; ++i) {
        const std::uint32_t next = byte(at + static_cast<std::size_t>(i) - 1);
        if ((next & 0xc0) != 0x80) return kReplacement;
        code = code << 6 | (next & 0x3f);
    }
    const bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
    if (overlong || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return kReplacement;
    at += static_cast<std::size_t>(length) - 1;
    return code;
}

/// Four hexadecimal digits at text[at], or -1.
int fourHex(std::string_view text, std::size_t at)
{
    if (at + 4 > text.size()) return -1;
    int code = 0;
    for (std::size_t i = at; i < at + 4; ++i) {
        const char c = text[i];
        const int digit = c >= '0' && c <= '9'   ? c - '0'
                          : c >= 'a' && c <= 'f' ? c - 'a' + 10
                          : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                 : -1;
        if (digit < 0) return -1;
        code = code * 16 + digit;
    }
    return code;
}

} // namespace

std::string decoded(const JsonToken& token)
{
    const std::string_view text = token.text;
    std::string out;
    out.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
        if (text[at] != '\\' || token.kind != JsonToken::Kind::Escaped) {
            appendUtf8(out, takeUtf8(text, at));
            continue;
        }
        const char kind = at + 1 < text.size() ? text[at + 1] : '\0';
        static constexpr std::string_view kFrom = "\"\\/bfnrt", kTo = "\"\\/  \n \t";
        if (const auto known = kFrom.find(kind); kind != '\0' && known != std::string_view::npos) {
            out += kTo[known];
            at += 2;
            continue;
        }
        const int code = kind == 'u' ? fourHex(text, at + 2) : -1;
        if (code < 0) {
            out += '\\';
            ++at;
            continue;
        }
        at += 6;
        const bool high = code >= 0xd800 && code < 0xdc00;
        const int low =
            high && at + 1 < text.size() && text[at] == '\\' && text[at + 1] == 'u' ? fourHex(text, at + 2) : -1;
        if (low >= 0xdc00 && low < 0xe000) {
            appendUtf8(out, 0x10000U + (static_cast<std::uint32_t>(code - 0xd800) << 10) +
                                static_cast<std::uint32_t>(low - 0xdc00));
            at += 6;
        } else {
            appendUtf8(out, static_cast<std::uint32_t>(code));
        }
    }
    return out;
}

std::string validUtf8(std::string_view text)
{
    return decoded({text, JsonToken::Kind::String});
}

} // namespace fourwalls::importers
