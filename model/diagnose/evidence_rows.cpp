// SPDX-License-Identifier: Apache-2.0
// See evidence_rows.h.
#include "model/diagnose/evidence_rows.h"

#include <fmt/format.h>

#include <algorithm>

namespace fourwalls::diagnose {

namespace {

using Table = EvidenceRows::Table;

Table tableOf(const Finding& finding, EvidenceKind kind)
{
    switch (kind) {
    case EvidenceKind::ShareOfStep:
    case EvidenceKind::TimePerStep:
    case EvidenceKind::DeviceIdle:
    case EvidenceKind::LaunchShare: return Table::StepSummaries;
    case EvidenceKind::HoldsWaiting:
    case EvidenceKind::ComesLast:
    case EvidenceKind::OperationsTogether:
    case EvidenceKind::DelaysOthers:
    case EvidenceKind::MovingTime:
    case EvidenceKind::SiblingsMoving: return Table::Collectives;
    case EvidenceKind::StepsAffected:
    case EvidenceKind::StepsLookedAt:
    case EvidenceKind::LongestStep:
    case EvidenceKind::MedianStep:
    case EvidenceKind::FromStep: return Table::Steps;
    case EvidenceKind::BytesPerStep:
    case EvidenceKind::BytesPerRise:
    case EvidenceKind::Rises:
    case EvidenceKind::StepsLeft:
    case EvidenceKind::Peak:
    case EvidenceKind::Reserved: return Table::Memory;
    case EvidenceKind::Capacity: return Table::Ranks;
    case EvidenceKind::Clock:
    case EvidenceKind::FullClock:
    case EvidenceKind::SampledShare:
    case EvidenceKind::Samples:
    case EvidenceKind::Reasons:
    case EvidenceKind::BusiestExpert: return Table::Counters;
    case EvidenceKind::Failures:
    case EvidenceKind::Restarts:
    case EvidenceKind::First:
    case EvidenceKind::Wanted: return Table::Events;
    case EvidenceKind::FreeTogether:
    case EvidenceKind::FreeAtEnd:
    case EvidenceKind::LargestHole:
    case EvidenceKind::FreeInPieces: return Table::Allocations;
    case EvidenceKind::Occurrences:
        return finding.cause == Cause::ExposedCommunication ? Table::Collectives : Table::Slices;
    case EvidenceKind::Mostly: return finding.show.view == FindingView::Memory ? Table::Allocations : Table::Slices;
    case EvidenceKind::Ratio: return finding.cause == Cause::SlowLink ? Table::Collectives : Table::Slices;
    default: return Table::Slices;
    }
}

/// From the begin of the finding's first step to the end of its last one; absent: it is of no steps.
std::optional<TimeRange> rangeOfSteps(const CaseFacts& facts, const Finding& finding)
{
    std::optional<TimeRange> range;
    for (const JobStep& step : facts.steps) {
        if (std::find(finding.steps.begin(), finding.steps.end(), step.step) == finding.steps.end()) continue;
        if (!range) range = step.range;
        range = TimeRange{std::min(range->begin, step.range.begin), std::max(range->end, step.range.end)};
    }
    return range;
}

/// The step that shows a finding of several steps best: the first one of those that are bad, else the one that stands for
/// the job.
std::optional<TimeRange> stepToShow(const CaseFacts& facts, const Finding& finding)
{
    if (!facts.result.step) return std::nullopt;
    const bool isOfAll =
        std::find(finding.steps.begin(), finding.steps.end(), *facts.result.step) != finding.steps.end();
    if (finding.steps.empty() || isOfAll) return facts.range;
    for (const JobStep& step : facts.steps)
        if (step.step == finding.steps.front()) return step.range;
    return facts.range;
}

std::string ranksIn(const std::vector<RankId>& ranks, const char* column)
{
    std::string list;
    for (const RankId rank : ranks) list += (list.empty() ? "" : ", ") + std::to_string(rank.value);
    return ranks.size() == 1 ? fmt::format("{} = {}", column, list) : fmt::format("{} IN ({})", column, list);
}

std::string quoted(const std::string& text)
{
    std::string all = "'";
    for (const char c : text) all += c == '\'' ? std::string("''") : std::string(1, c);
    return all + "'";
}

struct TableWords {
    Table table;
    std::string_view name;
    const char *select, *rank, *begin, *end; ///< null: has no such column
};
constexpr TableWords kTables[] = {
    {Table::StepSummaries, "step_summaries", "* FROM step_summary", "rank", "start", "end"},
    {Table::Slices, "slices", "* FROM named_slices", "rank", "start_ns", "start_ns + duration_ns"},
    {Table::Steps, "steps", "* FROM step", "rank", "start", "end"},
    {Table::Collectives, "collectives", "* FROM named_collectives", "rank", "start_ns",
     "start_ns + wait_ns + transfer_ns"},
    {Table::Memory, "memory", "rank, step, peak, at, resident, reserved FROM memory_summary", "rank", nullptr, nullptr},
    {Table::Allocations, "allocations", "* FROM named_allocations", "rank", "start_ns",
     "coalesce(end_ns, 9223372036854775807)"},
    {Table::Counters, "counters", "* FROM named_counter_samples", "rank", "at_ns", "at_ns"},
    {Table::Events, "events", "* FROM event", nullptr, "at", "at"},
    {Table::Ranks, "ranks", "* FROM rank", "id", nullptr, nullptr},
};

const TableWords& rowOf(Table table)
{
    return kTables[static_cast<std::size_t>(table)];
}

} // namespace

void settleRows(const CaseFacts& facts, Finding& finding)
{
    if (!finding.show.range) finding.show.range = stepToShow(facts, finding);
    const bool isOfAll = finding.ranks.size() == facts.result.ranks.size();
    const std::optional<TimeRange> steps = rangeOfSteps(facts, finding);
    for (Evidence& each : finding.evidence) {
        if (each.rows) continue;
        EvidenceRows rows;
        rows.table = tableOf(finding, each.kind);
        if (!isOfAll && each.kind != EvidenceKind::SiblingsMoving && each.kind != EvidenceKind::PeersTime)
            rows.ranks = finding.ranks;
        if (finding.steps.size() == 1) rows.step = finding.steps.front();
        rows.range = steps;
        if (rows.table == Table::Slices && finding.show.range &&
            (each.kind == EvidenceKind::LongestPause || each.kind == EvidenceKind::Meanwhile))
            rows.range = finding.show.range;
        const bool isOfOne = each.kind == EvidenceKind::Mostly || each.kind == EvidenceKind::Meanwhile ||
                             (each.kind == EvidenceKind::Occurrences && finding.find(EvidenceKind::Mostly));
        if (isOfOne && (rows.table == Table::Slices || rows.table == Table::Allocations)) rows.op = finding.source.what;
        each.rows = std::move(rows);
    }
}

std::string_view name(EvidenceRows::Table table)
{
    return rowOf(table).name;
}

std::string queryOf(const EvidenceRows& rows)
{
    const TableWords& table = rowOf(rows.table);
    std::string where;
    const auto add = [&where](const std::string& condition) {
        where += (where.empty() ? " WHERE " : " AND ") + condition;
    };
    if (!rows.ranks.empty() && table.rank) add(ranksIn(rows.ranks, table.rank));
    const bool hasStep = rows.table == Table::StepSummaries || rows.table == Table::Steps;
    if (rows.step && hasStep)
        add(fmt::format("step = {}", rows.step->value));
    else if (rows.range && table.begin)
        add(fmt::format("{} <= {} AND {} >= {}", table.begin, rows.range->end.ns, table.end, rows.range->begin.ns));
    if (!rows.op.empty()) add((rows.table == Table::Allocations ? "operator = " : "name = ") + quoted(rows.op));
    return std::string("SELECT ") + table.select + where;
}

} // namespace fourwalls::diagnose
