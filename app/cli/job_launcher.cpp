// SPDX-License-Identifier: Apache-2.0
// See job_launcher.h. The notes lie in memory that all processes of all attempts have open.
#include "app/cli/job_launcher.h"

#include "app/cli/rank_launcher.h"
#include "app/cli/record_ranks.h"
#include "profiler/engine/comm/hang_watch.h"
#include "profiler/engine/core/job_notes.h"
#include "profiler/engine/job.h"
#include "profiler/engine/run.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include <fcntl.h>
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

/// Whether an attempt ended because a rank waited too long.
bool stoodStill(const engine::JobNotes& notes, int attempt)
{
    const std::vector<engine::JobNote> all = notes.all(), ofAttempt = engine::notesOf(all, attempt);
    return std::any_of(ofAttempt.begin(), ofAttempt.end(), [](const engine::JobNote& note) {
        return note.what == engine::JobNote::What::Detected &&
               std::string_view(note.text).find(engine::kWaitsLonger) != std::string_view::npos;
    });
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

namespace {

std::string notesFile(const std::string& output)
{
    return output + ".job";
}

/// The number in a variable of the environment; absent without it.
Result<std::optional<int>> countIn(const char* variable)
{
    const char* const text = std::getenv(variable);
    if (!text) return std::optional<int>();
    int count = 0;
    const char* const end = text + std::strlen(text);
    const auto read = std::from_chars(text, end, count);
    if (read.ec != std::errc{} || read.ptr != end || count < 0)
        return Error{ErrorCode::InvalidArgument, "is '" + std::string(text) + "', not a number of restarts",
                     std::string("the environment's ") + variable, "a launcher that counts its restarts there"};
    return std::optional(count);
}

/// Instant 0 of a job that began on this machine or another one.
engine::ClockOrigin originAt(std::int64_t unixNs)
{
    engine::ClockOrigin origin = engine::ClockOrigin::now();
    origin.monotonicNs -= origin.unixNs - unixNs;
    origin.unixNs = unixNs;
    return origin;
}

/// Of the first attempt; it stands in its note.
std::optional<engine::ClockOrigin> originOf(const std::vector<engine::JobNote>& notes)
{
    if (notes.empty() || notes.front().what != engine::JobNote::What::Attempt) return std::nullopt;
    std::int64_t unixNs = 0;
    const char* const text = notes.front().text;
    if (std::from_chars(text, text + std::strlen(text), unixNs).ec != std::errc{}) return std::nullopt;
    return originAt(unixNs);
}

} // namespace

Result<JobOfRank> jobOfLauncher(const std::string& output, int rank, int world, const engine::RunOptions& options)
{
    JobOfRank job;
    FOURWALLS_TRY_ASSIGN(const std::optional<int> elastic, countIn("TORCHELASTIC_RESTART_COUNT"));
    FOURWALLS_TRY_ASSIGN(const std::optional<int> slurm, countIn("SLURM_RESTART_COUNT"));
    FOURWALLS_TRY_ASSIGN(const std::optional<int> most, countIn("TORCHELASTIC_MAX_RESTARTS"));
    const bool isSlurm = std::getenv("SLURM_JOB_ID") != nullptr; // which does not count before the first restart
    if (output.empty() || (!elastic && !slurm && !isSlurm)) return job;
    job.attempt = elastic.value_or(slurm.value_or(0));
    job.isLast = job.attempt >= std::min(options.restarts, most.value_or(options.restarts));
    job.isOfLauncher = true;
    const bool begins = rank == 0 && job.attempt == 0;
    const std::string path = notesFile(output);
    const int file = open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | (begins ? O_TRUNC : 0), 0666);
    if (file < 0)
        return Error{ErrorCode::Io, std::string("cannot be written: ") + std::strerror(errno), path,
                     "a folder that all ranks can write to"};
    job.notes = std::make_unique<engine::JobNotes>(file);
    if (rank != 0) return job;
    if (begins) FOURWALLS_TRY(engine::checkCheckpointFolder(options));
    const auto origin = originOf(job.notes->all());
    if (!begins && !origin)
        return Error{ErrorCode::NotFound, "does not know how the job began", path, "the folder of the first attempt"};
    job.origin = origin.value_or(engine::ClockOrigin::now());
    if (job.attempt > 0) engine::prepareRestart(*job.notes, options, job.attempt - 1);
    job.notes->add(
        {.what = engine::JobNote::What::Attempt, .ranks = world, .step = job.attempt, .at = job.origin.instantNow()},
        std::to_string(job.origin.unixNs));
    for (const std::string& earlier : tracesOfAttempt(attemptFile(output, job.attempt), world)) removeTrace(earlier);
    return job;
}

int endOfLauncher(Console& console, const JobOfRank& job, const std::string& output, int world, int exitCode,
                  bool wasStopped)
{
    if ((exitCode != kExitDone || wasStopped) && !job.isLast) {
        console.message("what was recorded is in " + attemptFile(output, job.attempt) +
                        ", until the launcher starts the job again");
        return exitCode;
    }
    std::vector<std::string> parts;
    for (int attempt = 0; attempt <= job.attempt; ++attempt) addParts(attemptFile(output, attempt), world, parts);
    const int joined = joinAttempts(console, parts, output, exitCode);
    std::error_code ignored;
    if (joined == exitCode) fs::remove(notesFile(output), ignored);
    return joined;
}

int launchJob(Console& console, const std::string& output, const RunSpec& spec, std::chrono::milliseconds timeout,
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
        const auto now = engine::specOfAttempt(spec, options, notes, attempt);
        if (!now) return joinAttempts(console, parts, output, console.fail(now.error()));
        const auto world = static_cast<int>(engine::describeRun(*now, {}, options.clock).ranks.size());
        notes.add({.what = engine::JobNote::What::Attempt, .ranks = world, .step = attempt, .at = origin.instantNow()});
        const std::string part = attemptFile(output, attempt);
        for (const std::string& earlier : tracesOfAttempt(part, world)) removeTrace(earlier);
        const std::string job = std::to_string(attempt) + ' ' + std::to_string(origin.monotonicNs) + ' ' +
                                std::to_string(origin.unixNs) + ' ' + std::to_string(file.descriptor());
        const RanksEnded ended = launchRecording(console, part, world, timeout, options.stop, job);
        addParts(part, world, parts);
        const bool isDone = ended.exitCode == kExitDone && !ended.firstKilled;
        if (isDone || !engine::mayRestart(notes, options, attempt, ended.isKilled))
            return joinAttempts(console, parts, output, ended.exitCode);
        // What the ranks were in when one of them ended; of a hang somebody may want to know who stood still.
        if (!part.empty() && !stoodStill(notes, attempt)) removeDumps(part, world);
        engine::prepareRestart(notes, options, attempt);
    }
}

} // namespace fourwalls::cli
