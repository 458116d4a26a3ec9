// SPDX-License-Identifier: GPL-3.0-or-later
// See steps_table.h.
#include "views/steps/steps_table.h"

#include <algorithm>
#include <map>

namespace fourwalls::views {

namespace {

/// Sums over the ranks of one step.
struct Total {
    TimeRange range;
    std::array<double, kStepPartCount> parts{};
    int ranks = 0;
};

void add(Total& total, const StepSummary& summary)
{
    const double length = static_cast<double>(std::max<std::int64_t>(1, summary.range.length().ns));
    const Duration parts[kStepPartCount] = {summary.compute, summary.exposedComm, summary.exposedCopy, summary.bubble,
                                            summary.idle()};
    for (std::size_t i = 0; i < kStepPartCount; ++i) total.parts[i] += static_cast<double>(parts[i].ns) / length;
    total.range = total.ranks == 0 ? summary.range
                                   : TimeRange{std::min(total.range.begin, summary.range.begin),
                                               std::max(total.range.end, summary.range.end)};
    ++total.ranks;
}

} // namespace

std::optional<double> StepRow::tokensPerSecond() const
{
    if (tokens <= 0 || range.empty()) return std::nullopt;
    return static_cast<double>(tokens) / range.length().seconds();
}

std::optional<Duration> StepTable::medianTime() const
{
    std::vector<std::int64_t> times;
    for (const StepRow& row : rows) {
        if (!row.warmup) times.push_back(row.range.length().ns);
    }
    if (times.empty()) return std::nullopt;
    std::sort(times.begin(), times.end());
    const std::size_t middle = times.size() / 2;
    if (times.size() % 2 == 1) return Duration{times[middle]};
    return Duration{(times[middle - 1] + times[middle]) / 2};
}

std::optional<double> StepTable::tokensPerSecond() const
{
    const std::optional<Duration> time = medianTime();
    for (const StepRow& row : rows) {
        if (time && time->ns > 0 && !row.warmup && row.tokens > 0)
            return static_cast<double>(row.tokens) / time->seconds();
    }
    return std::nullopt;
}

Result<StepTable> askSteps(TraceQuery& trace, RankId rank)
{
    FOURWALLS_TRY_ASSIGN(std::vector<StepView> steps, trace.steps(rank));
    FOURWALLS_TRY_ASSIGN(std::vector<StepSummary> summaries, trace.stepSummaries());
    std::map<StepIndex, Total> totals;
    for (const StepSummary& summary : summaries) add(totals[summary.step], summary);

    StepTable table;
    for (const StepView& view : steps) {
        const StepRecord& record = view.record;
        StepRow row;
        row.step = record.step;
        row.warmup = record.warmup;
        row.range = record.range;
        row.loss = record.loss;
        row.learningRate = record.learningRate;
        row.gradientNorm = record.gradientNorm;
        row.tokens = record.tokens;
        row.samples = record.samples;
        if (const auto total = totals.find(record.step); total != totals.end()) {
            row.range = total->second.range;
            row.parts = total->second.parts;
            for (double& part : *row.parts) part /= total->second.ranks;
        }
        table.rows.push_back(std::move(row));
    }
    std::stable_sort(table.rows.begin(), table.rows.end(),
                     [](const StepRow& a, const StepRow& b) { return a.step < b.step; });
    return table;
}

} // namespace fourwalls::views
