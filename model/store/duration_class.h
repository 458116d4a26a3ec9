// SPDX-License-Identifier: Apache-2.0
// Duration classes: powers of four. A row of class c lasts from 4^c up to (not including) 4^(c+1) ns; class 0 also
// holds everything shorter. Bins of level L are 4^L ns wide and hold the slices of class < L.
#pragma once

#include <bit>
#include <cstdint>

namespace fourwalls::store {

inline constexpr int kClassCount = 31;     ///< 4^31 = 2^62 is beyond every valid duration
inline constexpr int kUnboundedClass = 31; ///< buffers that were never freed
inline constexpr int kBinsPerTile = 256;   ///< slice, counter and rank bins in one BLOB
inline constexpr int kMemoryBinsPerTile = 64;
inline constexpr int kBinsAtTop = 16;  ///< the coarsest level kept is the first with no more bins
inline constexpr int kFenceEvery = 64; ///< rows of a run between two fences

constexpr int durationClass(std::int64_t ns)
{
    return ns < 4 ? 0 : (63 - std::countl_zero(static_cast<std::uint64_t>(ns))) / 2;
}

/// Width of a bin of that level [ns].
constexpr std::int64_t levelWidth(int level)
{
    return std::int64_t{1} << (2 * level);
}

/// The bin of that level that holds the instant; negative times count downwards.
constexpr std::int64_t binOf(std::int64_t ns, int level)
{
    return ns >> (2 * level);
}

/// The tile of a slice, counter or rank bin; negative indexes count downwards.
constexpr std::int64_t tileOf(std::int64_t bin, int binsPerTile = kBinsPerTile)
{
    return bin >= 0 ? bin / binsPerTile : -((-bin - 1) / binsPerTile) - 1;
}

/// The widest level whose bins are not wider than `ns` (0 for less than 4 ns).
constexpr int levelNotWiderThan(std::int64_t ns)
{
    return durationClass(ns);
}

} // namespace fourwalls::store
