// SPDX-License-Identifier: Apache-2.0
// The section of a report about what is wrong with the run.
#pragma once

#include "model/base/result.h"
#include "model/export/redaction.h"
#include "model/export/report_page.h"
#include "model/trace/trace_query.h"

#include <stop_token>

namespace fourwalls {

/// The first three findings with their evidence, the titles of the others, and what could not be told. Errors: those of
/// diagnose::diagnose.
Status addFindings(TraceQuery& trace, const Redaction& redaction, ReportPage& page, std::stop_token stop);

} // namespace fourwalls
