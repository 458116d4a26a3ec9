// SPDX-License-Identifier: Apache-2.0
// The rules, each as far as it is safe: what a sound rank could also have done names nobody.
#include "model/diagnose/hang_rules.h"

#include "model/diagnose/operation_pairs.h"

#include <algorithm>
#include <set>

namespace fourwalls::diagnose {

namespace {

/// Only small groups do the same work in the same place; comparing all pairs of a large one takes long, too.
constexpr std::size_t kLargestPeerGroup = 64;
/// One peer alone may be the one that is wrong.
constexpr std::size_t kLeastVoters = 2;
/// So many operations of groups of one kind have to be seen before one that is not among them counts as foreign.
constexpr std::int64_t kLeastOfKind = 32;

const HangRank& rankAt(const HangState& state, std::int32_t rank)
{
    return state.ranks[static_cast<std::size_t>(rank)];
}

bool isRead(const HangState& state, std::int32_t rank)
{
    return rankAt(state, rank).dump == DumpState::Read;
}

std::optional<std::int64_t> furthest(const HangState& state, const HangGroup& group)
{
    std::optional<std::int64_t> most;
    for (std::size_t i = 0; i < group.members.size(); ++i) {
        const auto& completed = group.progress[i].completed;
        if (isRead(state, group.members[i]) && completed) most = std::max(most.value_or(*completed), *completed);
    }
    return most;
}

/// The record of a collective; -1: the dump has none.
std::int64_t recordOf(const HangRank& rank, std::int32_t group, std::int64_t sequence)
{
    for (std::size_t i = 0; i < rank.records.size(); ++i) {
        const HangRecord& record = rank.records[i];
        if (record.group == group && record.sequence == sequence && !record.isTransfer())
            return static_cast<std::int64_t>(i);
    }
    return -1;
}

} // namespace

// ---- Frozen ----------------------------------------------------------------------------------------------------

namespace {

/// What peers finished of the operations of one member that it did not mark as finished.
struct Contradiction {
    std::int32_t group = -1;
    std::int64_t first = 0, last = 0, count = 0; ///< numbers of the operations
    std::uint32_t operation = 0;                 ///< of the first
    std::vector<std::int32_t> by;
};

std::optional<Contradiction> contradictionOf(const HangState& state, std::int32_t rank, std::int32_t group)
{
    const HangGroup& of = state.groups[static_cast<std::size_t>(group)];
    const auto most = furthest(state, of);
    const auto own = state.completed(rank, group), entered = state.entered(rank, group);
    if (!most || !own || !entered || *own >= *most) return std::nullopt;
    Contradiction found;
    found.group = group;
    for (const HangRecord& record : rankAt(state, rank).records) {
        if (record.group != group || !record.open || !needsAllMembers(record.op) || record.sequence <= *own ||
            record.sequence > *most)
            continue;
        if (found.count++ == 0) {
            found.first = record.sequence;
            found.operation = record.name;
        }
        found.last = record.sequence;
    }
    if (found.count == 0) return std::nullopt;
    for (std::size_t i = 0; i < of.members.size(); ++i)
        if (of.progress[i].completed && *of.progress[i].completed >= found.first && of.members[i] != rank)
            found.by.push_back(of.members[i]);
    return found;
}

/// What peers finished is finished at the rank, too, and so are the transfers that it entered before.
void repair(HangState& state, std::int32_t place, const std::vector<Contradiction>& found)
{
    HangRank& rank = state.ranks[static_cast<std::size_t>(place)];
    std::int64_t newest = -1;
    for (const Contradiction& each : found) {
        state.progress(place, each.group).completed = each.last;
        for (HangRecord& record : rank.records)
            if (record.group == each.group && !record.isTransfer() && record.open && record.sequence <= each.last) {
                record.open = false;
                newest = std::max(newest, record.id);
            }
    }
    for (HangRecord& record : rank.records)
        if (record.isTransfer() && record.id < newest) record.open = false;
    markLive(rank);
}

} // namespace

void nameFrozen(HangState& state, NamedRanks& named)
{
    std::map<std::int32_t, std::vector<Contradiction>> contradicted;
    for (std::size_t r = 0; r < state.ranks.size(); ++r) {
        const auto place = static_cast<std::int32_t>(r);
        if (!isRead(state, place)) continue;
        for (const auto& [group, member] : state.ranks[r].memberOf)
            if (auto found = contradictionOf(state, place, group)) contradicted[place].push_back(std::move(*found));
    }
    for (const auto& [place, found] : contradicted) {
        NamedRank& name = named[place];
        const Contradiction* most = &found.front();
        std::set<std::int32_t> by;
        for (const Contradiction& each : found) {
            if (each.count > most->count) most = &each;
            name.count += each.count;
            by.insert(each.by.begin(), each.by.end());
        }
        name.reason = name.count > 1 ? HangReason::DeviceStopped : HangReason::StuckAfterKernel;
        name.confidence = name.count > 1 ? HangConfidence::Certain : HangConfidence::Likely;
        name.group = most->group;
        name.sequence = most->first;
        name.operation = most->operation;
        name.by.assign(by.begin(), by.end());
        repair(state, place, found);
    }
}

void nameMissing(const HangState& state, NamedRanks& named)
{
    for (std::size_t r = 0; r < state.ranks.size(); ++r) {
        if (state.ranks[r].dump != DumpState::Missing) continue;
        NamedRank& name = named[static_cast<std::int32_t>(r)];
        name.reason = HangReason::NoDump;
        name.confidence = HangConfidence::Certain;
    }
}

// ---- Mismatch --------------------------------------------------------------------------------------------------

namespace {

/// One side of a disagreement: members whose records are equal.
struct Side {
    std::vector<std::int32_t> ranks;
    std::vector<std::size_t> records; ///< of each
};

class Disagreement {
public:
    Disagreement(const HangState& state, const OperationPairs& pairs, std::int32_t group, std::vector<Side> sides)
        : m_state(state)
        , m_pairs(pairs)
        , m_group(group)
        , m_sides(std::move(sides))
    {
        std::stable_sort(m_sides.begin(), m_sides.end(),
                         [](const Side& a, const Side& b) { return a.ranks.size() > b.ranks.size(); });
    }

