// SPDX-License-Identifier: Apache-2.0
// One or several foreign files of one run that are about to become one trace. The caller makes the sink from header(),
// calls write, and finishes the sink with closing().
#pragma once

#include "model/base/result.h"
#include "model/import/common/step_choice.h"
#include "model/trace/trace_sink.h"

#include <functional>
#include <stop_token>
#include <string>

namespace fourwalls::importers {

struct ImportOptions {
    std::function<void(double)> progress; ///< 0..1, from the calling thread; may be empty
    std::stop_token stop;                 ///< Cancelled soon after it is requested
    std::string scratchFolder; ///< for what does not fit into memory; empty: the system's for temporary files
    StepChoice steps;          ///< what a step shall be, where a format leaves that open
    /// Asked about a file that cannot be read, before the run is refused for it: whether it becomes a trace without that
    /// file (one that was found in a folder, not named). Empty: never.
    std::function<bool(const std::string& path, const Error& why)> leaveOut;
    std::string logLine; ///< a regular expression: the files are logs whose lines it takes apart; empty: told by them
};

/// Whether a file of a run is left out because of what became of reading it.
template <class T>
bool leftOut(const ImportOptions& options, const std::string& path, const Result<T>& read)
{
    return !read.ok() && options.leaveOut && options.leaveOut(path, read.error());
}

class TraceImport {
public:
    virtual ~TraceImport() = default;

    virtual const TraceHeader& header() const = 0;

    /// Writes everything but the finish. What was left out or repaired is counted in the sink's audit; only reading
    /// errors and a cancel fail. Call once.
    virtual Status write(TraceSink& sink, const ImportOptions& options) = 0;

    virtual TraceClosing closing() const { return {}; }
};

} // namespace fourwalls::importers
