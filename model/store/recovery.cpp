// SPDX-License-Identifier: Apache-2.0
// Finishing in place where the file is ours to write, on a private copy everywhere else.
#include "model/store/recovery.h"

#include "model/sqlite/stranger.h"
#include "model/store/finish.h"
#include "model/store/schema.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace fourwalls::store {
namespace {

namespace fs = std::filesystem;

bool isWritable(const std::string& path)
{
    const std::string folder = fs::path(path).parent_path().string();
    return ::access(path.c_str(), W_OK) == 0 && ::access(folder.empty() ? "." : folder.c_str(), W_OK) == 0;
}

/// An empty file of its own in the folder for temporary files.
Result<std::shared_ptr<TemporaryFile>> makeTemporary()
{
    std::error_code error;
    std::string name = (fs::temp_directory_path(error) / "fourwalls-XXXXXX.fourwalls").string();
    const int file = error ? -1 : ::mkostemps(name.data(), 10, O_CLOEXEC);
    if (file < 0) {
        return Error{ErrorCode::Io, "no temporary file can be made for the recording's copy", name,
                     "check the folder for temporary files (TMPDIR)"};
    }
    ::close(file);
    return std::make_shared<TemporaryFile>(name);
}

Status copyFile(const std::string& from, const std::string& to)
{
    std::error_code error;
    fs::copy_file(from, to, fs::copy_options::overwrite_existing, error);
    if (error) return Error{ErrorCode::Io, "the recording cannot be copied: " + error.message(), from, ""};
    return {};
}

/// Finishes from a connection that reads the recording into a private file.
Result<std::shared_ptr<TemporaryFile>> finishPrivately(sqlite::Database& recording, FinishOptions finish)
{
    finish.durable = false;
    FOURWALLS_TRY_ASSIGN(std::shared_ptr<TemporaryFile> output, makeTemporary());
    FOURWALLS_TRY(finishRecording(recording, output->path(), finish));
    return output;
}

/// A recorder that closes its file has it for itself for as long as its log takes to be written back.
constexpr const char* kAwaitRecorder = "PRAGMA busy_timeout=10000";

/// False if another connection, above all a recorder's, has the file open.
Result<bool> leaveWriteAheadMode(sqlite::Database& recording)
{
    FOURWALLS_TRY(recording.exec("PRAGMA busy_timeout=0"));
    FOURWALLS_TRY_ASSIGN(sqlite::Statement mode, recording.prepare("PRAGMA journal_mode=DELETE"));
    const int rc = mode.stepCode();
    if ((rc & 0xff) == SQLITE_BUSY || (rc & 0xff) == SQLITE_LOCKED) return false;
    if (rc != SQLITE_ROW) return recording.error(rc);
    return mode.text(0) == "delete";
}

/// For a file with the tables of a finished trace: its recorder finished it meanwhile, or it only says to be a recording.
Result<std::shared_ptr<TemporaryFile>> finishedMeanwhile(const std::string& path)
{
    FOURWALLS_TRY_ASSIGN(const sqlite::FileHeader header, sqlite::readHeader(path, "Fourwalls trace"));
    if (header.wal) return refused("the trace's tables are not those of Fourwalls", path);
    return std::shared_ptr<TemporaryFile>();
}

} // namespace

Result<std::shared_ptr<TemporaryFile>> recoverRecording(const std::string& path, const OpenOptions& options)
{
    const FinishOptions finish{options.recoveryProgress, options.stop, true};
    if (options.recovery == Recovery::Finish && isWritable(path)) {
        FOURWALLS_TRY_ASSIGN(sqlite::Database recording, sqlite::Database::open(path, sqlite::OpenMode::ReadWrite));
        FOURWALLS_TRY(recording.exec(kAwaitRecorder));
        FOURWALLS_TRY(sqlite::harden(recording, options.cacheBytes, kLongestRecordedValue, true));
        FOURWALLS_TRY_ASSIGN(const SchemaKind kind, compareSchema(recording));
        if (kind == SchemaKind::Finished) return finishedMeanwhile(path);
        if (kind != SchemaKind::Recording) return refused("the trace's tables are not those of Fourwalls", path);
        // Leaving write-ahead mode works only if nobody else, above all no recorder, has the file open.
        FOURWALLS_TRY_ASSIGN(const bool alone, leaveWriteAheadMode(recording));
        if (!alone) {
            FOURWALLS_TRY(recording.exec(kAwaitRecorder));
            return finishPrivately(recording, finish);
        }
        FOURWALLS_TRY(recording.close());
        FOURWALLS_TRY(finishInPlace(path, finish));
        return std::shared_ptr<TemporaryFile>();
    }
    // Reading beside a recorder, which keeps the log's index.
    Result<sqlite::Database> beside = sqlite::Database::open(path, sqlite::OpenMode::ReadOnly);
    if (beside.ok() && beside->exec(kAwaitRecorder).ok() &&
        sqlite::harden(*beside, options.cacheBytes, kLongestRecordedValue).ok()) {
        const Result<SchemaKind> kind = compareSchema(*beside);
        if (kind.ok() && *kind == SchemaKind::Finished) return finishedMeanwhile(path);
        if (kind.ok()) return finishPrivately(*beside, finish);
    }
    // Without that index reading the log needs a writable folder, so a copy is made of both.
    FOURWALLS_TRY_ASSIGN(const std::shared_ptr<TemporaryFile> copy, makeTemporary());
    FOURWALLS_TRY(copyFile(path, copy->path()));
    if (::access((path + "-wal").c_str(), F_OK) == 0) FOURWALLS_TRY(copyFile(path + "-wal", copy->path() + "-wal"));
    FOURWALLS_TRY_ASSIGN(sqlite::Database recording, sqlite::Database::open(copy->path(), sqlite::OpenMode::ReadWrite));
    FOURWALLS_TRY(sqlite::harden(recording, options.cacheBytes, kLongestRecordedValue, true));
    Result<std::shared_ptr<TemporaryFile>> output = finishPrivately(recording, finish);
    if (!output.ok() && output.error().where == copy->path()) {
        Error error = output.error();
        error.where = path;
        return error;
    }
    return output;
}

} // namespace fourwalls::store
