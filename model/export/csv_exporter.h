// SPDX-License-Identifier: Apache-2.0
// A trace as tables: one CSV file (RFC 4180, UTF-8, a header line) per table in a folder.
#pragma once

#include "model/base/result.h"
#include "model/trace/trace_query.h"

#include <functional>
#include <stop_token>
#include <string>

namespace fourwalls {

/// Writes the tables of trace_tables.h into `folder`, which is created if missing. Unknown is empty. progress: 0..1,
/// may be empty. Errors: those of the query; Io; Cancelled.
Status exportCsv(TraceQuery& trace, const std::string& folder, const std::function<void(double)>& progress = {},
                 std::stop_token stop = {});

} // namespace fourwalls
