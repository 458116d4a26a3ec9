// SPDX-License-Identifier: Apache-2.0
// See case_facts.h.
#include "model/diagnose/case_facts.h"

#include "model/replay/steps_around.h"
#include "model/trace/step_window.h"

#include <cmath>
#include <limits>

namespace fourwalls::diagnose {

namespace {

constexpr std::size_t kMostCollectives = 200'000; ///< of one step

Status readReplay(CaseFacts& facts)
{
    const auto range = replay::stepsAround(facts.trace.info(), facts.steps, *facts.result.step);
    if (!range) {
        facts.whyNoReplay = "a step has too many slices to be taken apart";
        return {};
    }
    auto replay = replay::Replay::of(facts.trace, range, facts.stop);
    if (replay.ok()) {
        facts.work = workEffects(*replay);
        // Of one step, or one rank's, most delays are the only ones of their class: that it agrees says nothing.
        if (facts.work.steps.size() > 1) facts.result.replayError = replay->quality(replay::DelayRule::Class).meanError;
        facts.replay = std::move(*replay);
        return {};
    }
    if (replay.error().code == ErrorCode::Cancelled) return replay.error();
    facts.whyNoReplay = replay.error().what;
    return {};
}

} // namespace

Finding CaseFacts::ofShare(Cause cause, double share) const
{
    Finding finding;
    finding.cause = cause;
    finding.ranks = result.ranks;
    if (!result.wholeTrace && result.step) finding.steps = {*result.step};
    finding.add(EvidenceKind::ShareOfStep, share).add(EvidenceKind::TimePerStep, share * length() * 1e-6);
    finding.gain = Gain{Duration{std::llround(share * length())}, share, GainSource::UpperBound};
    return finding;
}

Finding CaseFacts::ofRanks(Cause cause, std::vector<RankId> ranks) const
{
    Finding finding;
    finding.cause = cause;
    finding.ranks = std::move(ranks);
    if (!result.wholeTrace) finding.steps = work.steps;
    if (finding.ranks.size() == 1) finding.show.rank = finding.ranks.front();
    return finding;
}

Finding* CaseFacts::found(Cause cause)
{
    const auto found = std::find_if(result.findings.begin(), result.findings.end(),
                                    [cause](const Finding& each) { return each.cause == cause; });
    return found == result.findings.end() ? nullptr : &*found;
}

Gain CaseFacts::gainOf(const TimeChange& change, replay::DelayRule rule, const TimeChange& also) const
{
    const replay::ReplayGraph& graph = replay->graph(rule);
    replay::NodeTimes times = replay::timesOf(graph, rule);
    std::vector<std::int64_t> end;
    const auto mean = [](const std::vector<std::int64_t>& lengths) {
        double sum = 0;
        for (const std::int64_t each : lengths) sum += static_cast<double>(each);
        return lengths.empty() ? 0 : sum / static_cast<double>(lengths.size());
    };
    const auto replayed = [&] {
        replay::simulate(graph, times, end);
        return mean(replay::stepLengths(graph, times.duration, end));
    };
    if (also) also(times);
    const double before = replayed();
    change(times);
    const double after = replayed();
    const double recorded = mean(replay::stepLengths(graph, graph.duration, graph.recordedEnd));
    if (recorded <= 0) return {};
    return {Duration{std::llround(before - after)}, (before - after) / recorded, GainSource::Replay};
}

Result<replay::ChangeGain> CaseFacts::gainOfChange(std::string_view change)
{
    if (!replay) return Error{ErrorCode::Unsupported, whyNoReplay, "findings", {}};
    if (!ofStep) {
        std::optional<replay::StepChoiceRange> step;
        if (!result.wholeTrace) step = {*result.step, *result.step};
        FOURWALLS_TRY_ASSIGN(ofStep, replay::Replay::of(trace, step, stop));
    }
    return replay::gainOf(*ofStep, change);
}

namespace {

/// See CaseFacts::worked.
Status readWork(CaseFacts& facts)
{
    const TraceInfo& info = facts.trace.info();
    if (info.header.clock != ClockKind::Wall) return {};
    std::map<CounterId, std::pair<RankId, std::vector<StepView>>> ofCounter; // a rank's own steps: a pipeline's overlap
    for (std::size_t i = 0; i < info.counters.size(); ++i) {
        const CounterInfo& counter = info.counters[i];
        if (counter.name != "step_cpu_ms" || !counter.rank) continue;
        FOURWALLS_TRY_ASSIGN(std::vector<StepView> steps, facts.trace.steps(*counter.rank));
        ofCounter[CounterId{static_cast<std::int32_t>(i)}] = {*counter.rank, std::move(steps)};
    }
    if (ofCounter.empty()) return {};
    return facts.trace.scanCounters(
        [&](const CounterRecord& sample) {
            const auto found = ofCounter.find(sample.counter);
            if (found == ofCounter.end()) return true;
            const auto& [rank, steps] = found->second;
            const auto next =
                std::upper_bound(steps.begin(), steps.end(), sample.at,
                                 [](Instant at, const StepView& each) { return at < each.record.range.begin; });
            if (next == steps.begin()) return true;
            const StepRecord& step = std::prev(next)->record;
            if (sample.at < step.range.end && step.state != StepState::Warmup && step.state != StepState::Lost)
                facts.worked[rank][step.step] = sample.value * 1e6;
            return true;
        },
        facts.stop);
}

} // namespace

Status readFacts(CaseFacts& facts, std::optional<StepIndex> wanted)
{
    TraceQuery& trace = facts.trace;
    const TraceInfo& info = trace.info();
    FOURWALLS_TRY_ASSIGN(facts.steps, trace.jobSteps());
    std::optional<JobStep> step = stepOfNumber(facts.steps, wanted);
    if (!step) step = typicalStep(facts.steps);
    if (!step) return {};
    facts.result.step = step->step;
    facts.result.wholeTrace = info.closing.stepsBy == kWholeTrace;
    facts.result.stepTime = step->range.length();
    facts.range = step->range;
    FOURWALLS_TRY_ASSIGN(facts.summaries, trace.stepSummaries(step->step));
    for (const StepSummary& summary : facts.summaries) facts.result.ranks.push_back(summary.rank);
    if (facts.summaries.empty() || facts.length() <= 0) return {};
    const auto measured = std::count_if(facts.steps.begin(), facts.steps.end(),
                                        [](const JobStep& each) { return each.state == StepState::Measured; });
    facts.runs = std::max<std::int64_t>(1, measured) * static_cast<std::int64_t>(facts.summaries.size());
    FOURWALLS_TRY(readWork(facts));
    double own = 0;
    for (const RankId rank : facts.result.ranks) {
        FOURWALLS_TRY_ASSIGN(const std::vector<StepView> steps, trace.steps(rank));
        for (const StepView& each : steps)
            if (each.record.step == step->step) own += static_cast<double>(each.record.range.length().ns);
    }
    facts.ownTime = own > 0 ? own / static_cast<double>(facts.summaries.size()) : facts.length();
    for (const TrackView& track : trace.tracks()) {
        if (track.slices == 0) continue;
        const TrackKind kind = track.info.kind;
        if (kind == TrackKind::ComputeStream || kind == TrackKind::CommStream || kind == TrackKind::CopyStream) {
            facts.hasDevice = true;
            facts.deviceWork += track.slices;
        }
        facts.hasHost |= kind == TrackKind::CpuThread;
    }
    FOURWALLS_TRY_ASSIGN(const std::vector<OpSummary> summaries,
                         trace.opSummaries(std::numeric_limits<std::int32_t>::max()));
    for (const OpSummary& summary : summaries) {
        FOURWALLS_TRY_ASSIGN(auto op, trace.op(summary.op));
        if (op) facts.ops.emplace_back(std::move(op), summary);
        if (facts.stop.stop_requested()) return Error{ErrorCode::Cancelled, "a newer question came", "findings", {}};
    }
    FOURWALLS_TRY_ASSIGN(const std::vector<CollectiveView> collectives,
                         trace.collectives(std::nullopt, facts.range, kMostCollectives));
    facts.operations = joinOperations(collectives);
    return readReplay(facts);
}

} // namespace fourwalls::diagnose
