// SPDX-License-Identifier: Apache-2.0
// Work that is shared out unevenly over pipeline stages and micro-batches.
#include "model/base/median.h"
#include "model/diagnose/causes.h"

#include <array>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

namespace fourwalls::diagnose {

namespace {

constexpr double kLeastCorrelation = 0.8; ///< of forward and backward, or of time and FLOPs, if the micro-batch differs
constexpr double kUnevenFlops = 0.02; ///< mean deviation of micro-batches' FLOPs by which they are not the same work

/// How much a rank is slower for the same work, in the mean over the steps, as findSlowRanks and findThrottling said; 1: not.
double slownessOf(const CaseFacts& facts, RankId rank)
{
    double slowness = 1;
    for (const Finding& each : facts.result.findings) {
        if (std::find(each.ranks.begin(), each.ranks.end(), rank) == each.ranks.end()) continue;
        const double ratio = each.value(EvidenceKind::Ratio);
        if (each.cause == Cause::SlowRank || each.cause == Cause::SlowStage) slowness *= std::max(1.0, ratio);
        if (each.cause == Cause::Throttling && each.value(EvidenceKind::StepsLookedAt) > 0)
            slowness *=
                1 + (ratio - 1) * each.value(EvidenceKind::StepsAffected) / each.value(EvidenceKind::StepsLookedAt);
    }
    return slowness;
}

/// What one rank computes for one micro-batch in one step [ns].
struct Pass {
    double forward = 0, backward = 0;
    double flops = 0; ///< of both

