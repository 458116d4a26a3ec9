// SPDX-License-Identifier: Apache-2.0
// A fixed list of words and what each stands for. A word is told by its length and its first and last eight bytes, as
// numbers: readers ask for every key of every event, and comparing numbers takes no call and hardly a branch.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

namespace fourwalls::importers {

template <class Value, std::size_t N>
class KeywordTable {
public:
    struct Row {
        std::string_view word; ///< not empty
        Value value;
    };

    explicit constexpr KeywordTable(const std::array<Row, N>& rows) : m_rows(rows)
    {
        for (std::size_t i = 0; i < N; ++i) {
            const std::string_view word = rows[i].word;
            m_marks[i + 1] = {bytesOf(word.substr(0, 8)),
                              bytesOf(word.substr(word.size() - std::min(word.size(), kHead)))};
        }
        // Some factor gives each word a slot of its own; of a word that comes twice none would, and this not compile.
        while (!settle()) m_factor = m_factor * 0x5851f42d4c957f2dULL + 2;
    }

    std::optional<Value> find(std::string_view word) const
    {
        char bytes[kHead] = {};
        std::memcpy(bytes, word.data(), std::min(word.size(), kHead));
        return find(load(bytes), word);
    }

    /// The same in text of which 8 bytes behind the word can be read, too.
    std::optional<Value> findInText(std::string_view word) const
    {
        const std::size_t missing = kHead - std::min(word.size(), kHead);
        // As many bits as a number has cannot be shifted out.
        return find(word.empty() ? 0 : load(word.data()) & (~std::uint64_t{0} >> (8 * missing % 64)), word);
    }

private:
    static constexpr std::size_t kSlots = 512, kHead = 8;
    static_assert(std::endian::native == std::endian::little, "the first byte of a word is its lowest");

    /// The first eight bytes and the last eight; of shorter words both are all of them.
    struct Marks {
        std::uint64_t head = 0, tail = 0;
        friend constexpr bool operator==(const Marks&, const Marks&) = default;
    };

    static constexpr std::uint64_t bytesOf(std::string_view text)
    {
        std::uint64_t bytes = 0;
        for (std::size_t i = 0; i < text.size(); ++i)
            bytes |= std::uint64_t{static_cast<unsigned char>(text[i])} << (8 * i);
        return bytes;
    }

    static std::uint64_t load(const char* text)
    {
        std::uint64_t bytes;
        std::memcpy(&bytes, text, sizeof bytes);
        return bytes;
    }

    constexpr std::size_t slotOf(const Marks& marks, std::size_t size) const
    {
        return static_cast<std::size_t>(((marks.head ^ std::rotl(marks.tail, 23)) + size) * m_factor >> 55);
    }

    /// Whether the factor gives each word a slot of its own.
    constexpr bool settle()
    {
        m_slots = {};
        for (std::size_t i = 0; i < N; ++i) {
            std::uint8_t& slot = m_slots[slotOf(m_marks[i + 1], m_rows[i].word.size())];
            if (slot != 0) return false;
            slot = static_cast<std::uint8_t>(i + 1);
        }
        return true;
    }

    std::optional<Value> find(std::uint64_t head, std::string_view word) const
    {
        const Marks marks{head, word.size() > kHead ? load(word.data() + word.size() - kHead) : head};
        const std::size_t place = m_slots[slotOf(marks, word.size())];
        if (place == 0 || m_marks[place] != marks) return std::nullopt;
        const Row& row = m_rows[place - 1];
        if (row.word.size() != word.size() || (word.size() > 2 * kHead && row.word != word)) return std::nullopt;
        return row.value;
    }

    static_assert(N < 256, "a slot is a byte, and 0 is none");
    std::array<Row, N> m_rows;
    std::array<Marks, N + 1> m_marks{}; ///< from 1
    std::uint64_t m_factor = 0x9e3779b97f4a7c15ULL;
    std::array<std::uint8_t, kSlots> m_slots{}; ///< index of the row + 1; 0: none
};

} // namespace fourwalls::importers
