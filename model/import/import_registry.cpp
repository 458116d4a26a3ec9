// SPDX-License-Identifier: Apache-2.0
// The list of formats, and the choice by a file's first bytes.
#include "model/import/import_registry.h"

#include "model/import/common/byte_source.h"
#include "model/import/common/import_format.h"
#include "model/import/common/one_run.h"
#include "model/import/common/tar_archive.h"
#include "model/import/joined_import.h"
#include "model/import/spool/spool_beside.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>

namespace fourwalls::importers {

namespace {

constexpr std::size_t kBeginning = 4096;

std::string_view withoutSpace(std::string_view text)
{
    if (text.substr(0, 3) == "\xef\xbb\xbf") text.remove_prefix(3);
    const auto first =
        std::find_if(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) > ' '; });
    return text.substr(static_cast<std::size_t>(first - text.begin()));
}

bool isJson(std::string_view beginning)
{
    const std::string_view text = withoutSpace(beginning);
    const bool wide = beginning.size() > 1 && (beginning[0] == '\0' || beginning[1] == '\0');
    return !text.empty() && (text[0] == '{' || text[0] == '[') && !wide;
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

Result<std::string> beginningOf(ByteSource& source)
{
    std::string bytes(kBeginning, '\0');
    std::size_t size = 0;
    while (size < bytes.size()) {
        FOURWALLS_TRY_ASSIGN(const std::size_t got, source.read(bytes.data() + size, bytes.size() - size));
        if (got == 0) break;
        size += got;
    }
    bytes.resize(size);
    return bytes;
}

Result<std::string> beginningOf(const std::string& path)
{
    FOURWALLS_TRY_ASSIGN(const auto source, openByteSource(path));
    return beginningOf(*source);
}

/// Protocol buffers whose first field is a message, as those of Perfetto and XLA: no text, though it begins with a line
/// break.
bool looksLikeProtobuf(std::string_view beginning)
{
    if (beginning.empty() || beginning[0] != '\n') return false;
    return std::any_of(beginning.begin() + 1, beginning.end(), [](char c) {
        return static_cast<unsigned char>(c) < ' ' && c != '\n' && c != '\r' && c != '\t';
    });
}

/// What a file is that no importer takes.
Error unknownFormat(const std::string& path, std::string_view beginning)
{
    using namespace std::string_view_literals;
    const auto begins = [&](std::string_view with) { return beginning.substr(0, with.size()) == with; };
    Error error{ErrorCode::Unsupported, "none of the formats that can be imported", path,
                "give a PyTorch or Chrome trace, a PyTorch memory snapshot or an Nsight Systems SQLite export"};
    if (beginning.empty()) {
        error = {ErrorCode::Format, "the file is empty", path, "record or copy it again"};
    } else if (begins("version https://git-lfs")) {
        error = {ErrorCode::Unsupported, "a Git LFS pointer, not the file itself", path, "fetch it with: git lfs pull"};
    } else if (begins("QDSTRM") || begins("NVPROF") || path.ends_with(".nsys-rep") || path.ends_with(".qdrep")) {
        error = {ErrorCode::Unsupported, "an Nsight Systems report", path, "export it with: nsys export --type sqlite"};
    } else if (path.ends_with(".xplane.pb")) {
        error = {ErrorCode::Unsupported, "an XSpace profile (of JAX, TensorFlow or XLA)", path,
                 "give the .trace.json.gz beside it, or export one: in XProf or TensorBoard's Profile tab, Trace "
                 "Viewer, or with jax.profiler.trace(…, create_perfetto_trace=True)"};
    } else if (path.ends_with(".csv")) {
        error = {ErrorCode::Unsupported, "a table (CSV), not a trace", path,
                 "give the trace that it was made of; of Ascend's profiler, the trace_view.json beside it"};
    } else if (path.ends_with(".pftrace") || path.ends_with(".perfetto-trace") || looksLikeProtobuf(beginning)) {
        error = {ErrorCode::Unsupported, "a protobuf trace (as of Perfetto or XLA)", path, "export it as Chrome JSON"};
    } else if (begins("PK\x03\x04") ||
               begins("\xfd"
                      "7zXZ") ||
               begins("BZh") || begins("\x28\xb5\x2f\xfd") || begins("7z\xbc\xaf")) {
        error = {ErrorCode::Unsupported, "packed in a way that is not read here (only gzip and tar are)", path,
                 "unpack it first"};
    } else if (begins("\x1f\x8b")) {
        error = {ErrorCode::Unsupported, "packed more than twice", path, "unpack it first"};
    } else if (begins("\xff\xfe") || begins("\xfe\xff") || begins("{\0"sv) || begins("\0{"sv) || begins("[\0"sv) ||
               begins("\0["sv)) {
        error = {ErrorCode::Unsupported, "text in UTF-16", path, "convert it to UTF-8 (iconv -f UTF-16 -t UTF-8)"};
    } else if (withoutSpace(beginning).substr(0, 1) == "<") {
        error = {ErrorCode::Unsupported, "a web page", path, "give the profile or the memory snapshot that it shows"};
    }
    return error;
}

const ImportFormat* formatOf(std::string_view beginning)
{
    for (const ImportFormat& format : importFormats())
        if (format.recognises(beginning)) return &format;
    return nullptr;
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

/// Archives give way to the profiles in them; other files of an archive (notes, logs) are none of the run.
/// Errors: Unsupported for an archive without profiles, or with databases, which must lie on disk to be read.
Result<std::vector<std::string>> withoutArchives(const std::vector<std::string>& paths)
{
    std::vector<std::string> files;
    for (const std::string& path : paths) {
        FOURWALLS_TRY_ASSIGN(const std::string beginning, beginningOf(path));
        if (!isTar(beginning)) {
            files.push_back(path);
            continue;
        }
        FOURWALLS_TRY_ASSIGN(std::vector<TarMember> members, tarMembers(path, kBeginning));
        const std::size_t before = files.size();
        for (TarMember& member : members) {
            const auto source = memorySource(std::move(member.beginning), kBeginning);
            FOURWALLS_TRY_ASSIGN(const std::string first, beginningOf(*source));
            if (isSqlite(first))
                return Error{ErrorCode::Unsupported, "a database in an archive", member.path,
                             "unpack the archive and import the files"};
            if (formatOf(first)) files.push_back(member.path);
        }
        if (files.size() == before)
            return Error{ErrorCode::Unsupported, "an archive without profiles that can be imported", path,
                         "unpack it and look inside"};
    }
    return files;
}

} // namespace

const std::vector<ImportFormat>& importFormats()
{
    static const std::vector<ImportFormat> kFormats{
        {"Fourwalls spool", isSpool, openSpools, spoolFacts},
        {"Nsight Systems export", isSqlite, openNsightExports, nsightFacts},
        {"PyTorch memory snapshot", isPickle, openSnapshots, factsOfSnapshot},
        {"Fourwalls export", isExport, openExports, chromeFacts},
        {"recorded operations of a pipelined job", isOperationTrace, openOperationTraces, chromeFacts},
        {"PyTorch or Chrome trace", isJson, openChromeTraces, chromeFacts},
    };
    return kFormats;
}

Result<std::unique_ptr<TraceImport>> openImport(const std::vector<std::string>& given, const ImportOptions& options)
{
    if (given.empty()) return Error{ErrorCode::InvalidArgument, "no file to import", "import", "name at least one"};
    FOURWALLS_TRY_ASSIGN(const std::vector<std::string> paths, withoutArchives(given));
    // By format, in the order given: memory snapshots may come beside files of one other format.
    std::map<const ImportFormat*, std::vector<std::string>> byFormat;
    const ImportFormat* kernels = nullptr;
    for (const std::string& path : paths) {
        FOURWALLS_TRY_ASSIGN(const std::string beginning, beginningOf(path));
        const ImportFormat* format = formatOf(beginning);
        if (!format) return unknownFormat(path, beginning);
        byFormat[format].push_back(path);
        if (format->open == openSnapshots) continue;
        if (kernels && kernels != format)
            return Error{ErrorCode::InvalidArgument, "files of different formats cannot become one trace", path,
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

Result<TraceFacts> factsOfFile(const std::string& path, const ImportOptions& options)
{
    FOURWALLS_TRY_ASSIGN(const std::vector<std::string> files, withoutArchives({path}));
    if (files.size() != 1)
        return Error{ErrorCode::InvalidArgument, "an archive with several profiles", path,
                     "facts are those of one file"};
    FOURWALLS_TRY_ASSIGN(const std::string beginning, beginningOf(files[0]));
    const ImportFormat* format = formatOf(beginning);
    if (!format) return unknownFormat(path, beginning);
    auto facts = format->facts(files[0], options);
    if (!facts.ok()) return oneLine(facts.error());
    return facts;
}

bool looksImportable(const std::string& path)
{
    const auto beginning = beginningOf(path);
    return beginning.ok() && (isTar(*beginning) || formatOf(*beginning) != nullptr);
}

} // namespace fourwalls::importers
