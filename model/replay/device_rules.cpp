// SPDX-License-Identifier: Apache-2.0
// See device_rules.h.
#include "model/replay/device_rules.h"

#include "model/replay/link_chain.h"
#include "model/trace/collective_timing.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_map>

namespace fourwalls::replay {

namespace {

/// One end of an operation.
struct Member {
    RankId rank;
    const Link* link;
    const CollectiveRecord* record;
};

/// The track of the transfers that a rank of the engine takes part in itself.
constexpr std::string_view kOwnTransfers = "communication";

class DeviceRules {
public:
    DeviceRules(const Recording& recording, const std::vector<bool>& hidden)
        : m_recording(recording)
        , m_hidden(hidden)
        , m_modelled(isModelled(recording.info))
        , m_builder(recording.steps.front().range.begin)
    {}

    Result<GraphBuilder> build()
    {
        addSteps();
        splitChains();
        for (auto& [rank, chain] : m_chains) connect(rank, chain);
        for (auto& [stream, chain] : m_streams) connectStream(chain);
        FOURWALLS_TRY(meet());
        for (auto& [stream, chain] : m_streams) join(chain);
        for (GraphStep& step : m_steps) m_builder.addStep(std::move(step));
        return std::move(m_builder);
    }

private:
    /// Whether the cost model wrote the trace: then a message has one record, its sender's, and what hides behind work is on
    /// one track with what its rank waits for. (A changed recording is a prediction, too.)
    static bool isModelled(const TraceInfo& info)
    {
        return info.header.source == TraceSource::Predicted && !info.groups.empty() &&
               std::all_of(info.groups.begin(), info.groups.end(),
                           [](const ProcessGroupInfo& group) { return group.transport == kModelled; });
    }

    void addSteps()
    {
        const Instant origin = m_recording.steps.front().range.begin;
        for (std::size_t i = 0; i < m_recording.steps.size(); ++i) {
            const RecordedStep& step = m_recording.steps[i];
            GraphStep of;
            of.step = step.step;
            of.first = (step.range.begin - origin).ns;
            of.last = (step.range.end - origin).ns;
            of.chained = i > 0 && step.range.begin <= m_recording.steps[i - 1].range.end;
            m_steps.push_back(std::move(of));
        }
    }

    bool isBeside(const Piece& piece)
    {
        const auto found = m_beside.find(piece.track.value);
        if (found != m_beside.end()) return found->second;
        const TrackInfo& track = m_recording.track(piece);
        const bool beside =
            track.kind == TrackKind::CopyStream ||
            (track.kind == TrackKind::CommStream && track.name != kOwnTransfers && overlapsWork(piece.track));
        return m_beside[piece.track.value] = beside;
    }

    /// Whether a rank's device worked, or the rank itself took part in a transfer, while an operation of the track ran.
    bool overlapsWork(TrackId track) const
    {
        const auto& pieces = m_recording.pieces;
        std::vector<std::pair<Instant, Instant>> work;
        const RankId rank = m_recording.tracks[static_cast<std::size_t>(track.value)].rank;
        const auto holds = [&](const Piece& piece) {
            return !piece.isCollective() ||
                   m_recording.collectives[piece.collective].record.operation != CollectiveOp::Send;
        };
        for (const Piece& piece : pieces) {
            if (piece.rank != rank || piece.length().ns <= 0 || !holds(piece)) continue;
            const TrackInfo& on = m_recording.track(piece);
            if (piece.isCollective() ? on.name == kOwnTransfers : on.kind == TrackKind::ComputeStream)
                work.push_back({piece.start, piece.end});
        }
        std::sort(work.begin(), work.end());
        for (const Piece& piece : pieces) {
            if (piece.track != track || piece.length().ns <= 0 || !holds(piece)) continue;
            const auto behind = std::lower_bound(work.begin(), work.end(), std::pair(piece.end, piece.end));
            if (behind != work.begin() && (behind - 1)->second > piece.start) return true;
        }
        return false;
    }

    const CollectiveRecord* recordOf(const Link& link) const
    {
        if (link.piece == kNone || !m_recording.pieces[link.piece].isCollective()) return nullptr;
        return &m_recording.collectives[m_recording.pieces[link.piece].collective].record;
    }