    double all() const { return forward + backward; }
};
using PassKey = std::tuple<std::uint32_t, std::uint32_t, std::int32_t>; // rank, step, micro-batch

/// Whether a rank's step is long for another reason, which findThrottling or findBadSteps told.
bool isExplained(const CaseFacts& facts, RankId rank, StepIndex step)
{
    return std::any_of(facts.result.findings.begin(), facts.result.findings.end(), [&](const Finding& each) {
        return (each.cause == Cause::Throttling || each.cause == Cause::BadSteps) &&
               std::find(each.ranks.begin(), each.ranks.end(), rank) != each.ranks.end() &&
               std::find(each.steps.begin(), each.steps.end(), step) != each.steps.end();
    });
}

std::map<PassKey, Pass> passesOf(const CaseFacts& facts)
{
    const WorkEffects& work = facts.work;
    std::map<PassKey, Pass> passes;
    const replay::Recording& recording = facts.replay->recording();
    const replay::ReplayGraph& graph = facts.replay->graph(replay::DelayRule::Own);
    std::vector<std::vector<bool>> explained;
    for (const RankWork& rank : work.ranks) {
        explained.emplace_back();
        for (const StepIndex step : work.steps) explained.back().push_back(isExplained(facts, rank.rank, step));
    }
    for (const WorkItem& item : work.items) {
        if (item.microbatch < 0 || explained[item.rank][item.step]) continue;
        Pass& pass = passes[{item.rank, item.step, item.microbatch}];
        pass.flops += recording.op(recording.pieces[graph.piece[item.node]]).flops;
        if (item.phase == Phase::Forward)
            pass.forward += static_cast<double>(item.time);
        else if (item.phase == Phase::BackwardInput || item.phase == Phase::BackwardWeight ||
                 item.phase == Phase::Recompute)
            pass.backward += static_cast<double>(item.time);
    }
    return passes;
}

/// Every pass of a stage in a step takes what they take in the mean.
CaseFacts::TimeChange evenPasses(const WorkEffects& work, const std::map<PassKey, Pass>& passes)
{
    std::map<std::pair<int, std::uint32_t>, std::pair<double, double>>
        sums; // stage and step: passes' time, their number
    for (const auto& [key, pass] : passes) {
        auto& [sum, count] = sums[{work.ranks[std::get<0>(key)].stage, std::get<1>(key)}];
        sum += pass.all();
        count += 1;
    }
    return [&work, &passes, sums = std::move(sums)](replay::NodeTimes& times) {
        for (const WorkItem& item : work.items) {
            if (item.microbatch < 0) continue;
            const auto pass = passes.find({item.rank, item.step, item.microbatch});
            if (pass == passes.end() || pass->second.all() <= 0) continue;
            const auto& [sum, count] = sums.at({work.ranks[item.rank].stage, item.step});
            times.duration[item.node] =
                std::llround(static_cast<double>(times.duration[item.node]) * sum / count / pass->second.all());
        }
    };
}

double correlation(const std::vector<std::pair<double, double>>& values)
{
    double x = 0, y = 0, xx = 0, yy = 0, xy = 0;
    const auto n = static_cast<double>(values.size());
    for (const auto& [a, b] : values) {
        x += a / n;
        y += b / n;
    }
    for (const auto& [a, b] : values) {
        xx += (a - x) * (a - x);
        yy += (b - y) * (b - y);
        xy += (a - x) * (b - y);
    }
    return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : 0;
}

} // namespace

void findSlowStage(CaseFacts& facts)
{
    const WorkEffects& work = facts.work;
    if (work.empty() || work.stages < 2 || facts.found(Cause::SlowStage)) return;
    std::vector<double> times(static_cast<std::size_t>(work.stages)), members(times.size());
    for (const RankWork& each : work.ranks) {
        times[static_cast<std::size_t>(each.stage)] += each.computing / slownessOf(facts, each.rank);
        members[static_cast<std::size_t>(each.stage)] += 1;
    }
    double mean = 0;
    for (std::size_t i = 0; i < times.size(); ++i) {
        if (members[i] == 0) return; // a stage whose ranks are not in the trace
        times[i] /= members[i];
        mean += times[i] / static_cast<double>(times.size());
    }
    const auto longest = static_cast<std::size_t>(std::max_element(times.begin(), times.end()) - times.begin());
    if (mean <= 0) return;
    const double others =
        (mean * static_cast<double>(times.size()) - times[longest]) / static_cast<double>(times.size() - 1);
    std::vector<RankId> ranks;
    std::vector<double> factors;
    for (const RankWork& each : work.ranks) {
        const auto stage = static_cast<std::size_t>(each.stage);
        factors.push_back(times[stage] > 0 ? mean / times[stage] : 1);
        if (stage == longest) ranks.push_back(each.rank);
    }
    Finding finding = facts.ofRanks(Cause::SlowStage, std::move(ranks));
    // Not the change `stage:S=fleet`: work that a stage has more of is no slower than its peers.
    const auto shareOut = [&](replay::NodeTimes& of) {
        for (const WorkItem& item : work.items)
            of.duration[item.node] = std::llround(static_cast<double>(of.duration[item.node]) * factors[item.rank]);
    };
    // Where micro-batches differ, their waits hide what a stage costs: what is left once they are even counts.
    const std::map<PassKey, Pass> passes = passesOf(facts);
    const bool uneven = facts.found(Cause::SequenceImbalance) != nullptr;
    finding.gain =
        facts.gainOf(shareOut, replay::DelayRule::Class, uneven ? evenPasses(work, passes) : CaseFacts::TimeChange());
    if (finding.gain->share < kLeastFault || times[longest] < mean * (1 + kLeastFault)) return;
    finding.stage = static_cast<int>(longest);
    finding.show.view = FindingView::Pipeline;
    finding.add(EvidenceKind::Ratio, times[longest] / others)
        .add(EvidenceKind::OwnTime, times[longest] * 1e-6)
        .add(EvidenceKind::PeersTime, others * 1e-6);
    facts.add(std::move(finding));
}

void findSequenceImbalance(CaseFacts& facts)
{
    const WorkEffects& work = facts.work;
    if (work.ranks.size() < 2 || work.empty()) return;
    const std::map<PassKey, Pass> passes = passesOf(facts);
    // What is the rank's or the stage's own is taken out: only what differs between passes of one rank counts.
    struct OfRank {
        std::vector<double> forward, backward, flops;
        double forwardMedian = 0, backwardMedian = 0, flopsMedian = 0;
    };
    std::vector<OfRank> own(work.ranks.size());
    for (const auto& [key, pass] : passes) {
        if (pass.forward <= 0 || pass.backward <= 0) continue;
        OfRank& of = own[std::get<0>(key)];
        of.forward.push_back(std::log(pass.forward));
        of.backward.push_back(std::log(pass.backward));
        if (pass.flops > 0) of.flops.push_back(std::log(pass.flops));
    }
    for (OfRank& of : own) {
        if (of.forward.empty()) continue;
        of.forwardMedian = median(of.forward);
        of.backwardMedian = median(of.backward);
        if (!of.flops.empty()) of.flopsMedian = median(of.flops);
    }
    std::vector<std::pair<double, double>> values, byFlops;
    std::vector<double> spread;
    double uneven = 0;
    for (const auto& [key, pass] : passes) {
        const OfRank& of = own[std::get<0>(key)];
        if (pass.forward <= 0 || pass.backward <= 0 || of.forward.size() < 3) continue;
        const double forward = std::log(pass.forward) - of.forwardMedian,
                     backward = std::log(pass.backward) - of.backwardMedian;
        values.push_back({forward, backward});
        spread.push_back(std::abs((forward + backward) / 2));
        if (of.flops.size() < of.forward.size()) continue;
        byFlops.push_back({std::log(pass.flops) - of.flopsMedian, (forward + backward) / 2});
        uneven += std::abs(byFlops.back().first);
    }
    if (values.size() < 6) return;
    // What the operators say of their work is better than what its times say.
    const bool known = byFlops.size() == values.size() && uneven > kUnevenFlops * static_cast<double>(values.size());
    // The engine counts what it computes: where that is equal, so are its sequences, and the cores are what is not.
    const TraceHeader& header = facts.trace.info().header;
    const bool exact = header.source == TraceSource::Recorded && header.spec.has_value();
    if (exact && !known && byFlops.size() == values.size()) return;
    const double together = known ? correlation(byFlops) : correlation(values);
    if (together < kLeastCorrelation) return;
    std::vector<RankId> ranks;
    for (const RankWork& each : work.ranks) ranks.push_back(each.rank);
    Finding finding = facts.ofRanks(Cause::SequenceImbalance, std::move(ranks));
    finding.gain = facts.gainOf(evenPasses(work, passes));
    if (finding.gain->share < kLeastFault) return;
    finding.add(EvidenceKind::Spread, 1.4826 * median(std::move(spread)))
        .add(known ? EvidenceKind::TimeFlops : EvidenceKind::ForwardBackward, together);
    facts.add(std::move(finding));
}

} // namespace fourwalls::diagnose
