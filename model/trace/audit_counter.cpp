// SPDX-License-Identifier: Apache-2.0
// The list.
#include "model/trace/audit_counter.h"

#include <algorithm>
#include <array>
#include <utility>

namespace fourwalls {

namespace {

using Doubt = AuditCounterInfo::Doubt;
using enum AuditSeverity;

constexpr std::array<AuditCounterInfo, 24> kAuditCounters{{
    {AuditCounter::ImportEntries, "import_entries", Info, Doubt::None, "entries read"},
    {AuditCounter::ImportRows, "import_rows", Info, Doubt::None, "rows read"},
    {AuditCounter::ImportFacts, "import_facts", Info, Doubt::None, "figures of the raw events"},
    {AuditCounter::FileCut, "file_cut", Dropped, Doubt::Cut, "the file ends before what it holds does"},
    {AuditCounter::PackedStreamEnded, "packed_stream_ended_early", Dropped, Doubt::Cut,
     "the packed file ends before its stream does"},
    {AuditCounter::EventsNotClosed, "event_array_not_closed", Repaired, Doubt::Cut,
     "the file ends before its events do: a killed job, or a cut file"},
    {AuditCounter::EventsLeftOpen, "event_array_left_open", Repaired, Doubt::Partial,
     "the list of events has no end: some writers leave it out, else the job was killed or the file is cut"},
    {AuditCounter::TextRecovered, "text_recovered", Repaired, Doubt::Partial, "broken places that were passed over"},
    {AuditCounter::RankUnknown, "rank_unknown", Info, Doubt::None, "ranks whose number is a guess"},
    {AuditCounter::RankAssumed, "rank_assumed", Repaired, Doubt::None,
     "no rank in a file or its name, or one twice: numbered in order"},
    {AuditCounter::CollectivesMatched, "collectives_matched", Info, Doubt::None, "operations found on several ranks"},
    {AuditCounter::CollectivesUnnumbered, "collectives_unnumbered", Info, Doubt::None,
     "without NCCL's own numbers: members are found by time"},
    {AuditCounter::ClockNotAligned, "clock_not_aligned", Info, Doubt::PartialOfSeveralRanks,
     "ranks without enough common collectives: the files' own clocks"},
    {AuditCounter::ClockOffset, "clock_offset_ns_rank_", Info, Doubt::None, "added to this rank's times"},
    {AuditCounter::ClockResidual, "clock_residual_ns_rank_", Info, Doubt::None,
     "median distance of a collective's ends after that"},
    {AuditCounter::StepsFrom, "steps_from_", Info, Doubt::None, "steps found by that"},
    {AuditCounter::StepsUnknown, "steps_unknown", Info, Doubt::None,
     "no step marks, no NVTX ranges, no optimizer, and the kernels do not repeat"},
    {AuditCounter::Inferred, "inferred_", Info, Doubt::None, "a guess at a field of the specification"},
    {AuditCounter::NoTimes, "no_times", Info, Doubt::None,
     "the file has operators and no times: they are drawn in their order, a microsecond each"},
    {AuditCounter::MemoryRelative, "memory_relative_to_start", Info, Doubt::None,
     "the profiler did not say how much was allocated before: the curve counts from its start"},
    {AuditCounter::FlopsUnassigned, "operator_flops_unassigned", Info, Doubt::None,
     "no matrix kernel was launched by them"},
    {AuditCounter::NoGpuWork, "no_gpu_work", Skipped, Doubt::None,
     "no kernel and no copy was seen: what the host did only"},
    {AuditCounter::DetailLevel, "detail_level", Info, Doubt::None,
     "1: low, no record of each call; 2: normal; 3: full, also when the device reached each event"},
    {AuditCounter::CollectorMessage, "collector_message_", Skipped, Doubt::None, "what the collector said"},
}};

bool isFamily(const AuditCounterInfo& info)
{
    return info.name.ends_with('_');
}

bool fits(const AuditCounterInfo& info, std::string_view name)
{
    return isFamily(info) ? name.starts_with(info.name) : name == info.name;
}

} // namespace

std::span<const AuditCounterInfo> auditCounters()
{
    return kAuditCounters;
}

const AuditCounterInfo& infoOf(AuditCounter counter)
{
    return kAuditCounters[static_cast<std::size_t>(counter)];
}

AuditRecord auditRecord(AuditCounter counter, std::int64_t count, std::string detail, std::string_view of)
{
    const AuditCounterInfo& info = infoOf(counter);
    if (detail.empty()) detail = info.meaning;
    return {std::string(info.name).append(of), info.severity, count, std::move(detail)};
}

std::optional<AuditCounter> counterOf(const AuditRecord& record)
{
    const auto* const found = std::find_if(kAuditCounters.begin(), kAuditCounters.end(),
                                           [&](const AuditCounterInfo& info) { return fits(info, record.name); });
    return found == kAuditCounters.end() ? std::nullopt : std::optional(found->counter);
}

bool hasCounter(const std::vector<AuditRecord>& audit, AuditCounter counter)
{
    return std::any_of(audit.begin(), audit.end(),
                       [&](const AuditRecord& record) { return fits(infoOf(counter), record.name); });
}

std::string_view memberOf(const AuditRecord& record)
{
    const auto counter = counterOf(record);
    if (!counter || !isFamily(infoOf(*counter))) return {};
    return std::string_view(record.name).substr(infoOf(*counter).name.size());
}

} // namespace fourwalls
