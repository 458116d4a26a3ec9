// SPDX-License-Identifier: Apache-2.0
// See run.h.
#include "profiler/engine/run.h"

#include "profiler/engine/job.h"
#include "profiler/engine/run_attempt.h"
#include "profiler/engine/train/server_protocol.h"

namespace fourwalls::engine {

Result<RunReport> runTraining(const RunSpec& spec, const RunOptions& given, const RunCallbacks& callbacks)
{
    FOURWALLS_TRY(checkRunnable(spec, given));
    RunOptions options = given;
    if (!options.sink) options.origin = ClockOrigin::now();
    JobNotes own;
    const bool restartsItself = options.restarts > 0 && !options.processes;
    if (!options.notes) options.notes = &own;
    if (restartsItself) FOURWALLS_TRY(checkCheckpointFolder(options));
    ProbedMachine machine;
    for (int attempt = options.attempt;; ++attempt) {
        // Of processes each is given its attempt's run.
        const auto now =
            options.processes ? Result<RunSpec>(spec) : specOfAttempt(spec, options, *options.notes, attempt);
        if (!now) return now.error();
        if (!options.processes)
            options.notes->add({.what = JobNote::What::Attempt,
                                .ranks = ranksOf(now->plan),
                                .step = attempt,
                                .at = options.origin.instantNow()});
        auto report = RunAttempt(*now, options, callbacks, startOf(options.notes->all(), attempt), machine).go();
        if (report || !restartsItself || !mayRestart(*options.notes, options, attempt)) return report;
        if (callbacks.onMessage) callbacks.onMessage("failed: " + report.error().message());
        prepareRestart(*options.notes, options, attempt);
    }
}

} // namespace fourwalls::engine
