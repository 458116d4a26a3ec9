// SPDX-License-Identifier: Apache-2.0
// Counts over all ranks, from which those of some ranks are taken off when they are asked for.
#include "model/diagnose/operation_pairs.h"

#include <algorithm>
#include <optional>

namespace fourwalls::diagnose {

namespace {

bool follows(const HangRecord& first, const HangRecord& second)
{
    return second.id == first.id + 1;
}

} // namespace

OperationPairs::OperationPairs(const HangState& state) : m_state(state)
{
    std::unordered_map<std::string, std::uint32_t> descriptions;
    for (const HangGroup& group : state.groups)
        m_descriptions.push_back(
            descriptions.try_emplace(group.description, static_cast<std::uint32_t>(descriptions.size())).first->second);
    for (const HangRank& rank : state.ranks)
        for (std::size_t i = 0; i < rank.records.size(); ++i) {
            ++m_records[kindOf(rank.records[i])];
            ++m_ofDescription[descriptionOf(rank.records[i])];
            if (i > 0 && follows(rank.records[i - 1], rank.records[i]))
                ++m_pairs[joined(kindOf(rank.records[i - 1]), kindOf(rank.records[i]))];
        }
}

std::uint64_t OperationPairs::kindOf(const HangRecord& record) const
{
    const std::uint64_t key = joined(descriptionOf(record), record.signature);
    return m_kinds.try_emplace(key, static_cast<std::uint32_t>(m_kinds.size())).first->second;
}

std::int64_t OperationPairs::seenInOrder(const HangRecord& first, const HangRecord& second,
                                         const std::vector<RecordPlace>& except) const
{
    const std::uint64_t a = kindOf(first), b = kindOf(second);
    const auto found = m_pairs.find(joined(a, b));
    if (found == m_pairs.end()) return 0;
    std::int64_t count = found->second;
    for (const RecordPlace& place : except) {
        const auto& records = m_state.ranks[static_cast<std::size_t>(place.rank)].records;
        // The pairs before and behind the record.
        for (std::size_t i = std::max<std::size_t>(place.record, 1); i < std::min(place.record + 2, records.size());
             ++i)
            count -= follows(records[i - 1], records[i]) && kindOf(records[i - 1]) == a && kindOf(records[i]) == b;
    }
    return count;
}

std::int64_t OperationPairs::seenBeside(const RecordPlace& place, const std::vector<RecordPlace>& except) const
{
    const auto& records = m_state.ranks[static_cast<std::size_t>(place.rank)].records;
    std::optional<std::int64_t> rarer;
    for (std::size_t i = std::max<std::size_t>(place.record, 1); i < std::min(place.record + 2, records.size()); ++i) {
        if (!follows(records[i - 1], records[i])) continue;
        const std::int64_t seen = seenInOrder(records[i - 1], records[i], except);
        rarer = std::min(rarer.value_or(seen), seen);
    }
    return rarer.value_or(0);
}

OperationPairs::Kind OperationPairs::seenInKind(const HangRecord& record, const std::vector<RecordPlace>& except) const
{
    const std::uint64_t kind = kindOf(record);
    const auto found = m_records.find(kind);
    Kind seen{found == m_records.end() ? 0 : found->second, m_ofDescription.at(descriptionOf(record))};
    for (const RecordPlace& place : except)
        for (const HangRecord& other : m_state.ranks[static_cast<std::size_t>(place.rank)].records) {
            seen.same -= kindOf(other) == kind;
            seen.all -= descriptionOf(other) == descriptionOf(record);
        }
    return seen;
}

} // namespace fourwalls::diagnose
