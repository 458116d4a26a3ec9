// SPDX-License-Identifier: Apache-2.0
// Creating and committing.
#include "model/store/recording.h"

#include "model/base/disk.h"
#include "model/base/process_mark.h"
#include "model/sqlite/stranger.h"
#include "model/store/schema.h"

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

namespace fourwalls::store {
namespace {

/// Tracks beyond this many go to the map instead of the vector: ids come from callers.
constexpr std::int32_t kMostDirectTracks = 1 << 20;

/// Only traces and empty files are replaced.
Status checkReplaceable(const std::string& path)
{
    std::error_code error;
    if (!std::filesystem::exists(path, error)) return {};
    const bool isEmpty = std::filesystem::is_regular_file(path, error) && std::filesystem::file_size(path, error) == 0;
    const Result<sqlite::FileHeader> header = sqlite::readHeader(path, "Fourwalls trace");
    if (isEmpty || (header.ok() && header->applicationId == kApplicationId)) return {};
    return Error{ErrorCode::InvalidArgument, "something that is not a trace already has this name", path,
                 "choose another name for the trace"};
}

/// Journals of an older trace must not be taken for those of the new one.
Status removeJournals(const std::string& path)
{
    for (const char* suffix : {"-wal", "-shm", "-journal"}) {
        std::error_code error;
        std::filesystem::remove(path + suffix, error);
        if (error) {
            return Error{ErrorCode::Io, "the old file cannot be replaced: " + error.message(), path + suffix,
                         "check the permissions of its folder"};
        }
    }
    return {};
}

} // namespace

BatchEncoder& Batch::at(BatchKind kind, std::int32_t key)
{
    if (kind != BatchKind::Slices || key < 0 || key >= kMostDirectTracks) return m_others[{kind, key}];
    if (static_cast<std::size_t>(key) >= m_slices.size()) m_slices.resize(static_cast<std::size_t>(key) + 1);
    return m_slices[static_cast<std::size_t>(key)];
}

void Batch::cover(std::int64_t begin, std::int64_t end)
{
    m_begin = std::min(m_begin, begin);
    m_end = std::max(m_end, end);
}

namespace {

/// A recording without records, complete on the disk and not yet in write-ahead mode.
Status writeEmptyRecording(const std::string& path, const TraceHeader& header)
{
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
    FOURWALLS_TRY_ASSIGN(sqlite::Database database, sqlite::Database::open(path, sqlite::OpenMode::Create));
    FOURWALLS_TRY(database.exec("PRAGMA journal_mode=MEMORY; PRAGMA synchronous=OFF"));
    FOURWALLS_TRY(createSchema(database, SchemaKind::Recording));
    FOURWALLS_TRY(database.exec("BEGIN"));
    SqlOutput out(database);
    Meta meta = metaOf(header, header.spec ? toJson(*header.spec) : std::string());
    meta["state"] = std::string("recording");
    putMeta(out, meta);
    for (const RankInfo& rank : header.ranks) putRank(out, rank);
    FOURWALLS_TRY(out.finish());
    FOURWALLS_TRY(database.exec("COMMIT"));
    FOURWALLS_TRY(database.close());
    return bringToDisk(path);
}

} // namespace

Result<Recording> Recording::create(const std::string& path, const TraceHeader& header)
{
    // Under another name first: the file at `path` is a readable recording from its first instant on, because its
    // header and tables never lie in the write-ahead log alone.
    FOURWALLS_TRY(checkReplaceable(path));
    constexpr const char* kStartingMark = ".starting-";
    removeAbandoned(folderOf(path), std::filesystem::path(path).filename().string() + kStartingMark);
    const std::string fresh = path + kStartingMark + processMark();
    Status written = writeEmptyRecording(fresh, header);
    if (written.ok()) written = removeJournals(path);
    if (written.ok() && ::rename(fresh.c_str(), path.c_str()) != 0)
        written =
            Error{ErrorCode::Io, std::system_category().message(errno), path, "check the permissions of its folder"};
    if (!written.ok()) {
        std::error_code ignored;
        std::filesystem::remove(fresh, ignored);
        if (written.error().where == fresh)
            return Error{written.error().code, written.error().what, path, written.error().hint};
        return written.error();
    }
    Recording recording;
    FOURWALLS_TRY_ASSIGN(recording.m_database, sqlite::Database::open(path, sqlite::OpenMode::ReadWrite));
    sqlite::Database& database = recording.m_database;
    FOURWALLS_TRY(database.exec("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA cache_size=-4096; "
                                "PRAGMA wal_autocheckpoint=2000"));
    // The first read takes the lock that tells others that somebody records; it is held until the end.
    FOURWALLS_TRY(database.exec("SELECT count(*) FROM meta"));
    FOURWALLS_TRY_ASSIGN(recording.m_insertBatch,
                         database.prepare("INSERT INTO record_batch(kind, key, count, data) VALUES(?,?,?,?)"));
    return recording;
}

Status Recording::commit(const NewDefinitions& definitions, Batch& batch, bool durable)
{
    if (definitions.empty() && batch.rows() == 0 && !durable) return {};
    if (durable != m_durable) {
        FOURWALLS_TRY(m_database.exec(durable ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL"));
        m_durable = durable;
    }
    FOURWALLS_TRY(m_database.exec("BEGIN"));
    SqlOutput out(m_database, true);
    const auto putAll = [&](std::size_t first, const auto& items, auto put) {
        for (std::size_t i = 0; i < items.size(); ++i) put(out, first + i, items[i]);
    };
    putAll(definitions.firstOp, definitions.ops, putOp);
    putAll(definitions.firstTrack, definitions.tracks, putRecordingTrack);
    putAll(definitions.firstGroup, definitions.groups, putGroup);
    putAll(definitions.firstCounter, definitions.counters, putRecordingCounter);
    putAll(definitions.firstString, definitions.strings, putString);
    for (const AuditRecord& record : definitions.audit) putAudit(out, record);
    if (batch.covered()) putMeta(out, {{"window_begin", batch.begin()}, {"window_end", batch.end()}});
    FOURWALLS_TRY(out.finish());

    Status status;
    const auto insert = [&](BatchKind kind, std::int32_t key, BatchEncoder& encoder) {
        if (encoder.count == 0 || !status.ok()) return;
        m_insertBatch.bind(1, std::int64_t{static_cast<int>(kind)});
        m_insertBatch.bind(2, std::int64_t{key});
        m_insertBatch.bind(3, encoder.count);
        m_insertBatch.bindBlob(4, encoder.bytes);
        status = m_insertBatch.run();
        encoder.clear();
    };
    for (std::size_t track = 0; track < batch.m_slices.size(); ++track)
        insert(BatchKind::Slices, static_cast<std::int32_t>(track), batch.m_slices[track]);
    for (auto& [kindAndKey, encoder] : batch.m_others) insert(kindAndKey.first, kindAndKey.second, encoder);
    batch.m_rows = 0;
    batch.m_bytes = 0;
    FOURWALLS_TRY(status);
    return m_database.exec("COMMIT");
}

Status Recording::close(const TraceClosing& closing)
{
    // The checkpoint brings everything to the disk, so the commit need not.
    FOURWALLS_TRY(m_database.exec("PRAGMA synchronous=NORMAL; BEGIN"));
    SqlOutput out(m_database, true);
    Meta meta;
    addClosing(meta, closing);
    meta["closed"] = std::int64_t{1};
    putMeta(out, meta);
    FOURWALLS_TRY(out.finish());
    FOURWALLS_TRY(m_database.exec("COMMIT"));
    m_insertBatch = {};
    // Fails beside a reader, which then keeps the log; the recording is complete either way.
    static_cast<void>(m_database.exec("PRAGMA journal_mode=DELETE"));
    return m_database.close();
}

} // namespace fourwalls::store
