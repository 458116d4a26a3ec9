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

constexpr int kBucketCount = (64 - kBucketBits) << kBucketBits;

struct Bucket {
    std::int64_t lowest = 0, width = 1;
};

Bucket bucketAt(int bucket)
{
    if (bucket < 2 * kBucketsPerDoubling) return {bucket, 1};
    const int shift = bucket / static_cast<int>(kBucketsPerDoubling) - 1;
    return {(bucket - shift * kBucketsPerDoubling) << shift, std::int64_t{1} << shift};
}

std::int64_t middleOfBucket(int bucket)
{
    const Bucket at = bucketAt(bucket);
    return at.lowest + at.width / 2;
}

/// Which bar a duration falls into.
class BarScale {
public:
    BarScale(std::int64_t shortest, std::int64_t longest) : m_from(scale(shortest)), m_width(scale(longest) - m_from) {}
    std::size_t barOf(std::int64_t ns) const
    {
        constexpr int kBars = DurationDistribution::kBars;
        const double place = m_width > 0 ? (scale(ns) - m_from) / m_width * kBars : kBars / 2.0;
        return static_cast<std::size_t>(std::clamp(static_cast<int>(place), 0, kBars - 1));
    }

private:
    static double scale(std::int64_t ns) { return std::log2(static_cast<double>(std::max<std::int64_t>(ns, 1))); }
    double m_from, m_width;
};

constexpr std::int64_t kFewDurations = 2048; ///< are sorted, more are counted by bucket first

/// The index, from 0, of the nearest rank.
std::int64_t rankOf(double share, std::int64_t count)
{
    const auto rank = static_cast<std::int64_t>(std::ceil(share * static_cast<double>(count)));
    return std::clamp<std::int64_t>(rank - 1, 0, count - 1);
}

} // namespace

template <class Visit>
void DurationDistribution::visitKept(Visit&& visit) const
{
    for (const std::uint32_t ns : m_short) visit(std::int64_t{ns});
    for (const Shared& shared : m_shared)
        for (const std::uint32_t ns : shared.durations)
            if (ns != kElsewhere) visit(std::int64_t{ns});
    for (const std::int64_t ns : m_long) visit(ns);
}

void DurationDistribution::add(Duration duration)
{
    ++m_count;
    if (!m_rough.empty()) {
        ++m_rough[bucketOf(duration.ns)];
        m_shortest = std::min(*m_shortest, duration);
        m_longest = std::max(*m_longest, duration);
    } else if (duration.ns < kElsewhere) {
        m_short.push_back(static_cast<std::uint32_t>(duration.ns));
    } else {
        m_long.push_back(duration.ns);
    }
}

void DurationDistribution::addShared(std::shared_ptr<const void> owner, std::span<const std::uint32_t> durations,
                                     std::size_t elsewhere)
{
    if (durations.empty()) return;
    m_count += static_cast<std::int64_t>(durations.size() - elsewhere);
    m_shared.push_back({std::move(owner), durations});
    if (!m_rough.empty()) makeRough();
}

void DurationDistribution::add(const DurationDistribution& other)
{
    if (other.m_count == 0) return;
    if (!other.isExact()) makeRough();
    m_count += other.m_count;
    m_short.insert(m_short.end(), other.m_short.begin(), other.m_short.end());
    m_long.insert(m_long.end(), other.m_long.begin(), other.m_long.end());
    m_shared.insert(m_shared.end(), other.m_shared.begin(), other.m_shared.end());
    for (const auto& [bucket, count] : other.m_rough) m_rough[bucket] += count;
    if (m_rough.empty()) return;
    if (other.m_shortest) {
        m_shortest = m_shortest ? std::min(*m_shortest, *other.m_shortest) : *other.m_shortest;
        m_longest = m_longest ? std::max(*m_longest, *other.m_longest) : *other.m_longest;
    }
    makeRough();
}

void DurationDistribution::makeRough()
{
    visitKept([this](std::int64_t ns) {
        ++m_rough[bucketOf(ns)];
        m_shortest = std::min(m_shortest.value_or(Duration{ns}), Duration{ns});
        m_longest = std::max(m_longest.value_or(Duration{ns}), Duration{ns});
    });
    decltype(m_short)().swap(m_short); // = {} would keep the room
    decltype(m_long)().swap(m_long);
    decltype(m_shared)().swap(m_shared);
}

