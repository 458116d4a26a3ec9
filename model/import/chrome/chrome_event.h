// SPDX-License-Identifier: Apache-2.0
// One entry of a Chrome trace's event array, as tokens that point into the text.
#pragma once

#include "model/import/common/json_scan.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace fourwalls::importers {

/// The keys of an event that the importer reads, besides args.
enum class EventKey : std::uint8_t { Ph, Cat, Name, Pid, Tid, Ts, Dur, Id, Id2, Scope, S, BindPoint, Args, Count };

/// The keys of args that the importer reads: an allow-list. Everything else is skipped unseen.
enum class ArgKey : std::uint8_t {
    Correlation,
    Stream,
    Device,
    Bytes,
    Name,
    Labels,
    SortIndex,
    DeviceType,
    DeviceId,
    Address,
    TotalAllocated,
    TotalReserved,
    InputDims,
    InputTypes,
    CollectiveName,
    InElements,
    OutElements,
    GroupSize,
    DataType,
    GroupName,
    GroupDescription,
    GroupRanks,
    Sequence,
    Rank,
    SourceRank,
    TargetRank,
    Grid,
    Block,
    ConcreteInputs,
    TaskType,
    ElementCount,
    Step,
    Stage,
    JobRank,
    ModelChunk,
    MicrobatchId,
    StepNumber,
    ExternalId,
    Count
};

class ChromeEvent {
public:
    const JsonToken& operator[](EventKey key) const { return m_keys[static_cast<std::size_t>(key)]; }
    const JsonToken& operator[](ArgKey key) const
    {
        static constexpr JsonToken kNone{};
        const auto index = static_cast<std::size_t>(key);
        return (m_argsPresent >> index & 1) != 0 ? m_args[index] : kNone;
    }
    /// The one character of ph; 0 if absent.
    char phase() const
    {
        const std::string_view ph = (*this)[EventKey::Ph].text;
        return ph.size() == 1 ? ph[0] : '\0';
    }
    bool hasDuplicateKeys() const { return m_duplicates; }

    /// Reads the object at `at` (its brace) and moves `at` behind it. The tokens live as long as the text.
    Scan read(const char*& at, const char* end);

private:
    /// What came behind a key last: events of a file are alike, and a key that is where it was expected is compared and not
    /// looked for. At most five letters and the closing quote.
    struct Follower {
        std::uint64_t mask = 0, quoted = 1; ///< at first nothing is equal
        int size = 0;
        EventKey key = EventKey::Count;
    };

    Scan readArgs(const char*& at, const char* end);
    /// key: the one before (Count: none, or an unknown one); then the one that was read.
    Scan takeEventKey(const char*& at, const char* end, EventKey& key);

    std::array<JsonToken, static_cast<std::size_t>(EventKey::Count)> m_keys;
    std::array<JsonToken, static_cast<std::size_t>(ArgKey::Count)> m_args;
    std::array<Follower, static_cast<std::size_t>(EventKey::Count) + 1> m_followers; ///< by the key before
    std::uint64_t m_argsPresent = 0;
    bool m_duplicates = false;
};

/// Whether a key as written is one that only events have at their top (ph, ts, cat, …): how a reader finds its way
/// back after broken text.
bool isEventKey(std::string_view key);

} // namespace fourwalls::importers
