// SPDX-License-Identifier: Apache-2.0
// Opening what others recorded: one or several foreign files of one run become one trace. The caller makes the sink
// from header(), calls write, and finishes the sink with closing().
#pragma once

#include "model/base/result.h"
#include "model/import/common/step_choice.h"
#include "model/import/trace_facts.h"
#include "model/trace/trace_sink.h"

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

namespace fourwalls::importers {

struct ImportOptions {
    std::function<void(double)> progress; ///< 0..1, from the calling thread; may be empty
    std::stop_token stop;                 ///< Cancelled soon after it is requested
    std::string scratchFolder; ///< for what does not fit into memory; empty: the system's for temporary files
    StepChoice steps;          ///< what a step shall be, where a format leaves that open
};

class TraceImport {
public:
    virtual ~TraceImport() = default;

    /// Looks at the files and finds out which ranks they are. Errors: NotFound, Io; Unsupported naming what a file is
    /// if it is none of ours; InvalidArgument if the files are not of one run; Cancelled. Memory snapshots may stand
    /// beside files of one other format: see joinSnapshots.
    static Result<std::unique_ptr<TraceImport>> open(const std::vector<std::string>& paths,
                                                     const ImportOptions& options = {});

    virtual const TraceHeader& header() const = 0;

    /// Writes everything but the finish. What was left out or repaired is counted in the sink's audit; only reading
    /// errors and a cancel fail. Call once.
    virtual Status write(TraceSink& sink, const ImportOptions& options) = 0;

    virtual TraceClosing closing() const { return {}; }
};

/// The facts of one foreign file, without writing a trace. Errors: as TraceImport::open.
Result<TraceFacts> factsOfFile(const std::string& path, const ImportOptions& options = {});

/// Whether a file's first bytes are those of something that can be imported: for file dialogs and the choice between
/// opening and importing.
bool looksImportable(const std::string& path);

} // namespace fourwalls::importers
