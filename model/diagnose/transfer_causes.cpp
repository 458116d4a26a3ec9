// SPDX-License-Identifier: Apache-2.0
// Transfers that are slow, that others are waited for in, or that nothing hides.
#include "model/base/median.h"
#include "model/diagnose/causes.h"
#include "model/diagnose/hop_services.h"
#include "model/trace/collective_timing.h"
#include "model/trace/hop_schedule.h"

#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>

namespace fourwalls::diagnose {

namespace {

constexpr double kSlowLink = 1.25;         ///< a link that takes so many times what its siblings take is slow
constexpr std::size_t kMostSchedules = 24; ///< operations whose hops are looked at, those with most transfer first
constexpr double kLinkDeviations = 4;
constexpr double kLeastLinkNoise = 0.01;

/// Two ranks, or all ranks of a group, between which something was sent.
struct Link {
    std::set<RankId> ranks;
    std::string name;

    friend bool operator<(const Link& a, const Link& b)
    {
        return std::tie(a.name, a.ranks) < std::tie(b.name, b.ranks);
    }
};

/// What is sent over links that should take equally long for it.
struct Kind {
    std::string what;
    std::int64_t bytes = 0;
    bool together = true; ///< within a node

    friend bool operator<(const Kind& a, const Kind& b)
    {
        return std::tie(a.what, a.bytes, a.together) < std::tie(b.what, b.bytes, b.together);
    }
};
using Samples = std::map<Kind, std::map<Link, std::vector<double>>>; // [ns]

/// What a slow link takes for a message that takes its siblings `usual`: a lower rate, or a longer latency.
using SpoiltTime = std::function<HopTime(double usual)>;

class Links {
public:
    explicit Links(const CaseFacts& facts) : m_facts(facts), m_info(facts.trace.info())
    {
        for (const RankInfo& rank : m_info.header.ranks) m_hosts[rank.rank] = rank.host;
        const auto& spec = m_info.header.spec;
        if (!spec || spec->cluster.devicesPerNode <= 0) return;
        const bool several = spec->cluster.devicesPerNode > 1 || spec->cluster.nodes > 1;
        m_perNode = several && m_info.header.clock == ClockKind::Device ? spec->cluster.devicesPerNode : 0;
    }

    bool together(RankId a, RankId b)
    {
        if (m_perNode > 0) return a.value / m_perNode == b.value / m_perNode;
        return m_hosts[a] == m_hosts[b];
    }

    /// What the recording's own description of the cluster says a message takes; absent: no such clock.
    std::optional<double> expected(const Kind& kind) const
    {
        const auto& spec = m_info.header.spec;
        if (m_info.header.clock != ClockKind::Device || !spec || spec->cluster.nodeLink.bytesPerSecond <= 0)
            return std::nullopt;
        const LinkSpec between{spec->cluster.networkBytesPerSecondPerDevice(), spec->cluster.nicLink.latencySeconds};
        return (kind.together ? spec->cluster.nodeLink : between).seconds(static_cast<double>(kind.bytes)) * 1e9;
    }

    /// Hops of the operations with most transfer: the time that is their own.
    void addHops(Samples& samples, HopWaits waits)
    {
        readSchedules();
        for (const auto& [operation, schedule] : m_schedules)
            for (const HopService& hop : hopServices(*operation, schedule, waits))
                samples[kindOf(hop.from, hop.to, hop.bytes)][{{hop.from, hop.to}, ""}].push_back(hop.took);
    }

    /// Whether ports carry one message after the other, and latencies are apart from that: the virtual clock's.
    bool takesTurns() const { return m_info.header.clock == ClockKind::Device; }

