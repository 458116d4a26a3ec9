// SPDX-License-Identifier: Apache-2.0
// Which counters say what.
#include "model/trace/trace_completeness.h"

#include <algorithm>
#include <array>

namespace fourwalls {

namespace {

/// The source's end is missing.
bool saysCut(const AuditRecord& record)
{
    static constexpr std::array<std::string_view, 3> kNames{"file_cut", "packed_stream_ended_early",
                                                            "event_array_not_closed"};
    return std::find(kNames.begin(), kNames.end(), record.name) != kNames.end();
}

/// Whether something is missing or in doubt because of what the counter counts.
bool saysPartial(const AuditRecord& record, std::size_t ranks)
{
    if (record.severity == AuditSeverity::Skipped || record.severity == AuditSeverity::Dropped) return true;
    if (record.name == "text_recovered" || record.name == "event_array_left_open") return true;
    return record.name == "clock_not_aligned" && ranks > 1;
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
        if (record.name == "import_entries" || record.name == "import_rows") found.entriesRead += record.count;
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
    constexpr std::string_view kResidual = "clock_residual_ns_";
    std::optional<std::int64_t> largest;
    for (const AuditRecord& record : info.audit) {
        if (record.name == "clock_not_aligned" && record.count > 0) return std::nullopt;
        if (std::string_view(record.name).substr(0, kResidual.size()) != kResidual) continue;
        largest = std::max(largest.value_or(0), record.count);
    }
    return info.header.ranks.size() > 1 ? largest : std::nullopt;
}

} // namespace fourwalls
