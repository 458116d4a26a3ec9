// SPDX-License-Identifier: Apache-2.0
// Opening: checks, recovery of unfinished recordings, and the first connection.
#include "model/store/trace_file.h"

#include "model/sqlite/stranger.h"
#include "model/store/file_query.h"
#include "model/store/recovery.h"

namespace fourwalls::store {
Result<std::unique_ptr<TraceQuery>> openTrace(const std::string& path, const OpenOptions& options)
{
    FOURWALLS_TRY_ASSIGN(CheckedFile file, openChecked(path, options.cacheBytes));
    std::shared_ptr<TemporaryFile> owned;
    std::string readPath = path;
    if (file.kind == SchemaKind::Recording) {
        FOURWALLS_TRY_ASSIGN(owned, recoverRecording(path, options));
        if (owned) readPath = owned->path();
        FOURWALLS_TRY_ASSIGN(file, openChecked(readPath, options.cacheBytes));
        if (file.kind != SchemaKind::Finished) return refused("the recording cannot be finished", path);
    }
    FOURWALLS_TRY_ASSIGN(const std::shared_ptr<const FileData> data,
                         readFileData(file.database, readPath, std::move(owned), options.cacheBytes));
    return std::unique_ptr<TraceQuery>(
        std::make_unique<FileQuery>(std::make_unique<FileConnection>(std::move(file.database), data)));
}

bool looksLikeTrace(const std::string& path)
{
    const Result<sqlite::FileHeader> header = sqlite::readHeader(path, "Fourwalls trace");
    return header.ok() && header->applicationId == kApplicationId;
}

} // namespace fourwalls::store
