// SPDX-License-Identifier: Apache-2.0
// Ranks that take longer than their peers for the same work, all the time or from a moment on.
#include "model/base/median.h"
#include "model/base/quadrature.h"
#include "model/diagnose/causes.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <span>

namespace fourwalls::diagnose {

namespace {

/// An effect this many times its noise is none of chance, over thousands of ranks.
constexpr double kDeviations = 4;
/// A change in time is looked for at every step, so it has to stand out more.
constexpr double kChangeDeviations = 6;
/// And more than the values of either side lie apart: chance may draw single ones near one another.
constexpr double kChangeStands = 3;
/// Below this no effect is told from noise, however even the steps were.
constexpr double kLeastNoise = 0.002;
/// An effect has to be there in that share of the steps.
constexpr double kMostSteps = 0.8;
constexpr double kToSigma = 1.4826;
/// What a processor's cores change their speed by on their own: turbo, heat, a neighbour on the same machine.
constexpr double kOwnChange = 0.1;

double deviationOf(std::vector<double> values)
{
    if (values.empty()) return 0;
    const double middle = median(values);
    for (double& each : values) each = std::abs(each - middle);
    return kToSigma * median(std::move(values));
}

/// How far the values lie from their median, added up; single ones far out, as of bad steps, count as little as the edge.
double scatter(const std::vector<double>& values, double middle)
{
    const double edge = kChangeDeviations * std::max(kLeastNoise * middle, deviationOf(values));
    double sum = 0;
    for (const double each : values) sum += std::min(edge, std::abs(each - middle));
    return sum;
}

/// A rank's work that takes longer from a step on.
struct Change {
    std::size_t from = 0;
    double before = 1, after = 1;
};

std::optional<Change> changeOf(std::span<const double> series)
{
    constexpr std::size_t kLeast = 2;
    std::optional<Change> best;
    double most = kChangeStands;
    for (std::size_t cut = kLeast; cut + kLeast <= series.size(); ++cut) {
        const std::vector<double> before(series.begin(), series.begin() + static_cast<std::ptrdiff_t>(cut));
        const std::vector<double> after(series.begin() + static_cast<std::ptrdiff_t>(cut), series.end());
        const Change change{cut, median(before), median(after)};
        if (change.before <= 0 || change.after / change.before < 1 + kLeastFault) continue;
        const double middle = (change.before + change.after) / 2;
        const auto below = [middle](double each) { return each < middle; };
        const auto right = static_cast<double>(std::count_if(before.begin(), before.end(), below) +
                                               static_cast<std::ptrdiff_t>(after.size()) -
                                               std::count_if(after.begin(), after.end(), below));
        if (right < kMostSteps * static_cast<double>(series.size())) continue;
        const double noise =
            std::max({kLeastNoise, deviationOf(before) / change.before, deviationOf(after) / change.after}) *
            std::sqrt(1.0 / static_cast<double>(before.size()) + 1.0 / static_cast<double>(after.size()));
        // Of two cuts next to each other the one that tells the sides apart better.
        const double within = scatter(before, change.before) + scatter(after, change.after);
        const double stands =
            std::log(change.after / change.before) / (noise + within / static_cast<double>(series.size()));
        if (std::log(change.after / change.before) / noise < kChangeDeviations || stands <= most) continue;
        most = stands;
        best = change;
    }
    return best;
}

/// How long a rank's processor worked in a step, in the mean [ns]; absent: the recording does not say.
std::optional<double> workedPerStep(const CaseFacts& facts, RankId rank)
{
    const auto of = facts.worked.find(rank);
    if (of == facts.worked.end() || of->second.empty()) return std::nullopt;
    double sum = 0;
    for (const auto& [step, time] : of->second) sum += time;
    return sum / static_cast<double>(of->second.size());
}

/// How many times as long a rank's processor worked in the steps from that one on as before it, in the median.
std::optional<double> workedLonger(const CaseFacts& facts, RankId rank, StepIndex from)
{
    const auto of = facts.worked.find(rank);
    if (of == facts.worked.end()) return std::nullopt;
    std::vector<double> before, after;
    for (const auto& [step, time] : of->second) (step < from ? before : after).push_back(time);
    if (before.empty() || after.empty()) return std::nullopt;
    const double middle = median(std::move(before));
    return middle > 0 ? std::optional(median(std::move(after)) / middle) : std::nullopt;
}

/// A rank with what it takes beyond its peers.
struct Excess {
    const RankWork* work;
    double ratio;
    double affected; ///< share of the steps
};

/// Times of a rank's work as `factor` of what they are. Not the change `rank:R=fleet`: that takes the mean of all peers, the
/// slow rank among them, which of few ranks leaves a good part of the fault (docs/diagnosis.md, "Gains").
void scaleWork(const WorkEffects& work, const std::vector<double>& factors, replay::NodeTimes& times)
{
    for (const WorkItem& item : work.items)
        if (factors[item.rank] != 1)
            times.duration[item.node] = std::llround(static_cast<double>(item.time) * factors[item.rank]);
}

std::vector<double> factorsOf(const WorkEffects& work, std::span<const Excess> slow)
{
    std::vector<double> factors(work.ranks.size(), 1);
    for (const Excess& each : slow) factors[static_cast<std::size_t>(each.work - work.ranks.data())] = 1 / each.ratio;
    return factors;
}

Finding findingOf(CaseFacts& facts, Cause cause, std::span<const Excess> slow)
{
    std::vector<RankId> ranks;
    double ratio = 0, own = 0, affected = 1;
    for (const Excess& each : slow) {
        ranks.push_back(each.work->rank);
        ratio += each.ratio / static_cast<double>(slow.size());
        own += each.work->computing / static_cast<double>(slow.size());
        affected = std::min(affected, each.affected);
    }
    Finding finding = facts.ofRanks(cause, std::move(ranks));
    finding.add(EvidenceKind::Ratio, ratio)
        .add(EvidenceKind::OwnTime, own * 1e-6)
        .add(EvidenceKind::PeersTime, own / ratio * 1e-6)
        .add(EvidenceKind::StepsAffected, std::round(affected * static_cast<double>(facts.work.steps.size())))
        .add(EvidenceKind::StepsLookedAt, static_cast<double>(facts.work.steps.size()));
    const std::vector<double> factors = factorsOf(facts.work, slow);
    finding.gain = facts.gainOf([&](replay::NodeTimes& times) { scaleWork(facts.work, factors, times); });
    if (facts.work.stages > 1) finding.stage = slow.front().work->stage;
    return finding;
}

} // namespace

void findThrottling(CaseFacts& facts)
{
    if (facts.work.empty() || facts.work.steps.size() < 4) return;
    std::vector<RankId> ranks;
    std::vector<Change> changes(facts.work.ranks.size());
    double ratio = 0, computing = 0;
    std::size_t from = facts.work.steps.size();
    // Where ranks are cores of a machine, the recording says how long they worked.
    const double least = facts.worked.empty() ? kLeastFault : kOwnChange;
    for (std::size_t i = 0; i < facts.work.ranks.size(); ++i) {
        RankWork& work = facts.work.ranks[i];
        const std::optional<Change> change = changeOf(work.againstItself);
        if (!change || change->after / change->before < 1 + least) continue;
        if (work.computing * (1 - change->before / change->after) < kLeastFault * facts.length()) continue;
        if (const auto worked = workedLonger(facts, work.rank, facts.work.steps[change->from]);
            worked && *worked - 1 < kLeastWorked * (change->after / change->before - 1)) {
            facts.abstain(
                Cause::Throttling, Lack::Cores,
                fmt::format("rank {} takes {:.2f} times as long for its work from step {} on, and its processor "
                            "worked {:.2f} times as long: other programs had its core",
                            work.rank.value, change->after / change->before, facts.work.steps[change->from].value,
                            *worked));
            continue;
        }
        ranks.push_back(work.rank);
        changes[i] = *change;
        work.slowsFrom = change->from;
        settleRatio(work); // what it is slower by all the time is another matter
        ratio += change->after / change->before;
        computing += work.computing;
        from = std::min(from, change->from);
    }
    if (ranks.empty()) return;
    ratio /= static_cast<double>(ranks.size());
    computing /= static_cast<double>(ranks.size());
    Finding finding = facts.ofRanks(Cause::Throttling, std::move(ranks));
    finding.steps.assign(facts.work.steps.begin() + static_cast<std::ptrdiff_t>(from), facts.work.steps.end());
    finding.add(EvidenceKind::Ratio, ratio)
        .add(EvidenceKind::OwnTime, computing * 1e-6)
        .add(EvidenceKind::FromStep, static_cast<double>(facts.work.steps[from].value))
        .add(EvidenceKind::StepsAffected, static_cast<double>(finding.steps.size()))
        .add(EvidenceKind::StepsLookedAt, static_cast<double>(facts.work.steps.size()));
    finding.gain = facts.gainOf([&](replay::NodeTimes& times) {
        for (const WorkItem& item : facts.work.items) {
            const Change& change = changes[item.rank];
            if (change.from > 0 && item.step >= change.from)
                times.duration[item.node] = std::llround(static_cast<double>(item.time) * change.before / change.after);
        }
    });
    finding.confidence = Confidence::Likely; // the work may have changed instead
    if (finding.gain->share >= kLeastFault) facts.add(std::move(finding));
}

void findSlowRanks(CaseFacts& facts)
{
    const std::vector<RankWork>& ranks = facts.work.ranks;
    std::vector<double> ratios;
    for (const RankWork& each : ranks)
        if (each.compared > 0) ratios.push_back(each.ratio);
    if (ratios.size() < 2) {
        if (ranks.size() > 1 && facts.replay)
            facts.abstain(Cause::SlowRank, Lack::CommonWork,
                          "no work is done by two ranks, so that nothing can be compared");
        return;
    }
    const double base = lowerMedian(ratios);
    std::vector<Excess> slow;
    for (const RankWork& each : ranks) {
        if (each.compared <= 0) continue;
        const double excess = each.ratio / base;
        if (excess <= 1 || each.computing * (1 - 1 / excess) < kLeastFault * facts.length()) continue;
        std::vector<double> others;
        for (const RankWork& other : ranks)
            if (other.compared > 0 && &other != &each) others.push_back(std::log(other.ratio / base));
        const double noise = std::max(kLeastNoise, inQuadrature(each.noise, deviationOf(std::move(others))));
        if (std::log(excess) < kDeviations * noise) continue;
        const double middle = base * (1 + (excess - 1) / 2);
        std::size_t have = 0, steps = 0;
        for (std::size_t step = 0; step < each.slowsFrom.value_or(each.againstPeers.size()); ++step) {
            steps += each.againstPeers[step] > 0;
            have += each.againstPeers[step] > middle;
        }
        const double affected = static_cast<double>(have) / static_cast<double>(std::max<std::size_t>(1, steps));
        if (affected < kMostSteps) continue;
        const std::optional<double> worked = workedPerStep(facts, each.rank);
        if (worked && each.computing - *worked > kLeastWorked * each.computing * (1 - 1 / excess)) {
            facts.abstain(
                Cause::SlowRank, Lack::Cores,
                fmt::format("rank {} takes {:.2f} times as long as its peers for the same work, {:.1f} ms a step, "
                            "of which its processor worked {:.1f} ms: other programs had its core",
                            each.rank.value, excess, each.computing * 1e-6, *worked * 1e-6));
            continue;
        }
        slow.push_back({&each, excess, affected});
    }
    // A whole stage of several ranks is slow as a stage.
    for (int stage = 0; facts.work.stages > 1 && stage < facts.work.stages; ++stage) {
        const auto isOf = [stage](const RankWork& each) { return each.stage == stage; };
        const auto isSlow = [stage](const Excess& each) { return each.work->stage == stage; };
        const auto members = std::count_if(ranks.begin(), ranks.end(), isOf);
        if (members < 2 || std::count_if(slow.begin(), slow.end(), isSlow) != members) continue;
        std::vector<Excess> together;
        std::copy_if(slow.begin(), slow.end(), std::back_inserter(together), isSlow);
        std::erase_if(slow, isSlow);
        Finding finding = findingOf(facts, Cause::SlowStage, together);
        finding.stage = stage;
        finding.show.view = FindingView::Pipeline;
        if (finding.gain->share >= kLeastFault) facts.add(std::move(finding));
    }
    for (const Excess& each : slow) {
        Finding finding = findingOf(facts, Cause::SlowRank, std::span(&each, 1));
        // A slow rank that nobody waits for costs nothing.
        if (finding.gain->share >= kLeastFault) facts.add(std::move(finding));
    }
}

} // namespace fourwalls::diagnose