    /// How long the collectives of a group take if that link is as quick as its siblings, as a share of what they take. slow:
    /// what its hops take. usual: what the others' hops take [ns]. Absent: their hops are not known.
    std::optional<double> shareWithout(const Link& link, GroupId group, const SpoiltTime& slow,
                                       const std::map<Kind, double>& usual)
    {
        double with = 0, without = 0;
        for (const auto& known : m_schedules) {
            const HopSchedule& schedule = known.second;
            if (known.first->group != group) continue;
            const auto length = [&](bool spoilt) {
                const std::vector<RankId>& members = schedule.members;
                return collectiveLength(schedule, [&](const ScheduledHop& hop) {
                    const RankId from = members[static_cast<std::size_t>(hop.from)],
                                 to = members[static_cast<std::size_t>(hop.to)];
                    const auto sibling = usual.find(kindOf(from, to, hop.bytes));
                    const double time = sibling == usual.end() ? 0 : sibling->second;
                    return spoilt && link.ranks == std::set<RankId>{from, to} ? slow(time) : HopTime{time, 0};
                });
            };
            with += length(true);
            without += length(false);
        }
        return with > 0 ? std::optional(without / with) : std::nullopt;
    }

    /// Messages between two, and collectives by group.
    void addOperations(Samples& samples)
    {
        if (!m_facts.replay) return;
        const replay::Recording& recording = m_facts.replay->recording();
        const replay::ReplayGraph& graph = m_facts.replay->graph(replay::DelayRule::Own);
        for (std::size_t node = 0; node < graph.nodes(); ++node) {
            if (graph.role[node] != replay::NodeRole::Moving || graph.piece[node] == replay::kNone) continue;
            const replay::Piece& piece = recording.pieces[graph.piece[node]];
            if (!piece.isCollective() || graph.duration[node] <= 0) continue;
            const CollectiveRecord& record = recording.collectives[piece.collective].record;
            if (!record.payloadBytes || *record.payloadBytes <= 0) continue;
            const ProcessGroupInfo& group = m_info.groups[static_cast<std::size_t>(record.group.value)];
            const auto took = static_cast<double>(graph.duration[node]);
            if (record.peer) {
                samples[{"message", *record.payloadBytes, together(piece.rank, *record.peer)}]
                       [{{piece.rank, *record.peer}, ""}]
                           .push_back(took);
            } else if (group.ranks.size() > 1) {
                const bool inside = std::all_of(group.ranks.begin(), group.ranks.end(),
                                                [&](RankId rank) { return together(rank, group.ranks.front()); });
                samples[{std::string(name(record.operation)) + ' ' + group.name + ' ' +
                             std::to_string(group.ranks.size()),
                         *record.payloadBytes, inside}][{{group.ranks.begin(), group.ranks.end()}, group.name}]
                    .push_back(took);
            }
        }
    }

private:
    Kind kindOf(RankId from, RankId to, double bytes) { return {"hop", std::llround(bytes), together(from, to)}; }

    void readSchedules()
    {
        if (!m_schedules.empty()) return;
        std::vector<const JoinedOperation*> longest;
        for (const JoinedOperation& each : m_facts.operations)
            if (!each.isMessage() && each.members.size() > 1) longest.push_back(&each);
        std::stable_sort(longest.begin(), longest.end(),
                         [](const auto* a, const auto* b) { return a->transfer() > b->transfer(); });
        if (longest.size() > kMostSchedules) longest.resize(kMostSchedules);
        for (const JoinedOperation* operation : longest) {
            auto schedule = hopSchedule(m_facts.trace, *operation, m_facts.stop);
            if (schedule.ok() && schedule->recorded) m_schedules.emplace_back(operation, std::move(*schedule));
        }
    }