    bool isSend(const Link& link) const
    {
        const CollectiveRecord* record = recordOf(link);
        return record && record->operation == CollectiveOp::Send;
    }

    void splitChains()
    {
        std::map<RankId, LinkChain> modelled;
        for (std::uint32_t i = 0; i < m_recording.pieces.size(); ++i) {
            const Piece& piece = m_recording.pieces[i];
            const OpInfo& op = m_recording.op(piece);
            const bool operation = op.kind == SliceKind::Collective;
            if (operation && !piece.isCollective() && !m_modelled) continue; // a slice around an operation
            if (op.kind == SliceKind::HostCall) continue;
            Link link{piece.start, piece.end, i, piece.step, kLong, 0, 0, kNone, kNone, true};
            if (piece.start == piece.end) link.order = kShort;
            if (const CollectiveRecord* record = recordOf(link)) {
                link.group = record->group.value;
                link.sequence = record->sequence;
                const bool still = piece.start == piece.end;
                link.holds = record->operation != CollectiveOp::Send;
                link.order = record->operation == CollectiveOp::Send      ? kSend
                             : !still                                     ? kLong
                             : record->operation == CollectiveOp::Receive ? kReceive
                                                                          : kMeet;
            }
            if (m_modelled && (operation || piece.isCollective()))
                modelled[piece.rank].push_back(link);
            else if (isBeside(piece))
                m_streams[{piece.track.value, kNoPeer}].push_back(link);
            else
                m_chains[piece.rank].push_back(link);
        }
        noteMeetings(modelled);
        for (const auto& [rank, operations] : modelled) splitModelled(m_chains[rank], operations);
        for (std::uint32_t i = 0; i < m_recording.steps.size(); ++i)
            for (const auto& [rank, range] : m_recording.steps[i].ranks)
                m_chains[rank].push_back({range.end, range.end, kNone, i, kStepEnd, 0, 0, kNone, kNone, true});
        for (auto& [rank, chain] : m_chains) sortChain(chain);
        for (auto& [stream, chain] : m_streams) sortChain(chain);
    }

    /// Which operations of the cost model have members that meet. For others it gives each stage the time that it needs.
    void noteMeetings(const std::map<RankId, LinkChain>& modelled)
    {
        std::map<MeetingKey, std::pair<TimeRange, int>> operations; // last begin, first end and number of members
        for (const auto& [rank, links] : modelled)
            for (const Link& link : links) {
                if (!recordOf(link)) continue;
                const auto [found, isNew] =
                    operations.try_emplace(MeetingKey::of(*recordOf(link)), TimeRange{link.start, link.end}, 0);
                TimeRange& common = found->second.first;
                common = {std::max(common.begin, link.start), std::min(common.end, link.end)};
                ++found->second.second;
            }
        for (const auto& [key, members] : operations)
            if (members.second > 1 && members.first.begin <= members.first.end) m_modelledMeetings.insert(key);
    }

    /// What the cost model wrote: messages go beside a rank, each way one after the other. For the part of an operation
    /// during which the rank stands still it waits; what has no such part goes on beside it.
    void splitModelled(LinkChain& chain, const LinkChain& operations)
    {
        std::vector<std::pair<Instant, Instant>> work;
        for (const Link& link : chain)
            if (link.end > link.start) work.push_back({link.start, link.end});
        std::sort(work.begin(), work.end());
        Instant waited = m_recording.steps.front().range.begin; // until then for the operations before
        for (Link link : operations) {
            const CollectiveRecord* record = recordOf(link);
            const std::int32_t track = m_recording.pieces[link.piece].track.value;
            if (isSend(link)) {
                link.holds = true; // the next message
                m_streams[{track, record->peer.value_or(RankId{kNoPeer}).value}].push_back(link);
                continue;
            }
            TimeRange alone{std::max(link.start, waited), link.end};
            auto next = std::upper_bound(work.begin(), work.end(), alone.begin,
                                         [](Instant at, const auto& each) { return at < each.first; });
            if (next != work.begin()) --next;
            for (; next != work.end() && next->first <= alone.begin + m_rounding; ++next)
                alone.begin = std::max(alone.begin, next->second);
            if (next != work.end()) alone.end = std::min(alone.end, next->first);
            if (alone.begin + m_rounding >= alone.end) {
                m_streams[{track, kNoPeer}].push_back(link);
                continue;
            }
            link.start = alone.begin;
            link.end = waited = alone.end;
            chain.push_back(link);
        }
    }

