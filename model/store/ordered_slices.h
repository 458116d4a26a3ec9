// SPDX-License-Identifier: Apache-2.0
// The slices of a track in the order that lanes want, without holding all of them when there are many.
#pragma once

#include "model/base/result.h"
#include "model/store/record_source.h"

#include <cstddef>
#include <cstdint>
#include <functional>

namespace fourwalls::store {

/// Tracks of at most this many slices are sorted in memory (40 bytes each).
inline constexpr std::size_t kMostSortedSlices = 1'000'000;

/// Calls visit for every slice of the track, sorted. Longer tracks are merged from pairs of neighbouring batches;
/// slices that start before the last but one batch was over are sorted in `chunks` (long slices, recorded when they
/// end, or a whole table of them behind another one).
Status forEachSorted(RecordSource& source, std::int32_t track, ChunkStore& chunks,
                     const std::function<void(const SliceRow&)>& visit, std::size_t mostSorted = kMostSortedSlices);

} // namespace fourwalls::store
