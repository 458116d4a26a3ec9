// SPDX-License-Identifier: Apache-2.0
// The section of a report about memory: the curve of the fullest rank, what fills its peak, and all ranks' peaks.
#pragma once

#include "model/base/result.h"
#include "model/export/redaction.h"
#include "model/export/report_page.h"
#include "model/trace/metrics.h"
#include "model/trace/trace_query.h"

#include <vector>

namespace fourwalls {

/// metrics, steps: of the trace. Errors: those of the trace's queries.
Status addMemory(TraceQuery& trace, const Redaction& redaction, const TraceMetrics& metrics,
                 const std::vector<StepUtilisation>& steps, ReportPage& page);

} // namespace fourwalls
