// SPDX-License-Identifier: Apache-2.0
// What a file has stored of steps, memory, collectives and operators when it was finished.
#pragma once

#include "model/store/file_connection.h"

#include <cstddef>
#include <limits>
#include <optional>
#include <vector>

namespace fourwalls::store {

class FileSummaries : public virtual SummaryQuestions {
public:
    /// file: must outlive this.
    explicit FileSummaries(FileConnection& file) : m_file(file) {}

    Result<std::vector<JobStep>> jobSteps() override;
    Result<std::vector<StepSummary>> stepSummaries() override;
    Result<std::vector<StepSummary>> stepSummaries(StepIndex step) override;
    Result<std::vector<MemorySummary>> memorySummaries() override;
    Result<std::vector<MemorySummary>> memorySummaries(RankId rank, std::size_t limit) override;
    Result<std::vector<CollectiveSummary>> collectiveSummaries() override;
    Result<std::vector<OpSummary>> opSummaries(std::size_t limit) override;

private:
    /// The first `limit` rows that are sound.
    template <class T>
    Result<std::vector<T>> read(sqlite::Statement& rows, std::optional<T> (*of)(const sqlite::Statement& row),
                                std::size_t limit = std::numeric_limits<std::size_t>::max());

    FileConnection& m_file;
    std::optional<std::vector<JobStep>> m_jobSteps; ///< most questions begin with them
};

} // namespace fourwalls::store
