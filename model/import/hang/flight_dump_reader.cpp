// SPDX-License-Identifier: Apache-2.0
// From values of a pickle or of a JSON text to the records of a rank.
#include "model/import/hang/flight_dump_reader.h"

#include "model/import/common/byte_source.h"
#include "model/import/common/json_scan.h"
#include "model/import/hang/flight_dump_builder.h"
#include "model/import/hang/ras_text.h"
#include "model/import/hang/thread_stacks.h"
#include "model/import/snapshot/pickle_reader.h"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <map>
#include <mutex>
#include <thread>

namespace fourwalls::importers {

namespace {

using diagnose::FlightDump;

constexpr std::size_t kLargestJson = std::size_t{1} << 30;
constexpr const char* kRecordHint =
    "PyTorch writes dumps when a collective times out, with TORCH_FR_BUFFER_SIZE (before 2.8: "
    "TORCH_NCCL_TRACE_BUFFER_SIZE) above 0 and TORCH_NCCL_DUMP_ON_TIMEOUT=1";

/// The number at the end of a file's name without ".json", ".pickle", ".gz" and the like.
std::optional<int> rankOfName(const std::string& path)
{
    std::string name = std::filesystem::path(path).filename().string();
    if (const auto dot = name.find('.', 1); dot != std::string::npos) name.resize(dot);
    std::size_t at = name.size();
    while (at > 0 && std::isdigit(static_cast<unsigned char>(name[at - 1]))) --at;
    int rank = 0;
    const auto end = name.data() + name.size();
    if (at == name.size() || std::from_chars(name.data() + at, end, rank).ptr != end) return std::nullopt;
    return rank;
}

/// A pickle's or a JSON text's value, as the builder asks for it.
FlightValue valueOf(const Pickle& pickle, const PickleValue& value)
{
    using Kind = PickleValue::Kind;
    switch (value.kind) {
    case Kind::Int: return value.integer;
    case Kind::Bool: return std::int64_t{value.index != 0};
    case Kind::Text: return std::string(pickle.text(value));
    default: return {};
    }
}

FlightValue valueOf(const JsonToken& token)
{
    if (token.isString()) return decoded(token);
    if (token.text == "true") return std::int64_t{1};
    if (token.text == "false") return std::int64_t{0};
    std::int64_t number = 0;
    const auto end = token.text.data() + token.text.size();
    if (token.kind == JsonToken::Kind::Bare && std::from_chars(token.text.data(), end, number).ptr == end)
        return number;
    return {};
}

/// "[[4096, 1, 5120]]" of lists in lists.
void writeList(const Pickle& pickle, const PickleValue& value, int depth, std::string& to)
{
    if (value.kind == PickleValue::Kind::Int) to += std::to_string(value.integer);
    if (value.kind == PickleValue::Kind::Text) to += pickle.text(value);
    if (value.kind != PickleValue::Kind::List || depth == 0) return;
    to += '[';
    for (const PickleValue& item : pickle.list(value)) {
        if (to.back() != '[') to += ", ";
        writeList(pickle, item, depth - 1, to);
    }
    to += ']';
}

/// The same of a JSON text: without its quotes and line breaks.
std::string listOf(std::string_view json)
{
    std::string text;
    for (const char c : json)
        if (c == ',')
            text += ", ";
        else if (c != '"' && static_cast<unsigned char>(c) > ' ')
            text += c;
    return text;
}

constexpr int kListDepth = 4;
constexpr std::string_view kFinished = "completed";

/// The entries that tell something, in their order: all open ones and the newest finished ones. Without counters, old
/// ones say how far the rank came.
template <class IsFinished>
std::vector<std::size_t> worthReading(std::size_t count, bool hasStatus, const IsFinished& isFinished)
{
    std::vector<std::size_t> kept;
    std::size_t finished = 0;
    for (std::size_t i = count; i-- > 0;)
        if (!hasStatus || !isFinished(i) || ++finished <= kFinishedKept) kept.push_back(i);
    std::reverse(kept.begin(), kept.end());
    return kept;
}

void takeRecord(const Pickle& pickle, const PickleValue& entry, FlightDumpBuilder& builder)
{
    builder.beginRecord();
    pickle.forEachEntry(entry, [&](std::string_view key, const PickleValue& value) {
        const FlightField field = flightField(key);
        if (field == FlightField::Frames) {
            for (const PickleValue& frame : pickle.list(value))
                builder.frame(pickle.text(pickle.get(frame, "name")), pickle.text(pickle.get(frame, "filename")),
                              valueOf(pickle, pickle.get(frame, "line")));
        } else if (field == FlightField::Group) {
            const auto& pair = pickle.list(value);
            if (!pair.empty())
                builder.group(pickle.text(pair[0]), pair.size() > 1 ? pickle.text(pair[1]) : std::string_view());
        } else if (isListField(field)) {
            std::string text;
            writeList(pickle, value, kListDepth, text);
            builder.field(field, std::move(text));
        } else if (field != FlightField::None) {
            builder.field(field, valueOf(pickle, value));
        }
    });
    builder.endRecord();
}

void takeRecord(const JsonToken& entry, FlightDumpBuilder& builder)
{
    builder.beginRecord();
    forEachMember(entry.text, [&](std::string_view key, const JsonToken& value) {
        const FlightField field = flightField(key);
        if (field == FlightField::Frames) {
            forEachElement(value.text, [&](const JsonToken& frame) {
                std::string name, file;
                FlightValue line;
                forEachMember(frame.text, [&](std::string_view part, const JsonToken& token) {
                    if (part == "name") name = decoded(token);
                    if (part == "filename") file = decoded(token);
                    if (part == "line") line = valueOf(token);
                });
                builder.frame(name, file, line);
            });
        } else if (field == FlightField::Group) {
            std::vector<std::string> pair;
            forEachElement(value.text, [&](const JsonToken& token) { pair.push_back(decoded(token)); });
            if (!pair.empty()) builder.group(pair[0], pair.size() > 1 ? pair[1] : std::string());
        } else if (isListField(field)) {
            builder.field(field, listOf(value.text));
        } else if (field != FlightField::None) {
            builder.field(field, valueOf(value));
        }
    });
    builder.endRecord();
}

Result<FlightDump> dumpOf(const Pickle& pickle, const std::string& path, int rank)
{
    const PickleValue& root = pickle.root();
    if (root.kind != PickleValue::Kind::Dict || (pickle.get(root, "pg_config").kind != PickleValue::Kind::Dict &&
                                                 pickle.get(root, "entries").kind != PickleValue::Kind::List))
        return Error{ErrorCode::Format, "a Python pickle, but no dump of a flight recorder", path, kRecordHint};
    FlightDumpBuilder builder(path, rank);
    builder.version(pickle.text(pickle.get(root, "version")));
    pickle.forEachEntry(pickle.get(root, "pg_config"), [&](std::string_view name, const PickleValue& group) {
        const PickleValue ranks = pickle.get(group, "ranks");
        std::string list(pickle.text(ranks));
        if (list.empty()) writeList(pickle, ranks, 1, list);
        builder.configure(name, pickle.text(pickle.get(group, "desc")), list);
    });
    pickle.forEachEntry(pickle.get(root, "pg_status"), [&](std::string_view id, const PickleValue& status) {
        pickle.forEachEntry(status, [&](std::string_view key, const PickleValue& value) {
            builder.status(id, key, valueOf(pickle, value));
        });
    });
    const auto& entries = pickle.list(pickle.get(root, "entries"));
    const auto isFinished = [&](std::size_t i) { return pickle.text(pickle.get(entries[i], "state")) == kFinished; };
    for (const std::size_t i : worthReading(entries.size(), builder.hasStatus(), isFinished))
        takeRecord(pickle, entries[i], builder);
    return builder.finish();
}

Result<std::string> wholeText(const std::string& path)
{
    FOURWALLS_TRY_ASSIGN(const auto source, openByteSource(path));
    std::string text;
    for (;;) {
        constexpr std::size_t kPiece = std::size_t{1} << 20;
        const std::size_t before = text.size();
        if (before > kLargestJson)
            return Error{ErrorCode::Unsupported, "a JSON dump of more than 1 GiB", path, "keep fewer operations"};
        text.resize(before + kPiece);
        FOURWALLS_TRY_ASSIGN(const std::size_t got, source->read(text.data() + before, kPiece));
        text.resize(before + got);
        if (got == 0) break;
    }
    if (const std::string damage = source->damage(); !damage.empty())
        return Error{ErrorCode::Format, damage, path, "copy the file again"};
    return text;
}

Result<FlightDump> dumpOf(std::string text, const std::string& path, int rank)
{
    const std::size_t size = text.size();
    text.append(16, '\0'); // scanning may read past the end
    const char* at = skipSpace(text.data(), text.data() + size);
    JsonToken root;
    if (scanValue(at, text.data() + size, root) != Scan::Ok || root.kind != JsonToken::Kind::Object)
        return Error{ErrorCode::Format, "the JSON text is cut", path, "copy the file again"};
    FlightDumpBuilder builder(path, rank);
    bool isDump = false;
    JsonToken entries;
    const bool whole = forEachMember(root.text, [&](std::string_view key, const JsonToken& value) {
        if (key == "version") builder.version(decoded(value));
        if (key == "entries") entries = value;
        isDump = isDump || key == "entries" || key == "pg_config";
        if (key == "pg_config")
            forEachMember(value.text, [&](std::string_view name, const JsonToken& group) {
                std::string description, ranks;
                forEachMember(group.text, [&](std::string_view part, const JsonToken& token) {
                    if (part == "desc") description = decoded(token);
                    if (part == "ranks") ranks = token.isString() ? decoded(token) : std::string(token.text);
                });
                builder.configure(name, description, ranks);
            });
        if (key == "pg_status")
            forEachMember(value.text, [&](std::string_view id, const JsonToken& status) {
                forEachMember(status.text, [&](std::string_view part, const JsonToken& token) {
                    builder.status(id, part, valueOf(token));
                });
            });
    });
    if (!whole) return Error{ErrorCode::Format, "the JSON text is damaged", path, "copy the file again"};
    if (!isDump) return Error{ErrorCode::Format, "JSON, but no dump of a flight recorder", path, kRecordHint};
    std::vector<JsonToken> list;
    forEachElement(entries.text, [&list](const JsonToken& entry) { list.push_back(entry); });
    const auto isFinished = [&list](std::size_t i) {
        bool finished = false;
        forEachMember(list[i].text, [&finished](std::string_view key, const JsonToken& value) {
            finished = finished || (key == "state" && value.text == kFinished);
        });
        return finished;
    };
    for (const std::size_t i : worthReading(list.size(), builder.hasStatus(), isFinished)) takeRecord(list[i], builder);
    return builder.finish();
}

/// Paths to read and whether somebody named them, folders replaced by their files.
Result<std::vector<std::pair<std::string, bool>>> filesOf(const std::vector<std::string>& paths)
{
    std::vector<std::pair<std::string, bool>> files;
    for (const std::string& path : paths) {
        std::error_code error;
        if (!std::filesystem::exists(path, error))
            return Error{ErrorCode::NotFound, "no such file or folder", path, "check the name"};
        if (!std::filesystem::is_directory(path, error)) {
            files.emplace_back(path, true);
            continue;
        }
        std::filesystem::directory_iterator entries(path, error);
        if (error) return Error{ErrorCode::Io, error.message(), path, "check that the folder can be read"};
        for (const auto& entry : entries)
            if (entry.is_regular_file(error)) files.emplace_back(entry.path().string(), false);
    }
    std::sort(files.begin(), files.end());
    return files;
}

/// What may be a dump that was damaged, rather than another file of the folder.
bool isNamedLikeDump(const std::string& path)
{
    const std::string name = std::filesystem::path(path).filename().string();
    return rankOfName(path) && (name.find("dump") != std::string::npos || name.find("trace") != std::string::npos);
}

} // namespace

Result<FlightDump> readFlightDump(const std::string& path, std::stop_token stop)
{
    const std::optional<int> rank = rankOfName(path);
    if (!rank)
        return Error{ErrorCode::Format, "the name does not end in the number of a rank", path,
                     "name dumps as PyTorch does: _dump_0, _dump_1, …"};
    FOURWALLS_TRY_ASSIGN(const auto source, openByteSource(path));
    char first = 0;
    std::size_t got = 1;
    do {
        FOURWALLS_TRY_ASSIGN(got, source->read(&first, 1));
    } while (got > 0 && static_cast<unsigned char>(first) <= ' ');
    if (got == 0) return Error{ErrorCode::Format, "the file is empty", path, kRecordHint};
    if (first == '{') {
        FOURWALLS_TRY_ASSIGN(std::string text, wholeText(path));
        return dumpOf(std::move(text), path, *rank);
    }
    const Result<Pickle> pickle = readPickle(path, {}, std::move(stop));
    if (!pickle && pickle.error().code == ErrorCode::Format)
        return Error{ErrorCode::Format, "no dump that can be read: " + pickle.error().what, path, kRecordHint};
    if (!pickle) return pickle.error();
    return dumpOf(*pickle, path, *rank);
}

Result<std::vector<diagnose::RasNote>> readRasNotes(const std::vector<std::string>& paths)
{
    FOURWALLS_TRY_ASSIGN(const auto files, filesOf(paths));
    std::vector<diagnose::RasNote> notes;
    for (const auto& [path, wasNamed] : files) {
        std::vector<diagnose::RasNote> of = rasNotes(readRasText(path));
        std::move(of.begin(), of.end(), std::back_inserter(notes));
    }
    return notes;
}

Result<std::vector<FlightDump>> readFlightDumps(const std::vector<std::string>& paths,
                                                const std::function<void(double)>& progress, std::stop_token stop)
{
    FOURWALLS_TRY_ASSIGN(const auto files, filesOf(paths));
    std::vector<std::string> stacks(files.size());
    std::vector<Result<FlightDump>> read(files.size(), Error{ErrorCode::Cancelled, "cancelled", "", ""});
    std::mutex mutex;
    std::size_t done = 0;
    std::atomic<std::size_t> next{0};
    const auto work = [&] {
        for (std::size_t i = next++; i < files.size() && !stop.stop_requested(); i = next++) {
            stacks[i] = readThreadStack(files[i].first);
            if (stacks[i].empty()) read[i] = readFlightDump(files[i].first, stop);
            const std::lock_guard lock(mutex);
            if (progress) progress(static_cast<double>(++done) / static_cast<double>(files.size()));
        }
    };
    {
        std::vector<std::jthread> workers;
        const std::size_t most = std::min<std::size_t>(std::max(1u, std::thread::hardware_concurrency()), files.size());
        for (std::size_t i = 1; i < most; ++i) workers.emplace_back(work);
        work();
    }
    if (stop.stop_requested()) return Error{ErrorCode::Cancelled, "cancelled", "", ""};

    std::map<int, FlightDump> dumps;
    std::map<int, std::string> stackOfRank;
    const Error* unreadable = nullptr;
    bool anyRead = false;
    for (std::size_t i = 0; i < files.size(); ++i) {
        const auto& [path, wasNamed] = files[i];
        FlightDump dump;
        if (!stacks[i].empty()) {
            if (const auto rank = rankOfName(path)) stackOfRank[*rank] = std::move(stacks[i]);
            continue;
        }
        if (read[i]) {
            dump = std::move(*read[i]);
            anyRead = true;
        } else {
            const Error& error = read[i].error();
            const bool looksLikeDump = isNamedLikeDump(path);
            if (error.code == ErrorCode::Format && !readRasText(path).empty()) continue;
            if (wasNamed && (error.code != ErrorCode::Format || !looksLikeDump)) return error;
            if (!looksLikeDump) continue;
            if (!unreadable) unreadable = &error;
            dump.rank = rankOfName(path).value_or(0);
            dump.file = path;
            dump.error = error.what;
        }
        const int rank = dump.rank;
        if (const auto [there, isNew] = dumps.try_emplace(rank, std::move(dump)); !isNew)
            return Error{ErrorCode::InvalidArgument, "two dumps of rank " + std::to_string(rank), path,
                         "give the dumps of one hang: the other is " + there->second.file};
    }
    if (dumps.empty())
        return Error{ErrorCode::InvalidArgument, "no dump of a flight recorder", paths.empty() ? "" : paths[0],
                     kRecordHint};
    if (!anyRead) return *unreadable;
    std::vector<FlightDump> list;
    for (auto& [rank, dump] : dumps) {
        if (const auto found = stackOfRank.find(rank); found != stackOfRank.end()) dump.stack = found->second;
        list.push_back(std::move(dump));
    }
    return list;
}

} // namespace fourwalls::importers
