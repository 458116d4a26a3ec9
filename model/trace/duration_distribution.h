// SPDX-License-Identifier: Apache-2.0
// How a set of durations is spread: exact while there are not too many of them, else within a hundredth.
#pragma once

#include "model/base/time.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace fourwalls {

class DurationDistribution {
public:
    /// Bars of a small histogram.
    static constexpr int kBars = 16;
    using Bars = std::array<std::int64_t, kBars>;

    /// All that a table says of durations; zeros without any.
    struct Spread {
        Duration shortest, median, percentile99, longest;
        Bars bars{};
    };

    /// Among shared durations: this one is added by itself.
    static constexpr std::uint32_t kElsewhere = std::numeric_limits<std::uint32_t>::max();

    void add(Duration duration);
    void add(const DurationDistribution& other);
    /// Many at once, which stay where they are and belong to `owner`; `elsewhere` of them are kElsewhere.
    void addShared(std::shared_ptr<const void> owner, std::span<const std::uint32_t> durations, std::size_t elsewhere);

    std::int64_t count() const { return m_count; }

    /// The smallest duration that at least `share` (0..1) of all do not exceed (the nearest rank). Absent without
    /// durations. Off by less than one in a hundred where isExact() is false.
    std::optional<Duration> percentile(double share) const;
    /// How many are shorter than this; within a hundredth where isExact() is false.
    std::int64_t shorterThan(Duration duration) const;
    /// Bars: how many durations fall into each of kBars bars of equal width on a logarithmic scale, from the shortest to
    /// the longest; all in the middle one if these are equal. Costs two looks at every duration.
    Spread spread() const;

    bool isExact() const { return m_rough.empty(); }
    /// Keeps a count for each hundredth in place of every duration: memory then no longer grows with the count.
    void makeRough();
    /// Durations that are kept here one by one.
    std::size_t kept() const { return m_short.size() + m_long.size(); }

private:
    struct Shared {
        std::shared_ptr<const void> owner;
        std::span<const std::uint32_t> durations;
    };
    template <class Visit>
    void visitKept(Visit&& visit) const;
    std::vector<Duration> atRanks(std::span<const std::int64_t> ranks, Spread& spread) const;

    std::vector<std::uint32_t> m_short; ///< below 2^32 ns
    std::vector<std::int64_t> m_long;
    std::vector<Shared> m_shared;
    std::map<int, std::int64_t> m_rough; ///< by bucket; if not empty, all durations are in it
    std::int64_t m_count = 0;
    std::optional<Duration> m_shortest, m_longest; ///< of the rough ones
};

} // namespace fourwalls
