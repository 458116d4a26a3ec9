// SPDX-License-Identifier: Apache-2.0
// The finished file: a fresh database that is filled without journal, brought to the disk, and renamed into place.
#include "model/store/finish.h"

#include "model/base/disk.h"
#include "model/base/process_mark.h"
#include "model/store/finisher.h"
#include "model/store/output_thread.h"
#include "model/store/paged_output.h"
#include "model/store/row_checksum.h"
#include "model/store/schema.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace fourwalls::store {
namespace {

Status fill(sqlite::Database& recording, const std::string& output, const FinishOptions& options)
{
    FOURWALLS_TRY_ASSIGN(const SchemaKind kind, compareSchema(recording));
    if (kind != SchemaKind::Recording)
        return Error{ErrorCode::Format, "this is not an unfinished recording", recording.path(), ""};
    // One snapshot for all of it, also while somebody still records.
    FOURWALLS_TRY(recording.exec("BEGIN"));
    FOURWALLS_TRY_ASSIGN(const std::unique_ptr<RecordSource> source, openBatchSource(recording));
    FOURWALLS_TRY_ASSIGN(sqlite::Database database, sqlite::Database::open(output, sqlite::OpenMode::Create));
    FOURWALLS_TRY(database.exec("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE"));
    FOURWALLS_TRY(createSchema(database, SchemaKind::Finished));
    // After the schema, which sets the page size: SQLite keeps the number of pages, not of bytes, when that changes.
    FOURWALLS_TRY(database.exec("PRAGMA cache_size=-16384"));
    FOURWALLS_TRY(database.exec("BEGIN"));
    ChunkStore chunks(folderOf(output), kChunkBudget);
    SqlOutput rows(database);
    PagedOutput paged(rows, folderOf(output));
    ChecksumOutput summed(paged);
    OutputThread thread(summed);
    FOURWALLS_TRY(finishRecords(*source, thread, chunks, options, FinishThreads::Two));
    FOURWALLS_TRY(database.exec("COMMIT"));
    return paged.close(database);
}

constexpr const char* kTemporaryMark = ".finishing-";

} // namespace

Status finishRecording(sqlite::Database& recording, const std::string& output, const FinishOptions& options)
{
    std::error_code ignored;
    std::filesystem::remove(output, ignored);
    Status status = fill(recording, output, options);
    static_cast<void>(recording.exec("ROLLBACK"));
    if (status.ok() && options.durable) status = bringToDisk(output);
    if (!status.ok()) std::filesystem::remove(output, ignored);
    return status;
}

Status finishInPlace(const std::string& path, const FinishOptions& options)
{
    // Of processes that were killed while they finished the same recording.
    removeAbandoned(folderOf(path), std::filesystem::path(path).filename().string() + kTemporaryMark);
    const std::string temporary = path + kTemporaryMark + processMark();
    {
        FOURWALLS_TRY_ASSIGN(sqlite::Database recording, sqlite::Database::open(path, sqlite::OpenMode::ReadWrite));
        FOURWALLS_TRY(recording.exec("PRAGMA cache_size=-8192"));
        FOURWALLS_TRY_ASSIGN(const SchemaKind kind, compareSchema(recording));
        if (kind == SchemaKind::Finished) return {}; // somebody else was as far first
        FOURWALLS_TRY(finishRecording(recording, temporary, options));
        FOURWALLS_TRY(recording.close());
    }
    if (::rename(temporary.c_str(), path.c_str()) != 0) {
        const Error error{ErrorCode::Io,
                          "the finished trace cannot be put in place: " + std::system_category().message(errno), path,
                          "check the permissions of its folder"};
        ::unlink(temporary.c_str());
        return error;
    }
    // Of the recording that is gone; nobody may take them for the finished file's.
    for (const char* suffix : {"-wal", "-shm"}) ::unlink((path + suffix).c_str());
    return bringToDisk(folderOf(path));
}

} // namespace fourwalls::store
