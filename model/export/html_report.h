// SPDX-License-Identifier: Apache-2.0
// A trace as one page of HTML for a ticket or a lesson: what it is, where the time and the memory went, and what the
// trace does not know. No scripts, nothing from outside, no names of hosts, files or paths.
#pragma once

#include "model/base/result.h"
#include "model/trace/trace_query.h"

#include <ostream>
#include <stop_token>

namespace fourwalls {

/// Writes the page. All figures are those of computeMetrics and the stored summaries; what is unknown is a dash or a
/// sentence that says so. Errors: those of the queries; Cancelled.
Status writeHtmlReport(TraceQuery& trace, std::ostream& out, std::stop_token stop = {});

} // namespace fourwalls
