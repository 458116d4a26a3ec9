// SPDX-License-Identifier: Apache-2.0
// A trace as one page of HTML for a ticket or a lesson: what it is, where the time and the memory went, and what the
// trace does not know. No scripts, nothing from outside, no names of hosts, files or paths; a picture that is given has
// whatever it shows.
#pragma once

#include "model/base/result.h"
#include "model/trace/trace_query.h"

#include <ostream>
#include <stop_token>
#include <string>

namespace fourwalls {

/// What somebody looked at: the page begins with it.
struct ReportView {
    std::string png;     ///< a picture's bytes; empty: there is none
    std::string caption; ///< what it shows
    std::string command; ///< that opens the same again
};

/// Writes the page. All figures are those of computeMetrics and the stored summaries; what is unknown is a dash or a
/// sentence that says so. Errors: those of the queries; Format for a picture that is no PNG; Cancelled.
Status writeHtmlReport(TraceQuery& trace, std::ostream& out, std::stop_token stop = {}, const ReportView& view = {});

} // namespace fourwalls