    void sortChain(LinkChain& chain) const
    {
        std::stable_sort(chain.begin(), chain.end(), [](const Link& a, const Link& b) {
            if (a.start != b.start) return a.start < b.start;
            if (a.order != b.order) return a.order < b.order;
            if (a.order == kLong) return a.end > b.end;
            return std::tie(a.group, a.sequence) < std::tie(b.group, b.sequence);
        });
        // Of nested work the outer piece counts, unless a rank meets others inside it.
        std::vector<bool> drop(chain.size());
        for (std::size_t i = 0; i < chain.size(); ++i) {
            if (drop[i] || chain[i].order != kLong || recordOf(chain[i])) continue;
            std::size_t behind = i + 1;
            bool meets = false;
            for (; behind < chain.size() && chain[behind].start < chain[i].end - m_rounding; ++behind)
                meets = meets || recordOf(chain[behind]) != nullptr || chain[behind].piece == kNone;
            if (meets)
                drop[i] = behind > i + 1;
            else
                for (std::size_t k = i + 1; k < behind; ++k) drop[k] = chain[k].end <= chain[i].end;
        }
        std::size_t kept = 0;
        for (std::size_t i = 0; i < chain.size(); ++i)
            if (!drop[i]) chain[kept++] = chain[i];
        chain.resize(kept);
    }

    std::uint64_t delayKey(RankId rank, const Link& link, int part)
    {
        const std::int64_t op = link.piece == kNone ? -1 : m_recording.pieces[link.piece].op.value;
        if (part == 0) m_number = m_counts[{rank.value, link.step, op}]++;
        const RankId first = m_recording.info.header.ranks.empty() ? rank : m_recording.info.header.ranks.front().rank;
        const auto stage = static_cast<std::uint64_t>(m_recording.stageOf(rank));
        std::uint64_t key = static_cast<std::uint64_t>(op + 1);
        for (const std::uint64_t word : {static_cast<std::uint64_t>(m_number), stage,
                                         static_cast<std::uint64_t>(rank == first), static_cast<std::uint64_t>(part)})
            key = (key ^ (word + 0x9e3779b97f4a7c15ull + (key << 6) + (key >> 2))) * 0xff51afd7ed558ccdull;
        return key;
    }

    void addNodes(RankId rank, Link& link)
    {
        NodeTag tag{NodeRole::Work, link.piece, link.step, delayKey(rank, link, 0)};
        if (link.piece == kNone) {
            tag.role = NodeRole::Mark;
            link.begin = link.done = m_builder.work(link.end, link.end, tag);
            m_steps[link.step].ends.push_back(link.done);
            return;
        }
        const CollectiveRecord* record = recordOf(link);
        if (!record) {
            if (m_recording.op(m_recording.pieces[link.piece]).kind == SliceKind::Collective)
                tag.role = NodeRole::Moving;
            link.begin = link.done = m_builder.work(link.start, link.end, tag);
            return;
        }
        tag.role = NodeRole::Arrival;
        // A predicted operation begins when all have come: since when a member has waited is not in it.
        link.begin = m_modelledMeetings.contains(MeetingKey::of(*record)) ? m_builder.arrival(tag)
                                                                          : m_builder.work(link.start, link.start, tag);
        tag.role = NodeRole::Moving;
        if (record->operation == CollectiveOp::Send) {
            // On its way: from when it was sent until it is there, whoever asks for it.
            tag.delayKey = delayKey(rank, link, 1);
            link.done = m_builder.work(link.start, link.end, tag);
        } else {
            link.done = m_builder.moving(link.end, tag);
        }
        m_builder.edge(link.begin, link.done);
        m_operations[MeetingKey::of(*record)].push_back({rank, &link, record});
    }

