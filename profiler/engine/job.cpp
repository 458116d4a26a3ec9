// SPDX-License-Identifier: Apache-2.0
// See job.h.
#include "profiler/engine/job.h"

#include "profiler/engine/core/out_of_memory.h"
#include "profiler/engine/run.h"
#include "profiler/engine/train/checkpoint.h"
#include "profiler/engine/train/server_protocol.h"

#include <algorithm>
#include <filesystem>
#include <string_view>

namespace fourwalls::engine {

namespace {

/// Whether the rank that ended this attempt has taken its device with it.
bool losesDevice(const std::vector<JobNote>& ofAttempt)
{
    return std::none_of(ofAttempt.begin(), ofAttempt.end(), [](const JobNote& note) {
        if (note.what == JobNote::What::Detected) return std::string_view(note.text).starts_with(kOutOfMemory);
        return note.what == JobNote::What::Spiked;
    });
}

Result<RunSpec> specOfDevices(const RunSpec& whole, const RunOptions& options, int devices)
{
    if (ranksOf(whole.plan) <= devices) return whole;
    RunOptions plain = options; // what happens on purpose has been looked at, and is of ranks that may be gone
    plain.faults.clear();
    plain.disturbances.clear();
    plain.linkFaults.clear();
    plain.processes = nullptr;
    for (int dp = whole.plan.dp - 1; dp >= 1; --dp) {
        RunSpec smaller = whole;
        smaller.plan.dp = dp;
        if (dp * whole.plan.cp == 1) smaller.plan.zero = 0; // nobody to share with
        if (smaller.plan.worldSize() > devices) continue;
        if (resolve(smaller).ok() && checkRunnable(smaller, plain).ok()) return smaller;
    }
    return Error{ErrorCode::Unsupported,
                 "there are " + std::to_string(devices) + " devices left, and the plan of " +
                     std::to_string(ranksOf(whole.plan)) + " ranks has no smaller dp that divides its batch",
                 "the plan", "more --spares, or a plan with dp above 1"};
}

} // namespace

Result<RunSpec> specOfAttempt(const RunSpec& whole, const RunOptions& options, const JobNotes& notes, int attempt)
{
    if (!options.spares) return whole;
    const std::vector<JobNote> all = notes.all();
    int devices = ranksOf(whole.plan) + *options.spares;
    for (int earlier = 0; earlier < attempt; ++earlier)
        if (losesDevice(notesOf(all, earlier))) --devices;
    return specOfDevices(whole, options, devices);
}

Status checkSpares(const RunSpec& whole, const RunOptions& options)
{
    if (!options.spares || *options.spares > 0) return {};
    const auto next = specOfDevices(whole, options, ranksOf(whole.plan) - 1);
    return next ? Status() : next.error();
}

Status checkCheckpointFolder(const RunOptions& options)
{
    const auto plain = [](const std::string& folder) { return std::filesystem::path(folder).lexically_normal(); };
    const bool isOwn = !options.resumeFolder.empty() && plain(options.resumeFolder) == plain(options.checkpointFolder);
    if (isOwn || !hasStates(options.checkpointFolder)) return {};
    return Error{ErrorCode::InvalidArgument, "has checkpoints of another run, which a restart could take for its own",
                 options.checkpointFolder, "remove them, name another --checkpoint-dir, or go on with --resume"};
}

bool mayRestart(const JobNotes& notes, const RunOptions& options, int attempt, bool isKilled)
{
    if (attempt >= options.restarts || options.stop.stop_requested()) return false;
    if (isKilled) return true;
    const std::vector<JobNote> all = notes.all();
    return std::any_of(all.begin(), all.end(), [](const JobNote& note) { return note.what == JobNote::What::Begun; });
}

void prepareRestart(JobNotes& notes, const RunOptions& options, int failedAttempt)
{
    const std::vector<JobNote> all = notes.all(), last = notesOf(all, failedAttempt);
    const auto isSpike = [](const JobNote& note) { return note.what == JobNote::What::Spiked; };
    const auto spike = std::find_if(last.begin(), last.end(), isSpike);
    if (spike == last.end()) return;
    // The weights of a checkpoint of that number made the loss.
    dropStates(options.checkpointFolder, spike->step);
    const auto jumpedIn = [&](int attempt) {
        const std::vector<JobNote> own = notesOf(all, attempt);
        return std::any_of(own.begin(), own.end(),
                           [&](const JobNote& note) { return isSpike(note) && note.step == spike->step; });
    };
    bool isAgain = false;
    for (int attempt = 0; attempt < failedAttempt && !isAgain; ++attempt) isAgain = jumpedIn(attempt);
    if (!isAgain) return; // a bit that was turned over is not the data's fault
    std::vector<std::int64_t> skipped = startOf(all, failedAttempt).skipped;
    skipped.insert(skipped.end(), options.skippedData.begin(), options.skippedData.end());
    std::sort(skipped.begin(), skipped.end());
    skipped.erase(std::unique(skipped.begin(), skipped.end()), skipped.end());
    for (const std::int64_t step : {spike->step - 1, spike->step})
        if (step >= 0) notes.add({.what = JobNote::What::Skip, .step = batchOf(step, skipped)});
}

} // namespace fourwalls::engine
