// SPDX-License-Identifier: GPL-3.0-or-later
// From where to where a trace has slices. Recordings may begin and end with instants far from all work.
#pragma once

#include "views/session/trace_session.h"

#include <functional>
#include <optional>

namespace fourwalls::views {

/// From the begin of the first slice to the end of the last one; absent without any. Of short slices as exact as their
/// bins.
std::optional<TimeRange> extentOf(const SliceWindow& window);

/// When it is asked: at opening other questions come first, and of many tracks nothing is read for it.
enum class ExtentAsked { Opening, ByHand };

/// Has a worker look for it; `then` gets it with a margin, within `whole`, or `whole` where the trace cannot be read. False
/// where nothing is asked: there are no slices, or so many tracks that the range of all of them is the whole trace.
bool askExtent(TraceSession& session, QObject& asker, TimeRange whole, ExtentAsked when,
               std::function<void(TimeRange)> then);

} // namespace fourwalls::views