    void connect(RankId rank, LinkChain& chain)
    {
        const Link* before = nullptr;
        NodeIndex source = kNone;
        for (Link& link : chain) {
            const bool fresh = !before || (link.step != before->step && !m_steps[link.step].chained);
            if (fresh) source = m_builder.source(beginOf(rank, link.step), link.step);
            addNodes(rank, link);
            if (fresh)
                m_builder.edge(source, link.begin);
            else
                m_builder.edge(before->holds ? before->done : before->begin, link.begin);
            if (isHidden(link)) link.holds = false;
            before = &link;
        }
        for (std::size_t i = 0; i < chain.size(); ++i)
            if (isHidden(chain[i]))
                if (const Link* needs = needsResult(chain, i))
                    m_builder.edge(chain[i].done, needs->begin, EdgeOrigin::Derived);
    }

    /// What needs the result of an operation: of gradients the optimizer, else the next work on the operation's layer, or
    /// the next work of all.
    const Link* needsResult(const LinkChain& chain, std::size_t operation) const
    {
        const OpInfo& of = m_recording.op(m_recording.pieces[chain[operation].piece]);
        const Link* next = nullptr;
        for (std::size_t i = operation + 1; i < chain.size() && chain[i].step == chain[operation].step; ++i) {
            const Link& link = chain[i];
            if (link.piece == kNone) return next ? next : &link;
            if (recordOf(link)) continue;
            const OpInfo& op = m_recording.op(m_recording.pieces[link.piece]);
            if (!next && of.phase != Phase::GradientSync && !of.layer) return &link;
            if (!next) next = &link;
            if (of.phase == Phase::GradientSync ? op.phase == Phase::Optimizer : op.layer == of.layer) return &link;
        }
        return of.phase == Phase::GradientSync ? nullptr : next;
    }

    Instant beginOf(RankId rank, std::uint32_t step) const
    {
        const auto found = m_recording.steps[step].ranks.find(rank);
        return found == m_recording.steps[step].ranks.end() ? m_recording.steps[step].range.begin : found->second.begin;
    }

    bool isHidden(const Link& link) const
    {
        if (link.piece == kNone || !recordOf(link)) return false;
        const auto op = static_cast<std::size_t>(m_recording.pieces[link.piece].op.value);
        return op < m_hidden.size() && m_hidden[op];
    }

    void connectStream(LinkChain& chain)
    {
        const Link* before = nullptr;
        for (Link& link : chain) {
            addNodes(m_recording.pieces[link.piece].rank, link);
            // Predictions write transfers in full, beside others if need be.
            if (before && (!m_modelled || before->end <= link.start + m_rounding))
                m_builder.edge(before->holds ? before->done : before->begin, link.begin);
            before = &link;
        }
    }

    Error lacking(const Link& link, std::size_t members, std::size_t of, const std::string& group) const
    {
        return {ErrorCode::Format,
                m_recording.describe(link.piece) + " has " + std::to_string(members) + " of " + std::to_string(of) +
                    " members of group " + group,
                "replay", "record every rank of the job, or replay steps that are complete with --steps A-B"};
    }

    Status meet()
    {
        for (auto& [key, members] : m_operations) {
            const Member *send = nullptr, *receive = nullptr;
            for (const Member& member : members) {
                if (member.record->operation == CollectiveOp::Send) send = &member;
                if (member.record->operation == CollectiveOp::Receive) receive = &member;
            }
            if (send || receive) {
                // A message without its other end waits for nobody that the trace has, but that a prediction has one record
                // for both ends.
                if (send && receive)
                    m_builder.edge(send->link->done, receive->link->done);
                else if (const Link* needs = send && m_modelled ? needsMessage(*send) : nullptr)
                    m_builder.edge(send->link->done, needs->begin, EdgeOrigin::Derived);
                continue;
            }
            if (m_modelled && !m_modelledMeetings.contains(key)) continue;
            const ProcessGroupInfo& group = m_recording.info.groups[static_cast<std::size_t>(key.group.value)];
            const auto coverage = groupCoverage(m_recording.info, key.group);
            const std::size_t expected = m_recording.expectedMembers(key.group);
            const bool complete = coverage.timing != CollectiveTiming::Separated || members.size() == expected;
            if (!complete && m_recording.membersOf(key) < expected)
                return lacking(*members.front().link, members.size(), expected, group.name);
            const NodeIndex met = m_builder.meeting(members.front().link->step);
            // Members out of the chosen steps came when they came.
            if (!complete)
                m_builder.edge(m_builder.source(members.front().record->lastArrival, members.front().link->step), met);
            for (const Member& member : members) {
                m_builder.edge(member.link->begin, met);
                m_builder.edge(met, member.link->done);
            }
        }
        return {};
    }

