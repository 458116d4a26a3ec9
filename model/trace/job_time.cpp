// SPDX-License-Identifier: Apache-2.0
// See job_time.h. The phases and steps of one rank, laid over each other: where several are, the first kind of LaidOver counts.
#include "model/trace/job_time.h"

#include "model/base/median.h"
#include "model/trace/step_window.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace fourwalls {

namespace {

constexpr std::array<std::string_view, kLostTimeCount> kLostTimeNames{"detection",  "restart",       "loading",
                                                                      "lost_work",  "checkpoints",   "slow_steps",
                                                                      "evaluation", "between_steps", "other"};

/// In the order of precedence.
enum class LaidOver : std::uint8_t { Detection, Loading, Restart, Setup, Checkpoint, Evaluation, Kept, Lost, Between };
constexpr int kLaidOverCount = 9;

struct Stretch {
    LaidOver kind;
    TimeRange range;
};

std::optional<LaidOver> kindOf(const OpInfo& op)
{
    if (op.kind == SliceKind::Phase && op.name == kDetectionName) return LaidOver::Detection;
    if (op.kind == SliceKind::Phase && op.name == kBetweenStepsName) return LaidOver::Between;
    if (op.kind == SliceKind::Phase && op.phase == Phase::Evaluation) return LaidOver::Evaluation;
    if (op.phase == Phase::CheckpointLoad) return LaidOver::Loading;
    if (op.phase == Phase::CheckpointSave && op.kind == SliceKind::Checkpoint) return LaidOver::Checkpoint;
    if (op.phase == Phase::Setup && op.kind == SliceKind::Phase)
        return op.name == kRestartName ? LaidOver::Restart : LaidOver::Setup;
    return std::nullopt;
}

/// All that are long enough to matter: shorter than a millionth of the trace are left out.
/// saved: when checkpoints began.
Status readPhases(TraceQuery& trace, RankId rank, JobTime& time, std::vector<Stretch>& stretches,
                  std::vector<Instant>& saved, std::stop_token stop)
{
    constexpr int kColumns = 1 << 20;
    SliceQuery query;
    query.range = trace.info().range;
    query.pixels = kColumns;
    for (const TrackView& track : trace.tracks())
        if (track.info.rank == rank && track.info.kind == TrackKind::Phases) query.tracks.push_back(track.id);
    if (query.tracks.empty() || query.range.empty()) return {};
    FOURWALLS_TRY_ASSIGN(const SliceWindow window, trace.slices(query, stop));
    for (const LaneSlices& lane : window.lanes)
        for (const SliceView& slice : lane.exact) {
            const auto op = window.ops.find(slice.op);
            const auto kind = op == window.ops.end() ? std::nullopt : kindOf(*op->second);
            if (!kind) continue;
            stretches.push_back({*kind, {slice.start, slice.end()}});
            if (*kind == LaidOver::Restart) ++time.failures;
            if (op->second->name == "save checkpoint") saved.push_back(slice.start);
        }
    return {};
}

/// How many steps there are from one checkpoint to the next that comes after a later step. steps: of one rank, lost ones too.
double stepsBetween(const std::vector<StepView>& steps, const std::vector<Instant>& saved)
{
    StepIndex first = steps.front().record.step;
    std::vector<std::pair<Instant, StepIndex>> ends;
    for (const StepView& step : steps) {
        first = std::min(first, step.record.step);
        ends.emplace_back(step.record.range.end, step.record.step);
    }
    std::sort(ends.begin(), ends.end());
    std::set<StepIndex> behind;
    for (const Instant at : saved) {
        const auto next =
            std::partition_point(ends.begin(), ends.end(), [at](const auto& end) { return !(at < end.first); });
        if (next != ends.begin()) behind.insert(std::prev(next)->second);
    }
    if (behind.empty()) return 0;
    return static_cast<double>(behind.rbegin()->value - first.value + 1) / static_cast<double>(behind.size());
}

Duration usualLength(const std::vector<JobStep>& steps)
{
    std::vector<Duration> lengths;
    lengths.reserve(steps.size());
    for (const JobStep& step : steps) lengths.push_back(step.range.length());
    return lowerMedian(std::move(lengths));
}

/// Shares out the range. What is nobody's before a detection or a restart is the step that the failure ended.
void shareOut(std::vector<Stretch> stretches, JobTime& time)
{
    struct Edge {
        Instant at;
        int kind, change;
    };
    std::vector<Edge> edges;
    for (const Stretch& stretch : stretches) {
        const TimeRange inside = stretch.range.intersected(time.range);
        if (inside.empty()) continue;
        edges.push_back({std::max(stretch.range.begin, time.range.begin), static_cast<int>(stretch.kind), 1});
        edges.push_back({std::min(stretch.range.end, time.range.end), static_cast<int>(stretch.kind), -1});
    }
    std::stable_sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) { return a.at < b.at; });
    std::array<int, kLaidOverCount> open{};
    std::array<Duration, kLaidOverCount> covered{};
    Duration gap, lostInGaps, other;
    Instant at = time.range.begin;
    for (const Edge& edge : edges) {
        const auto first = std::find_if(open.begin(), open.end(), [](int count) { return count > 0; });
        const Duration passed = edge.at - at;
        if (first != open.end())
            covered[static_cast<std::size_t>(first - open.begin())] += passed;
        else
            gap += passed;
        at = edge.at;
        if (edge.change > 0 && gap.ns > 0) {
            const bool failed =
                edge.kind == static_cast<int>(LaidOver::Detection) || edge.kind == static_cast<int>(LaidOver::Restart);
            (failed ? lostInGaps : other) += gap;
            gap = {};
        }
        open[static_cast<std::size_t>(edge.kind)] += edge.change;
    }
    other += gap + (time.range.end - at);
    const auto part = [&](LostTime which) -> Duration& { return time.lost[static_cast<std::size_t>(which)]; };
    const auto all = [&](LaidOver which) { return covered[static_cast<std::size_t>(which)]; };
    part(LostTime::Detection) = all(LaidOver::Detection);
    part(LostTime::Restart) = all(LaidOver::Restart) + all(LaidOver::Setup);
    part(LostTime::Loading) = all(LaidOver::Loading);
    part(LostTime::LostWork) = all(LaidOver::Lost) + lostInGaps;
    part(LostTime::Checkpoints) = all(LaidOver::Checkpoint);
    part(LostTime::SlowSteps) = all(LaidOver::Kept) - time.training;
    part(LostTime::Evaluation) = all(LaidOver::Evaluation);
    part(LostTime::BetweenSteps) = all(LaidOver::Between);
    part(LostTime::Other) = other;
}

} // namespace

