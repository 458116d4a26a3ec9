// SPDX-License-Identifier: Apache-2.0
// Environment, child, conversion, report.
#include "app/cli/record_command.h"

#include "app/cli/child_program.h"
#include "app/cli/output_file.h"
#include "app/cli/python_hook.h"
#include "app/cli/spool_folder.h"
#include "app/cli/stop_signals.h"
#include "app/cli/trace_clocks_report.h"
#include "model/base/format.h"
#include "model/import/import_registry.h"
#include "model/import/spool/spool_beside.h"
#include "model/store/trace_file.h"
#include "model/store/trace_writer.h"
#include "model/trace/audit_counter.h"
#include "profiler/collect/collector_environment.h"
#include "profiler/collect/spool_format.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>

#include <dlfcn.h>
#include <unistd.h>

namespace fourwalls::cli {

namespace fs = std::filesystem;

namespace {

constexpr char kEnvModule[] = "FOURWALLS_COLLECTOR"; ///< the module's path, where it does not lie beside this program
constexpr char kEnvMemory[] = "FOURWALLS_MEMORY";

/// What NCCL keeps of the name of a plugin (MAX_STR_LEN of its plugin_open.cc).
constexpr std::size_t kLongestPluginPath = 254;

// As shells have it.
constexpr int kExitCommandNotStarted = 126;
constexpr int kExitCommandNotFound = 127;

/// "A-B" or "A" with A <= B.
bool areSteps(const std::string& text)
{
    const std::size_t dash = text.find('-');
    const std::string first = text.substr(0, dash), last = dash == std::string::npos ? first : text.substr(dash + 1);
    const auto number = [](const std::string& word) {
        return !word.empty() && word.size() <= 9 &&
               std::all_of(word.begin(), word.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
    };
    return number(first) && number(last) && std::stol(first) <= std::stol(last);
}

/// The module: named by the environment, beside this program, or where it is built or installed.
std::optional<std::string> findModule()
{
    std::error_code failure;
    if (const char* named = std::getenv(kEnvModule); named && *named) {
        const fs::path path = fs::absolute(named, failure);
        return fs::is_regular_file(path, failure) ? std::optional(path.string()) : std::nullopt;
    }
    const fs::path own = fs::read_symlink("/proc/self/exe", failure).parent_path();
    for (const char* place : {".", "../lib", "../lib/fourwalls", "../profiler/collect", "../profiler/collect/module"}) {
        const fs::path path = own / place / collect::kModuleFileName;
        if (fs::is_regular_file(path, failure)) return fs::weakly_canonical(path, failure).string();
    }
    return std::nullopt;
}

/// In a folder of a build: the command that makes it.
std::string howToGetModule()
{
    std::error_code failure;
    const fs::path build = fs::read_symlink("/proc/self/exe", failure).parent_path().parent_path();
    if (!fs::is_regular_file(build / "CMakeCache.txt", failure)) return "a build where CUPTI's headers are installed";
    return "cmake --build " + build.string() +
           " --target fourwalls_collector, configured where CUPTI's headers (of the CUDA toolkit) are installed";
}

/// Why a program that ran leaves nothing of a GPU.
std::string whyNothing()
{
    void* const driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (!driver) return "this machine has no CUDA driver, so that no program can use a GPU";
    dlclose(driver);
    return "the program did not initialise CUDA, or did nothing with it";
}

std::string howItEnded(const ChildEnd& end)
{
    if (end.signal != 0)
        return std::string("was ended by signal ") + std::to_string(end.signal) + " (" + strsignal(end.signal) + ")";
    return "returned " + std::to_string(end.exitCode);
}

/// What the collector complained of, in the order of the audit; empty if nothing.
std::string complaintOf(const TraceInfo& info)
{
    for (const AuditRecord& record : info.audit)
        if (isCounter(record, AuditCounter::CollectorMessage) && record.severity != AuditSeverity::Info)
            return record.detail;
    return {};
}

/// Whether calls were left out in some process.
bool hasLowDetail(const TraceInfo& info)
{
    return std::any_of(info.audit.begin(), info.audit.end(), [](const AuditRecord& record) {
        return isCounter(record, AuditCounter::DetailLevel) && memberOf(record) == "low";
    });
}

Result<TraceInfo> convert(const std::vector<std::string>& spools, const std::string& path, const std::stop_token& stop)
{
    constexpr double kWritingShare = 0.6;
    Progress progress("making the trace");
    importers::ImportOptions options;
    options.progress = [&progress](double fraction) { progress(kWritingShare * fraction); };
    options.stop = stop;
    options.scratchFolder = fs::absolute(path).parent_path().string();
    FOURWALLS_TRY_ASSIGN(const auto import, importers::openImport(spools, options));
    store::WriterOptions writing;
    writing.finishProgress = [&progress](double fraction) { progress(kWritingShare + (1 - kWritingShare) * fraction); };
    writing.finishStop = stop;
    {
        FOURWALLS_TRY_ASSIGN(const auto writer, store::TraceWriter::create(path, import->header(), writing));
        FOURWALLS_TRY(import->write(*writer, options));
        FOURWALLS_TRY(writer->finish(import->closing()));
    }
    FOURWALLS_TRY_ASSIGN(const auto trace, store::openTrace(path));
    return trace->info();
}

/// What a shell would return for a command that ended so.
int statusOf(const ChildEnd& end)
{
    return end.signal != 0 ? 128 + end.signal : end.exitCode;
}

/// Whether somebody else's tool is to be injected by this variable.
bool isTaken(const char* variable)
{
    const char* const value = std::getenv(variable);
    return value && *value && fs::path(value).filename() != collect::kModuleFileName;
}

std::map<std::string, std::string> environmentFor(Console& console, const CommandRecording& recording,
                                                  const std::string& module, const std::string& folder)
{
    std::map<std::string, std::string> variables{{collect::kEnvSpoolFolder, folder}};
    struct Injection {
        const char* variable;
        const char* missing;
    };
    for (const Injection& injection : {Injection{collect::kEnvCudaInjection, "nothing of the GPU"},
                                       {collect::kEnvNvtxInjection, "no NVTX ranges"},
                                       {collect::kEnvNcclPlugin, "no payloads of NCCL"}}) {
        if (!isTaken(injection.variable)) {
            variables[injection.variable] = module;
            continue;
        }
        // Two injected tools exclude each other: the one that was asked for first stays.
        console.message(std::string("fourwalls-cli record: ") + injection.variable + " is set to another tool's " +
                        std::getenv(injection.variable) + " and stays so: " + injection.missing +
                        " will be recorded (unset it to record)");
    }
    if (variables.count(collect::kEnvNcclPlugin) != 0 && module.size() > kLongestPluginPath)
        console.message("fourwalls-cli record: NCCL reads " + std::to_string(kLongestPluginPath) +
                        " characters of a plugin's path, and the collector's has " + std::to_string(module.size()) +
                        ": no payloads of NCCL will be recorded (a shorter path, or a link to it in " + kEnvModule +
                        ")");
    if (!recording.steps.empty()) variables[collect::kEnvSteps] = recording.steps;
    if (!recording.detail.empty()) variables[collect::kEnvDetail] = recording.detail;
    if (recording.every) variables[collect::kEnvEvery] = std::to_string(*recording.every);
    if (recording.limit) variables[collect::kEnvSpoolLimit] = std::to_string(*recording.limit);
    if (recording.memory) variables[kEnvMemory] = "1";
    if (!recording.host.empty()) {
        const auto has = [&recording](const char* part) { return recording.host == "all" || recording.host == part; };
        variables[collect::kEnvHostPauses] = has("pauses") ? "1" : "0";
        variables[collect::kEnvSyncStacks] = has("stacks") ? "1" : "0";
    }
    // Python looks for sitecustomize there first; ours runs the one that it hides.
    const fs::path hook = fs::path(folder) / "python";
    std::error_code failure;
    fs::create_directory(hook, failure);
    std::ofstream file(hook / "sitecustomize.py", std::ios::binary);
    file << pythonHook();
    if (file.flush()) {
        const char* const path = std::getenv("PYTHONPATH");
        variables["PYTHONPATH"] = hook.string() + (path && *path ? std::string(":") + path : std::string());
    }
    return variables;
}

int report(Console& console, const CommandRecording& recording, const TraceInfo& info, std::size_t processes,
           const ChildEnd& end)
{
    if (console.json()) {
        nlohmann::json object{{"file", recording.output},
                              {"exit_status", end.signal != 0 ? 128 + end.signal : end.exitCode},
                              {"processes", processes},
                              {"slices", info.counts.slices},
                              {"collectives", info.counts.collectives},
                              {"allocations", info.counts.allocations},
                              {"steps", info.stepCount}};
        object["ranks"] = nlohmann::json::array();
        for (const RankInfo& rank : info.header.ranks) object["ranks"].push_back(rank.rank.value);
        object["clocks"] = clocksJson(info);
        return console.answerJson(std::move(object));
    }
    std::string text = recording.output + ": " + formatCount(info.counts.slices) + " slices, " +
                       formatCount(info.stepCount) + " steps, " + formatCount(info.counts.collectives) +
                       " collectives on " + formatCount(static_cast<std::int64_t>(info.header.ranks.size())) + " ranks";
    for (const AuditRecord& record : info.audit)
        if (isCounter(record, AuditCounter::StepsFrom) || isCounter(record, AuditCounter::StepsUnknown))
            text += "\n  steps: " + record.detail;
    if (recording.detail.empty() && hasLowDetail(info))
        text += "\n  the job launches so much that its calls were left out (low): there are no phases of launches, and "
                "steps are timed on the host; --detail normal records them at a higher cost";
    for (const std::string& line : clocksText(info)) text += "\n  clock of " + line;
    if (const std::string complaint = complaintOf(info); !complaint.empty()) text += "\n  " + complaint;
    return console.answerText(text);
}

} // namespace

int recordCommand(Console& console, const CommandRecording& recording)
{
    const std::string name = "record -- " + recording.command.front();
    if (recording.output.empty())
        return console.wrongUsage({ErrorCode::InvalidArgument, "is missing", "-o OUT.fourwalls", "name the trace"});
    if (!recording.steps.empty() && !areSteps(recording.steps))
        return console.wrongUsage(
            {ErrorCode::InvalidArgument, "cannot be '" + recording.steps + "'", "--steps", "A-B, for example 10-13"});
    if (recording.every && *recording.every < 1)
        return console.wrongUsage({ErrorCode::InvalidArgument, "must be at least 1", "--every", "--every 100"});
    if (recording.limit && *recording.limit < 0)
        return console.wrongUsage(
            {ErrorCode::InvalidArgument, "cannot be below 0", "--spool-limit", "--spool-limit 16384"});
    const auto module = findModule();
    const auto notRecorded = [&console](const Error& error) {
        console.fail(error);
        return kExitNotRecorded;
    };
    if (!module)
        return notRecorded({ErrorCode::NotFound,
                            std::string("the collector's module (") + collect::kModuleFileName + ") is not there", name,
                            howToGetModule() + ", or " + kEnvModule + "=PATH"});
    auto output = PendingOutput::create(recording.output, OutputKind::Trace);
    if (!output) return notRecorded(output.error());
    for (const std::string& left : SpoolFolder::leftBehind(recording.output))
        console.message("fourwalls-cli record: an earlier recording was cut short, and what it recorded is in " + left +
                        " (fourwalls-cli import " + left + "/*.fwspool -o OUT.fourwalls makes a trace of it)");
    auto folder = SpoolFolder::create(recording.output);
    if (!folder) return notRecorded(folder.error());

    const auto end =
        runChild(recording.command, environmentFor(console, recording, *module, folder->path()), console.json());
    if (!end) {
        console.fail(end.error());
        return end.error().code == ErrorCode::NotFound ? kExitCommandNotFound : kExitCommandNotStarted;
    }
    const int status = statusOf(*end);
    const bool failed = status != 0;
    const auto noTrace = [&](const Error& error) {
        return failed ? (console.fail(error), status) : notRecorded(error);
    };
    const std::vector<std::string> spools = folder->spools();
    if (spools.empty()) {
        const std::string ended =
            failed ? "it " + howItEnded(*end) + ", and nothing was recorded: " : "nothing was recorded: ";
        return noTrace({ErrorCode::NotFound, ended + whyNothing(), name, "a program that uses a GPU of this machine"});
    }
    const StopSignals signals;
    const auto info = convert(spools, output->temporaryPath(), signals.token());
    if (!info) return noTrace(folder->keepFor(info.error()));
    if (info->counts.slices == 0) {
        const std::string complaint = complaintOf(*info);
        const std::string ended = failed ? "it " + howItEnded(*end) + ", and nothing of the GPU was recorded"
                                         : "nothing of the GPU was recorded";
        return noTrace({ErrorCode::NotFound, ended + ": " + (complaint.empty() ? whyNothing() : complaint), name,
                        "FOURWALLS_VERBOSE=1 to see what the collector says"});
    }
    const Status placed = output->commit();
    if (!placed.ok()) return noTrace(folder->keepFor(placed.error()));
    if (const std::vector<std::int32_t> running = folder->running(); !running.empty()) {
        folder->keep();
        std::string pids;
        for (const std::int32_t pid : running) pids += (pids.empty() ? "" : ", ") + std::to_string(pid);
        console.message("fourwalls-cli record: the command has left processes behind that still record (" + pids +
                        "): the trace has what they did until now, and their spools stay in " + folder->path());
    }
    const int told = report(console, recording, *info, spools.size(), *end);
    if (hasCounter(info->audit, AuditCounter::NoGpuWork)) {
        const std::string complaint = complaintOf(*info);
        const std::string ended = failed ? "it " + howItEnded(*end) + ", and " : "";
        console.fail({ErrorCode::NotFound,
                      ended + "no work on a GPU was seen: " + (complaint.empty() ? whyNothing() : complaint) +
                          "; what the host did is in " + recording.output,
                      name, ""});
    } else if (failed) {
        console.fail(
            {ErrorCode::Io, howItEnded(*end) + "; what it did until then is in " + recording.output, name, ""});
    }
    return failed ? status : told;
}

} // namespace fourwalls::cli
