// SPDX-License-Identifier: Apache-2.0
// Instants and durations of a trace: signed 64-bit nanoseconds. Instants are on the trace's one named clock,
// counted from the trace's origin, so that a trace's own times are small.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>

namespace fourwalls {

/// A length of time [ns].
struct Duration {
    std::int64_t ns = 0;

    friend constexpr auto operator<=>(Duration, Duration) = default;
    friend constexpr Duration operator+(Duration a, Duration b) { return {a.ns + b.ns}; }
    friend constexpr Duration operator-(Duration a, Duration b) { return {a.ns - b.ns}; }
    friend constexpr Duration operator-(Duration a) { return {-a.ns}; }
    constexpr Duration& operator+=(Duration other)
    {
        ns += other.ns;
        return *this;
    }
    constexpr Duration& operator-=(Duration other)
    {
        ns -= other.ns;
        return *this;
    }

    constexpr double seconds() const { return static_cast<double>(ns) * 1e-9; }
    constexpr double milliseconds() const { return static_cast<double>(ns) * 1e-6; }
    static constexpr Duration fromMilliseconds(double ms) { return {static_cast<std::int64_t>(ms * 1e6)}; }
    static constexpr Duration fromSeconds(double s) { return {static_cast<std::int64_t>(s * 1e9)}; }
};

/// A point in time on the trace's clock [ns since the trace's origin].
struct Instant {
    std::int64_t ns = 0;

    friend constexpr auto operator<=>(Instant, Instant) = default;
    friend constexpr Instant operator+(Instant t, Duration d) { return {t.ns + d.ns}; }
    friend constexpr Instant operator-(Instant t, Duration d) { return {t.ns - d.ns}; }
    friend constexpr Duration operator-(Instant a, Instant b) { return {a.ns - b.ns}; }
};

/// Times beyond this many nanoseconds (146 years) either side of the origin are refused, so that
/// differences of two valid instants never overflow.
inline constexpr std::int64_t kLargestTimeNs = std::int64_t{1} << 61;

/// The half-open interval [begin, end).
struct TimeRange {
    Instant begin;
    Instant end;

    friend constexpr bool operator==(const TimeRange&, const TimeRange&) = default;
    constexpr Duration length() const { return end - begin; }
    constexpr bool empty() const { return end <= begin; }
    constexpr bool contains(Instant t) const { return begin <= t && t < end; }
    constexpr bool overlaps(const TimeRange& other) const { return begin < other.end && other.begin < end; }
    constexpr TimeRange intersected(const TimeRange& other) const
    {
        return {std::max(begin, other.begin), std::min(end, other.end)};
    }
};

} // namespace fourwalls
