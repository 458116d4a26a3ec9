// SPDX-License-Identifier: Apache-2.0
// See sweep_run.h.
#include "app/cli/sweep_run.h"

#include "profiler/engine/run.h"
#include "profiler/engine/train/checkpoint.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <mutex>
#include <thread>

namespace fourwalls::cli {

namespace fs = std::filesystem;

namespace {

/// Trains from the beginning, or goes on from what `before` has if its checkpoint is there.
Result<SweepResult> train(const SweepJob& job, const SweepOptions& options, std::int64_t until,
                          const SweepResult* before, const std::stop_token& stop)
{
    const std::string checkpoints = options.folder + '/' + job.name + ".checkpoints";
    SweepResult result;
    result.name = job.name;
    result.point = job.point;
    result.spec = job.specHash;
    result.steps = job.spec.training.steps;
    result.noiseEvery = options.noiseEvery;
    result.tokensPerStep = job.spec.training.batch * job.spec.training.sequence;
    std::stop_source ends;
    const std::stop_callback asked(stop, [&ends] { ends.request_stop(); });
    engine::RunOptions run;
    run.measurePeak = false;
    run.stop = ends.get_token();
    run.noiseEvery = options.noiseEvery;
    if (until < result.steps) {
        run.checkpointFolder = checkpoints;
        run.checkpointEvery = until;
    }
    std::error_code ignored;
    if (before && fs::exists(checkpoints, ignored)) {
        // One that was written before the sweep ended in the middle of a run is ahead of what its result knows.
        engine::dropStates(checkpoints, static_cast<std::int64_t>(before->taken.size()) + 1);
        run.resumeFolder = checkpoints;
        result.taken = before->taken;
        result.noise = before->noise;
    }
    engine::RunCallbacks told;
    told.onStep = [&](const engine::StepProgress& step) {
        result.taken.push_back({step.loss, step.gradientNorm, step.learningRate, step.duration.milliseconds()});
        result.diverged = !std::isfinite(step.loss);
        if (result.diverged || step.step + 1 >= until) ends.request_stop();
    };
    auto report = engine::runTraining(job.spec, run, told);
    if (!run.resumeFolder.empty() &&
        (!report || report->firstStep != static_cast<std::int64_t>(before->taken.size()))) {
        // The checkpoint is torn or another one's: training from the beginning gives the same.
        fs::remove_all(checkpoints, ignored);
        return train(job, options, until, nullptr, stop);
    }
    if (!report) return report.error();
    if (!result.hasSteps(until)) return Error{ErrorCode::Cancelled, "stopped", job.name, "the same sweep goes on"};
    if (report->noise.probes > 0) {
        result.noise.batch = report->noise.batch;
        result.noise.batches = report->noise.batches;
        result.noise.probes += report->noise.probes;
        result.noise.smallSquares += report->noise.smallSquares;
        result.noise.largeSquares += report->noise.largeSquares;
    }
    FOURWALLS_TRY(writeSweepResult(options.folder, result, job.spec));
    if (result.isWhole()) fs::remove_all(checkpoints, ignored);
    return result;
}

/// Takes every run with that number to `until` steps.
void runAll(std::vector<SweepOutcome>& outcomes, const std::vector<std::size_t>& which, const SweepOptions& options,
            std::int64_t until, const SweepProgress& progress, const std::stop_token& stop)
{
    std::atomic<std::size_t> next = 0;
    std::size_t done = 0;
    std::mutex mutex;
    const auto work = [&] {
        for (std::size_t i = next++; i < which.size() && !stop.stop_requested(); i = next++) {
            SweepOutcome& outcome = outcomes[which[i]];
            const std::int64_t steps = std::min(until, outcome.job.spec.training.steps);
            std::optional<SweepResult> found = readSweepResult(options.folder, outcome.job.name, outcome.job.specHash);
            const bool probed = found && (options.noiseEvery == 0 || found->noiseEvery == options.noiseEvery ||
                                          (found->noiseEvery < 0 && found->noise.probes > 0));
            outcome.wasThere = probed && found->hasSteps(steps);
            if (!outcome.wasThere) {
                outcome.failure.reset(); // of an earlier try
                auto trained = train(outcome.job, options, steps, probed ? &*found : nullptr, stop);
                if (trained)
                    found = std::move(*trained);
                else if (trained.error().code == ErrorCode::Cancelled)
                    return;
                else
                    outcome.failure = trained.error();
                if (!trained) found.reset();
            }
            outcome.result = std::move(found);
            const std::lock_guard lock(mutex);
            progress(outcome, ++done, which.size());
        }
    };
    std::vector<std::jthread> threads;
    const std::size_t count = std::min<std::size_t>(static_cast<std::size_t>(std::max(1, options.jobs)), which.size());
    for (std::size_t i = 0; i < count; ++i) threads.emplace_back(work);
}

std::vector<SweepOutcome> begin(const std::vector<SweepJob>& jobs)
{
    std::vector<SweepOutcome> outcomes;
    outcomes.reserve(jobs.size());
    for (const SweepJob& job : jobs) outcomes.push_back({job, {}, {}, false, 0});
    return outcomes;
}

} // namespace

std::vector<SweepOutcome> runSweep(const std::vector<SweepJob>& jobs, const SweepOptions& options,
                                   const SweepProgress& progress, const std::stop_token& stop)
{
    std::vector<SweepOutcome> outcomes = begin(jobs);
    std::vector<std::size_t> all(jobs.size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
    runAll(outcomes, all, options, INT64_MAX, progress, stop);
    return outcomes;
}

std::vector<SweepOutcome> runHalving(const std::vector<SweepJob>& jobs, const SweepOptions& options,
                                     const SweepProgress& progress, const std::stop_token& stop)
{
    std::vector<SweepOutcome> outcomes = begin(jobs);
    if (jobs.empty()) return outcomes;
    std::vector<std::size_t> left(jobs.size());
    for (std::size_t i = 0; i < left.size(); ++i) left[i] = i;
    const std::int64_t steps = jobs.front().spec.training.steps;
    std::int64_t until = steps;
    for (std::size_t runs = jobs.size(); runs > 1 && until > 1; runs = (runs + 1) / 2) until = (until + 1) / 2;
    for (;;) {
        runAll(outcomes, left, options, until, progress, stop);
        if (stop.stop_requested() || until >= steps) return outcomes;
        const auto lossOf = [&](std::size_t i) {
            const auto loss = outcomes[i].result ? outcomes[i].result->lossAt(until) : std::nullopt;
            return loss.value_or(HUGE_VAL);
        };
        std::stable_sort(left.begin(), left.end(), [&](std::size_t a, std::size_t b) { return lossOf(a) < lossOf(b); });
        const std::size_t kept = std::max<std::size_t>(1, (left.size() + 1) / 2);
        for (std::size_t i = kept; i < left.size(); ++i) {
            outcomes[left[i]].stoppedAfter = until;
            std::error_code ignored;
            fs::remove_all(options.folder + '/' + outcomes[left[i]].job.name + ".checkpoints", ignored);
        }
        left.resize(kept);
        until = std::min(steps, 2 * until);
    }
}

} // namespace fourwalls::cli
