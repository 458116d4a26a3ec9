// SPDX-License-Identifier: Apache-2.0
// Sums by key over blocks of time that lie behind one another: what a range asks of whole blocks is added up, and only
// what its ends cut needs rows.
#pragma once

#include "model/base/time.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace fourwalls {

/// How large blocks are: of at least so many rows, and so many rows for each key that they have sums of.
struct BlockSize {
    std::int64_t rows = 1024, rowsPerKey = 4;
};

/// What has to be read besides whole blocks.
struct RangePart {
    enum class Use : std::uint8_t {
        All,      ///< belongs to the range, with what was open when it began
        Begun,    ///< belongs to it; what was open when it began is counted already
        NotBegun, ///< was added with its block and is not in the range, which begins where this ends
        NotEnded  ///< the same, behind the range's end
    };
    TimeRange range;
    Use use = Use::All;

    bool isTaken() const { return use == Use::NotBegun || use == Use::NotEnded; }
};

/// Sums is a struct of sums with += .
template <class Sums>
class BlockSums {
public:
    /// A range is the blocks [first, last) with the parts, some of which are taken away; no blocks: read all of it.
    struct Inside {
        std::size_t first = 0, last = 0;
        std::vector<RangePart> parts;
        bool any() const { return first < last; }
    };
    struct Total {
        std::int64_t count = 0;
        Sums sums;
    };

    BlockSums() = default;
    explicit BlockSums(TimeRange range) : m_begins{range.begin}, m_firsts{0}, m_end(range.end) {}

    // ---- Filling, block after block

    /// One more row of the block.
    void addRow() { ++m_rows; }
    void count(std::uint32_t key) { ++current(key).count; }
    void add(std::uint32_t key, const Sums& sums) { current(key).sums += sums; }
    bool isFull(const BlockSize& size) const
    {
        return m_rows >= size.rows && m_rows >= size.rowsPerKey * static_cast<std::int64_t>(m_touched.size());
    }
    /// The next block begins here, after all that was begun.
    void beginBlock(Instant at)
    {
        store();
        m_begins.push_back(at);
        m_firsts.push_back(m_keys.size());
    }
    void finish()
    {
        store();
        std::vector<Current>().swap(m_current); // = {} would keep the room
        std::vector<std::uint32_t>().swap(m_touched);
        m_keys.shrink_to_fit();
        m_counts.shrink_to_fit();
        m_sums.shrink_to_fit();
    }

    // ---- Reading

    std::size_t blocks() const { return m_begins.size(); }
    Inside within(TimeRange range) const
    {
        Inside inside;
        const auto blockAfter = [&](Instant at) {
            return static_cast<std::size_t>(std::upper_bound(m_begins.begin(), m_begins.end(), at) - m_begins.begin());
        };
        // An end of the range cuts a block: the smaller part of it is read.
        if (range.begin > m_begins.front()) { // before that nothing is open
            inside.first = blockAfter(range.begin);
            const TimeRange before{m_begins[inside.first - 1], range.begin}, rest{range.begin, begin(inside.first)};
            if (!before.empty() && before.length() < rest.length()) {
                --inside.first;
                inside.parts.push_back({before, RangePart::Use::NotBegun});
            } else {
                inside.parts.push_back({rest, RangePart::Use::All});
            }
        }
        inside.last = m_begins.size();
        if (range.end < m_end) {
            inside.last = std::max<std::size_t>(blockAfter(range.end), 1) - 1;
            const TimeRange within{begin(inside.last), range.end}, rest{range.end, begin(inside.last + 1)};
            if (rest.length() < within.length()) {
                ++inside.last;
                inside.parts.push_back({rest, RangePart::Use::NotEnded});
            } else if (!within.empty()) {
                inside.parts.push_back({within, RangePart::Use::Begun});
            }
        }
        Duration read;
        for (const RangePart& part : inside.parts) read += part.range.length();
        return read < range.length() ? inside : Inside();
    }
    /// to: by key, large enough for all keys.
    void addBlocks(std::size_t first, std::size_t last, std::vector<Total>& to) const
    {
        const std::size_t end = last < m_firsts.size() ? m_firsts[last] : m_keys.size();
        for (std::size_t i = first < m_firsts.size() ? m_firsts[first] : end; i < end; ++i) {
            Total& total = to[m_keys[i]];
            total.count += m_counts[i];
            total.sums += m_sums[i];
        }
    }
    std::size_t bytes() const
    {
        return m_keys.capacity() * (2 * sizeof(std::uint32_t) + sizeof(Sums)) +
               m_begins.capacity() * (sizeof(Instant) + sizeof(std::size_t));
    }

private:
    Instant begin(std::size_t block) const { return block < m_begins.size() ? m_begins[block] : m_end; }

    struct Current {
        std::uint32_t count = 0;
        bool touched = false;
        Sums sums;
    };

    Current& current(std::uint32_t key)
    {
        if (key >= m_current.size()) m_current.resize(key + 1);
        Current& at = m_current[key];
        if (!at.touched) {
            at.touched = true;
            m_touched.push_back(key);
        }
        return at;
    }
    void store()
    {
        std::sort(m_touched.begin(), m_touched.end());
        for (const std::uint32_t key : m_touched) {
            m_keys.push_back(key);
            m_counts.push_back(m_current[key].count);
            m_sums.push_back(m_current[key].sums);
            m_current[key] = {};
        }
        m_touched.clear();
        m_rows = 0;
    }

    std::vector<Instant> m_begins;     ///< by block
    std::vector<std::size_t> m_firsts; ///< by block, into those below
    Instant m_end;
    std::vector<std::uint32_t> m_keys, m_counts;
    std::vector<Sums> m_sums;
    // of the block that is being filled
    std::vector<Current> m_current; ///< by key
    std::vector<std::uint32_t> m_touched;
    std::int64_t m_rows = 0;
};

} // namespace fourwalls
