// SPDX-License-Identifier: Apache-2.0
// The engine's front door: run a training described by a RunSpec on this machine, recording it into a TraceSink or,
// without a sink, only timing it.
#pragma once

#include "model/base/result.h"
#include "model/spec/run_spec.h"
#include "model/trace/records.h"
#include "profiler/engine/core/run_options.h"

namespace fourwalls::engine {

/// Whether this machine and this build can run the spec; says what cannot and what to use instead.
/// Errors: Unsupported (plan, precision, device, model kind, too little memory), InvalidArgument (sizes, what the
/// options name).
Status checkRunnable(const RunSpec& spec, const RunOptions& options = {});

/// The header for the sink that will record this run. spec: resolved. Opens nothing.
TraceHeader describeRun(const RunSpec& spec, const ClockOrigin& origin, ClockKind clock = ClockKind::Wall);

/// Trains. spec: resolved (model/spec `resolve`). Blocks until done; the ranks are threads of this process, or this
/// process is one of them: then the sink gets this rank's records only, and the report is complete on rank 0.
/// Same spec, seed and machine give bit-identical losses and weights.
/// Errors: those of checkRunnable; Io or Format from data and weight files; Internal if the memory runs out. In a run
/// of several ranks `where` names the one that failed first; the trace has an event of it.
Result<RunReport> runTraining(const RunSpec& spec, const RunOptions& options, const RunCallbacks& callbacks = {});

} // namespace fourwalls::engine
