// SPDX-License-Identifier: Apache-2.0
// See file_summaries.h.
#include "model/store/file_summaries.h"

#include "model/store/stored_rows.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

namespace fourwalls::store {
namespace {

std::optional<StepSummary> stepSummaryOf(const sqlite::Statement& row)
{
    // Each value is fetched once: there is a row for each rank and step.
    std::array<std::int64_t, 35> value{};
    for (int column = 0; column < 35; ++column) {
        if (column == 18 || column == 19) continue;
        const auto stored = row.asInteger(column);
        if (!stored || (column >= 6 && std::abs(*stored / 4) > kLargestTimeNs / 4)) return std::nullopt;
        value[static_cast<std::size_t>(column)] = *stored;
    }
    const auto modelFlops = row.asReal(18), recomputeFlops = row.asReal(19);
    if (!modelFlops || !recomputeFlops || !isTime(value[3]) || !isTime(value[4]) || !isId(value[0]))
        return std::nullopt;
    StepSummary s;
    s.rank = RankId(static_cast<std::int32_t>(value[0]));
    s.step = StepIndex(static_cast<std::int32_t>(value[2]));
    s.range = {Instant{value[3]}, Instant{value[4]}};
    s.state = stepStateOf(value[5]);
    std::size_t column = 6;
    const auto duration = [&](std::size_t at) { return Duration{value[at]}; };
    for (Duration* field :
         {&s.compute, &s.exposedComm, &s.exposedCopy, &s.bubble, &s.idleDataLoading, &s.idleLaunch,
          &s.idleSynchronisation, &s.idleOther, &s.computeSum, &s.collectiveWait, &s.pipelineWindow, &s.pipelineBusy})
        *field = duration(column++);
    s.modelFlops = *modelFlops;
    s.recomputeFlops = *recomputeFlops;
    column += 2;
    s.recomputeTime = duration(column++);
    s.memoryBoundExcess = duration(column++);
    s.inefficiencyExcess = duration(column++);
    for (Duration& phase : s.computeByPhase) phase = duration(column++);
    return s;
}

std::optional<MemorySummary> memorySummaryOf(const sqlite::Statement& row)
{
    for (int column = 0; column < row.columns(); ++column) {
        if ((column == 2 || column == 22) && row.isNull(column)) continue;
        if (!row.asInteger(column)) return std::nullopt;
    }
    if (!isId(row.asInteger(0)) || !isTime(row.asInteger(4))) return std::nullopt;
    MemorySummary s;
    s.rank = RankId(static_cast<std::int32_t>(row.integer(0)));
    if (!row.isNull(2)) s.step = StepIndex(static_cast<std::int32_t>(row.integer(2)));
    s.peakBytes = row.integer(3);
    s.peakAt = Instant{row.integer(4)};
    int column = 5;
    for (std::int64_t& bytes : s.atPeak) bytes = row.integer(column++);
    for (std::int64_t& bytes : s.categoryPeaks) bytes = row.integer(column++);
    s.residentBytes = row.integer(column++);
    if (!row.isNull(column)) s.peakReservedBytes = row.integer(column);
    return s;
}

} // namespace

template <class T>
Result<std::vector<T>> FileSummaries::read(sqlite::Statement& rows, std::optional<T> (*of)(const sqlite::Statement&),
                                           std::size_t limit)
{
    std::vector<T> summaries;
    FOURWALLS_TRY(m_file.forRows(rows, [&] {
        if (summaries.size() >= limit) return false;
        if (auto summary = of(rows)) summaries.push_back(std::move(*summary));
        return true;
    }));
    return summaries;
}

Result<std::vector<JobStep>> FileSummaries::jobSteps()
{
    if (m_jobSteps) return *m_jobSteps;
    FOURWALLS_TRY_ASSIGN(sqlite::Statement * rows, m_file.statement("SELECT * FROM job_step ORDER BY step"));
    std::vector<JobStep> steps;
    FOURWALLS_TRY(m_file.forRows(*rows, [&] {
        const auto start = rows->asInteger(1), end = rows->asInteger(2), warmup = rows->asInteger(3),
                   complete = rows->asInteger(4), samples = rows->asInteger(8), tokens = rows->asInteger(9);
        const std::int64_t number = rows->integer(0); // the table's key: always a number
        if (number < std::numeric_limits<std::int32_t>::min() || number > kLargestId || !isTime(start) ||
            !isTime(end) || *end < *start || !warmup || !complete || !samples || !tokens)
            return true;
        steps.push_back({StepIndex(static_cast<std::int32_t>(number)),
                         {Instant{*start}, Instant{*end}},
                         stepStateOf(*warmup),
                         *complete != 0,
                         rows->asReal(5),
                         rows->asReal(6),
                         rows->asReal(7),
                         *samples,
                         *tokens});
        return true;
    }));
    m_jobSteps = steps;
    return steps;
}

Result<std::vector<StepSummary>> FileSummaries::stepSummaries()
{
    FOURWALLS_TRY_ASSIGN(sqlite::Statement * rows, m_file.statement("SELECT * FROM step_summary ORDER BY rank, seq"));
    return read(*rows, stepSummaryOf);
}

Result<std::vector<StepSummary>> FileSummaries::stepSummaries(StepIndex step)
{
    FOURWALLS_TRY_ASSIGN(sqlite::Statement * rows,
                         m_file.statement("SELECT * FROM step_summary WHERE step=?1 ORDER BY rank, seq"));
    rows->bind(1, std::int64_t{step.value});
    return read(*rows, stepSummaryOf);
}

Result<std::vector<MemorySummary>> FileSummaries::memorySummaries()
{
    FOURWALLS_TRY_ASSIGN(sqlite::Statement * rows, m_file.statement("SELECT * FROM memory_summary ORDER BY rank, seq"));
    return read(*rows, memorySummaryOf);
}

Result<std::vector<MemorySummary>> FileSummaries::memorySummaries(RankId rank, std::size_t limit)
{
    FOURWALLS_TRY_ASSIGN(sqlite::Statement * rows,
                         m_file.statement("SELECT * FROM memory_summary WHERE rank=?1 ORDER BY seq"));
    rows->bind(1, std::int64_t{rank.value});
    return read(*rows, memorySummaryOf, limit);
}

Result<std::vector<CollectiveSummary>> FileSummaries::collectiveSummaries()
{
    FOURWALLS_TRY_ASSIGN(sqlite::Statement * rows,
                         m_file.statement("SELECT * FROM collective_summary ORDER BY grp, operation"));
    std::vector<CollectiveSummary> summaries;
    FOURWALLS_TRY(m_file.forRows(*rows, [&] {
        for (int column = 0; column < rows->columns(); ++column)
            if (!rows->asInteger(column) && !(column == 3 || column == 4)) return true;
        const std::int64_t operation = rows->integer(0);
        if (operation < 0 || operation > static_cast<int>(CollectiveOp::Other) || !isId(rows->asInteger(1)) ||
            rows->integer(1) >= static_cast<std::int64_t>(m_file.data()->info.groups.size()))
            return true;
        summaries.push_back({static_cast<CollectiveOp>(operation), GroupId(static_cast<std::int32_t>(rows->integer(1))),
                             rows->integer(2), rows->asInteger(3), rows->asInteger(4), Duration{rows->integer(5)},
                             Duration{rows->integer(6)}});
        return true;
    }));
    return summaries;
}

Result<std::vector<OpSummary>> FileSummaries::opSummaries(std::size_t limit)
{
    FOURWALLS_TRY_ASSIGN(sqlite::Statement * rows,
                         m_file.statement("SELECT * FROM op_summary ORDER BY total DESC, op LIMIT ?1"));
    rows->bind(1, static_cast<std::int64_t>(std::min<std::size_t>(limit, 1'000'000'000)));
    std::vector<OpSummary> summaries;
    FOURWALLS_TRY(m_file.forRows(*rows, [&] {
        const auto op = rows->asInteger(0), count = rows->asInteger(1), total = rows->asInteger(2),
                   longest = rows->asInteger(3);
        if (isId(op) && count && total && longest)
            summaries.push_back({OpId(static_cast<std::int32_t>(*op)), *count, Duration{*total}, Duration{*longest}});
        return true;
    }));
    return summaries;
}

} // namespace fourwalls::store
