// SPDX-License-Identifier: Apache-2.0
// See steps_table.h.
#include "model/present/steps_table.h"
#include "model/base/median.h"
#include "model/trace/memory_facts.h"

#include <algorithm>
#include <map>

namespace fourwalls {

namespace {

/// Sums over the ranks of one step, each as often as it stands for identical ones, in nanoseconds of one rank.
struct Total {
    std::array<double, kStepPartCount> parts{};
    double own = 0, weight = 0; ///< the ranks' own lengths, and how many ranks they are
};

void add(Total& total, const StepSummary& summary, double weight)
{
    const Duration parts[kStepPartCount] = {summary.compute, summary.exposedComm, summary.exposedCopy, summary.bubble,
                                            summary.idle()};
    for (std::size_t i = 0; i < kStepPartCount; ++i) total.parts[i] += weight * static_cast<double>(parts[i].ns);
    total.own += weight * static_cast<double>(summary.range.length().ns);
    total.weight += weight;
}

/// Shares of the job's step: a rank that begins later or ends earlier than the others is idle for the difference, as
/// in the metrics.
std::array<double, kStepPartCount> sharesOf(const Total& total, Duration step)
{
    const double whole = total.weight * static_cast<double>(std::max<std::int64_t>(1, step.ns));
    std::array<double, kStepPartCount> shares = total.parts;
    shares[static_cast<std::size_t>(StepPart::Idle)] += whole - total.own;
    for (double& share : shares) share /= whole;
    return shares;
}

} // namespace

std::optional<double> StepRow::tokensPerSecond() const
{
    if (tokens <= 0 || range.empty()) return std::nullopt;
    return static_cast<double>(tokens) / range.length().seconds();
}

std::optional<double> StepRow::samplesPerSecond() const
{
    if (samples <= 0 || range.empty()) return std::nullopt;
    return static_cast<double>(samples) / range.length().seconds();
}

bool StepTable::hasTokens() const
{
    return std::any_of(rows.begin(), rows.end(), [](const StepRow& row) { return row.tokens > 0; });
}

std::optional<Duration> StepTable::medianTime() const
{
    std::vector<Duration> times;
    for (const StepRow& row : rows)
        if (row.state == StepState::Measured && row.complete) times.push_back(row.range.length());
    if (times.empty()) return std::nullopt;
    return lowerMedian(std::move(times));
}

std::optional<double> StepTable::throughput() const
{
    const std::optional<Duration> time = medianTime();
    const bool inTokens = hasTokens();
    for (const StepRow& row : rows) {
        const std::int64_t count = inTokens ? row.tokens : row.samples;
        if (time && time->ns > 0 && row.state == StepState::Measured && count > 0)
            return static_cast<double>(count) / time->seconds();
    }
    return std::nullopt;
}

Result<StepTable> askSteps(TraceQuery& trace, RankId rank)
{
    FOURWALLS_TRY_ASSIGN(std::vector<StepView> steps, trace.steps(rank));
    FOURWALLS_TRY_ASSIGN(std::vector<StepSummary> summaries, trace.stepSummaries());
    std::map<RankId, double> weights;
    for (const RankInfo& info : trace.info().header.ranks) weights[info.rank] = std::max(1, info.multiplicity);
    FOURWALLS_TRY_ASSIGN(const std::vector<JobStep> all, trace.jobSteps());
    std::map<StepIndex, JobStep> jobs;
    for (const JobStep& job : all) jobs.emplace(job.step, job);
    std::map<StepIndex, Total> totals;
    for (const StepSummary& summary : summaries) {
        const auto weight = weights.find(summary.rank);
        add(totals[summary.step], summary, weight == weights.end() ? 1 : weight->second);
    }

    const bool hasParts = !isLogOnly(trace.info()) && !hasOrderOnly(trace.info());
    StepTable table;
    table.stepsBy = trace.info().closing.stepsBy;
    for (const StepView& view : steps) {
        const StepRecord& record = view.record;
        if (record.state == StepState::Lost) continue; // its number is the later one's
        StepRow row;
        row.step = record.step;
        const auto job = jobs.find(record.step);
        row.state = job == jobs.end() ? record.state : job->second.state;
        row.range = job == jobs.end() ? record.range : job->second.range;
        row.complete = job == jobs.end() || job->second.complete;
        row.loss = record.loss;
        row.learningRate = record.learningRate;
        row.gradientNorm = record.gradientNorm;
        row.tokens = record.tokens;
        row.samples = record.samples;
        // What was not recorded is not idle.
        if (const auto total = totals.find(record.step); total != totals.end() && hasParts)
            row.parts = sharesOf(total->second, row.range.length());
        table.rows.push_back(std::move(row));
    }
    std::stable_sort(table.rows.begin(), table.rows.end(),
                     [](const StepRow& a, const StepRow& b) { return a.step < b.step; });
    return table;
}

} // namespace fourwalls
