// SPDX-License-Identifier: Apache-2.0
// The list of formats, and the choice by a file's first bytes.
#include "model/import/import_registry.h"

#include "model/import/common/archive_reader.h"
#include "model/import/common/byte_source.h"
#include "model/import/common/file_rank.h"
#include "model/import/common/import_format.h"
#include "model/import/common/input_files.h"
#include "model/import/common/named_profiles.h"
#include "model/import/common/one_run.h"
#include "model/import/common/scratch_folder.h"
#include "model/import/joined_import.h"
#include "model/import/nsight/nsight_report.h"
#include "model/import/spool/spool_beside.h"
#include "model/import/unknown_format.h"
#include "model/trace/audit_counter.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>

namespace fourwalls::importers {

namespace {

constexpr std::size_t kBeginning = 4096;

bool isJson(std::string_view beginning)
{
    const std::string_view text = withoutSpace(beginning);
    const bool wide = beginning.size() > 1 && (beginning[0] == '\0' || beginning[1] == '\0');
    return !text.empty() && (text[0] == '{' || text[0] == '[') && !wide && !isTrainingLog(beginning) &&
           !isNcclTests(beginning);
}

/// The first key of our own export.
bool isExport(std::string_view beginning)
{
    return withoutSpace(beginning).substr(0, 19) == "{\"fourwalls_export\"";
}

bool isSqlite(std::string_view beginning)
{
    return beginning.substr(0, 15) == "SQLite format 3";
}

/// Protocols 2 to 5, which begin with an opcode and their number; or a dict or list that is remembered first, as 0 ("(dp0",
/// "(lp0") and 1 write it.
bool isPickle(std::string_view beginning)
{
    if (beginning.size() < 3) return false;
    const std::string_view four = beginning.substr(0, 4), two = four.substr(0, 2);
    if (four == "(dp0" || four == "(lp0") return true;
    if (two == "}q" || two == "]q") return beginning[2] == 0 || beginning[2] == 1;
    return beginning[0] == '\x80' && beginning[1] >= 2 && beginning[1] <= 5;
}

Result<std::string> beginningOf(const std::string& path)
{
    FOURWALLS_TRY_ASSIGN(const auto source, openByteSource(path));
    FOURWALLS_TRY_ASSIGN(std::string beginning, firstBytes(*source, kBeginning));
    if (beginning.empty() && !source->damage().empty())
        return Error{ErrorCode::Format, source->damage(), path, "record or copy it again"};
    return beginning;
}

/// path: of the file, where it is at hand; empty: the first format that the beginning may be. Null: none.
const ImportFormat* formatOf(std::string_view beginning, const std::string& path)
{
    for (const ImportFormat& format : importFormats())
        if (format.recognises(beginning) && (path.empty() || !format.confirms || format.confirms(path))) return &format;
    return nullptr;
}

/// Of a file that somebody named: one that no format confirms is refused by the last that it may be, which knows more of
/// its like.
const ImportFormat* formatOfNamed(std::string_view beginning, const std::string& path)
{
    if (const ImportFormat* format = formatOf(beginning, path)) return format;
    const ImportFormat* last = nullptr;
    for (const ImportFormat& format : importFormats())
        if (!format.vague && format.recognises(beginning)) last = &format;
    return last;
}

/// Snapshots that lie beside spools and can be one (a job that was killed may leave an empty file).
void addSnapshotsBeside(const std::vector<std::string>& spools, std::vector<std::string>& snapshots)
{
    for (std::string& path : snapshotsBeside(spools)) {
        const auto beginning = beginningOf(path);
        if (beginning.ok() && isPickle(*beginning)) snapshots.push_back(std::move(path));
    }
}

/// One line: a library's own words may repeat what a damaged file holds.
Error oneLine(Error error)
{
    constexpr std::size_t kLongest = 300;
    if (error.what.size() > kLongest) error.what = error.what.substr(0, kLongest) + " …";
    for (char& c : error.what)
        if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = ' ';
    return error;
}

template <std::size_t N>
bool hasOneOf(const std::array<std::string_view, N>& words, std::string_view beginning)
{
    return std::any_of(words.begin(), words.end(),
                       [&](std::string_view word) { return beginning.find(word) != std::string_view::npos; });
}

bool hasTraceWords(std::string_view beginning)
{
    constexpr std::array<std::string_view, 7> kWords{"\"traceEvents\"",         "\"ph\"",
                                                     "\"deviceProperties\"",    "\"displayTimeUnit\"",
                                                     "\"baseTimeNanoseconds\"", "\"distributedInfo\"",
                                                     "\"fourwalls_export\""};
    return hasOneOf(kWords, beginning);
}

/// What a snapshot's pickle begins with: its first keys, or those of its first segment.
bool hasSnapshotWords(std::string_view beginning)
{
    constexpr std::array<std::string_view, 4> kWords{"segments", "device_traces", "total_size", "segment_type"};
    return hasOneOf(kWords, beginning);
}

/// What programs' output is called when it is kept.
bool isNamedAsLog(std::string_view name)
{
    constexpr std::array<std::string_view, 4> kEnds{".log", ".out", ".err", ".txt"};
    return std::any_of(kEnds.begin(), kEnds.end(), [&](std::string_view end) { return name.ends_with(end); });
}

InputKind kindOf(const std::string& name, std::string_view beginning)
{
    if (isNsightReport(name)) return InputKind::Report;
    if (name.ends_with(".fourwalls")) return InputKind::Other; // made of a run before
    const ImportFormat* format = formatOf(beginning.substr(0, kBeginning), {});
    if (!format || (format->hasProfileWords && !format->hasProfileWords(beginning))) return InputKind::Other;
    if (format->vague && !isNamedAsLog(name)) return InputKind::Other;
    return InputKind::Profile;
}

/// The first entry that reads files as this one does: a log is a log, whether its beginning says so or what follows.
const ImportFormat& firstThatOpens(decltype(ImportFormat::open) open)
{
    const auto& formats = importFormats();
    return *std::find_if(formats.begin(), formats.end(),
                         [open](const ImportFormat& format) { return format.open == open; });
}

/// The files of a run with their formats.
struct RunInputs {
    InputFiles inputs;
    std::vector<const ImportFormat*> formats; ///< of each file
};

/// "NAME, NAME": the first ones.
std::string firstNames(const std::vector<std::string>& names)
{
    std::string text;
    constexpr std::size_t kNamesShown = 5;
    for (std::size_t i = 0; i < names.size() && i < kNamesShown; ++i) text += (i ? ", " : "") + names[i];
    return text;
}

/// Of files that a process wrote one after the other, those of one window are taken.
void chooseWindow(InputFiles& inputs)
{
    std::vector<std::string> names, others;
    for (const InputFile& file : inputs.files) names.push_back(file.name);
    const std::vector<std::size_t> left = otherWindows(names);
    for (std::size_t i = left.size(); i-- > 0;)
        inputs.files.erase(inputs.files.begin() + static_cast<std::ptrdiff_t>(left[i]));
    for (const std::size_t each : left) others.push_back(names[each]);
    if (others.empty()) return;
    inputs.notes.push_back(auditRecord(AuditCounter::WindowsLeftOut, static_cast<std::int64_t>(others.size()),
                                       std::string(infoOf(AuditCounter::WindowsLeftOut).meaning) +
                                           "; open the files of another by themselves: " + firstNames(others)));
}

/// One profiler's folder may hold a run in several formats: the most particular one is taken.
void chooseFormat(RunInputs& run)
{
    const ImportFormat* chosen = nullptr;
    const auto isSnapshot = [](const ImportFormat* format) { return format->open == openSnapshots; };
    for (std::size_t i = 0; i < run.formats.size(); ++i)
        if (!isSnapshot(run.formats[i]) && (!chosen || run.formats[i] < chosen)) chosen = run.formats[i];
    std::vector<InputFile> files;
    std::vector<const ImportFormat*> formats;
    AuditRecord left = auditRecord(AuditCounter::FilesOfAnotherFormat, 0);
    for (std::size_t i = 0; i < run.formats.size(); ++i) {
        InputFile& file = run.inputs.files[i];
        if (file.found && run.formats[i] != chosen && !isSnapshot(run.formats[i])) {
            if (left.count++ == 0)
                left.detail = "left alone beside files of the format " + std::string(chosen->name) + ": " + file.name;
            run.inputs.leaveAlone(file.name);
            continue;
        }
        files.push_back(std::move(file));
        formats.push_back(run.formats[i]);
    }
    run.inputs.files = std::move(files);
    run.formats = std::move(formats);
    if (left.count > 0) run.inputs.notes.push_back(std::move(left));
}

/// Reports are converted, archives unpacked, and every file has a format. Errors: those of inputFiles and of
/// exportNsightReport; Unsupported naming what a file is.
Result<RunInputs> runInputs(const std::vector<std::string>& given, const ImportOptions& options)
{
    RunInputs run;
    FOURWALLS_TRY_ASSIGN(run.inputs, inputFiles(given, kindOf, options));
    chooseWindow(run.inputs);
    std::vector<InputFile> files;
    for (InputFile& file : std::exchange(run.inputs.files, {})) {
        if (isNsightReport(file.path)) {
            FOURWALLS_TRY_ASSIGN(ScratchFolder * scratch, run.inputs.scratchFolder(options.scratchFolder));
            FOURWALLS_TRY_ASSIGN(const std::string output,
                                 scratch->place(std::filesystem::path(file.path).filename().string() + ".sqlite"));
            FOURWALLS_TRY(exportNsightReport(file.path, output, options.stop));
            file.path = output;
        }
        FOURWALLS_TRY_ASSIGN(const std::string beginning, beginningOf(file.path));
        const ImportFormat* format = !options.logLine.empty() ? &firstThatOpens(openTrainingLogs)
                                     : file.found             ? formatOf(beginning, file.path)
                                                              : formatOfNamed(beginning, file.path);
        if (!format && file.found) {
            run.inputs.leaveAlone(file.name);
            continue;
        }
        if (!format) {
            run.inputs.files.push_back(file);
            return run.inputs.named(unknownFormat(file.path, beginning));
        }
        run.formats.push_back(&firstThatOpens(format->open));
        files.push_back(std::move(file));
    }
    run.inputs.files = std::move(files);
    if (run.inputs.files.empty())
        return Error{ErrorCode::Unsupported, "no profile that can be imported", given.front(),
                     "give the folder that holds the files of a run, or the files"};
    chooseFormat(run);
    return run;
}

/// An import of files that were found or unpacked: keeps them, says what was left out, and calls them by the names that
/// the person knows.
class InputImport final : public TraceImport {
public:
    InputImport(InputFiles inputs, std::unique_ptr<TraceImport> import)
        : m_inputs(std::move(inputs))
        , m_import(std::move(import))
    {
        const auto note = [this](AuditCounter counter, std::int64_t count, std::string detail) {
            if (count > 0) m_inputs.notes.push_back(auditRecord(counter, count, std::move(detail)));
        };
        note(AuditCounter::FilesLeftAlone, m_inputs.leftAloneCount, "no profiles: " + firstNames(m_inputs.leftAlone));
        note(AuditCounter::FilesUnreadable, m_inputs.lostCount, firstNames(m_inputs.lost));
    }
    const TraceHeader& header() const override { return m_import->header(); }
    TraceClosing closing() const override { return m_import->closing(); }
    Status write(TraceSink& sink, const ImportOptions& options) override
    {
        const Status written = m_import->write(sink, options);
        if (!written.ok()) return m_inputs.named(written.error());
        for (const AuditRecord& note : m_inputs.notes) sink.audit(note);
        return {};
    }

private:
    InputFiles m_inputs;
    std::unique_ptr<TraceImport> m_import;
};

} // namespace

const std::vector<ImportFormat>& importFormats()
{
    static const std::vector<ImportFormat> kFormats{
        {"Fourwalls spool", isSpool, openSpools, spoolFacts},
        {"Ascend database", isSqlite, openAscendDatabases, ascendFacts, nullptr, isAscendDatabase},
        {"rocpd database", isSqlite, openRocpd, rocpdFacts, nullptr, isRocpd},
        {"rocprofv3 table", isRocprofTable, openRocprofTables, rocprofTableFacts},
        {"Nsight Systems export", isSqlite, openNsightExports, nsightFacts, nullptr, isNsightExport},
        {"XSpace profile", isXSpace, openXSpaces, xspaceFacts},
        {"Perfetto trace", isPerfetto, openPerfettos, perfettoFacts},
        {"PyTorch memory snapshot", isPickle, openSnapshots, factsOfSnapshot, nullptr, nullptr, hasSnapshotWords},
        {"Chakra execution trace", isChakra, openChakras, chakraFacts},
        {"NCCL Inspector log", isNcclInspector, openNcclInspector, ncclInspectorFacts},
        {"PyTorch memory timeline", isMemoryTimeline, openMemoryTimelines, memoryTimelineFacts},
        {"TORCH_TRACE log", isTorchTrace, openTorchTraces, torchTraceFacts},
        {"PyTorch execution trace", isExecutionTrace, openExecutionTraces, executionTraceFacts},
        {"Fourwalls export", isExport, openExports, chromeFacts},
        {"recorded operations of a pipelined job", isOperationTrace, openOperationTraces, chromeFacts},
        {"PyTorch or Chrome trace", isJson, openChromeTraces, chromeFacts, chromeRankInBeginning, nullptr,
         hasTraceWords},
        // Last: in a folder any profile goes before what the job wrote down beside it.
        {"TensorBoard event file", isTensorBoard, openTensorBoards, tensorBoardFacts},
        {"training log", isTrainingLog, openTrainingLogs, trainingLogFacts},
        {"output of nccl-tests", isNcclTests, openNcclTests, ncclTestsFacts},
        {"output of nccl-tests", isText, openNcclTests, ncclTestsFacts, nullptr, hasNcclTestsHeading, nullptr, true},
        {"training log", isText, openTrainingLogs, trainingLogFacts, nullptr, hasTrainingLines, nullptr, true},
    };
    return kFormats;
}

namespace {

Result<std::unique_ptr<TraceImport>> openFormats(const RunInputs& run, const ImportOptions& options)
{
    // By format, in the order given: memory snapshots may come beside files of one other format.
    std::map<const ImportFormat*, std::vector<std::string>> byFormat;
    const ImportFormat* kernels = nullptr;
    const std::vector<std::string> paths = run.inputs.paths();
    for (std::size_t i = 0; i < paths.size(); ++i) {
        const ImportFormat* format = run.formats[i];
        byFormat[format].push_back(paths[i]);
        if (format->open == openSnapshots) continue;
        if (kernels && kernels != format)
            return Error{ErrorCode::InvalidArgument, "files of different formats cannot become one trace", paths[i],
                         "import them one by one; only memory snapshots can be joined with another format"};
        kernels = format;
    }
    // Spools come with the snapshots that were taken beside them.
    if (kernels && kernels->open == openSpools && byFormat.size() == 1)
        for (const ImportFormat& format : importFormats())
            if (format.open == openSnapshots) addSnapshotsBeside(byFormat[kernels], byFormat[&format]);
    std::unique_ptr<TraceImport> opened, buffers;
    for (const auto& [format, files] : byFormat) {
        if (files.empty()) continue;
        auto import = format->open(files, options);
        if (!import.ok()) return oneLine(import.error());
        if (!*import) continue; // all its files were left out
        (format == kernels ? opened : buffers) = std::move(*import);
    }
    if (opened && buffers) {
        // A job may record its buffers for days before it is profiled.
        constexpr std::int64_t kSnapshotTooFarApart = 7LL * 86400 * 1'000'000'000;
        const std::int64_t of = opened->header().originUnixNs, beside = buffers->header().originUnixNs;
        const bool foundBeside = kernels->open == openSpools; // the recorder put them there
        if (!foundBeside && of != 0 && beside != 0 && std::abs(of / 2 - beside / 2) > kSnapshotTooFarApart / 2)
            return Error{ErrorCode::InvalidArgument,
                         "the memory snapshot and the other profile were recorded " +
                             timeApart(std::abs(of / 2 - beside / 2) * 2) + " apart: they are of different runs",
                         paths.front(), "open them one by one"};
    }
    if (opened && buffers) return joinSnapshots(std::move(opened), std::move(buffers));
    return opened ? std::move(opened) : std::move(buffers);
}

/// The import of the files that can be read. Those that were found and cannot are left out, as long as others remain.
Result<std::unique_ptr<TraceImport>> openFiles(RunInputs& run, const ImportOptions& options)
{
    const std::vector<std::string> paths = run.inputs.paths();
    std::size_t remaining = paths.size();
    ImportOptions each = options;
    each.leaveOut = [&](const std::string& path, const Error& why) {
        const auto at = static_cast<std::size_t>(std::find(paths.begin(), paths.end(), path) - paths.begin());
        const bool damaged = why.code == ErrorCode::Format || why.code == ErrorCode::Unsupported;
        if (!damaged || at == paths.size() || !run.inputs.files[at].found || remaining == 1) return false;
        --remaining;
        run.inputs.lose(run.inputs.files[at].name, run.inputs.named(why).what);
        return true;
    };
    return openFormats(run, each);
}

/// Which rank a file is, as far as its name or its beginning tells.
std::optional<int> rankOf(const InputFile& file, const ImportFormat& format)
{
    if (format.rankInBeginning) {
        const auto source = openByteSource(file.path);
        const auto beginning =
            source.ok() ? firstBytes(**source, kInputBeginning) : Result<std::string>(source.error());
        if (beginning.ok())
            if (const auto rank = format.rankInBeginning(*beginning)) return rank;
    }
    return rankFromFileName(file.path);
}

} // namespace

Result<std::unique_ptr<TraceImport>> openImport(const std::vector<std::string>& given, const ImportOptions& options)
{
    if (given.empty()) return Error{ErrorCode::InvalidArgument, "no file to import", "import", "name at least one"};
    auto run = runInputs(given, options);
    if (!run.ok()) return oneLine(run.error());
    auto opened = openFiles(*run, options);
    if (!opened.ok()) return oneLine(run->inputs.named(opened.error()));
    return std::unique_ptr<TraceImport>(std::make_unique<InputImport>(std::move(run->inputs), std::move(*opened)));
}

Result<ImportListing> listImport(const std::vector<std::string>& given, const ImportOptions& options)
{
    if (given.empty()) return Error{ErrorCode::InvalidArgument, "no file to import", "import", "name at least one"};
    const auto run = runInputs(given, options);
    if (!run.ok()) return oneLine(run.error());
    ImportListing listing;
    for (std::size_t i = 0; i < run->formats.size(); ++i) {
        const InputFile& file = run->inputs.files[i];
        listing.files.push_back(
            {file.name, std::string(run->formats[i]->name), rankOf(file, *run->formats[i]), fileBytes(file.path)});
    }
    listing.leftAlone = run->inputs.leftAlone;
    listing.leftAloneCount = run->inputs.leftAloneCount;
    listing.lost = run->inputs.lost;
    listing.lostCount = run->inputs.lostCount;
    return listing;
}

Result<TraceFacts> factsOfFile(const std::string& path, const ImportOptions& options)
{
    const auto run = runInputs({path}, options);
    if (!run.ok()) return oneLine(run.error());
    if (run->formats.size() != 1)
        return Error{ErrorCode::InvalidArgument, "several profiles", path, "facts are those of one file"};
    auto facts = run->formats.front()->facts(run->inputs.files.front().path, options);
    if (!facts.ok()) return oneLine(run->inputs.named(facts.error()));
    return facts;
}

} // namespace fourwalls::importers
