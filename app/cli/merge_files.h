// SPDX-License-Identifier: Apache-2.0
// Traces (and profiles that `import` reads) of one run into one trace file.
#pragma once

#include "app/cli/console.h"
#include "model/import/merge_traces.h"
#include "model/trace/trace_query.h"

#include <stop_token>
#include <string>
#include <vector>

namespace fourwalls::cli {

/// Writes the merged trace to `path`, clocks aligned. Returns what is in it. Errors: those of reading, merging and
/// writing; Cancelled. What was begun at `path` is left there then.
Result<TraceInfo> mergeFiles(const std::vector<std::string>& files, const std::string& path, std::stop_token stop,
                             Progress& progress, importers::MergeKind kind = importers::MergeKind::Ranks);

} // namespace fourwalls::cli
