// SPDX-License-Identifier: Apache-2.0
// See record_ranks.h.
#include "app/cli/record_ranks.h"

#include "app/cli/merge_files.h"
#include "app/cli/output_file.h"
#include "app/cli/rank_launcher.h"
#include "model/store/trace_file.h"
#include "model/store/trace_writer.h"
#include "profiler/engine/comm/hang_watch.h"
#include "profiler/engine/comm/process_world.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <optional>
#include <utility>

namespace fourwalls::cli {

namespace fs = std::filesystem;

namespace {

/// What a process that was killed while it made its file has left, under the name that the file had until then.
void removeBegun(const std::string& path)
{
    std::error_code ignored;
    const fs::path file(path);
    const std::string begun = file.filename().string() + ".starting-";
    std::vector<fs::path> left;
    for (const auto& entry :
         fs::directory_iterator(file.has_parent_path() ? file.parent_path() : fs::path("."), ignored))
        if (entry.path().filename().string().starts_with(begun)) left.push_back(entry.path());
    for (const fs::path& each : left) fs::remove(each, ignored);
}

/// Where the ranks of a run that hangs leave what they did last: "run.dumps" for "run.fourwalls".
std::string dumpFolder(const std::string& output)
{
    return fs::path(output).replace_extension(".dumps").string();
}

bool hasStep(const std::string& file)
{
    const auto trace = store::openTrace(file);
    return trace.ok() && (*trace)->info().stepCount > 0;
}

/// What was recorded until a rank was lost becomes one trace all the same; but an older one of that name is not given up
/// for a recording without a step.
void salvage(Console& console, const std::vector<std::string>& files, const std::string& output, bool isAttempt)
{
    if (files.empty()) return;
    if (fs::exists(output) && std::none_of(files.begin(), files.end(), hasStep)) {
        for (const std::string& file : files) removeTrace(file);
        return console.message("no step was recorded; " + output + " is still the older trace");
    }
    const Status joined = joinTraces(files, output);
    if (joined.ok() && isAttempt) return;
    console.message(joined.ok() ? "what was recorded until then is in " + output
                                : "the ranks' files are left as they are: " + joined.error().message());
}

/// A rank that stood still may be about to end its file when the time for it is over, on a busy machine.
constexpr std::chrono::seconds kLeastRelease{15};

/// One specification for all: rank 0's, because descriptions of "this machine" differ.
Result<RunSpec> agreeOnSpec(engine::MeetingPoint& meeting, const RunSpec& own)
{
    if (meeting.self().rank == 0) {
        meeting.set("specification", toJson(own));
        return own;
    }
    FOURWALLS_TRY_ASSIGN(const std::string text, meeting.get("specification"));
    FOURWALLS_TRY_ASSIGN(RunSpec first, runSpecFromJson(text));
    RunSpec here = own;
    here.cluster = first.cluster;
    if (specHash(here) != specHash(first))
        return Error{ErrorCode::InvalidArgument, "it was started with another model, plan or setting than rank 0",
                     "rank " + std::to_string(meeting.self().rank), "the same command for all ranks"};
    return first;
}

/// Instant 0 of the run on this machine's clocks. given: by whoever began the job, if not by rank 0 now.
Result<engine::ClockOrigin> agreeOnOrigin(engine::MeetingPoint& meeting, const engine::ClockOrigin& given)
{
    if (meeting.self().rank == 0) {
        const auto origin = given.monotonicNs != 0 ? given : engine::ClockOrigin::now();
        meeting.set("origin", std::to_string(origin.monotonicNs) + " " + std::to_string(origin.unixNs));
        return origin;
    }
    FOURWALLS_TRY_ASSIGN(const std::string text, meeting.get("origin"));
    engine::ClockOrigin origin;
    const char* const end = text.data() + text.size();
    const char* const space = std::from_chars(text.data(), end, origin.monotonicNs).ptr;
    if (space != end) std::from_chars(space + 1, end, origin.unixNs);
    origin.monotonicNs -= meeting.clockOffsetNs();
    return origin;
}

class Recording {
public:
    Recording(Console& console, RankRecording run) : m_console(console), m_run(std::move(run)) {}

