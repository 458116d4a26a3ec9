// SPDX-License-Identifier: Apache-2.0
// One numbering of groups, texts and transfers for all ranks.
#include "model/diagnose/hang_state.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <unordered_map>

namespace fourwalls::diagnose {

namespace {

class StateBuilder {
public:
    explicit StateBuilder(const std::vector<FlightDump>& dumps) : m_dumps(dumps) { textId(""); }

    HangState build()
    {
        collectRanks();
        collectGroups();
        for (const FlightDump& dump : m_dumps) fill(dump);
        for (HangRank& rank : m_state.ranks) {
            numberTransfers(rank);
            markLive(rank);
        }
        return std::move(m_state);
    }

private:
    std::uint32_t textId(const std::string& text)
    {
        const auto [found, isNew] = m_texts.try_emplace(text, static_cast<std::uint32_t>(m_state.texts.size()));
        if (isNew) m_state.texts.push_back(text);
        return found->second;
    }

    void collectRanks()
    {
        std::set<int> numbers;
        for (const FlightDump& dump : m_dumps) {
            numbers.insert(dump.rank);
            for (const FlightGroup& group : dump.groups) numbers.insert(group.ranks.begin(), group.ranks.end());
        }
        for (const int number : numbers) {
            m_placeOf[number] = static_cast<std::int32_t>(m_state.ranks.size());
            m_state.ranks.push_back({});
            m_state.ranks.back().rank = number;
        }
    }

    /// Groups are told by name. Where no dump says who is in a group, its members are those that have records of it.
    void collectGroups()
    {
        std::map<std::string, std::set<int>> seenIn;
        for (const FlightDump& dump : m_dumps)
            for (const FlightGroup& group : dump.groups) {
                const auto [found, isNew] =
                    m_groupOf.try_emplace(group.name, static_cast<std::int32_t>(m_state.groups.size()));
                if (isNew) m_state.groups.push_back({group.name, group.description, {}, {}, false});
                HangGroup& made = m_state.groups[static_cast<std::size_t>(found->second)];
                if (made.description.empty()) made.description = group.description;
                seenIn[group.name].insert(dump.rank);
                std::vector<std::int32_t> members;
                for (const int rank : group.ranks) members.push_back(m_placeOf.at(rank));
                if (made.members.empty())
                    made.members = std::move(members);
                else if (!members.empty() && members != made.members)
                    ++m_state.contradictingGroups;
            }
        for (std::size_t g = 0; g < m_state.groups.size(); ++g) {
            HangGroup& group = m_state.groups[g];
            if (group.members.empty())
                for (const int rank : seenIn[group.name]) group.members.push_back(m_placeOf.at(rank));
            group.progress.resize(group.members.size());
            for (std::size_t i = 0; i < group.members.size(); ++i)
                m_state.ranks[static_cast<std::size_t>(group.members[i])].memberOf.emplace_back(
                    static_cast<std::int32_t>(g), static_cast<std::int32_t>(i));
        }
        for (const FlightDump& dump : m_dumps)
            for (const FlightRecord& record : dump.records)
                if (isTransfer(record.op)) {
                    const std::string& name = dump.groups[static_cast<std::size_t>(record.group)].name;
                    m_state.groups[static_cast<std::size_t>(m_groupOf.at(name))].hasTransfers = true;
                }
    }

    void fill(const FlightDump& dump)
    {
        const std::int32_t place = m_placeOf.at(dump.rank);
        HangRank& rank = m_state.ranks[static_cast<std::size_t>(place)];
        rank.dump = dump.error.empty() ? DumpState::Read : DumpState::Unreadable;
        rank.problem = dump.error;
        rank.stack = dump.stack;
        if (rank.dump != DumpState::Read) return;
        std::vector<std::uint32_t> texts;
        for (const std::string& text : dump.texts) texts.push_back(textId(text));
        std::vector<std::int32_t> groups;
        for (const FlightGroup& group : dump.groups) groups.push_back(m_groupOf.at(group.name));
        takeCounters(dump, rank, groups);
        for (const FlightRecord& from : dump.records) {
            HangRecord record;
            record.id = from.id;
            record.sequence = from.sequence;
            record.group = groups[static_cast<std::size_t>(from.group)];
            const HangGroup& group = m_state.groups[static_cast<std::size_t>(record.group)];
            record.from = memberAt(group, from.from);
            record.to = memberAt(group, from.to);
            record.name = texts[from.name];
            record.sizes = texts[from.sizes];
            record.stack = texts[from.stack];
            record.op = from.op;
            record.open = from.state != FlightState::Completed;
            record.started = from.state == FlightState::Started;
            record.createdNs = from.createdNs;
            record.signature = signatureOf(record, texts[from.types]);
            rank.hasHistory = rank.hasHistory || !record.open;
            if (!record.isTransfer()) countRecord(rank, record);
            rank.records.push_back(record);
        }
    }

    void takeCounters(const FlightDump& dump, HangRank& rank, const std::vector<std::int32_t>& groups)
    {
        for (std::size_t i = 0; i < groups.size(); ++i) {
            const FlightGroup& from = dump.groups[i];
            // Of a group with transfers, the counters are of these, and each rank counts them for itself.
            if (m_state.groups[static_cast<std::size_t>(groups[i])].hasTransfers) continue;
            const auto member = rank.placeIn(groups[i]);
            if (!member) continue;
            HangProgress& progress =
                m_state.groups[static_cast<std::size_t>(groups[i])].progress[static_cast<std::size_t>(*member)];
            progress.entered = from.enqueued;
            progress.completed = from.completed;
            if (from.started && *from.started >= 0) progress.started = from.started;
        }
    }

