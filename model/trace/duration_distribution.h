// SPDX-License-Identifier: Apache-2.0
// How a set of durations is spread: exact while there are not too many of them, else within a hundredth.
#pragma once

#include "model/base/time.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace fourwalls {

class DurationDistribution {
public:
    /// Bars of a small histogram.
    static constexpr int kBars = 16;
    using Bars = std::array<std::int64_t, kBars>;

    void add(Duration duration);
    void add(const DurationDistribution& other);

    std::int64_t count() const { return m_count; }
    Duration shortest() const { return m_shortest; }
    Duration longest() const { return m_longest; }

    /// The smallest duration that at least `share` (0..1) of all do not exceed (the nearest rank). Absent without
    /// durations. Off by less than one in a hundred where isExact() is false.
    std::optional<Duration> percentile(double share);
    /// How many durations fall into each of kBars bars of equal width on a logarithmic scale, from the shortest to the
    /// longest. All in the middle one if these are equal.
    Bars bars() const;

    bool isExact() const { return m_rough.empty(); }
    /// Keeps a count for each hundredth in place of every duration: memory then no longer grows with the count.
    void makeRough();
    /// Durations that are kept one by one.
    std::size_t kept() const { return m_short.size() + m_long.size(); }

private:
    std::vector<std::uint32_t> m_short; ///< below 2^32 ns
    std::vector<std::int64_t> m_long;
    std::map<int, std::int64_t> m_rough; ///< by bucket; if not empty, all durations are in it
    std::int64_t m_count = 0;
    Duration m_shortest, m_longest;
};

} // namespace fourwalls
