// SPDX-License-Identifier: Apache-2.0
// Records as words of a producer's queue.
#pragma once

#include "model/store/stored_rows.h"
#include "model/store/word_queue.h"

#include <array>
#include <bit>
#include <cstdint>
#include <span>

namespace fourwalls::store {

enum class WordKind : std::uint8_t { Slice = 1, Allocation, Free, Counter, Collective, Flow, Step, Event };

/// A record being put into words. The first word holds its kind, flags, a small number and an id.
class WordRecord {
public:
    WordRecord(WordKind kind, std::uint32_t id, std::uint8_t flags = 0, std::uint8_t small = 0)
    {
        add(static_cast<std::uint64_t>(kind) | std::uint64_t{flags} << 8 | std::uint64_t{small} << 16 |
            std::uint64_t{id} << 32);
    }
    void add(std::uint64_t word) { m_words[m_count++] = word; }
    void add(std::int64_t word) { add(static_cast<std::uint64_t>(word)); }
    void add(double value) { add(std::bit_cast<std::uint64_t>(value)); }
    void add(std::int32_t low, std::int32_t high)
    {
        add(std::uint64_t{static_cast<std::uint32_t>(low)} | std::uint64_t{static_cast<std::uint32_t>(high)} << 32);
    }
    std::span<const std::uint64_t> words() const { return {m_words.data(), m_count}; }

private:
    std::array<std::uint64_t, 10> m_words;
    std::size_t m_count = 0;
};

/// The first word of a record.
struct WordHead {
    WordKind kind;
    std::uint8_t flags, small;
    std::int32_t id;

    explicit WordHead(std::uint64_t word)
        : kind(static_cast<WordKind>(word & 0xff))
        , flags(static_cast<std::uint8_t>(word >> 8))
        , small(static_cast<std::uint8_t>(word >> 16))
        , id(static_cast<std::int32_t>(word >> 32))
    {}
};

inline std::int64_t takeInteger(WordQueue::Reader& in)
{
    return static_cast<std::int64_t>(in.next());
}
inline double takeReal(WordQueue::Reader& in)
{
    return std::bit_cast<double>(in.next());
}
struct WordPair {
    std::int32_t low, high;
};
inline WordPair takePair(WordQueue::Reader& in)
{
    const std::uint64_t word = in.next();
    return {static_cast<std::int32_t>(word & 0xffffffff), static_cast<std::int32_t>(word >> 32)};
}

} // namespace fourwalls::store
