// SPDX-License-Identifier: Apache-2.0
// See file_query.h.
#include "model/store/file_query.h"

#include "model/store/user_query.h"

namespace fourwalls::store {

Result<std::unique_ptr<TraceQuery>> FileQuery::reopen() const
{
    const std::shared_ptr<const FileData>& data = m_file->data();
    FOURWALLS_TRY_ASSIGN(sqlite::Database database, connect(data->path, data->cacheBytes));
    return std::unique_ptr<TraceQuery>(
        std::make_unique<FileQuery>(std::make_unique<FileConnection>(std::move(database), data)));
}

Result<UserRows> FileQuery::userQuery(const UserQuery& query, std::stop_token stop)
{
    // The file may be another one by now: it is checked again.
    const FileData& data = *m_file->data();
    FOURWALLS_TRY_ASSIGN(CheckedFile file, openChecked(data.path, data.cacheBytes));
    if (file.kind != SchemaKind::Finished)
        return refused("the trace was replaced by a recording in progress", data.path);
    return runUserQuery(file.database, query, std::move(stop));
}

} // namespace fourwalls::store
