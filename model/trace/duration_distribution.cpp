// SPDX-License-Identifier: Apache-2.0
// Buckets of a rough distribution: 128 for each doubling, so that the middle of one is at most 0.4 % off.
#include "model/trace/duration_distribution.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace fourwalls {

namespace {

constexpr int kBucketBits = 7;
constexpr std::int64_t kBucketsPerDoubling = std::int64_t{1} << kBucketBits;

/// Durations up to 2 * kBucketsPerDoubling have a bucket each.
int bucketOf(std::int64_t ns)
{
    const auto value = static_cast<std::uint64_t>(std::max<std::int64_t>(ns, 0));
    const int bits = 64 - std::countl_zero(value | 1);
    const int shift = std::max(0, bits - 1 - kBucketBits);
    return shift * static_cast<int>(kBucketsPerDoubling) + static_cast<int>(value >> shift);
}

std::int64_t middleOfBucket(int bucket)
{
    if (bucket < 2 * kBucketsPerDoubling) return bucket;
    const int shift = bucket / static_cast<int>(kBucketsPerDoubling) - 1;
    const std::int64_t lowest = (bucket - shift * kBucketsPerDoubling) << shift;
    return lowest + (std::int64_t{1} << shift) / 2;
}

/// The index, from 0, of the nearest rank.
std::int64_t rankOf(double share, std::int64_t count)
{
    const auto rank = static_cast<std::int64_t>(std::ceil(share * static_cast<double>(count)));
    return std::clamp<std::int64_t>(rank - 1, 0, count - 1);
}

} // namespace

void DurationDistribution::add(Duration duration)
{
    m_shortest = m_count == 0 ? duration : std::min(m_shortest, duration);
    m_longest = m_count == 0 ? duration : std::max(m_longest, duration);
    ++m_count;
    if (!m_rough.empty())
        ++m_rough[bucketOf(duration.ns)];
    else if (duration.ns <= std::numeric_limits<std::uint32_t>::max())
        m_short.push_back(static_cast<std::uint32_t>(duration.ns));
    else
        m_long.push_back(duration.ns);
}

void DurationDistribution::add(const DurationDistribution& other)
{
    if (other.m_count == 0) return;
    m_shortest = m_count == 0 ? other.m_shortest : std::min(m_shortest, other.m_shortest);
    m_longest = m_count == 0 ? other.m_longest : std::max(m_longest, other.m_longest);
    if (!other.isExact()) makeRough();
    m_count += other.m_count;
    if (m_rough.empty() && other.isExact()) {
        m_short.insert(m_short.end(), other.m_short.begin(), other.m_short.end());
        m_long.insert(m_long.end(), other.m_long.begin(), other.m_long.end());
        return;
    }
    for (const auto& [bucket, count] : other.m_rough) m_rough[bucket] += count;
    for (const std::uint32_t ns : other.m_short) ++m_rough[bucketOf(ns)];
    for (const std::int64_t ns : other.m_long) ++m_rough[bucketOf(ns)];
}

void DurationDistribution::makeRough()
{
    for (const std::uint32_t ns : m_short) ++m_rough[bucketOf(ns)];
    for (const std::int64_t ns : m_long) ++m_rough[bucketOf(ns)];
    m_short = {};
    m_long = {};
}

std::optional<Duration> DurationDistribution::percentile(double share)
{
    if (m_count == 0) return std::nullopt;
    const std::int64_t rank = rankOf(share, m_count);
    if (!m_rough.empty()) {
        std::int64_t below = 0;
        for (const auto& [bucket, count] : m_rough) {
            below += count;
            if (below > rank) return std::clamp(Duration{middleOfBucket(bucket)}, m_shortest, m_longest);
        }
        return m_longest;
    }
    const auto select = [](auto& values, std::int64_t index) {
        const auto at = values.begin() + static_cast<std::ptrdiff_t>(index);
        std::nth_element(values.begin(), at, values.end());
        return Duration{static_cast<std::int64_t>(*at)};
    };
    const auto shorts = static_cast<std::int64_t>(m_short.size());
    return rank < shorts ? select(m_short, rank) : select(m_long, rank - shorts);
}

DurationDistribution::Bars DurationDistribution::bars() const
{
    Bars bars{};
    if (m_count == 0) return bars;
    const auto scale = [](std::int64_t ns) { return std::log2(static_cast<double>(std::max<std::int64_t>(ns, 1))); };
    const double from = scale(m_shortest.ns), width = scale(m_longest.ns) - from;
    const auto put = [&](std::int64_t ns, std::int64_t count) {
        const double place = width > 0 ? (scale(ns) - from) / width * kBars : kBars / 2.0;
        bars[static_cast<std::size_t>(std::clamp(static_cast<int>(place), 0, kBars - 1))] += count;
    };
    for (const std::uint32_t ns : m_short) put(ns, 1);
    for (const std::int64_t ns : m_long) put(ns, 1);
    for (const auto& [bucket, count] : m_rough) put(middleOfBucket(bucket), count);
    return bars;
}

} // namespace fourwalls
