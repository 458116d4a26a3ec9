// SPDX-License-Identifier: Apache-2.0
// Transfers in which others are waited for, or that nothing hides.
#include "model/diagnose/causes.h"
#include "model/trace/collective_timing.h"

#include <algorithm>
#include <cmath>

namespace fourwalls::diagnose {

namespace {

/// Causes that make others wait for the ranks that have them.
bool explainsWaiting(const Finding& finding, RankId rank)
{
    switch (finding.cause) {
    case Cause::SlowRank:
    case Cause::SlowStage:
    case Cause::DataLoading:
    case Cause::HostPause:
    case Cause::Throttling:
    case Cause::BadSteps:
    case Cause::SlowLink: return std::find(finding.ranks.begin(), finding.ranks.end(), rank) != finding.ranks.end();
    default: return false;
    }
}

/// What a finding delays its rank by, even where another fault hides it [ms per step].
double costOf(const Finding& finding)
{
    double cost =
        std::max(finding.gain ? finding.gain->perStep.milliseconds() : 0, finding.value(EvidenceKind::TimePerStep));
    if (const double ratio = finding.value(EvidenceKind::Ratio); ratio > 1)
        cost = std::max(cost, finding.value(EvidenceKind::OwnTime) * (1 - 1 / ratio));
    return cost;
}

/// delays: the others, as a share of the step.
void addLateness(CaseFacts& facts, Finding& finding, const RankLateness& late, double delays)
{
    finding.add(EvidenceKind::DelaysOthers, delays * facts.length() * 1e-6)
        .add(EvidenceKind::ComesLast, static_cast<double>(late.last))
        .add(EvidenceKind::OperationsTogether, static_cast<double>(late.operations));
    finding.waiting = facts.result.ranks;
    std::erase(finding.waiting, late.rank);
}

/// Whether the others of an operation are in the trace and not in the step: one at its edge, such as a checkpoint's.
bool isCutByTheStep(const CaseFacts& facts, const JoinedOperation& operation)
{
    return collectiveTiming(facts.trace.info(), operation.group, operation.operation) == CollectiveTiming::Separated;
}

} // namespace

void findWaiting(CaseFacts& facts)
{
    std::vector<JoinedOperation> joined;
    std::int64_t alone = 0, messages = 0;
    for (const JoinedOperation& operation : facts.operations) {
        if (operation.isMessage())
            ++messages;
        else if (operation.members.size() >= 2)
            joined.push_back(operation);
        else if (!isCutByTheStep(facts, operation))
            ++alone;
    }
    const TraceHeader& header = facts.trace.info().header;
    if (alone > 0 && header.worldSize != 1)
        facts.abstain(
            Cause::SlowRank, Lack::OtherRanks,
            std::to_string(header.ranks.size()) + (header.worldSize ? " of " + std::to_string(*header.worldSize) : "") +
                (header.ranks.size() == 1 && !header.worldSize ? " rank is" : " ranks are") +
                " in the trace: who waits for whom cannot be told of " + std::to_string(alone) + " operations");
    else if (joined.empty() && alone + messages == 0 &&
             facts.share([](const StepSummary& s) { return s.exposedComm; }) > 0)
        facts.abstain(Cause::SlowRank, Lack::Sequence,
                      "communication is in the trace, but not which operations belong together");
    const std::size_t ranks = facts.summaries.size();
    // Who came late is known where the ranks' clocks are the same.
    if (joined.empty() || ranks < 2 || !ranksShareClock(facts.trace.info())) return;
    // What a rank waited before the step began is none of it: profilers begin one after the other.
    for (JoinedOperation& operation : joined)
        for (CollectiveView& member : operation.members)
            member.record.start = std::clamp(member.record.start, facts.range.begin, facts.range.end);
    const ArrivalSkew skew = arrivalSkew(joined);
    const auto widest = std::max_element(joined.begin(), joined.end(),
                                         [](const auto& a, const auto& b) { return a.skew() < b.skew(); });
    const double waiting = static_cast<double>(waitedOnce(joined, facts.range, std::nullopt).ns) /
                           static_cast<double>(ranks) / facts.length();
    if (const RankLateness* late = skew.late(facts.result.stepTime)) {
        const double each = static_cast<double>(waitedOnce(joined, facts.range, late->rank).ns) /
                            static_cast<double>(ranks - 1) / facts.length();
        // Operations that go on together are delayed together, so that their sum can be longer than the step.
        const double delays = std::min(each, static_cast<double>(late->delayed.ns) / facts.length());
        bool explained = false;
        for (Finding& known : facts.result.findings) {
            // A rank behind a slow link comes late, too; other faults of several ranks do not single one out.
            const bool isLink = known.cause == Cause::SlowLink;
            if (!explainsWaiting(known, late->rank) || (known.ranks.size() > 1 && !isLink)) continue;
            // What costs far less than the others wait is not why they do.
            if (2 * costOf(known) < delays * facts.length() * 1e-6) continue;
            explained = true;
            if (isLink) continue;
            addLateness(facts, known, *late, delays);
            if (!known.show.range) known.show = {FindingView::Timeline, std::nullopt, widest->range()};
        }
        const bool uneven = facts.found(Cause::SequenceImbalance) || facts.found(Cause::ExpertImbalance);
        if (explained || uneven || each < kLeastFinding) return;
        Finding finding = facts.ofShare(Cause::SlowRank, each);
        finding.ranks = {late->rank};
        finding.gain = Gain{Duration{std::llround(delays * facts.length())}, delays, GainSource::UpperBound};
        addLateness(facts, finding, *late, delays);
        finding.confidence = Confidence::Likely; // that it is late is certain; why, nothing here tells
        finding.show = {FindingView::Timeline, std::nullopt, widest->range()};
        facts.add(std::move(finding));
        return;
    }
    for (const Cause cause : {Cause::SequenceImbalance, Cause::ExpertImbalance, Cause::SlowStage, Cause::SlowRank,
                              Cause::HostPause, Cause::DataLoading})
        if (facts.found(cause)) return; // they explain it
    if (waiting < kLeastFinding) return;
    Finding finding = facts.ofShare(Cause::UnevenArrivals, waiting);
    finding.add(EvidenceKind::OperationsTogether, static_cast<double>(skew.operations));
    finding.show = {FindingView::Timeline, std::nullopt, widest->range()};
    finding.confidence = Confidence::Likely;
    facts.add(std::move(finding));
}

void findExposedCommunication(CaseFacts& facts)
{
    const TraceHeader& header = facts.trace.info().header;
    const std::size_t ranks = facts.summaries.size();
    std::int64_t alone = 0;
    std::size_t taken = 0; // part in operations, by all ranks
    Duration waited;
    for (const JoinedOperation& operation : facts.operations) {
        taken += operation.members.size();
        if (operation.isMessage()) continue;
        if (operation.members.size() < 2)
            alone += isCutByTheStep(facts, operation) ? 0 : 1;
        else
            waited += operation.wait();
    }
    // Of a group whose members nobody lists, others than those in the trace may be late, too.
    const bool open =
        std::any_of(facts.operations.begin(), facts.operations.end(), [&facts](const JoinedOperation& operation) {
            return !operation.isMessage() && operation.members.size() > 1 &&
                   collectiveTiming(facts.trace.info(), operation.group, operation.operation) !=
                       CollectiveTiming::Separated;
        });
    const bool missing =
        open || alone > 0 || (header.worldSize && *header.worldSize > static_cast<int>(header.ranks.size()));
    const double exposed = facts.share([](const StepSummary& s) { return s.exposedComm; });
    const double waiting = ranks > 0 ? static_cast<double>(waited.ns) / static_cast<double>(ranks) / facts.length() : 0;
    const double share = missing ? exposed : std::max(0.0, exposed - waiting);
    if (share < kLeastFinding) return;
    if (facts.share([](const StepSummary& s) { return s.computeSum; }) <= 0) {
        facts.abstain(Cause::ExposedCommunication, Lack::Device,
                      "no computation is in the step: whether anything hides its communication cannot be told");
        return;
    }
    Finding finding = facts.ofShare(Cause::ExposedCommunication, share);
    finding.add(EvidenceKind::Occurrences,
                std::round(static_cast<double>(taken) / static_cast<double>(std::max<std::size_t>(1, ranks))));
    if (missing) finding.add(EvidenceKind::HoldsWaiting, 1);
    if (facts.replay && !missing) {
        const replay::ReplayGraph& graph = facts.replay->graph(replay::DelayRule::Own);
        finding.gain = facts.gainOf([&](replay::NodeTimes& times) {
            for (std::size_t node = 0; node < graph.nodes(); ++node)
                if (graph.role[node] == replay::NodeRole::Moving) times.duration[node] = 0;
        });
    }
    finding.show.view = FindingView::Communication;
    facts.add(std::move(finding));
}

} // namespace fourwalls::diagnose
