// SPDX-License-Identifier: Apache-2.0
// Folding of slices and collectives into the stored summaries.
#include "model/trace/summary_builder.h"

#include "model/spec/rank_layout.h"
#include "model/trace/saturating_sum.h"

#include <algorithm>

namespace fourwalls {

std::optional<double> devicePeakFlops(const TraceHeader& header, const TraceClosing& closing)
{
    if (closing.peakFlopsPerDevice) return closing.peakFlopsPerDevice;
    if (!header.spec) return std::nullopt;
    return header.spec->cluster.device.peak(header.spec->training.precision);
}

std::optional<double> deviceBytesPerSecond(const TraceHeader& header, const TraceClosing& closing)
{
    if (closing.memoryBytesPerSecond) return closing.memoryBytesPerSecond;
    if (!header.spec || header.spec->cluster.device.memoryBytesPerSecond <= 0) return std::nullopt;
    return header.spec->cluster.device.memoryBytesPerSecond;
}

bool isPipelined(const TraceHeader& header)
{
    if (header.spec) return header.spec->plan.pp > 1;
    // Imports have no specification, but may know the stages of their ranks.
    return std::any_of(header.ranks.begin(), header.ranks.end(),
                       [](const RankInfo& rank) { return rank.pipelineStage > 0; });
}

int pipelineOf(const TraceHeader& header, RankId rank)
{
    if (!isPipelined(header)) return 0;
    if (!header.spec) {
        // The n-th rank of every stage belongs to the n-th pipeline.
        int stage = 0, place = 0;
        for (const RankInfo& info : header.ranks)
            if (info.rank == rank) stage = info.pipelineStage;
        for (const RankInfo& info : header.ranks)
            if (info.pipelineStage == stage && info.rank < rank) ++place;
        return place;
    }
    return RankLayout(header.spec->plan).groupOf(GroupKind::Pipeline, rank);
}

std::optional<ActivityClass> activityClass(Activity activity)
{
    switch (activity) {
    case Activity::Compute: return ActivityClass::Compute;
    case Activity::Transfer:
    case Activity::PipelineTransfer: return ActivityClass::Communication;
    case Activity::Copy:
    case Activity::DataLoading: return ActivityClass::Other;
    case Activity::CollectiveWait:
    case Activity::PipelineWait:
    case Activity::Synchronisation: return ActivityClass::Waiting;
    case Activity::None:
    case Activity::Launch: break;
    }
    return std::nullopt;
}

StepLookup::StepLookup(std::span<const StepRecord> steps) : m_steps(steps.begin(), steps.end())
{
    std::stable_sort(m_steps.begin(), m_steps.end(),
                     [](const StepRecord& a, const StepRecord& b) { return a.range.begin < b.range.begin; });
    for (const StepRecord& step : m_steps)
        m_latestEnd.push_back(m_latestEnd.empty() ? step.range.end : std::max(m_latestEnd.back(), step.range.end));
}

const StepRecord* StepLookup::find(Instant at) const
{
    const auto [first, last] = overlapping({at, Instant{at.ns + 1}});
    for (std::size_t i = last; i > first; --i)
        if (m_steps[i - 1].range.contains(at)) return &m_steps[i - 1];
    return nullptr;
}

std::pair<std::size_t, std::size_t> StepLookup::overlapping(TimeRange range) const
{
    const auto first = std::upper_bound(m_latestEnd.begin(), m_latestEnd.end(), range.begin);
    const auto last = std::lower_bound(m_steps.begin(), m_steps.end(), range.end,
                                       [](const StepRecord& step, Instant at) { return step.range.begin < at; });
    const auto from = static_cast<std::size_t>(first - m_latestEnd.begin());
    return {from, std::max(from, static_cast<std::size_t>(last - m_steps.begin()))};
}

std::vector<StepRecord> StepMarks::marked(std::span<const StepRecord> steps) const
{
    std::vector<Mark> marks = m_marks;
    std::stable_sort(marks.begin(), marks.end(),
                     [](const Mark& a, const Mark& b) { return a.range.begin < b.range.begin; });
    std::vector<Mark> whole; // several threads of a loop may mark the same step
    for (const Mark& mark : marks) {
        const bool again = !whole.empty() && whole.back().op == mark.op && mark.range.begin < whole.back().range.end;
        if (again)
            whole.back().range.end = std::max(whole.back().range.end, mark.range.end);
        else
            whole.push_back(mark);
    }
    std::vector<StepRecord> found(steps.begin(), steps.end());
    if (whole.size() != found.size()) return {};
    for (std::size_t i = 0; i < found.size(); ++i) {
        const TimeRange& mark = whole[i].range;
        if (mark.begin > found[i].range.begin || mark.end > found[i].range.end) return {};
        found[i].range = mark;
    }
    return found;
}

RankStepSummarizer::RankStepSummarizer(RankId rank, std::span<const StepRecord> steps, const TraceHeader& header,
                                       const TraceClosing& closing)
    : m_lookup(steps)
{
    for (const StepRecord& step : m_lookup.steps())
        m_steps.emplace_back(rank, step, devicePeakFlops(header, closing), deviceBytesPerSecond(header, closing),
                             isPipelined(header));
}

void RankStepSummarizer::add(const OpInfo& op, Instant start, Duration duration)
{
    const auto [first, last] = m_lookup.overlapping({start, start + duration});
    for (std::size_t i = first; i < last; ++i) m_steps[i].add(op, start, duration);
}

std::map<StepIndex, TimeRange> RankStepSummarizer::pipelineWindows() const
{
    std::map<StepIndex, TimeRange> windows;
    for (std::size_t i = 0; i < m_steps.size(); ++i)
        if (const auto window = m_steps[i].pipelineWindow()) windows.emplace(m_lookup.steps()[i].step, *window);
    return windows;
}

std::vector<StepSummary> RankStepSummarizer::finish(const std::map<StepIndex, TimeRange>& windows)
{
    std::vector<StepSummary> summaries;
    summaries.reserve(m_steps.size());
    for (std::size_t i = 0; i < m_steps.size(); ++i) {
        const auto found = windows.find(m_lookup.steps()[i].step);
        summaries.push_back(m_steps[i].finish(found == windows.end() ? std::nullopt : std::optional(found->second)));
    }
    return summaries;
}

void mergePipelineWindows(std::map<StepIndex, TimeRange>& hulls, const std::map<StepIndex, TimeRange>& windows)
{
    for (const auto& [step, window] : windows) {
        const auto [hull, isNew] = hulls.emplace(step, window);
        if (isNew) continue;
        hull->second.begin = std::min(hull->second.begin, window.begin);
        hull->second.end = std::max(hull->second.end, window.end);
    }
}

CollectiveSummarizer::CollectiveSummarizer(std::span<const ProcessGroupInfo> groups, std::span<const RankInfo> ranks)
{
    for (const RankInfo& rank : ranks) m_ranks.push_back(rank.rank);
    std::sort(m_ranks.begin(), m_ranks.end());
    for (const ProcessGroupInfo& group : groups) addGroup(group);
}

void CollectiveSummarizer::addGroup(const ProcessGroupInfo& group)
{
    const auto comes = [this](RankId rank) { return std::binary_search(m_ranks.begin(), m_ranks.end(), rank); };
    const auto members = std::count_if(group.ranks.begin(), group.ranks.end(), comes);
    m_groupSizes.push_back(m_ranks.empty() ? group.ranks.size() : static_cast<std::size_t>(members));
}

std::size_t CollectiveSummarizer::OperationHash::operator()(const OperationKey& key) const noexcept
{
    std::uint64_t hash = static_cast<std::uint64_t>(key.sequence) * 0x9e3779b97f4a7c15ULL;
    hash ^= static_cast<std::uint64_t>(std::get<0>(key.kind).value) << 8;
    hash ^= static_cast<std::uint64_t>(std::get<1>(key.kind));
    return static_cast<std::size_t>(hash ^ (hash >> 29));
}

void CollectiveSummarizer::add(const CollectiveRecord& member)
{
    const Kind kind{member.group, member.operation};
    CollectiveSummary& total = m_totals[kind];
    total.operation = member.operation;
    total.group = member.group;
    addTo(total.wait, member.lastArrival - member.start);

    const auto group = static_cast<std::size_t>(member.group.value);
    const bool pointToPoint = member.operation == CollectiveOp::Send || member.operation == CollectiveOp::Receive;
    // 0: nobody knows who is in the group.
    const std::size_t expected = pointToPoint ? 1 : group < m_groupSizes.size() ? m_groupSizes[group] : 0;
    if (expected == 1) {
        fold(total, {1, member.lastArrival, member.end, member.payloadBytes, member.wireBytes});
        return;
    }
    const auto [open, isNew] = m_open.try_emplace({kind, member.sequence});
    Operation& operation = open->second;
    if (isNew) {
        operation.lastArrival = member.lastArrival;
        operation.end = member.end;
    }
    ++operation.members;
    operation.lastArrival = std::max(operation.lastArrival, member.lastArrival);
    operation.end = std::max(operation.end, member.end);
    operation.payloadBytes = std::max(operation.payloadBytes, member.payloadBytes);
    operation.wireBytes = std::max(operation.wireBytes, member.wireBytes);
    if (expected == 0 || operation.members < expected) return;
    fold(total, operation);
    m_open.erase(open);
}

void CollectiveSummarizer::fold(CollectiveSummary& total, const Operation& operation)
{
    ++total.count;
    addKnown(total.payloadBytes, operation.payloadBytes);
    addKnown(total.wireBytes, operation.wireBytes);
    addTo(total.time, operation.end - operation.lastArrival);
}

std::vector<CollectiveSummary> CollectiveSummarizer::finish()
{
    for (const auto& [key, operation] : m_open) fold(m_totals[key.kind], operation);
    m_open.clear();
    std::vector<CollectiveSummary> summaries;
    for (const auto& [kind, total] : m_totals) summaries.push_back(total);
    return summaries;
}

void OpSummarizer::add(OpId op, Duration duration)
{
    if (op.value < 0) return;
    const auto index = static_cast<std::size_t>(op.value);
    while (m_byOp.size() <= index) m_byOp.push_back({OpId{static_cast<std::int32_t>(m_byOp.size())}, 0, {}, {}});
    OpSummary& summary = m_byOp[index];
    ++summary.count;
    addTo(summary.total, duration);
    summary.longest = std::max(summary.longest, duration);
}

void OpSummarizer::addInTrack(OpId op, Activity activity, Instant start, Duration duration)
{
    add(op, duration);
    if (activity != Activity::Compute || op.value < 0) return;
    std::erase_if(m_open, [&](const Open& open) { return open.end <= start; });
    const Instant end = start + duration;
    // One that ends earlier runs beside it, not around it.
    const auto around = std::find_if(m_open.rbegin(), m_open.rend(), [&](const Open& open) { return open.end >= end; });
    if (around != m_open.rend()) {
        const Duration taken = std::min(duration, around->own);
        around->own = around->own - taken;
        Duration& total = m_byOp[static_cast<std::size_t>(around->op.value)].total;
        total = std::max(Duration{}, total - taken); // sums of the longest slices there can be stop short
    }
    if (m_open.size() < kMostOpen) m_open.push_back({op, end, duration});
}

std::vector<OpSummary> OpSummarizer::finish() const
{
    std::vector<OpSummary> summaries;
    for (const OpSummary& summary : m_byOp)
        if (summary.count > 0) summaries.push_back(summary);
    std::stable_sort(summaries.begin(), summaries.end(),
                     [](const OpSummary& a, const OpSummary& b) { return a.total > b.total; });
    return summaries;
}

} // namespace fourwalls
