// SPDX-License-Identifier: Apache-2.0
// What is known of an open trace file from the start, shared by all connections to it.
#pragma once

#include "model/base/result.h"
#include "model/sqlite/database.h"
#include "model/store/definitions.h"
#include "model/store/schema.h"
#include "model/trace/trace_query.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace fourwalls::store {

/// Removes the file when the last user is gone: private copies of unfinished recordings.
class TemporaryFile {
public:
    explicit TemporaryFile(std::string path) : m_path(std::move(path)) {}
    ~TemporaryFile();
    TemporaryFile(const TemporaryFile&) = delete;
    TemporaryFile& operator=(const TemporaryFile&) = delete;
    const std::string& path() const { return m_path; }

private:
    std::string m_path;
};

struct FileData {
    std::string path;                     ///< of the finished file that is read
    std::shared_ptr<TemporaryFile> owned; ///< set when `path` is a private copy
    std::size_t cacheBytes = 0;
    TraceInfo info;
    std::vector<TrackView> tracks; ///< by TrackId
    struct RunRange {
        std::int64_t first = 0, last = -1;
    };
    std::vector<RunRange> runs;       ///< by TrackId
    std::vector<std::string> strings; ///< by string id
    std::int64_t rankBinWidth = 1;
    int rankBinLevels = 1;
    int activityClasses = kActivityClassCount; ///< see Definitions
};

/// More lanes than any screen can show: more are taken as damage.
inline constexpr std::int64_t kMostTrackLanes = 65536;

/// Reads what FileData holds. Damaged rows are counted in the audit ("damaged_rows").
Result<std::shared_ptr<const FileData>> readFileData(sqlite::Database& database, const std::string& path,
                                                     std::shared_ptr<TemporaryFile> owned, std::size_t cacheBytes);

/// A hardened connection to a finished file that was checked before.
Result<sqlite::Database> connect(const std::string& path, std::size_t cacheBytes);

/// All checks of a stranger's file, in constant time. Errors as openTrace.
struct CheckedFile {
    SchemaKind kind = SchemaKind::Unknown;
    sqlite::Database database; ///< of a finished file only
};
Result<CheckedFile> openChecked(const std::string& path, std::size_t cacheBytes);

/// The sentence for files that are not what we wrote.
Error refused(const std::string& what, const std::string& path);

} // namespace fourwalls::store