    int go(const engine::LaunchedRank& self)
    {
        auto world = engine::joinGlooWorld(self, m_run.timeout);
        if (!world) return m_console.fail(world.error());
        m_world = std::move(*world);
        const Status status = run();
        if (status.ok()) return first() ? m_run.tell(m_report, m_run.output) : kExitDone;
        return m_told ? kExitCouldNot : m_console.fail(status.error());
    }

private:
    bool first() const { return m_world->rank().value == 0; }
    engine::MeetingPoint& meeting() { return m_world->meeting(); }

    Status run()
    {
        auto spec = agreeOnSpec(meeting(), m_run.spec);
        auto origin = agreeOnOrigin(meeting(), m_run.options.origin);
        for (const Error* error : {spec ? nullptr : &spec.error(), origin ? nullptr : &origin.error()})
            if (error) {
                meeting().fail(*error);
                return *error;
            }
        m_run.spec = std::move(*spec);
        m_run.options.origin = *origin;
        m_run.options.processes = m_world.get();
        if (m_run.output.empty()) return train();

        if (first()) removeDumps(m_run.output, m_world->size());
        m_file = rankFile(m_run.output, m_world->rank().value);
        TraceHeader header = engine::describeRun(m_run.spec, m_run.options.origin, m_run.options.clock);
        std::erase_if(header.ranks, [this](const RankInfo& rank) { return rank.rank != m_world->rank(); });
        auto writer = store::TraceWriter::create(m_file, header, {});
        if (!writer) {
            meeting().fail(writer.error());
            return writer.error();
        }
        m_run.options.sink = writer->get();
        m_run.options.hang.folder = dumpFolder(m_run.output);
        const Status trained = train();
        const auto lost = meeting().lost();
        if (lost && lost->gone && !trained.ok()) {
            m_told = true; // at once: finishing and merging take their time
            m_console.fail(trained.error());
        }
        if (!trained.ok() && m_steps == 0 && !(lost && lost->gone)) {
            writer->reset();
            removeTrace(m_file); // a mistake that was found before the first step: nothing that anybody would want
            return trained;
        }
        const Status finished = (*writer)->finish(trained.ok() ? m_report.closing : TraceClosing{});
        writer->reset();
        if (!trained.ok()) return afterFailure(trained);
        if (!finished.ok()) meeting().fail(finished.error());
        FOURWALLS_TRY(finished);
        return afterSuccess();
    }

    Status train()
    {
        engine::RunCallbacks told;
        told.onStep = [this](const engine::StepProgress& step) {
            ++m_steps;
            if (first() && m_run.callbacks.onStep) m_run.callbacks.onStep(step);
        };
        if (first()) told.onMessage = m_run.callbacks.onMessage;
        auto report = engine::runTraining(m_run.spec, m_run.options, told);
        if (!report) {
            meeting().fail(report.error()); // the first word counts; who only leaves would keep the others waiting
            return report.error();
        }
        m_report = std::move(*report);
        return {};
    }

    Status afterSuccess()
    {
        FOURWALLS_TRY_ASSIGN(const std::vector<std::string> files, meeting().gather("file", m_file));
        if (!first()) return {};
        for (const std::string& file : files)
            if (!fs::exists(file))
                return Error{ErrorCode::Io, file + " is on another machine", "the ranks' files",
                             "bring them together and fourwalls-cli merge FILES -o " + m_run.output};
        return joinTraces(files, m_run.output);
    }

