// SPDX-License-Identifier: Apache-2.0
// See job_launcher.h. The notes lie in memory that all processes of all attempts have open.
#include "app/cli/job_launcher.h"

#include "app/cli/rank_launcher.h"
#include "app/cli/record_ranks.h"
#include "profiler/engine/job.h"

#include <array>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

namespace fourwalls::cli {

namespace fs = std::filesystem;

namespace {

/// A file of no folder; closed at the end.
class NoteFile {
public:
    NoteFile() : m_descriptor(memfd_create("job", 0)) {} // the ranks inherit it
    ~NoteFile()
    {
        if (m_descriptor >= 0) close(m_descriptor);
    }
    NoteFile(const NoteFile&) = delete;
    NoteFile& operator=(const NoteFile&) = delete;
    int descriptor() const { return m_descriptor; }

private:
    int m_descriptor;
};

/// What an attempt may leave: one trace, and those of ranks that came too late for it.
std::vector<std::string> tracesOfAttempt(const std::string& part, int world)
{
    if (part.empty()) return {};
    std::vector<std::string> files{part};
    for (int rank = 0; rank < world; ++rank) files.push_back(rankFile(part, rank));
    return files;
}

void addParts(const std::string& part, int world, std::vector<std::string>& parts)
{
    for (const std::string& file : tracesOfAttempt(part, world))
        if (fs::exists(file)) parts.push_back(file);
}

/// Until the job is over, an older trace of its name stays.
int joinAttempts(Console& console, const std::vector<std::string>& parts, const std::string& output, int exitCode)
{
    if (parts.empty()) return exitCode;
    const Status joined = joinTraces(parts, output, importers::MergeKind::Attempts);
    if (joined.ok()) return exitCode;
    const int failed = console.fail(joined.error());
    return exitCode == kExitDone ? failed : exitCode;
}

} // namespace

std::string attemptFile(const std::string& output, int attempt)
{
    if (output.empty()) return {};
    fs::path path(output);
    const std::string extension = path.has_extension() ? path.extension().string() : ".fourwalls";
    return path.replace_extension(".attempt" + std::to_string(attempt) + extension).string();
}

JobOfRank jobOfRank(const char* variable)
{
    JobOfRank job;
    if (!variable) return job;
    std::array<std::int64_t, 4> numbers{};
    const char* at = variable;
    const char* const end = variable + std::strlen(variable);
    for (std::int64_t& number : numbers) {
        const auto read = std::from_chars(at, end, number);
        if (read.ec != std::errc{}) return job;
        at = read.ptr == end ? end : read.ptr + 1;
    }
    job.attempt = static_cast<int>(numbers[0]);
    job.origin.monotonicNs = numbers[1];
    job.origin.unixNs = numbers[2];
    job.notes = std::make_unique<engine::JobNotes>(static_cast<int>(numbers[3]));
    return job;
}

int launchJob(Console& console, const std::string& output, int world, std::chrono::milliseconds timeout,
              const engine::RunOptions& options)
{
    if (const Status free = engine::checkCheckpointFolder(options); !free.ok()) return console.fail(free.error());
    const NoteFile file;
    if (file.descriptor() < 0)
        return console.fail({ErrorCode::Io, "this system has no memory for a job's notes", "--restarts", "without it"});
    engine::JobNotes notes(file.descriptor());
    const auto origin = engine::ClockOrigin::now();
    std::vector<std::string> parts;
    for (int attempt = 0;; ++attempt) {
        notes.add({.what = engine::JobNote::What::Attempt, .step = attempt, .at = origin.instantNow()});
        const std::string part = attemptFile(output, attempt);
        for (const std::string& earlier : tracesOfAttempt(part, world)) removeTrace(earlier);
        const std::string job = std::to_string(attempt) + ' ' + std::to_string(origin.monotonicNs) + ' ' +
                                std::to_string(origin.unixNs) + ' ' + std::to_string(file.descriptor());
        const RanksEnded ended = launchRecording(console, part, world, timeout, options.stop, job);
        addParts(part, world, parts);
        const bool isDone = ended.exitCode == kExitDone && !ended.firstKilled;
        if (isDone || !engine::mayRestart(notes, options, attempt, ended.isKilled))
            return joinAttempts(console, parts, output, ended.exitCode);
        engine::prepareRestart(notes, options, attempt);
    }
}

} // namespace fourwalls::cli
