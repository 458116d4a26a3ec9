// SPDX-License-Identifier: Apache-2.0
// Unions of intervals and their partition by priority: the arithmetic below every "share of the time" in Fourwalls.
#pragma once

#include "model/base/time.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace fourwalls {

/// A set of instants as disjoint intervals. Intervals may be added in any order; those added in time order that
/// touch are joined at once, so a dense track needs little memory (16 bytes per gap).
class IntervalUnion {
public:
    void add(TimeRange range)
    {
        if (range.empty()) return;
        if (!m_ranges.empty()) {
            TimeRange& last = m_ranges.back();
            if (range.begin >= last.begin && range.begin <= last.end) {
                last.end = std::max(last.end, range.end);
                return;
            }
            if (range.begin < last.begin) m_sorted = false;
        }
        m_ranges.push_back(range);
    }

    /// The disjoint intervals by time; valid until the next add.
    std::span<const TimeRange> ranges();
    /// Time covered.
    Duration length();
    /// Time covered of a range.
    Duration within(TimeRange range);

private:
    std::vector<TimeRange> m_ranges;
    bool m_sorted = true;
};

/// Cuts `window` into segments of one priority each: visit(TimeRange, int) gets, by time, every segment with the
/// index of the first union of `byPriority` that covers it, or -1 where none does. The segments add up to the
/// window exactly. At most 31 unions.
template <class Visit>
void partitionByPriority(std::span<IntervalUnion> byPriority, TimeRange window, Visit&& visit)
{
    if (window.empty()) return;
    // The edges of each union come by time; the earliest of all is next.
    struct Edges {
        std::span<const TimeRange> ranges;
        std::uint32_t bit = 0;
        bool inside = false; ///< the next edge is the end of the first range, else its begin
        Instant next;
    };
    std::array<Edges, 31> unions;
    std::size_t count = 0;
    for (std::size_t p = 0; p < byPriority.size(); ++p) {
        std::span<const TimeRange> ranges = byPriority[p].ranges();
        while (!ranges.empty() && ranges.front().end <= window.begin) ranges = ranges.subspan(1);
        while (!ranges.empty() && ranges.back().begin >= window.end) ranges = ranges.first(ranges.size() - 1);
        if (ranges.empty()) continue;
        unions[count++] = {ranges, std::uint32_t{1} << p, false, std::max(ranges.front().begin, window.begin)};
    }
    // Intervals of one union never touch, so an edge simply toggles its bit.
    std::uint32_t covering = 0;
    Instant from = window.begin;
    int priority = -1;
    const auto lowestBit = [](std::uint32_t bits) {
        int index = 0;
        if (bits == 0) return -1;
        while ((bits & 1U) == 0) {
            bits >>= 1;
            ++index;
        }
        return index;
    };
    while (count > 0) {
        Instant at = unions[0].next;
        for (std::size_t i = 1; i < count; ++i) at = std::min(at, unions[i].next);
        for (std::size_t i = 0; i < count;) {
            Edges& edges = unions[i];
            if (edges.next != at) {
                ++i;
                continue;
            }
            covering ^= edges.bit;
            if (edges.inside) edges.ranges = edges.ranges.subspan(1);
            edges.inside = !edges.inside;
            if (edges.ranges.empty()) {
                edges = unions[--count];
                continue; // the one that took its place has not been looked at
            }
            edges.next = edges.inside ? std::min(edges.ranges.front().end, window.end) : edges.ranges.front().begin;
            ++i;
        }
        const int next = lowestBit(covering);
        if (next == priority) continue;
        if (from < at) visit(TimeRange{from, at}, priority);
        from = at;
        priority = next;
    }
    if (from < window.end) visit(TimeRange{from, window.end}, priority);
}

} // namespace fourwalls
