// SPDX-License-Identifier: Apache-2.0
// See job.h.
#include "profiler/engine/job.h"

#include "profiler/engine/train/checkpoint.h"

#include <algorithm>
#include <filesystem>

namespace fourwalls::engine {

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
