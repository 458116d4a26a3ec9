// SPDX-License-Identifier: Apache-2.0
// A trace as Chrome's trace event JSON, for Perfetto and chrome://tracing.
// Format: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
#pragma once

#include "model/base/result.h"
#include "model/trace/trace_query.h"

#include <functional>
#include <ostream>
#include <stop_token>

namespace fourwalls {

/// Ranks become processes, tracks become threads (slices that overlap without nesting go to further threads of the
/// same name), counters and live memory by category become counter tracks, flows become arrows.
/// Times are microseconds with exact decimals. progress: 0..1, may be empty.
/// Errors: those of the query; Io if the stream fails; Cancelled.
Status exportChromeTrace(TraceQuery& trace, std::ostream& out, const std::function<void(double)>& progress = {},
                         std::stop_token stop = {});

} // namespace fourwalls