    const CaseFacts& m_facts;
    const TraceInfo& m_info;
    std::map<RankId, std::string> m_hosts;
    int m_perNode = 0;
    std::vector<std::pair<const JoinedOperation*, HopSchedule>> m_schedules; ///< of those with most transfer
};

/// A link against its siblings.
struct LinkRatio {
    double quick = 1;                        ///< of the quickest samples: what is slow however little is sent beside it
    double ratio = 1, own = 0, siblings = 0; ///< of the kind with most time; times [ns]
    double time = 0;                         ///< added up, what the ratio rests on
};

double relativeDeviationOf(std::vector<double> values)
{
    const double middle = median(values);
    if (middle <= 0) return 0;
    for (double& each : values) each = std::abs(each / middle - 1);
    return 1.4826 * median(std::move(values));
}

/// What a link takes if nothing else is sent over it at the time: the lower tenth of its samples.
double quickOf(std::vector<double> times)
{
    const auto tenth = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 10);
    std::nth_element(times.begin(), tenth, times.end());
    return *tenth;
}

struct JudgedLinks {
    std::map<Link, LinkRatio> slow;
    std::map<Kind, double> usual; ///< what their siblings take [ns]
};

/// Links that are slow for what is sent over them; of hops also against the description of the cluster.
JudgedLinks slowLinks(const Samples& samples, const Links& links)
{
    JudgedLinks judged;
    for (const auto& [kind, ofKind] : samples) {
        const bool betweenTwo = kind.what == "hop" || kind.what == "message";
        std::vector<double> usual;
        for (const auto& [link, times] : ofKind) usual.push_back(median(times));
        double reference = lowerMedian(usual);
        const bool alone = usual.size() < 2;
        if (alone) {
            // Other transfers on the link are none of its fault.
            const std::optional<double> expected = betweenTwo ? links.expected(kind) : std::nullopt;
            if (!expected || *expected <= 0) continue;
            reference = *expected;
        }
        judged.usual[kind] = reference;
        for (const auto& [link, times] : ofKind) {
            const double own = alone ? quickOf(times) : median(times);
            const double noise =
                std::max(kLeastLinkNoise, relativeDeviationOf(times) / std::sqrt(static_cast<double>(times.size())));
            if (own < kSlowLink * reference || own / reference - 1 < kLinkDeviations * noise) continue;
            LinkRatio& of = judged.slow[link];
            const double time = own * static_cast<double>(times.size());
            if (time <= of.time) continue;
            of = {quickOf(times) / reference, own / reference, own, reference, time};
        }
    }
    return judged;
}

/// Whether a transfer goes over the link: between its two ranks, or in a group that has them both.
bool goesOver(const Link& link, const CollectiveRecord& record, RankId rank, const ProcessGroupInfo& group)
{
    if (record.peer) return link.ranks == std::set<RankId>{rank, *record.peer};
    const std::set<RankId> members(group.ranks.begin(), group.ranks.end());
    return std::includes(members.begin(), members.end(), link.ranks.begin(), link.ranks.end());
}

Finding linkFinding(CaseFacts& facts, Links& links, const Link& link, const LinkRatio& of, const SpoiltTime& spoilt,
                    const std::map<Kind, double>& usual)
{
    Finding finding = facts.ofRanks(Cause::SlowLink, {link.ranks.begin(), link.ranks.end()});
    finding.add(EvidenceKind::Ratio, of.ratio)
        .add(EvidenceKind::MovingTime, of.own * 1e-6)
        .add(EvidenceKind::SiblingsMoving, of.siblings * 1e-6);
    if (!link.name.empty()) finding.add(EvidenceKind::Mostly, link.name);
    finding.show = {FindingView::Communication, std::nullopt, std::nullopt};
    if (!facts.replay) return finding;
    const replay::Recording& recording = facts.replay->recording();
    const replay::ReplayGraph& graph = facts.replay->graph(replay::DelayRule::Own);
    std::map<GroupId, double> shares; // what a collective takes without it
    finding.gain = facts.gainOf([&](replay::NodeTimes& times) {
        for (std::size_t node = 0; node < graph.nodes(); ++node) {
            if (graph.role[node] != replay::NodeRole::Moving || graph.piece[node] == replay::kNone) continue;
            const replay::Piece& piece = recording.pieces[graph.piece[node]];
            if (!piece.isCollective()) continue;
            const CollectiveRecord& record = recording.collectives[piece.collective].record;
            const ProcessGroupInfo& group = recording.info.groups[static_cast<std::size_t>(record.group.value)];
            if (!goesOver(link, record, piece.rank, group)) continue;
            double share = 1 / of.ratio;
            if (!record.peer) {
                const auto [known, isNew] = shares.try_emplace(record.group, share);
                if (isNew) known->second = links.shareWithout(link, record.group, spoilt, usual).value_or(share);
                share = known->second;
            }
            times.duration[node] = std::llround(static_cast<double>(times.duration[node]) * share);
        }
    });
    return finding;
}

/// Adds the findings of slow links that cost enough. spoilt: what such a link takes. False: there are none.
bool addLinks(CaseFacts& facts, Links& links, const JudgedLinks& judged,
              const std::function<SpoiltTime(const LinkRatio&)>& spoilt)
{
    // One slow link makes members late on others: those that are quick at times are not slow themselves.
    const auto isAlwaysSlow = [](const auto& each) { return each.second.quick >= kSlowLink; };
    const bool anyAlways = std::any_of(judged.slow.begin(), judged.slow.end(), isAlwaysSlow);
    bool added = false;
    for (const auto& each : judged.slow) {
        if (anyAlways && !isAlwaysSlow(each)) continue;
        Finding finding = linkFinding(facts, links, each.first, each.second, spoilt(each.second), judged.usual);
        if (!finding.gain || finding.gain->share < kLeastFault) continue;
        facts.add(std::move(finding));
        added = true;
    }
    return added;
}

} // namespace

