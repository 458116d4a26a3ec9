// SPDX-License-Identifier: Apache-2.0
// A trace as a plain SQLite database: the tables of trace_tables.h with rows that need no unpacking, and views that
// join them under names.
#pragma once

#include "model/base/result.h"
#include "model/trace/trace_query.h"

#include <functional>
#include <stop_token>
#include <string>

namespace fourwalls {

/// Writes the tables and the views named_slices, named_collectives, named_allocations and named_counter_samples into a
/// new database at `path` (replaced if there is one). Unknown is NULL. progress: 0..1, may be empty.
/// Errors: those of the query; Io; Cancelled.
Status exportSqlite(TraceQuery& trace, const std::string& path, const std::function<void(double)>& progress = {},
                    std::stop_token stop = {});

} // namespace fourwalls
