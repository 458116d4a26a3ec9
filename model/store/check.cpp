// SPDX-License-Identifier: Apache-2.0
// Checking is finishing again: the stored records go through the same code once more, and every row that comes out
// is compared with the file's.
#include "model/store/check.h"

#include "model/store/compare_output.h"
#include "model/store/definitions.h"
#include "model/store/file_source.h"
#include "model/store/finisher.h"
#include "model/store/recovery.h"

namespace fourwalls::store {
namespace {

constexpr std::size_t kCacheBytes = std::size_t{16} << 20;

bool isRefusal(const Error& error)
{
    return error.code == ErrorCode::Format || error.code == ErrorCode::Unsupported;
}

CheckReport refusal(const Error& error)
{
    CheckReport report;
    report.sound = false;
    report.complete = false;
    report.problems.push_back({"refused", 1, error.what});
    return report;
}

/// SQLite's own check of pages and indexes.
Status checkPages(sqlite::Database& database, ProblemList& problems)
{
    FOURWALLS_TRY_ASSIGN(sqlite::Statement rows, database.prepare("PRAGMA integrity_check(20)"));
    while (true) {
        const int rc = rows.stepCode();
        if (rc == SQLITE_DONE) return {};
        if ((rc & 0xff) == SQLITE_INTERRUPT) return database.error(rc);
        if (rc != SQLITE_ROW) {
            problems.add("pages", database.error(rc).what);
            return {};
        }
        if (rows.text(0) != "ok") problems.add("pages", std::string(rows.text(0).substr(0, 200)));
    }
}

Status checkFinished(sqlite::Database& database, ProblemList& problems, const FinishOptions& options)
{
    FOURWALLS_TRY(checkPages(database, problems));
    FOURWALLS_TRY_ASSIGN(const std::unique_ptr<RecordSource> source, openFileSource(database, problems));
    ChunkStore chunks({}, kChunkBudget);
    CompareOutput compare(database, problems);
    // One thread: both read by the same connection.
    return finishRecords(*source, compare, chunks, options, FinishThreads::One);
}

} // namespace

Result<CheckReport> checkTrace(const std::string& path, const std::function<void(double)>& progress,
                               std::stop_token stop)
{
    const auto share = [&progress](double from, double part) {
        return progress ? std::function<void(double)>([=](double done) { progress(from + part * done); })
                        : std::function<void(double)>();
    };
    Result<CheckedFile> file = openChecked(path, kCacheBytes);
    std::shared_ptr<TemporaryFile> recovered;
    if (file.ok() && file->kind == SchemaKind::Recording) {
        OpenOptions options;
        options.recovery = Recovery::PrivateCopy;
        options.recoveryProgress = share(0, 0.5);
        options.stop = stop;
        Result<std::shared_ptr<TemporaryFile>> copy = recoverRecording(path, options);
        if (!copy.ok()) {
            if (isRefusal(copy.error())) return refusal(copy.error());
            return copy.error();
        }
        recovered = std::move(*copy);
        file = openChecked(recovered ? recovered->path() : path, kCacheBytes);
        if (file.ok() && file->kind != SchemaKind::Finished)
            return refusal(refused("the recording cannot be finished", path));
    }
    if (!file.ok()) {
        if (isRefusal(file.error())) return refusal(file.error());
        return file.error();
    }

    ProblemList problems;
    const sqlite::StopGuard guard(file->database, stop);
    const Status checked =
        checkFinished(file->database, problems, {recovered ? share(0.5, 0.5) : share(0, 1), stop, true});
    if (!checked.ok()) {
        if (stop.stop_requested() || !isRefusal(checked.error())) return checked.error();
        problems.add("unreadable", checked.error().what);
    }
    std::int64_t damaged = 0;
    const Result<Meta> meta = readMeta(file->database, damaged);
    if (recovered && meta.ok()) {
        // Damage of the recording itself was left out when it was finished.
        const auto lost = file->database.integer("SELECT count FROM audit WHERE name='unreadable_batches'");
        if (lost.ok() && *lost) problems.add("recording_batches", "parts of the recording are damaged", **lost);
    }
    CheckReport report;
    report.complete = meta.ok() && integerOf(*meta, "complete", 0) == 1;
    report.sound = problems.empty();
    report.problems = problems.take();
    return report;
}

} // namespace fourwalls::store
