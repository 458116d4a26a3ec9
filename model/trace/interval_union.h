// SPDX-License-Identifier: Apache-2.0
// Unions of intervals and their partition by priority: the arithmetic below every "share of the time" in Fourwalls.
#pragma once

#include "model/base/time.h"

#include <algorithm>
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
    struct Edge {
        Instant at;
        std::uint32_t bit;
    };
    std::vector<Edge> edges;
    for (std::size_t p = 0; p < byPriority.size(); ++p) {
        for (const TimeRange& range : byPriority[p].ranges()) {
            const TimeRange clipped = range.intersected(window);
            if (clipped.empty()) continue;
            edges.push_back({clipped.begin, std::uint32_t{1} << p});
            edges.push_back({clipped.end, std::uint32_t{1} << p});
        }
    }
    std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) { return a.at < b.at; });
    // Intervals of one union never touch, so an edge simply toggles its bit.
    std::uint32_t covering = 0;
    Instant from = window.begin;
    int priority = -1;
    const auto lowestBit = [](std::uint32_t bits) {
        int index = 0;
        if (bits == 0) return -1;
        while ((bits & 1U) == 0) { bits >>= 1; ++index; }
        return index;
    };
    for (std::size_t i = 0; i < edges.size();) {
        const Instant at = edges[i].at;
        for (; i < edges.size() && edges[i].at == at; ++i) covering ^= edges[i].bit;
        const int next = lowestBit(covering);
        if (next == priority) continue;
        if (from < at) visit(TimeRange{from, at}, priority);
        from = at;
        priority = next;
    }
    if (from < window.end) visit(TimeRange{from, window.end}, priority);
}

} // namespace fourwalls