void findSlowLinks(CaseFacts& facts)
{
    if (!ranksShareClock(facts.trace.info()) || facts.operations.empty()) return;
    Links links(facts);
    Samples pairs, groups;
    links.addHops(pairs, links.takesTurns() ? HopWaits::Turns : HopWaits::Both);
    links.addOperations(groups);
    // A link between two ranks explains the groups that hold it.
    for (auto& [kind, ofKind] : groups)
        if (kind.what == "message") pairs[kind] = std::move(ofKind);
    std::erase_if(groups, [](const auto& each) { return each.first.what == "message"; });
    const JudgedLinks busy = slowLinks(pairs, links);
    const auto longer = [](const LinkRatio& of) {
        return [ratio = of.ratio](double usual) { return HopTime{usual * ratio, 0}; };
    };
    if (addLinks(facts, links, busy, longer)) return;
    if (links.takesTurns()) {
        // A link that delivers later is not busy for longer.
        Samples late;
        links.addHops(late, HopWaits::Sender);
        const JudgedLinks judged{slowLinks(late, links).slow, busy.usual};
        const auto later = [](const LinkRatio& of) {
            return [late = of.own - of.siblings](double usual) { return HopTime{usual, late}; };
        };
        if (addLinks(facts, links, judged, later)) return;
    }
    JudgedLinks judged = slowLinks(groups, links);
    // Groups that are slow together share a link.
    if (std::map<Link, LinkRatio>& slow = judged.slow; slow.size() > 1) {
        std::set<RankId> common = slow.begin()->first.ranks;
        for (const auto& each : slow)
            std::erase_if(common, [&](RankId rank) { return !each.first.ranks.contains(rank); });
        if (common.size() >= 2) slow = {{{common, slow.begin()->first.name}, slow.begin()->second}};
    }
    addLinks(facts, links, judged, longer);
}

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
    case Cause::BadSteps: return std::find(finding.ranks.begin(), finding.ranks.end(), rank) != finding.ranks.end();
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
            if (!explainsWaiting(known, late->rank) || known.ranks.size() > 1) continue;
            // What costs far less than the others wait is not why they do.
            if (2 * costOf(known) < delays * facts.length() * 1e-6) continue;
            addLateness(facts, known, *late, delays);
            if (!known.show.range) known.show = {FindingView::Timeline, std::nullopt, widest->range()};
            explained = true;
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