    /// What a message of a prediction is for: the receiver's next work of its micro-batch, all of which but the gradients of
    /// weights goes one after the other; else the end of the receiver's step.
    const Link* needsMessage(const Member& send) const
    {
        const auto receiver = m_chains.find(send.record->peer.value_or(send.rank));
        if (receiver == m_chains.end() || receiver->first == send.rank) return nullptr;
        const Piece& sent = m_recording.pieces[send.link->piece];
        const LinkChain& chain = receiver->second;
        auto link = std::lower_bound(chain.begin(), chain.end(), sent.end - m_rounding,
                                     [](const Link& each, Instant t) { return each.start < t; });
        for (; link != chain.end() && link->step == send.link->step; ++link) {
            if (link->piece == kNone) return &*link;
            const Piece& piece = m_recording.pieces[link->piece];
            if (piece.microbatch == sent.microbatch && m_recording.op(piece).phase != Phase::BackwardWeight)
                return &*link;
        }
        return nullptr;
    }

    /// Where operations beside a rank's work hang on it.
    void join(LinkChain& chain)
    {
        if (chain.empty()) return;
        const Piece& any = m_recording.pieces[chain.front().piece];
        const auto found = m_chains.find(any.rank);
        if (found == m_chains.end()) return;
        LinkChain& rank = found->second;
        std::multimap<std::int64_t, std::int64_t> launches, waits; // operation's start or end to the rank's instant
        for (const FlowRecord& flow : m_recording.flows) {
            if (flow.kind == "launch" && flow.toTrack == any.track) launches.emplace(flow.to.ns, flow.from.ns);
            if (flow.kind == "wait" && flow.fromTrack == any.track) waits.emplace(flow.from.ns, flow.to.ns);
        }
        const bool statesWaits = !waits.empty();
        for (const Link& link : chain) {
            const auto launch = launches.find(link.start.ns);
            const Instant at = launch != launches.end() ? Instant{launch->second} : link.start + m_rounding;
            const EdgeOrigin origin = launch != launches.end() ? EdgeOrigin::Stated : EdgeOrigin::Derived;
            if (const Link* before = lastEnded(rank, at))
                m_builder.edge(before->done, link.begin, origin);
            else
                m_builder.edge(m_builder.source(beginOf(any.rank, link.step), link.step), link.begin, origin);
            if (launch != launches.end()) launches.erase(launch);
            if (m_modelled && isSend(link)) continue; // its receiver waits
            auto wait = waits.lower_bound(link.end.ns);
            if (wait != waits.end() && wait->first == link.end.ns) {
                if (const Link* next = firstFrom(rank, Instant{wait->second}))
                    m_builder.edge(link.done, next->begin, EdgeOrigin::Stated);
                waits.erase(wait);
            } else if (!statesWaits) {
                if (const Link* next = behindGap(rank, link.end - m_rounding))
                    m_builder.edge(link.done, next->begin, EdgeOrigin::Derived);
            }
        }
    }

    static constexpr std::int32_t kNoPeer = -1;
    using StreamKey = std::pair<std::int32_t, std::int32_t>; ///< track, and of predicted messages the peer

    const Recording& m_recording;
    const std::vector<bool>& m_hidden;
    const bool m_modelled;
    const Duration m_rounding = m_modelled ? Duration{10} : Duration{}; ///< predicted times are rounded one by one
    GraphBuilder m_builder;
    std::vector<GraphStep> m_steps;
    std::map<RankId, LinkChain> m_chains;
    std::map<StreamKey, LinkChain> m_streams;
    std::unordered_map<std::int32_t, bool> m_beside;
    std::map<std::tuple<std::int32_t, std::uint32_t, std::int64_t>, std::uint32_t> m_counts;
    std::uint32_t m_number = 0;
    std::map<MeetingKey, std::vector<Member>> m_operations;
    std::set<MeetingKey> m_modelledMeetings;
};

} // namespace

Result<GraphBuilder> deviceGraph(const Recording& recording, const std::vector<bool>& hidden)
{
    return DeviceRules(recording, hidden).build();
}

} // namespace fourwalls::replay
