// SPDX-License-Identifier: Apache-2.0
// Links whose transfers are slow.
#include "model/base/median.h"
#include "model/diagnose/causes.h"
#include "model/diagnose/hop_services.h"
#include "model/trace/collective_timing.h"
#include "model/trace/hop_schedule.h"

#include <cmath>
#include <functional>
#include <limits>
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
constexpr std::int64_t kShort = 4;   ///< messages up to so many times the shortest show a latency best
constexpr double kLeastLonger = 0.5; ///< a latency delays all short messages by that share of what it delays one kind

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
    int turn = 0;         ///< of hops whose time depends on how many their sender sent before

    friend bool operator<(const Kind& a, const Kind& b)
    {
        return std::tie(a.what, a.bytes, a.together, a.turn) < std::tie(b.what, b.bytes, b.together, b.turn);
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
            for (const HopService& hop : hopServices(*operation, schedule, waits, holdIn(schedule, waits)))
                samples[kindOf(hop.from, hop.to, hop.bytes, hop.turn)][{{hop.from, hop.to}, ""}].push_back(hop.took);
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
                    const auto sibling = usual.find(kindOf(from, to, hop.bytes, hop.turn));
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
                samples[{"message", *record.payloadBytes, together(piece.rank, *record.peer), 0}]
                       [{{piece.rank, *record.peer}, ""}]
                           .push_back(took);
            } else if (group.ranks.size() > 1) {
                const bool inside = std::all_of(group.ranks.begin(), group.ranks.end(),
                                                [&](RankId rank) { return together(rank, group.ranks.front()); });
                samples[{std::string(name(record.operation)) + ' ' + group.name + ' ' +
                             std::to_string(group.ranks.size()),
                         *record.payloadBytes, inside, 0}][{{group.ranks.begin(), group.ranks.end()}, group.name}]
                    .push_back(took);
            }
        }
    }

private:
    /// What a hop keeps its receiver's port for, where those that waited for it are to be left out: by the recording's own
    /// description of the cluster.
    std::function<double(const ScheduledHop&)> holdIn(const HopSchedule& schedule, HopWaits waits)
    {
        if (waits != HopWaits::Sender) return {};
        return [this, &schedule](const ScheduledHop& hop) {
            Kind kind = kindOf(schedule.members[static_cast<std::size_t>(hop.from)],
                               schedule.members[static_cast<std::size_t>(hop.to)], hop.bytes, 0);
            const double whole = expected(kind).value_or(0);
            kind.bytes = 0;
            return whole - expected(kind).value_or(0);
        };
    }

    /// turn: a port that carries one hop after the other delivers the first one a latency later than it is free again.
    Kind kindOf(RankId from, RankId to, double bytes, int turn)
    {
        return {"hop", std::llround(bytes), together(from, to), takesTurns() ? turn : 0};
    }

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
    double ratio = 1, own = 0, siblings = 0; ///< of the kind that counts; times [ns]
    double weight = 0;                       ///< why that kind counts
    double longer =
        std::numeric_limits<double>::infinity(); ///< what messages of all kinds take longer, at the least [ns]
    bool slow = false;
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

/// What makes a link slow: its rate, of which what it sends most bytes of tells (a message of a few bytes knows nothing of
/// it), or its latency, which stands out most in the shortest messages and is as long in all.
enum class Slowness { Rate, Latency };

/// The shortest messages of each link.
std::map<Link, std::int64_t> shortestOf(const Samples& samples)
{
    std::map<Link, std::int64_t> shortest;
    for (const auto& [kind, ofKind] : samples)
        for (const auto& each : ofKind) {
            const auto [known, isNew] = shortest.try_emplace(each.first, kind.bytes);
            if (!isNew) known->second = std::min(known->second, kind.bytes);
        }
    return shortest;
}

/// Links that are slow for what is sent over them; of hops also against the description of the cluster.
JudgedLinks slowLinks(const Samples& samples, const Links& links, Slowness slowness)
{
    JudgedLinks judged;
    const std::map<Link, std::int64_t> shortest = shortestOf(samples);
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
            if (slowness == Slowness::Latency && kind.bytes > kShort * shortest.at(link)) continue;
            const double own = alone ? quickOf(times) : median(times);
            const double noise =
                std::max(kLeastLinkNoise, relativeDeviationOf(times) / std::sqrt(static_cast<double>(times.size())));
            const bool slow = own >= kSlowLink * reference && own / reference - 1 >= kLinkDeviations * noise;
            LinkRatio& of = judged.slow[link];
            const double longer = std::min(of.longer, own - reference);
            const double bytes = static_cast<double>(kind.bytes) * static_cast<double>(times.size());
            const double weight = slowness == Slowness::Rate ? bytes : own / reference;
            if (std::pair(weight, own / reference) > std::pair(of.weight, of.ratio))
                of = {quickOf(times) / reference, own / reference, own, reference, weight, 0, slow};
            of.longer = longer;
        }
    }
    std::erase_if(judged.slow, [slowness](const auto& each) {
        const LinkRatio& of = each.second;
        // What only some messages are late by, waited for others.
        return !of.slow || (slowness == Slowness::Latency && of.longer < kLeastLonger * (of.own - of.siblings));
    });
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
    const JudgedLinks busy = slowLinks(pairs, links, Slowness::Rate);
    const auto longer = [](const LinkRatio& of) {
        return [ratio = of.ratio](double usual) { return HopTime{usual * ratio, 0}; };
    };
    if (addLinks(facts, links, busy, longer)) return;
    if (links.takesTurns()) {
        // A link that delivers later is not busy for longer.
        Samples late;
        links.addHops(late, HopWaits::Sender);
        const JudgedLinks judged{slowLinks(late, links, Slowness::Latency).slow, busy.usual};
        const auto later = [](const LinkRatio& of) {
            return [late = std::max(0.0, of.longer)](double usual) { return HopTime{usual, late}; };
        };
        if (addLinks(facts, links, judged, later)) return;
    }
    JudgedLinks judged = slowLinks(groups, links, Slowness::Rate);
    // Groups that are slow together share a link.
    if (std::map<Link, LinkRatio>& slow = judged.slow; slow.size() > 1) {
        std::set<RankId> common = slow.begin()->first.ranks;
        for (const auto& each : slow)
            std::erase_if(common, [&](RankId rank) { return !each.first.ranks.contains(rank); });
        if (common.size() >= 2) slow = {{{common, slow.begin()->first.name}, slow.begin()->second}};
    }
    addLinks(facts, links, judged, longer);
}

} // namespace fourwalls::diagnose
