// SPDX-License-Identifier: Apache-2.0
// The audit counters that programs read: one list with the name, severity and meaning of each. A counter that only people
// read needs no entry here; docs/trace-format.md has the names that other programs may rely on.
#pragma once

#include "model/trace/records.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fourwalls {

enum class AuditCounter : std::uint8_t {
    ImportEntries,
    ImportRows,
    ImportFacts,
    FileCut,
    PackedStreamEnded,
    EventsNotClosed,
    EventsLeftOpen,
    TextRecovered,
    RankUnknown,
    RankAssumed,
    CollectivesMatched,
    CollectivesUnnumbered,
    ClockNotAligned,
    ClockOffset,   ///< of a rank
    ClockResidual, ///< of a rank
    StepsFrom,     ///< of a source
    StepsUnknown,
    Inferred, ///< of a field
    NoTimes,
    MemoryRelative,
    FlopsUnassigned,
    NoGpuWork,
    DetailLevel,
    CollectorMessage, ///< of a code
};

struct AuditCounterInfo {
    /// What the counter says about how much of its source a trace holds, beyond what the severity says.
    enum class Doubt : std::uint8_t { None, Partial, PartialOfSeveralRanks, Cut };

    AuditCounter counter;
    std::string_view name; ///< one that ends in "_" is a family: the rank, field, source or code stands behind it
    AuditSeverity severity;
    Doubt doubt;
    std::string_view meaning; ///< also the detail of records that have none of their own
};

/// All of them, in the order of AuditCounter.
std::span<const AuditCounterInfo> auditCounters();
const AuditCounterInfo& infoOf(AuditCounter counter);

/// detail: empty for the counter's meaning. of: which member of a family.
AuditRecord auditRecord(AuditCounter counter, std::int64_t count, std::string detail = {}, std::string_view of = {});

/// Absent for counters that only people read.
std::optional<AuditCounter> counterOf(const AuditRecord& record);
inline bool isCounter(const AuditRecord& record, AuditCounter counter)
{
    return counterOf(record) == counter;
}
/// Whether an audit has a record of that counter.
bool hasCounter(const std::vector<AuditRecord>& audit, AuditCounter counter);
/// The rank, field, source or code of a record of a family; empty for other counters.
std::string_view memberOf(const AuditRecord& record);

} // namespace fourwalls
