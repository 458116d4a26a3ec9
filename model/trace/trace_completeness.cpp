// SPDX-License-Identifier: Apache-2.0
// Which counters say what.
#include "model/trace/trace_completeness.h"

#include "model/trace/audit_counter.h"

#include <algorithm>

namespace fourwalls {

namespace {

using Doubt = AuditCounterInfo::Doubt;

Doubt doubtOf(const AuditRecord& record)
{
    const auto counter = counterOf(record);
    return counter ? infoOf(*counter).doubt : Doubt::None;
}

/// The source's end is missing.
bool saysCut(const AuditRecord& record)
{
    return doubtOf(record) == Doubt::Cut;
}

/// Whether something is missing or in doubt because of what the counter counts.
bool saysPartial(const AuditRecord& record, std::size_t ranks)
{
    if (record.severity == AuditSeverity::Skipped || record.severity == AuditSeverity::Dropped) return true;
    const Doubt doubt = doubtOf(record);
    return doubt == Doubt::Partial || (doubt == Doubt::PartialOfSeveralRanks && ranks > 1);
}

} // namespace

std::string_view name(Completeness completeness)
{
    switch (completeness) {
    case Completeness::Complete: return "complete";
    case Completeness::Partial: return "partial";
    case Completeness::Cut: return "cut";
    case Completeness::Interrupted: break;
    }
    return "interrupted";
}

TraceCompleteness completenessOf(const TraceInfo& info)
{
    TraceCompleteness found;
    for (const AuditRecord& record : info.audit) {
        if (record.count <= 0) continue;
        if (isCounter(record, AuditCounter::ImportEntries) || isCounter(record, AuditCounter::ImportRows))
            found.entriesRead += record.count;
        const bool cut = saysCut(record);
        if (!cut && !saysPartial(record, info.header.ranks.size())) continue;
        found.state = std::max(found.state, cut ? Completeness::Cut : Completeness::Partial);
        found.reasons.push_back(record);
    }
    if (!info.complete) found.state = Completeness::Interrupted;
    std::stable_sort(found.reasons.begin(), found.reasons.end(), [](const AuditRecord& a, const AuditRecord& b) {
        return saysCut(a) != saysCut(b) ? saysCut(a) : a.severity > b.severity;
    });
    return found;
}

std::string describe(const AuditRecord& record)
{
    std::string text = record.name;
    std::replace(text.begin(), text.end(), '_', ' ');
    text += ": " + std::to_string(record.count);
    if (!record.detail.empty()) text += " (" + record.detail + ")";
    return text;
}

std::string sentenceOf(const TraceCompleteness& completeness)
{
    std::string text;
    switch (completeness.state) {
    case Completeness::Complete: return "complete";
    case Completeness::Partial: text = "partial"; break;
    case Completeness::Cut:
        text = "the file ends early";
        if (completeness.entriesRead > 0) text += ": " + std::to_string(completeness.entriesRead) + " events read";
        break;
    case Completeness::Interrupted: text = "the recording was interrupted: what was written until then is shown"; break;
    }
    const char* before = completeness.state == Completeness::Partial ? ": " : "; ";
    for (const AuditRecord& reason : completeness.reasons) {
        text += before + describe(reason);
        before = "; ";
    }
    return text;
}

std::optional<std::int64_t> clockErrorOf(const TraceInfo& info)
{
    std::optional<std::int64_t> largest;
    for (const AuditRecord& record : info.audit) {
        if (isCounter(record, AuditCounter::ClockNotAligned) && record.count > 0) return std::nullopt;
        if (!isCounter(record, AuditCounter::ClockResidual)) continue;
        largest = std::max(largest.value_or(0), record.count);
    }
    return info.header.ranks.size() > 1 ? largest : std::nullopt;
}

} // namespace fourwalls
