// SPDX-License-Identifier: Apache-2.0
// Traces of single ranks (or of some ranks each) of one run become one trace on one clock.
#pragma once

#include "model/base/result.h"
#include "model/trace/trace_query.h"
#include "model/trace/trace_sink.h"

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

namespace fourwalls::importers {

/// One part of the run.
struct MergeInput {
    std::string name;            ///< file, for messages
    TraceQuery* trace = nullptr; ///< must outlive the merge
};

/// Ranks: each is in one input, and their clocks are aligned. Attempts: each input is an attempt at the same job, one after
/// the other on one clock, so that a rank is in several; what is alive when one ends, ends with it.
enum class MergeKind { Ranks, Attempts };

class TraceMerge {
public:
    /// Settles ranks and clocks. Ranks: those that an input has data of keep their number. A number that two inputs
    /// have is resolved where one of them is a memory snapshot (its buffers join the other's kernels) or an import
    /// whose files did not say their rank (it gets the next free one). Clocks: see alignClocks.
    /// Errors: InvalidArgument if inputs are not of one run (another specification, source or kind of clock, one
    /// rank twice); those of the queries; Cancelled.
    static Result<std::unique_ptr<TraceMerge>> create(std::vector<MergeInput> inputs, std::stop_token stop = {},
                                                      MergeKind kind = MergeKind::Ranks);

    virtual ~TraceMerge() = default;
    virtual const TraceHeader& header() const = 0;
    virtual TraceClosing closing() const = 0;

    /// Writes everything but the finish. Members of a collective are found over all inputs, so that waiting is told
    /// from transfer; the audit has each rank's offset and residual. progress: 0..1, may be empty. Call once.
    virtual Status write(TraceSink& sink, const std::function<void(double)>& progress, std::stop_token stop) = 0;
};

} // namespace fourwalls::importers