std::vector<Duration> DurationDistribution::atRanks(std::span<const std::int64_t> ranks, Spread& spread) const
{
    std::vector<Duration> found;
    if (m_count <= kFewDurations) {
        std::vector<std::int64_t> all;
        all.reserve(static_cast<std::size_t>(m_count));
        visitKept([&](std::int64_t ns) { all.push_back(ns); });
        std::sort(all.begin(), all.end());
        spread.shortest = Duration{all.front()};
        spread.longest = Duration{all.back()};
        const BarScale scale(all.front(), all.back());
        for (const std::int64_t ns : all) ++spread.bars[scale.barOf(ns)];
        for (const std::int64_t rank : ranks) found.push_back(Duration{all[static_cast<std::size_t>(rank)]});
        return found;
    }
    // First how many are in each bucket; then those are looked at one by one that share a bucket with a wanted rank or
    // with the edge of a bar.
    std::vector<std::int64_t> counts(kBucketCount);
    std::int64_t least = std::numeric_limits<std::int64_t>::max(), most = 0;
    visitKept([&](std::int64_t ns) {
        ++counts[static_cast<std::size_t>(bucketOf(ns))];
        least = std::min(least, ns);
        most = std::max(most, ns);
    });
    spread.shortest = Duration{least};
    spread.longest = Duration{most};
    const BarScale scale(least, most);
    std::vector<std::int32_t> looked(kBucketCount, -1);
    std::vector<std::vector<std::int64_t>> values;
    const auto look = [&](std::size_t bucket) {
        if (looked[bucket] >= 0) return;
        looked[bucket] = static_cast<std::int32_t>(values.size());
        values.emplace_back();
    };
    struct Place {
        std::size_t bucket = 0;
        std::int64_t index = 0;
    };
    std::vector<Place> places(ranks.size());
    std::vector<bool> isCut(kBucketCount);
    std::int64_t below = 0;
    for (std::size_t bucket = 0; bucket < counts.size(); ++bucket) {
        const std::int64_t count = counts[bucket];
        if (count == 0) continue;
        for (std::size_t i = 0; i < ranks.size(); ++i)
            if (ranks[i] >= below && ranks[i] < below + count) {
                places[i] = {bucket, ranks[i] - below};
                look(bucket);
            }
        below += count;
        const Bucket at = bucketAt(static_cast<int>(bucket));
        const std::size_t first = scale.barOf(std::max(least, at.lowest)),
                          last = scale.barOf(std::min(most, at.lowest + (at.width - 1)));
        if (first == last) {
            spread.bars[first] += count;
        } else {
            isCut[bucket] = true;
            look(bucket);
        }
    }
    visitKept([&](std::int64_t ns) {
        const auto bucket = static_cast<std::size_t>(bucketOf(ns));
        if (looked[bucket] >= 0) values[static_cast<std::size_t>(looked[bucket])].push_back(ns);
    });
    for (std::size_t bucket = 0; bucket < isCut.size(); ++bucket)
        if (isCut[bucket])
            for (const std::int64_t ns : values[static_cast<std::size_t>(looked[bucket])])
                ++spread.bars[scale.barOf(ns)];
    for (const Place& place : places) {
        std::vector<std::int64_t>& of = values[static_cast<std::size_t>(looked[place.bucket])];
        const auto at = of.begin() + static_cast<std::ptrdiff_t>(place.index);
        std::nth_element(of.begin(), at, of.end());
        found.push_back(Duration{*at});
    }
    return found;
}

std::optional<Duration> DurationDistribution::percentile(double share) const
{
    if (m_count == 0) return std::nullopt;
    const std::int64_t rank = rankOf(share, m_count);
    if (isExact()) {
        Spread spread;
        return atRanks({&rank, 1}, spread).front();
    }
    std::int64_t below = 0;
    for (const auto& [bucket, count] : m_rough) {
        below += count;
        if (below > rank) return std::clamp(Duration{middleOfBucket(bucket)}, *m_shortest, *m_longest);
    }
    return *m_longest;
}

std::int64_t DurationDistribution::shorterThan(Duration duration) const
{
    std::int64_t count = 0;
    visitKept([&](std::int64_t ns) { count += ns < duration.ns ? 1 : 0; });
    for (const auto& [bucket, of] : m_rough)
        if (middleOfBucket(bucket) < duration.ns) count += of;
    return count;
}

DurationDistribution::Spread DurationDistribution::spread() const
{
    Spread spread;
    if (m_count == 0) return spread;
    if (isExact()) {
        const std::array<std::int64_t, 2> ranks{rankOf(0.5, m_count), rankOf(0.99, m_count)};
        const std::vector<Duration> found = atRanks(ranks, spread);
        spread.median = found[0];
        spread.percentile99 = found[1];
        return spread;
    }
    spread.shortest = *m_shortest;
    spread.longest = *m_longest;
    spread.median = *percentile(0.5);
    spread.percentile99 = *percentile(0.99);
    const BarScale scale(m_shortest->ns, m_longest->ns);
    for (const auto& [bucket, count] : m_rough) spread.bars[scale.barOf(middleOfBucket(bucket))] += count;
    return spread;
}

} // namespace fourwalls
