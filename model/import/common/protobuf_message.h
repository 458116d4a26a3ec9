// SPDX-License-Identifier: Apache-2.0
// The fields of a protocol buffer that lies in memory as a whole: the small messages of which a profile has millions. What
// is larger, or lies across two pieces of a file, ProtobufReader reads, with the same calls.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace fourwalls::importers {

class ProtobufMessage {
public:
    explicit ProtobufMessage(std::string_view bytes) : m_at(bytes.data()), m_end(bytes.data() + bytes.size()) {}

    /// The next field. False at the message's end, or where the bytes are no protocol buffer: see damaged().
    bool next()
    {
        if (m_at == m_end || m_damaged) return false;
        // Of tags and lengths the library, too, takes the lower 32 bits, and a tag of 0 as the end.
        std::uint64_t tag = 0;
        bool sound = varint(tag);
        tag &= 0xffffffffU;
        if (sound && tag == 0) {
            m_damaged = m_at != m_end;
            return false;
        }
        m_field = static_cast<int>(tag >> 3);
        m_kind = static_cast<unsigned>(tag & 7);
        sound = sound && m_field > 0;
        if (sound && m_kind == kNumber)
            sound = varint(m_value);
        else if (sound && m_kind == kBytes)
            sound = varint(m_value) && take(m_value &= 0xffffffffU);
        else if (sound)
            sound = (m_kind == kFixed32 || m_kind == kFixed64) && fixed(m_kind == kFixed32 ? 4 : 8);
        m_damaged = !sound;
        return sound;
    }

    int field() const { return m_field; }
    bool isMessage() const { return m_kind == kBytes; } ///< or text, or packed numbers
    std::int64_t integer() const { return static_cast<std::int64_t>(m_value); }
    double real() const
    {
        if (m_kind == kFixed32) return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(m_value)));
        return m_kind == kFixed64 ? std::bit_cast<double>(m_value) : static_cast<double>(integer());
    }
    /// Of a text or message.
    std::string_view bytes() const
    {
        return isMessage() ? std::string_view(m_at - m_value, m_value) : std::string_view();
    }
    /// The field as a text. Of a longer one than `longest` that much is kept.
    void text(std::string& to, std::size_t longest) const { to.assign(bytes().substr(0, longest)); }

    /// Whether the bytes could not be read to the end, and how many were left there.
    bool damaged() const { return m_damaged; }
    std::size_t left() const { return static_cast<std::size_t>(m_end - m_at); }
    /// What a message within this one was: its damage is this one's.
    void end(const ProtobufMessage& inner)
    {
        if (!inner.damaged()) return;
        m_damaged = true;
        m_at -= inner.left();
    }

private:
    static constexpr unsigned kNumber = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5;

    bool varint(std::uint64_t& value)
    {
        value = 0;
        for (int shift = 0; shift < 70 && m_at < m_end; shift += 7) {
            const auto byte = static_cast<unsigned char>(*m_at++);
            value |= std::uint64_t{byte & 0x7fU} << shift;
            if (byte < 0x80) return true;
        }
        return false;
    }
    bool take(std::uint64_t size)
    {
        if (size > left()) return false;
        m_at += size;
        return true;
    }
    bool fixed(std::size_t size)
    {
        if (size > left()) return false;
        m_value = 0;
        std::memcpy(&m_value, m_at, size);
        m_at += size;
        return true;
    }

    const char* m_at;
    const char* m_end;
    std::uint64_t m_value = 0;
    int m_field = 0;
    unsigned m_kind = kNumber;
    bool m_damaged = false;
};

} // namespace fourwalls::importers
