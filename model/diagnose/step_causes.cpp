// SPDX-License-Identifier: Apache-2.0
// Steps that are longer than the rest, and what the job does between steps.
#include "model/base/median.h"
#include "model/diagnose/causes.h"
#include "model/trace/job_time.h"

#include <cmath>
#include <map>
#include <set>

namespace fourwalls::diagnose {

namespace {

constexpr double kBadDeviations = 6;
constexpr double kBadShare = 0.1; ///< longer than the median by so much at least
constexpr double kMostBad = 0.2;  ///< of the steps; more are no exception
constexpr std::size_t kLeastCounted = 6;

/// Which rank works longest in a bad step, against what it does in the others; absent: all alike.
std::optional<RankId> slowIn(const CaseFacts& facts, const std::set<StepIndex>& bad)
{
    std::optional<RankId> slow;
    double most = 1 + kBadShare / 2;
    double second = 1;
    for (const RankWork& rank : facts.work.ranks) {
        std::vector<double> in, out;
        for (std::size_t i = 0; i < rank.againstItself.size(); ++i)
            if (rank.againstItself[i] > 0)
                (bad.contains(facts.work.steps[i]) ? in : out).push_back(rank.againstItself[i]);
        if (in.empty() || out.empty()) continue;
        const double ratio = median(in) / median(out);
        if (ratio > most) {
            second = slow ? most : 1;
            most = ratio;
            slow = rank.rank;
        } else {
            second = std::max(second, ratio);
        }
    }
    return slow && most - 1 > 2 * (second - 1) ? slow : std::nullopt;
}

/// How much longer the ranks worked in each of those steps than in their others: the rank that worked most longer [ns of
/// processor time]. Absent: the recording does not say.
std::optional<std::map<StepIndex, double>> longerWork(const CaseFacts& facts, const std::set<StepIndex>& bad)
{
    std::map<StepIndex, double> most;
    for (const auto& [rank, steps] : facts.worked) {
        std::vector<double> usual;
        for (const auto& [step, time] : steps)
            if (!bad.contains(step)) usual.push_back(time);
        if (usual.empty()) return std::nullopt;
        const double middle = median(std::move(usual));
        for (const auto& [step, time] : steps)
            if (bad.contains(step)) most[step] = std::max(most[step], time - middle);
    }
    return facts.worked.empty() ? std::nullopt : std::optional(most);
}

/// What the job does between steps, in all.
struct Stall {
    Cause cause;
    std::set<Phase> phases;
    double time = 0; ///< [ns]
    std::int64_t count = 0;
    double longest = 0; ///< [ns]
    TimeRange at{};

    /// length: of it in the gap [ns].
    void meet(const TimeRange& gap, double length)
    {
        time += length;
        ++count;
        if (length <= longest) return;
        longest = length;
        at = gap;
    }
};

/// From the first begin to the last end of what is of the phases in the range, as far as it is wide enough to be drawn [ns];
/// 0: nothing is.
double extentIn(const CaseFacts& facts, TimeRange range, const std::set<Phase>& phases)
{
    constexpr int kPixels = 200;
    SliceQuery query;
    for (const TrackView& track : facts.trace.tracks()) query.tracks.push_back(track.id);
    query.range = range;
    query.pixels = kPixels;
    const auto window = facts.trace.slices(query, facts.stop);
    if (!window.ok()) return 0;
    Instant begin = range.end, end = range.begin;
    for (const LaneSlices& lane : window->lanes)
        for (const SliceView& slice : lane.exact) {
            if (!phases.contains(window->ops.at(slice.op)->phase)) continue;
            begin = std::min(begin, std::max(range.begin, slice.start));
            end = std::max(end, std::min(range.end, slice.end()));
        }
    return std::max(0.0, static_cast<double>((end - begin).ns));
}

/// What failures took of the job, as its goodput counts it. at: the longest gap with one.
void addFailures(CaseFacts& facts, const JobTime& job, TimeRange at)
{
    const Duration lost = job.of(LostTime::Detection) + job.of(LostTime::Restart) + job.of(LostTime::Loading) +
                          job.of(LostTime::LostWork);
    const double share = lost.seconds() / job.range.length().seconds();
    if (share < kLeastFault) return;
    const Duration perStep{lost.ns / job.keptSteps};
    Finding finding;
    finding.cause = Cause::Failures;
    finding.ranks = facts.result.ranks;
    finding.add(EvidenceKind::Restarts, job.failures)
        .add(EvidenceKind::TimePerRestart, lost.milliseconds() / job.failures)
        .add(EvidenceKind::TimePerStep, perStep.milliseconds());
    finding.gain = Gain{perStep, share, GainSource::UpperBound};
    finding.confidence = Confidence::Certain;
    finding.show = {FindingView::Timeline, std::nullopt, at.empty() ? std::nullopt : std::optional(at)};
    facts.add(std::move(finding));
}

} // namespace

namespace {

/// Above it a value is far out of the others.
double farOut(const std::vector<double>& values)
{
    const double middle = median(values);
    std::vector<double> away;
    for (const double each : values) away.push_back(std::abs(each - middle));
    return middle + std::max(kBadDeviations * 1.4826 * median(away), kBadShare * middle);
}

/// What the measured steps of the job usually take: their median [ns]. Where a rank is throttled, each side of that moment has
/// its own.
class UsualLengths {
public:
    explicit UsualLengths(CaseFacts& facts)
    {
        const Finding* throttled = facts.found(Cause::Throttling);
        if (throttled && !throttled->steps.empty()) m_change = throttled->steps.front();
        std::vector<double> lengths[2];
        for (const JobStep& step : facts.steps)
            if (step.complete && step.state == StepState::Measured)
                lengths[sideOf(step)].push_back(static_cast<double>(step.range.length().ns));
        if (lengths[0].size() < kLeastOfASide || lengths[1].size() < kLeastOfASide) {
            lengths[0].insert(lengths[0].end(), lengths[1].begin(), lengths[1].end());
            lengths[1].clear();
            m_change.reset();
        }
        for (int side = 0; side < 2; ++side) {
            if (lengths[side].empty()) continue;
            m_count += lengths[side].size();
            m_middle[side] = median(lengths[side]);
            m_limit[side] = farOut(lengths[side]);
            m_total += m_middle[side] * static_cast<double>(lengths[side].size());
        }
    }

