// SPDX-License-Identifier: Apache-2.0
// The longest slice of some kinds, found by the stored levels of detail: costs about what a screen does, whatever the
// trace's size.
#pragma once

#include "model/trace/slice_surroundings.h"

#include <functional>
#include <optional>
#include <span>
#include <stop_token>

namespace fourwalls {

/// The longest of the slices that are seen in the range on the tracks and are wanted; of equal ones the first. Absent:
/// there is none. Errors: those of TraceQuery::slices.
Result<std::optional<NamedSlice>> longestSlice(TraceQuery& trace, std::span<const TrackId> tracks, TimeRange range,
                                               const std::function<bool(const OpInfo&)>& isWanted,
                                               const std::stop_token& stop = {});

} // namespace fourwalls