    bool hasMajority() const { return m_sides[0].ranks.size() > m_sides[1].ranks.size(); }
    /// The side that is wrong where votes are equal; -1: the dumps do not tell.
    std::int64_t wrongSide() const
    {
        if (m_sides.size() != 2 || mayBeSkipped()) return -1;
        const std::vector<RecordPlace> own = places();
        std::int64_t beside[2];
        for (std::size_t i = 0; i < 2; ++i)
            beside[i] = m_pairs.seenBeside({m_sides[i].ranks[0], m_sides[i].records[0]}, own);
        if ((beside[0] == 0) != (beside[1] == 0)) return beside[0] == 0 ? 0 : 1;
        OperationPairs::Kind kinds[2];
        for (std::size_t i = 0; i < 2; ++i) kinds[i] = m_pairs.seenInKind(recordOfSide(m_sides[i]), own);
        if (kinds[0].all < kLeastOfKind || (kinds[0].same == 0) == (kinds[1].same == 0)) return -1;
        return kinds[0].same == 0 ? 0 : 1;
    }
    const std::vector<Side>& sides() const { return m_sides; }
    std::vector<std::int32_t> everybody() const
    {
        std::vector<std::int32_t> all;
        for (const Side& side : m_sides) all.insert(all.end(), side.ranks.begin(), side.ranks.end());
        std::sort(all.begin(), all.end());
        return all;
    }
    const HangRecord& recordOfSide(const Side& side) const
    {
        return rankAt(m_state, side.ranks[0]).records[side.records[0]];
    }

private:
    std::vector<RecordPlace> places() const
    {
        std::vector<RecordPlace> list;
        for (const Side& side : m_sides)
            for (std::size_t i = 0; i < side.ranks.size(); ++i) list.push_back({side.ranks[i], side.records[i]});
        return list;
    }
    /// Whether one side may have left an operation out instead: what it entered is what the other one entered next, or
    /// nobody knows what the other one would have entered next. Whole histories tell by the neighbours.
    bool mayBeSkipped() const
    {
        for (std::size_t i = 0; i < 2; ++i) {
            const Side& side = m_sides[i];
            const HangRank& peer = rankAt(m_state, m_sides[1 - i].ranks[0]);
            if (peer.hasHistory && rankAt(m_state, side.ranks[0]).hasHistory) continue;
            const HangRecord& own = recordOfSide(side);
            const std::int64_t next = recordOf(peer, m_group, own.sequence + 1);
            if (next < 0 || peer.records[static_cast<std::size_t>(next)].signature == own.signature) return true;
        }
        return false;
    }

