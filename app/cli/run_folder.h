// SPDX-License-Identifier: Apache-2.0
// A folder of trainings: traces, results of a sweep, and the logs of other frameworks, with the tags that a person gave
// them (runs.tags.json in the folder).
#pragma once

#include "model/base/result.h"
#include "model/compare/run_curves.h"

#include <functional>
#include <map>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace fourwalls::cli {

struct FolderRun {
    std::string file; ///< path from the folder
    compare::RunCurves curves;
};

struct RunFolder {
    std::vector<FolderRun> runs;                              ///< by file
    std::vector<std::pair<std::string, std::string>> leftOut; ///< files that are none, with the reason
};

using RunTags = std::map<std::string, std::vector<std::string>>; ///< by file

/// Reads every run of the folder and of the folders in it. Errors: NotFound; Io; Unsupported for too many files; Cancelled.
/// What cannot be read is left out and named.
Result<RunFolder> readRunFolder(const std::string& folder, const std::function<void(double)>& progress,
                                const std::stop_token& stop);

/// Errors: Format for a damaged file of tags.
Result<RunTags> readRunTags(const std::string& folder);
/// Errors: Io.
Status writeRunTags(const std::string& folder, const RunTags& tags);

} // namespace fourwalls::cli