    void countRecord(const HangRank& rank, const HangRecord& record)
    {
        const auto member = rank.placeIn(record.group);
        if (!member) return;
        HangProgress& progress =
            m_state.groups[static_cast<std::size_t>(record.group)].progress[static_cast<std::size_t>(*member)];
        progress.entered = std::max(progress.entered.value_or(record.sequence), record.sequence);
        if (record.started || (!record.open && progress.started))
            progress.started = std::max(progress.started.value_or(record.sequence), record.sequence);
        if (!record.open) progress.completed = std::max(progress.completed.value_or(record.sequence), record.sequence);
        // Collectives of a group are finished in order.
        if (record.open && !progress.completed) progress.completed = record.sequence - 1;
    }

    static std::int32_t memberAt(const HangGroup& group, std::int32_t place)
    {
        return place >= 0 && static_cast<std::size_t>(place) < group.members.size()
                   ? group.members[static_cast<std::size_t>(place)]
                   : -1;
    }

    std::uint32_t signatureOf(const HangRecord& record, std::uint32_t types)
    {
        const std::uint32_t sizes = sizesDiffer(record.op) ? 0 : record.sizes;
        const auto [found, isNew] = m_signatures.try_emplace(std::tuple(record.name, types, sizes),
                                                             static_cast<std::uint32_t>(m_signatures.size()));
        return found->second;
    }

    /// The k-th open send on an edge meets the k-th open receive.
    static void numberTransfers(HangRank& rank)
    {
        std::map<std::tuple<std::int32_t, std::int32_t, std::int32_t>, std::int64_t> next;
        for (HangRecord& record : rank.records)
            if (record.isTransfer() && record.open) record.sequence = next[{record.group, record.from, record.to}]++;
    }

    const std::vector<FlightDump>& m_dumps;
    HangState m_state;
    std::map<int, std::int32_t> m_placeOf;
    std::unordered_map<std::string, std::int32_t> m_groupOf;
    std::unordered_map<std::string, std::uint32_t> m_texts;
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::uint32_t> m_signatures;
};

} // namespace

std::optional<std::int32_t> HangRank::placeIn(std::int32_t group) const
{
    for (const auto& [each, place] : memberOf)
        if (each == group) return place;
    return std::nullopt;
}

bool HangRank::hasOpen() const
{
    return std::any_of(records.begin(), records.end(), [](const HangRecord& record) { return record.open; });
}

const HangProgress& HangState::progress(std::int32_t rank, std::int32_t group) const
{
    static const HangProgress kUnknown;
    const auto place = ranks[static_cast<std::size_t>(rank)].placeIn(group);
    return place ? groups[static_cast<std::size_t>(group)].progress[static_cast<std::size_t>(*place)] : kUnknown;
}

HangProgress& HangState::progress(std::int32_t rank, std::int32_t group)
{
    const auto place = ranks[static_cast<std::size_t>(rank)].placeIn(group);
    return groups[static_cast<std::size_t>(group)].progress[static_cast<std::size_t>(place.value_or(0))];
}

std::optional<std::int64_t> HangState::entered(std::int32_t rank, std::int32_t group) const
{
    return progress(rank, group).entered;
}

std::optional<std::int64_t> HangState::completed(std::int32_t rank, std::int32_t group) const
{
    return progress(rank, group).completed;
}

HangState hangStateOf(const std::vector<FlightDump>& dumps)
{
    return StateBuilder(dumps).build();
}

void markLive(HangRank& rank)
{
    // The newest operation that is known to be finished: a record that says so, or a number that is missing between two.
    std::int64_t finished = -1;
    for (std::size_t i = 0; i < rank.records.size(); ++i) {
        HangRecord& record = rank.records[i];
        record.live = Live::No;
        if (!record.open) finished = std::max(finished, record.id);
        if (i > 0 && record.id > rank.records[i - 1].id + 1) finished = std::max(finished, record.id - 1);
    }
    HangRecord* lastBefore = nullptr;
    std::size_t first = rank.records.size(); // the first open one after what is finished
    for (std::size_t i = 0; i < rank.records.size(); ++i) {
        HangRecord& record = rank.records[i];
        if (!record.open) continue;
        if (record.id < finished) {
            record.live = Live::Yes;
            lastBefore = &record;
        } else if (first == rank.records.size()) {
            first = i;
        }
    }
    if (first == rank.records.size()) return;
    // Of two transfers that were issued together, the second is finished and the first is not: the rank waits for it.
    if (lastBefore && lastBefore->isTransfer() && finished == lastBefore->id + 1) return;
    HangRecord& record = rank.records[first];
    record.live = Live::Yes;
    if (!record.isTransfer() || first + 1 >= rank.records.size()) return;
    HangRecord& second = rank.records[first + 1];
    if (second.open && second.isTransfer() && second.id == record.id + 1) second.live = Live::Maybe;
}

} // namespace fourwalls::diagnose
