// SPDX-License-Identifier: Apache-2.0
// Which operations follow one another anywhere in a job: tells an operation in a wrong place where a vote is equal.
#pragma once

#include "model/diagnose/hang_state.h"

#include <cstdint>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace fourwalls::diagnose {

/// One record of one rank.
struct RecordPlace {
    std::int32_t rank = 0;
    std::size_t record = 0;
};

class OperationPairs {
public:
    explicit OperationPairs(const HangState& state);

    /// How often the record's neighbours in program order stand beside such a record elsewhere: the rarer of both. 0 if it
    /// has none. Records in `except` do not count.
    std::int64_t seenBeside(const RecordPlace& place, const std::vector<RecordPlace>& except) const;
    /// How often `second` follows `first`, records in `except` and their neighbours left out.
    std::int64_t seenInOrder(const HangRecord& first, const HangRecord& second,
                             const std::vector<RecordPlace>& except) const;
    /// How many records of groups of the same description have the record's signature, and how many there are in all;
    /// ranks in `except` do not count.
    struct Kind {
        std::int64_t same = 0, all = 0;
    };
    Kind seenInKind(const HangRecord& record, const std::vector<RecordPlace>& except) const;

private:
    /// A record without its numbers: the kind of its group, and what members must agree on.
    std::uint64_t kindOf(const HangRecord& record) const;
    std::uint32_t descriptionOf(const HangRecord& record) const
    {
        return m_descriptions[static_cast<std::size_t>(record.group)];
    }
    static std::uint64_t joined(std::uint64_t first, std::uint64_t second) { return first << 32 | second; }

    const HangState& m_state;
    std::vector<std::uint32_t> m_descriptions; ///< of each group
    mutable std::unordered_map<std::uint64_t, std::uint32_t> m_kinds;
    std::unordered_map<std::uint64_t, std::int64_t> m_pairs, m_records;
    std::unordered_map<std::uint32_t, std::int64_t> m_ofDescription;
};

} // namespace fourwalls::diagnose
