// SPDX-License-Identifier: Apache-2.0
// Variable-length integers (LEB128) and zigzag, as used in every BLOB of a trace. Decoding never reads past its
// bytes: damaged input ends in a failed decoder, not in undefined behaviour.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace fourwalls::store {

inline constexpr int kLongestVarint = 10;

/// Into memory with room for kLongestVarint bytes; returns the place behind them.
inline char* putVarint(char* to, std::uint64_t value)
{
    while (value >= 0x80) {
        *to++ = static_cast<char>(value | 0x80);
        value >>= 7;
    }
    *to++ = static_cast<char>(value);
    return to;
}

inline void putVarint(std::string& out, std::uint64_t value)
{
    char bytes[kLongestVarint];
    out.append(bytes, static_cast<std::size_t>(putVarint(bytes, value) - bytes));
}

constexpr std::uint64_t zigzag(std::int64_t value)
{
    return (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
}

constexpr std::int64_t unzigzag(std::uint64_t value)
{
    return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
}

inline void putSigned(std::string& out, std::int64_t value)
{
    putVarint(out, zigzag(value));
}

inline void putReal(std::string& out, double value)
{
    auto bits = std::bit_cast<std::uint64_t>(value);
    for (int i = 0; i < 8; ++i, bits >>= 8) out.push_back(static_cast<char>(bits & 0xff));
}

/// Reads what the functions above wrote. After a failure every further value is 0 and ok() is false.
class Decoder {
public:
    explicit Decoder(std::string_view bytes) : m_next(bytes.data()), m_end(bytes.data() + bytes.size()) {}

    bool atEnd() const { return m_next == m_end; }
    bool ok() const { return m_ok; }

    std::uint64_t varint()
    {
        if (m_next != m_end && static_cast<unsigned char>(*m_next) < 0x80) // most are small
            return static_cast<unsigned char>(*m_next++);
        std::uint64_t value = 0;
        for (int shift = 0; m_next != m_end && shift < 64; shift += 7) {
            const auto byte = static_cast<unsigned char>(*m_next++);
            value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
            if (byte < 0x80) return value;
        }
        return fail();
    }

    std::int64_t signedVarint() { return unzigzag(varint()); }

    /// A varint that must lie in 0..largest.
    std::int64_t bounded(std::int64_t largest)
    {
        const std::uint64_t value = varint();
        if (value > static_cast<std::uint64_t>(largest)) return static_cast<std::int64_t>(fail());
        return static_cast<std::int64_t>(value);
    }

    std::uint8_t byte()
    {
        if (m_next == m_end) return static_cast<std::uint8_t>(fail());
        return static_cast<unsigned char>(*m_next++);
    }

    double real()
    {
        if (m_end - m_next < 8) {
            fail();
            return 0;
        }
        std::uint64_t bits = 0;
        for (int i = 0; i < 8; ++i)
            bits |= static_cast<std::uint64_t>(static_cast<unsigned char>(*m_next++)) << (8 * i);
        return std::bit_cast<double>(bits);
    }

private:
    std::uint64_t fail()
    {
        m_ok = false;
        m_next = m_end;
        return 0;
    }

    const char* m_next;
    const char* m_end;
    bool m_ok = true;
};

/// Sum of two 64-bit values that wraps instead of overflowing: for delta coding of damaged input.
constexpr std::int64_t wrappingAdd(std::int64_t a, std::int64_t b)
{
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
constexpr std::int64_t wrappingSub(std::int64_t a, std::int64_t b)
{
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}

} // namespace fourwalls::store