    const HangState& m_state;
    const OperationPairs& m_pairs;
    std::int32_t m_group;
    std::vector<Side> m_sides;
};

/// The sides of the first operation of a group that nobody finished; one side or none: members agree.
std::vector<Side> sidesOf(const HangState& state, std::int32_t group, const NamedRanks& named)
{
    const HangGroup& of = state.groups[static_cast<std::size_t>(group)];
    std::optional<std::int64_t> sequence = furthest(state, of);
    if (sequence) ++*sequence;
    std::map<std::uint32_t, Side> bySignature;
    for (const std::int32_t member : of.members) {
        if (!isRead(state, member) || named.count(member) > 0 || !sequence) continue;
        const HangRank& rank = rankAt(state, member);
        const std::int64_t record = recordOf(rank, group, *sequence);
        if (record < 0 || !rank.records[static_cast<std::size_t>(record)].open) continue;
        Side& side = bySignature[rank.records[static_cast<std::size_t>(record)].signature];
        side.ranks.push_back(member);
        side.records.push_back(static_cast<std::size_t>(record));
    }
    std::vector<Side> sides;
    for (auto& [signature, side] : bySignature) sides.push_back(std::move(side));
    return sides;
}

} // namespace

void nameMismatched(const HangState& state, NamedRanks& named, std::vector<OneOf>& sets)
{
    const OperationPairs pairs(state);
    NamedRanks found;
    for (std::size_t g = 0; g < state.groups.size(); ++g) {
        const auto group = static_cast<std::int32_t>(g);
        std::vector<Side> sides = sidesOf(state, group, named);
        if (sides.size() < 2) continue;
        const Disagreement between(state, pairs, group, std::move(sides));
        const bool voted = between.hasMajority();
        const std::int64_t wrong = voted ? 1 : between.wrongSide();
        const HangRecord& record = between.recordOfSide(between.sides()[0]);
        if (wrong < 0) {
            sets.push_back({between.everybody(), group, record.sequence, record.name, OneOf::Why::Mismatch});
            continue;
        }
        const Side& right = between.sides()[voted ? 0 : static_cast<std::size_t>(1 - wrong)];
        for (std::size_t i = 0; i < between.sides().size(); ++i) {
            const Side& side = between.sides()[i];
            if (&side == &right) continue;
            for (const std::int32_t rank : side.ranks) {
                NamedRank& name = found[rank];
                name.reason = HangReason::OtherOperation;
                name.confidence = voted ? HangConfidence::Certain : HangConfidence::Likely;
                name.group = group;
                name.sequence = record.sequence;
                name.operation = between.recordOfSide(side).name;
                name.instead = between.recordOfSide(right).name;
                name.by = right.ranks;
                if (name.operation == name.instead) {
                    name.operation = between.recordOfSide(side).sizes;
                    name.instead = between.recordOfSide(right).sizes;
                }
            }
        }
    }
    named.merge(found);
}

// ---- Skipped or one too many -----------------------------------------------------------------------------------

namespace {

/// Members that went on without an operation that others entered.
struct LeftOut {
    std::set<std::int32_t> entered, passed;
};

/// Whether `rank` entered something that stands behind the operation in the program of `peer`.
bool passedIt(const HangState& state, std::int32_t rank, const HangRank& peer, std::size_t record)
{
    for (std::size_t i = record + 1; i < peer.records.size(); ++i) {
        const HangRecord& later = peer.records[i];
        if (later.isTransfer() || later.group == peer.records[record].group) continue;
        const auto entered = state.entered(rank, later.group);
        if (rankAt(state, rank).placeIn(later.group) && entered && *entered >= later.sequence) return true;
    }
    return false;
}

LeftOut leftOutOf(const HangState& state, const HangGroup& group, std::int32_t id, std::int64_t sequence,
                  const NamedRanks& named)
{
    constexpr std::size_t kMostPeers = 16; // that are asked: all of one program say the same
    LeftOut found;
    std::vector<std::pair<std::int32_t, std::size_t>> peers;
    for (const std::int32_t member : group.members) {
        if (!isRead(state, member) || named.count(member) > 0) continue;
        const std::int64_t record = recordOf(rankAt(state, member), id, sequence);
        if (record < 0) continue;
        found.entered.insert(member);
        if (peers.size() < kMostPeers) peers.emplace_back(member, static_cast<std::size_t>(record));
    }
    for (const std::int32_t member : group.members) {
        const auto entered = state.entered(member, id);
        if (!isRead(state, member) || named.count(member) > 0 || !entered || *entered >= sequence) continue;
        for (const auto& [peer, record] : peers)
            if (passedIt(state, member, rankAt(state, peer), record)) {
                found.passed.insert(member);
                break;
            }
    }
    return found;
}

} // namespace

void nameSkipped(const HangState& state, NamedRanks& named, std::vector<OneOf>& sets)
{
    NamedRanks found;
    for (std::size_t g = 0; g < state.groups.size(); ++g) {
        const HangGroup& group = state.groups[g];
        const auto id = static_cast<std::int32_t>(g);
        const auto most = furthest(state, group);
        if (!most || group.members.size() < 2) continue;
        const std::int64_t sequence = *most + 1;
        const LeftOut out = leftOutOf(state, group, id, sequence, named);
        if (out.passed.empty() || out.entered.empty()) continue;
        const std::int32_t one = *out.entered.begin();
        const std::uint32_t operation =
            rankAt(state, one).records[static_cast<std::size_t>(recordOf(rankAt(state, one), id, sequence))].name;
        if (out.entered.size() == out.passed.size()) {
            OneOf set{{out.entered.begin(), out.entered.end()}, id, sequence, operation, OneOf::Why::SkippedOrExtra};
            set.ranks.insert(set.ranks.end(), out.passed.begin(), out.passed.end());
            std::sort(set.ranks.begin(), set.ranks.end());
            sets.push_back(std::move(set));
            continue;
        }
        const bool isExtra = out.entered.size() < out.passed.size();
        const auto& wrongRanks = isExtra ? out.entered : out.passed;
        const auto& others = isExtra ? out.passed : out.entered;
        for (const std::int32_t rank : wrongRanks) {
            NamedRank& name = found[rank];
            name.reason = isExtra ? HangReason::ExtraOperation : HangReason::SkippedOperation;
            name.confidence = HangConfidence::Certain;
            name.group = id;
            name.sequence = sequence;
            name.operation = operation;
            name.by.assign(others.begin(), others.end());
        }
    }
    named.merge(found);
}

// ---- Programs and devices that fell behind ---------------------------------------------------------------------

namespace {

const HangRecord* firstLive(const HangRank& rank)
{
    for (const HangRecord& record : rank.records)
        if (record.open && record.live == Live::Yes) return &record;
    return nullptr;
}

/// Whether both ranks finished equally much in groups of the same kind.
bool finishedTheSame(const HangState& state, std::int32_t a, std::int32_t b)
{
    std::map<std::string, std::vector<std::int64_t>> finished[2];
    const std::int32_t both[] = {a, b};
    for (int i = 0; i < 2; ++i)
        for (const auto& [group, place] : rankAt(state, both[i]).memberOf) {
            const HangGroup& of = state.groups[static_cast<std::size_t>(group)];
            const auto& completed = of.progress[static_cast<std::size_t>(place)].completed;
            if (completed) finished[i][of.description].push_back(*completed);
        }
    return finished[0] == finished[1];
}

/// Whether `ahead` entered everything that `behind` did in their common groups, and more in one: 1; the same in all: 0.
int comparedProgress(const HangState& state, std::int32_t ahead, std::int32_t behind)
{
    bool more = false;
    for (const auto& [group, place] : rankAt(state, behind).memberOf) {
        if (!rankAt(state, ahead).placeIn(group)) continue;
        const auto own = state.entered(behind, group), other = state.entered(ahead, group);
        if (!own || !other) continue;
        if (*other < *own) return -1;
        more = more || *other > *own;
    }
    return more ? 1 : 0;
}

} // namespace

void nameHostBehind(const HangState& state, NamedRanks& named)
{
    NamedRanks found;
    for (std::size_t r = 0; r < state.ranks.size(); ++r) {
        const auto place = static_cast<std::int32_t>(r);
        const HangRecord* live = isRead(state, place) && named.count(place) == 0 ? firstLive(state.ranks[r]) : nullptr;
        if (!live || live->isTransfer()) continue;
        std::set<std::int32_t> peers;
        for (const auto& [group, member] : state.ranks[r].memberOf) {
            const HangGroup& of = state.groups[static_cast<std::size_t>(group)];
            if (of.members.size() <= kLargestPeerGroup) peers.insert(of.members.begin(), of.members.end());
        }
        std::vector<std::int32_t> ahead;
        std::size_t notAhead = 0;
        for (const std::int32_t peer : peers) {
            if (peer == place || !isRead(state, peer) || named.count(peer) > 0) continue;
            const HangRecord* other = firstLive(rankAt(state, peer));
            if (!other || other->group != live->group || other->sequence != live->sequence || other->op != live->op)
                continue;
            if (!finishedTheSame(state, place, peer)) continue;
            if (comparedProgress(state, peer, place) > 0)
                ahead.push_back(peer);
            else
                ++notAhead;
        }
        if (ahead.size() < kLeastVoters || ahead.size() <= notAhead) continue;
        NamedRank& name = found[place];
        name.reason = HangReason::HostBehind;
        name.confidence = HangConfidence::Likely;
        name.group = live->group;
        name.sequence = live->sequence;
        name.operation = live->name;
        name.by = std::move(ahead);
    }
    named.merge(found);
}

void nameDeviceBehind(const HangState& state, NamedRanks& named)
{
    NamedRanks found;
    for (std::size_t g = 0; g < state.groups.size(); ++g) {
        const HangGroup& group = state.groups[g];
        const auto most = furthest(state, group);
        if (!most) continue;
        const std::int64_t sequence = *most + 1;
        std::vector<std::int32_t> began, waiting;
        bool all = true;
        std::uint32_t operation = 0;
        for (std::size_t i = 0; i < group.members.size(); ++i) {
            const std::int32_t member = group.members[i];
            const HangProgress& progress = group.progress[i];
            all = all && isRead(state, member) && progress.entered && *progress.entered >= sequence;
            if (!all) break;
            const std::int64_t record = recordOf(rankAt(state, member), static_cast<std::int32_t>(g), sequence);
            if (record >= 0) operation = rankAt(state, member).records[static_cast<std::size_t>(record)].name;
            const bool started = progress.started && *progress.started >= sequence;
            (started ? began : waiting).push_back(member);
        }
        if (!all || began.empty() || waiting.empty()) continue;
        for (const std::int32_t rank : waiting) {
            // A device that waits for another operation first is not at fault.
            const HangRecord* live = firstLive(rankAt(state, rank));
            if (!live || live->group != static_cast<std::int32_t>(g) || live->sequence != sequence) continue;
            NamedRank& name = found[rank];
            name.reason = HangReason::DeviceBehind;
            name.confidence = HangConfidence::Likely;
            name.group = static_cast<std::int32_t>(g);
            name.sequence = sequence;
            name.operation = operation;
            name.by = began;
        }
    }
    named.merge(found);
}

} // namespace fourwalls::diagnose