    /// What the ranks recorded until then becomes one trace all the same, if rank 0 is there to make it.
    Status afterFailure(const Status& trained)
    {
        meeting().set("last file/" + std::to_string(m_world->rank().value), m_file);
        if (!first()) return trained;
        std::vector<std::string> files;
        // However many ranks stand still.
        const auto deadline =
            std::chrono::steady_clock::now() + std::max<std::chrono::milliseconds>(m_run.timeout, kLeastRelease);
        for (int rank = 0; rank < m_world->size(); ++rank) {
            const std::string file = rankFile(m_run.output, rank);
            // One that does not come in time keeps its file; it is read beside it, as it is then.
            meeting().awaitDespite("last file/" + std::to_string(rank), RankId{rank}, deadline);
            if (fs::exists(file))
                files.push_back(file);
            else
                removeBegun(file);
        }
        salvage(m_console, files, m_run.output, m_run.isAttempt);
        const std::string dumps = dumpFolder(m_run.output);
        if (isHang(trained.error()) && fs::exists(dumps)) m_console.message("who hung it: fourwalls-cli hang " + dumps);
        return trained;
    }

    /// Whether somebody stood still, so that there is somebody to look for, and the dumps are kept: of an attempt that is
    /// followed by another they stay only where a rank waited too long.
    bool isHang(const Error& error)
    {
        const auto lost = meeting().lost();
        const std::string& what = lost ? lost->error.what : error.what;
        if (what.find(engine::kWaitsLonger) != std::string::npos) return true;
        return !m_run.isAttempt && what.find(engine::kNoSignOfLife) != std::string::npos;
    }

    Console& m_console;
    RankRecording m_run;
    std::unique_ptr<engine::ProcessWorld> m_world;
    engine::RunReport m_report;
    std::string m_file;
    bool m_told = false; // what went wrong
    std::int64_t m_steps = 0;
};

} // namespace

void removeDumps(const std::string& output, int world)
{
    std::error_code ignored;
    const std::string folder = dumpFolder(output);
    for (int rank = 0; rank < world; ++rank) fs::remove(engine::HangWatch::fileOf(folder, RankId{rank}), ignored);
    fs::remove(folder, ignored);
}

void removeTrace(const std::string& path)
{
    std::error_code ignored;
    for (const char* companion : {"", "-wal", "-shm", "-journal"}) fs::remove(path + companion, ignored);
    removeBegun(path);
}

Status joinTraces(const std::vector<std::string>& files, const std::string& output, importers::MergeKind kind)
{
    Progress progress(kind == importers::MergeKind::Ranks ? "merging the ranks' files" : "merging the attempts");
    FOURWALLS_TRY_ASSIGN(auto pending, PendingOutput::create(output, OutputKind::Trace));
    FOURWALLS_TRY(mergeFiles(files, pending.temporaryPath(), {}, progress, kind));
    FOURWALLS_TRY(pending.commit());
    for (const std::string& file : files) removeTrace(file);
    return {};
}

std::string rankFile(const std::string& output, int rank)
{
    fs::path path(output);
    const std::string extension = path.has_extension() ? path.extension().string() : ".fourwalls";
    return path.replace_extension(".rank" + std::to_string(rank) + extension).string();
}

RanksEnded launchRecording(Console& console, const std::string& output, int world, std::chrono::milliseconds timeout,
                           const std::stop_token& stop, const std::string& job)
{
    if (!output.empty()) // of an earlier run: none of this one's
        for (int rank = 0; rank < world; ++rank) removeTrace(rankFile(output, rank));
    auto ended = launchRanks(world, timeout, stop, job);
    if (!ended) {
        RanksEnded none;
        none.exitCode = console.fail(ended.error());
        return none;
    }
    if (!ended->firstKilled) return *ended;
    // Rank 0 did not live to make the trace.
    std::vector<std::string> files;
    for (int rank = 0; rank < world && !output.empty(); ++rank) {
        const std::string file = rankFile(output, rank);
        if (fs::exists(file))
            files.push_back(file);
        else
            removeBegun(file);
    }
    console.message(ended->complaint.empty() ? "fourwalls-cli record: rank 0 was killed" : ended->complaint);
    salvage(console, files, output, !job.empty());
    ended->exitCode = kExitCouldNot;
    return *ended;
}

int recordRank(Console& console, const engine::LaunchedRank& self, RankRecording run)
{
    return Recording(console, std::move(run)).go(self);
}

} // namespace fourwalls::cli