std::string_view name(LostTime part)
{
    return kLostTimeNames[static_cast<std::size_t>(part)];
}

Result<std::optional<JobTime>> jobTime(TraceQuery& trace, std::stop_token stop)
{
    FOURWALLS_TRY_ASSIGN(const std::vector<JobStep> kept, trace.jobSteps());
    const TraceInfo& info = trace.info();
    if (kept.empty() || info.header.source == TraceSource::Predicted || info.closing.stepsBy == kWholeTrace)
        return std::optional<JobTime>();
    JobTime time;
    time.keptSteps = static_cast<int>(kept.size());
    time.medianStep = medianStepTime(kept).value_or(usualLength(kept));
    time.training = Duration{time.medianStep.ns * time.keptSteps};
    std::vector<Stretch> stretches;
    time.range = kept.front().range;
    for (const JobStep& step : kept) {
        stretches.push_back({LaidOver::Kept, step.range});
        time.range.begin = std::min(time.range.begin, step.range.begin);
        time.range.end = std::max(time.range.end, step.range.end);
    }
    for (const RankInfo& rank : info.header.ranks) {
        FOURWALLS_TRY_ASSIGN(const std::vector<StepView> own, trace.steps(rank.rank));
        if (own.empty()) continue;
        for (const StepView& step : own) {
            if (step.record.state != StepState::Lost) continue;
            stretches.push_back({LaidOver::Lost, step.record.range});
            time.range.begin = std::min(time.range.begin, step.record.range.begin);
            ++time.lostSteps;
        }
        std::vector<Instant> saved;
        FOURWALLS_TRY(readPhases(trace, rank.rank, time, stretches, saved, stop));
        time.checkpoints = static_cast<int>(saved.size());
        time.stepsBetweenCheckpoints = stepsBetween(own, saved);
        break;
    }
    for (const Stretch& stretch : stretches)
        if (stretch.kind == LaidOver::Checkpoint) time.range.end = std::max(time.range.end, stretch.range.end);
    shareOut(std::move(stretches), time);
    return std::optional(time);
}

} // namespace fourwalls