    std::size_t count() const { return m_count; }
    double total() const { return m_total; } ///< of all measured steps [ns]
    double of(const JobStep& step) const { return m_middle[sideOf(step)]; }
    bool isFarOut(const JobStep& step) const
    {
        return static_cast<double>(step.range.length().ns) > m_limit[sideOf(step)];
    }

private:
    static constexpr std::size_t kLeastOfASide = 4;

    int sideOf(const JobStep& step) const { return m_change && !(step.step < *m_change) ? 1 : 0; }

    std::optional<StepIndex> m_change;
    std::size_t m_count = 0;
    double m_middle[2] = {0, 0}, m_limit[2] = {0, 0}, m_total = 0;
};

/// Steps in which a rank's own work is far longer than in its others, whatever else makes steps long.
std::set<StepIndex> stepsOfLongWork(const CaseFacts& facts)
{
    std::set<StepIndex> bad;
    for (const RankWork& rank : facts.work.ranks) {
        if (rank.againstItself.size() < kLeastCounted) continue;
        const double limit = farOut(rank.againstItself);
        for (std::size_t i = 0; i < rank.againstItself.size(); ++i)
            if (rank.againstItself[i] > limit) bad.insert(facts.work.steps[i]);
    }
    return bad;
}

std::set<StepIndex> keysOf(const std::map<StepIndex, const JobStep*>& steps)
{
    std::set<StepIndex> keys;
    for (const auto& [number, step] : steps) keys.insert(number);
    return keys;
}

} // namespace

void findBadSteps(CaseFacts& facts)
{
    const UsualLengths usual(facts);
    if (usual.count() < kLeastCounted) return;
    // Pauses of one program make steps long, too, and are told as such.
    const bool pauses = facts.found(Cause::HostPause) != nullptr;
    const std::set<StepIndex> longWork = pauses ? stepsOfLongWork(facts) : std::set<StepIndex>();
    std::map<StepIndex, const JobStep*> bad;
    for (const JobStep& step : facts.steps) {
        // An odd step that is longer is bad, too; one that is cut or warms up is not.
        const bool counts = step.complete && (step.state == StepState::Measured || step.state == StepState::Odd);
        if (!counts || (pauses ? !longWork.contains(step.step) : !usual.isFarOut(step))) continue;
        bad[step.step] = &step;
    }
    const auto all = static_cast<double>(usual.count());
    if (bad.empty() || static_cast<double>(bad.size()) > kMostBad * all) return;
    const auto excessOf = [&usual](const JobStep& step) {
        return std::max(0.0, static_cast<double>(step.range.length().ns) - usual.of(step));
    };
    const auto shareOf = [&](double excess) { return excess / (usual.total() + excess); };
    // Without the steps in which nobody worked for what they are longer by.
    double stood = 0, stoodWork = 0;
    std::int64_t stoodSteps = 0;
    if (const auto longer = longerWork(facts, keysOf(bad)))
        std::erase_if(bad, [&](const auto& each) {
            const auto at = longer->find(each.first);
            const double excess = excessOf(*each.second), work = at == longer->end() ? 0 : at->second;
            if (work >= kLeastWorked * excess) return false;
            stood += excess;
            stoodWork += work;
            ++stoodSteps;
            return true;
        });
    double excess = 0;
    const JobStep* longest = nullptr;
    for (const auto& [number, step] : bad) {
        excess += excessOf(*step);
        if (!longest || step->range.length() > longest->range.length()) longest = step;
    }
    if (shareOf(excess) < kLeastFault) {
        if (stoodSteps > 0 && shareOf(excess + stood) >= kLeastFault)
            facts.abstain(Cause::BadSteps, Lack::Cores,
                          std::to_string(stoodSteps) + " of " + std::to_string(usual.count()) +
                              " steps are longer, by " + std::to_string(std::lround(stood * 1e-6)) +
                              " ms in all, and their ranks worked " + std::to_string(std::lround(stoodWork * 1e-6)) +
                              " ms longer: they stood still, or other programs had their cores");
        return;
    }
    const std::set<StepIndex> steps = keysOf(bad);
    Finding finding;
    finding.cause = Cause::BadSteps;
    finding.steps.assign(steps.begin(), steps.end());
    if (const std::optional<RankId> slow = slowIn(facts, steps))
        finding.ranks = {*slow};
    else
        finding.ranks = facts.result.ranks;
    finding.add(EvidenceKind::StepsAffected, static_cast<double>(bad.size()))
        .add(EvidenceKind::StepsLookedAt, all)
        .add(EvidenceKind::LongestStep, longest->range.length().milliseconds())
        .add(EvidenceKind::MedianStep, usual.of(*longest) * 1e-6);
    finding.gain = Gain{Duration{std::llround(excess / all)}, shareOf(excess), GainSource::UpperBound};
    finding.confidence = Confidence::Certain;
    finding.show = {FindingView::Timeline, std::nullopt, longest->range};
    if (finding.ranks.size() == 1) finding.show.rank = finding.ranks.front();
    facts.add(std::move(finding));
}

Status findStalls(CaseFacts& facts)
{
    // What lies between two steps is no part of either.
    const auto measured = std::find_if_not(facts.steps.begin(), facts.steps.end(), [](const JobStep& step) {
        return step.state == StepState::Warmup || step.state == StepState::Cut;
    });
    const auto count = static_cast<double>(facts.steps.end() - measured);
    if (count < 3) return {};
    std::vector<TimeRange> wide;
    for (auto step = measured + 1; step != facts.steps.end(); ++step) {
        const TimeRange gap{(step - 1)->range.end, step->range.begin};
        if (static_cast<double>((gap.end - gap.begin).ns) > kLeastFault * facts.length()) wide.push_back(gap);
    }
    auto all = static_cast<double>((facts.steps.back().range.end - measured->range.begin).ns);
    if (wide.empty() || all <= 0) return {};
    Stall stalls[] = {{.cause = Cause::CheckpointStall, .phases = {Phase::CheckpointSave, Phase::CheckpointLoad}},
                      {.cause = Cause::EvaluationStall, .phases = {Phase::Evaluation}}};
    FOURWALLS_TRY_ASSIGN(const std::optional<JobTime> job, jobTime(facts.trace, facts.stop));
    const bool failed = job && job->failures > 0;
    TimeRange failure; // the longest gap with one
    for (const TimeRange& gap : wide) {
        if (failed && extentIn(facts, gap, {Phase::Setup}) > 0) {
            if (gap.length() > failure.length()) failure = gap;
            // Most of such a gap is no stall: the job's time says how much of all of them is.
            const double saved = extentIn(facts, gap, {Phase::CheckpointSave});
            if (saved > 0) stalls[0].meet(gap, saved);
            continue;
        }
        // What a gap has both of, they share by how long they take.
        const double extents[] = {extentIn(facts, gap, stalls[0].phases), extentIn(facts, gap, stalls[1].phases)};
        for (std::size_t i = 0; i < std::size(stalls); ++i) {
            if (extents[i] <= 0) continue;
            Stall& stall = stalls[i];
            stall.meet(gap, static_cast<double>(gap.length().ns) * extents[i] / (extents[0] + extents[1]));
        }
    }
    if (failed) {
        addFailures(facts, *job, failure);
        all = static_cast<double>(job->range.length().ns);
        stalls[0].time = static_cast<double>(job->of(LostTime::Checkpoints).ns);
        stalls[1].time = static_cast<double>(job->of(LostTime::Evaluation).ns);
    }
    for (const Stall& stall : stalls) {
        const double share = stall.time / all;
        if (share < kLeastFault || stall.count == 0) continue;
        Finding finding;
        finding.cause = stall.cause;
        finding.ranks = facts.result.ranks;
        finding.add(EvidenceKind::TimePerStep, stall.time / count * 1e-6)
            .add(EvidenceKind::StepsAffected, static_cast<double>(stall.count))
            .add(EvidenceKind::StepsLookedAt, count)
            .add(EvidenceKind::LongestPause, stall.longest * 1e-6);
        finding.gain = Gain{Duration{std::llround(stall.time / count)}, share, GainSource::UpperBound};
        finding.confidence = Confidence::Certain;
        finding.show = {FindingView::Timeline, std::nullopt, stall.at};
        facts.add(std::move(finding));
    }
    return {};
}

} // namespace fourwalls::diagnose
