// SPDX-License-Identifier: Apache-2.0
// A finished trace file as a TraceQuery. Each subject has a class that answers it; all read through one connection.
#pragma once

#include "model/store/file_connection.h"
#include "model/store/file_memory.h"
#include "model/store/file_records.h"
#include "model/store/file_slices.h"
#include "model/store/file_summaries.h"
#include "model/trace/user_query.h"

#include <memory>
#include <stop_token>
#include <utility>
#include <vector>

namespace fourwalls::store {

class FileQuery final : public TraceQuery,
                        public FileSlices,
                        public FileMemory,
                        public FileRecords,
                        public FileSummaries,
                        public SqlQuestions {
public:
    /// file: not null.
    explicit FileQuery(std::unique_ptr<FileConnection> file)
        : FileSlices(*file)
        , FileMemory(*file)
        , FileRecords(*file)
        , FileSummaries(*file)
        , m_file(std::move(file))
    {}

    const TraceInfo& info() const override { return m_file->data()->info; }
    const std::vector<TrackView>& tracks() const override { return m_file->data()->tracks; }
    Result<std::shared_ptr<const OpInfo>> op(OpId id) override { return m_file->op(id); }
    Result<std::unique_ptr<TraceQuery>> reopen() const override;
    Result<UserRows> userQuery(const UserQuery& query, std::stop_token stop) override;

private:
    std::unique_ptr<FileConnection> m_file;
};

} // namespace fourwalls::store
