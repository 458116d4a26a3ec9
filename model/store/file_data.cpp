// SPDX-License-Identifier: Apache-2.0
// The checks at opening, and what is read then.
#include "model/store/file_data.h"

#include "model/base/process_mark.h"
#include "model/sqlite/stranger.h"
#include "model/trace/audit_counter.h"

#include <limits>

namespace fourwalls::store {

TemporaryFile::~TemporaryFile()
{
    removeTemporary(m_path);
}

Error refused(const std::string& what, const std::string& path)
{
    return {ErrorCode::Format, what, path, "fetch or record the trace again"};
}

Result<sqlite::Database> connect(const std::string& path, std::size_t cacheBytes)
{
    FOURWALLS_TRY_ASSIGN(sqlite::Database database, sqlite::Database::open(path, sqlite::OpenMode::Immutable));
    FOURWALLS_TRY(sqlite::harden(database, cacheBytes, kLongestValue));
    return database;
}

Result<CheckedFile> openChecked(const std::string& path, std::size_t cacheBytes)
{
    FOURWALLS_TRY_ASSIGN(const sqlite::FileHeader header, sqlite::readHeader(path, "Fourwalls trace"));
    if (header.applicationId != kApplicationId)
        return Error{ErrorCode::Format, "this SQLite database is not a Fourwalls trace", path,
                     "import other formats with 'fourwalls-cli import'"};
    if (header.userVersion > static_cast<std::uint32_t>(kFormatVersion)) {
        return Error{ErrorCode::Unsupported,
                     "the trace has format version " + std::to_string(header.userVersion) +
                         ", newer than this program's " + std::to_string(kFormatVersion),
                     path, "open it with a newer Fourwalls"};
    }
    if (header.userVersion < static_cast<std::uint32_t>(kOldestFormatVersion) && header.userVersion > 0 &&
        !header.wal) {
        return Error{ErrorCode::Unsupported,
                     "the trace has format version " + std::to_string(header.userVersion) +
                         ", from before the first release; this program reads " + std::to_string(kOldestFormatVersion) +
                         " to " + std::to_string(kFormatVersion),
                     path, "record it again"};
    }
    if (header.userVersion == 0) return refused("the trace has no format version", path);
    if (header.pageSize != kPageSize) return refused("the trace's page size is not ours", path);
    if (!header.schemaOnFirstPage) return refused("the trace's tables are not those of Fourwalls", path);

    CheckedFile file;
    if (header.wal) {
        file.kind = SchemaKind::Recording; // its schema is compared when it is finished
        return file;
    }
    if (header.pageCount <= 0 || header.fileBytes < header.pageCount * header.pageSize)
        return refused("the trace is truncated", path);
    if (header.fileBytes != header.pageCount * header.pageSize)
        return refused("the trace has bytes behind its end", path);

    FOURWALLS_TRY_ASSIGN(file.database, connect(path, cacheBytes));
    FOURWALLS_TRY_ASSIGN(file.kind, compareSchema(file.database));
    if (file.kind == SchemaKind::Unknown) return refused("the trace's tables are not those of Fourwalls", path);
    if (file.kind == SchemaKind::Finished && (header.walBeside || header.journalBeside)) {
        return Error{ErrorCode::Format,
                     "another program changed this trace or is changing it: a journal lies beside it", path,
                     std::string("close that program, or remove ") + path + (header.walBeside ? "-wal" : "-journal")};
    }
    if (file.kind == SchemaKind::Recording) file.database = {};
    return file;
}

namespace {

/// Lanes and runs of the tracks, which a recording does not have.
Status readTrackViews(sqlite::Database& database, FileData& data, const std::vector<TrackInfo>& tracks,
                      std::int64_t& damaged)
{
    data.tracks.resize(tracks.size());
    data.runs.resize(tracks.size());
    for (std::size_t i = 0; i < tracks.size(); ++i) {
        data.tracks[i].id = TrackId(static_cast<std::int32_t>(i));
        data.tracks[i].info = tracks[i];
    }
    return forEachRow(database, "track", "id", damaged, [&](const sqlite::Statement& row) {
        const auto id = row.asInteger(0);
        if (!id || *id < 0 || static_cast<std::uint64_t>(*id) >= data.tracks.size()) return;
        const auto lanes = row.asInteger(5), slices = row.asInteger(6), first = row.asInteger(7),
                   last = row.asInteger(8);
        if (!lanes || *lanes < 1 || *lanes > kMostTrackLanes || !slices || *slices < 0 || !first || !last ||
            *first < 1 || *last < *first - 1) {
            ++damaged;
            return;
        }
        const auto index = static_cast<std::size_t>(*id);
        data.tracks[index].lanes = static_cast<int>(*lanes);
        data.tracks[index].slices = *slices;
        data.runs[index] = {*first, *last};
    });
}

} // namespace

Result<std::shared_ptr<const FileData>> readFileData(sqlite::Database& database, const std::string& path,
                                                     std::shared_ptr<TemporaryFile> owned, std::size_t cacheBytes)
{
    auto data = std::make_shared<FileData>();
    data->path = path;
    data->owned = std::move(owned);
    data->cacheBytes = cacheBytes;
    std::int64_t damaged = 0;
    FOURWALLS_TRY_ASSIGN(Definitions definitions, readDefinitions(database, damaged));
    FOURWALLS_TRY(readTrackViews(database, *data, definitions.tracks, damaged));
    FOURWALLS_TRY_ASSIGN(const Meta meta, readMeta(database, damaged));

    TraceInfo& info = data->info;
    info.header = std::move(definitions.header);
    info.closing = std::move(definitions.closing);
    info.audit = std::move(definitions.audit);
    info.groups = std::move(definitions.groups);
    info.counters = std::move(definitions.counters);
    data->strings = std::move(definitions.strings);
    data->activityClasses = definitions.activityClasses;
    info.complete = integerOf(meta, "complete", 0) == 1;
    FOURWALLS_TRY_ASSIGN(const auto version, database.integer("PRAGMA user_version"));
    info.formatVersion = static_cast<int>(version.value_or(kFormatVersion));
    const auto count = [&](const char* key) {
        const std::int64_t value = integerOf(meta, key, -1);
        if (value < 0) ++damaged;
        return std::max<std::int64_t>(0, value);
    };
    info.counts = {count("slices"), count("allocations"), count("collectives"), count("counter_samples"),
                   count("flows"),  count("events"),      count("ops")};
    info.stepCount = static_cast<int>(std::min<std::int64_t>(count("step_count"), std::numeric_limits<int>::max()));
    info.lostSteps = static_cast<int>(
        std::clamp<std::int64_t>(integerOf(meta, "lost_step_count", 0), 0, std::numeric_limits<int>::max()));
    const std::int64_t begin = integerOf(meta, "range_begin", kAbsent), end = integerOf(meta, "range_end", kAbsent);
    if (validTime(begin) && validTime(end) && begin <= end)
        info.range = {Instant{begin}, Instant{end}};
    else
        ++damaged;
    data->rankBinWidth = integerOf(meta, "rank_bin_width", 0);
    if (data->rankBinWidth < 1 || data->rankBinWidth > kLargestTimeNs ||
        (data->rankBinWidth & (data->rankBinWidth - 1)) != 0) {
        ++damaged;
        data->rankBinWidth = 1;
    }
    data->rankBinLevels =
        static_cast<int>(std::min<std::int64_t>(std::max<std::int64_t>(1, count("rank_bin_levels")), 14));
    if (damaged > 0) {
        info.audit.push_back(auditRecord(AuditCounter::DamagedRows, damaged));
    }
    return std::shared_ptr<const FileData>(std::move(data));
}

} // namespace fourwalls::store
