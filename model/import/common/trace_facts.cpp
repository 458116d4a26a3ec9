// SPDX-License-Identifier: Apache-2.0
// The columns of the facts, and facts as audit counters.
#include "model/import/common/trace_facts.h"

#include "model/import/common/decimal_time.h"
#include "model/trace/audit_counter.h"

#include <algorithm>

namespace fourwalls::importers {

namespace {

constexpr std::string_view kPhasePrefix = "phase:";
constexpr std::string_view kActionPrefix = "action:";

bool takePrefix(std::string_view& text, std::string_view prefix)
{
    if (text.substr(0, prefix.size()) != prefix) return false;
    text.remove_prefix(prefix.size());
    return true;
}

/// Phases and actions are words; anything else a file has there is one kind.
std::string word(const std::string& text)
{
    const bool plain = !text.empty() && text.find_first_of(" =\n\t") == std::string::npos;
    return plain ? text : "?";
}

/// A column's name in the audit record, which holds times in nanoseconds.
std::string auditName(const FactColumn& column)
{
    constexpr std::string_view kMicroseconds = "_us";
    std::string name(column.name);
    if (column.kind == FactKind::Microseconds && name.ends_with(kMicroseconds))
        name.replace(name.size() - kMicroseconds.size(), kMicroseconds.size(), "_ns");
    return name;
}

} // namespace

const std::vector<FactColumn>& factColumns()
{
    using F = TraceFacts;
    static const std::vector<FactColumn> kColumns{
        {"events_total", FactKind::Number, &F::eventsTotal},
        {"gpu_kernel_events", FactKind::Number, &F::gpuKernelEvents},
        {"gpu_kernel_time_us", FactKind::Microseconds, &F::gpuKernelTimeNs},
        {"gpu_kernel_busy_us", FactKind::Microseconds, &F::gpuKernelBusyNs},
        {"nccl_kernels", FactKind::Number, &F::ncclKernels},
        {"nccl_time_us", FactKind::Microseconds, &F::ncclTimeNs},
        {"memcpy_events", FactKind::Number, &F::memcpyEvents},
        {"memcpy_time_us", FactKind::Microseconds, &F::memcpyTimeNs},
        {"memset_events", FactKind::Number, &F::memsetEvents},
        {"span_us", FactKind::Microseconds, &F::spanNs},
        {"gpu_span_us", FactKind::Microseconds, &F::gpuSpanNs},
        {"first_event_ns", FactKind::Number, &F::firstEventNs},
        {"streams", FactKind::Number, &F::streams},
        {"cpu_op_events", FactKind::Number, &F::cpuOpEvents},
        {"runtime_events", FactKind::Number, &F::runtimeEvents},
        {"python_function_events", FactKind::Number, &F::pythonFunctionEvents},
        {"memory_instants", FactKind::Number, &F::memoryInstants},
        {"flow_start", FactKind::Number, &F::flowStart},
        {"flow_end", FactKind::Number, &F::flowEnd},
        {"profiler_steps", FactKind::Number, &F::profilerSteps},
        {"nvtx_ranges", FactKind::Number, &F::nvtxRanges},
        {"mem_segments", FactKind::Number, &F::memSegments},
        {"mem_blocks", FactKind::Number, &F::memBlocks},
        {"mem_trace_entries", FactKind::Number, &F::memTraceEntries},
        {"mem_reserved_bytes", FactKind::Number, &F::memReservedBytes},
        {"mem_active_requested_bytes", FactKind::Number, &F::memActiveRequestedBytes},
        {"mem_peak_requested_bytes", FactKind::Number, &F::memPeakRequestedBytes},
        {"mem_peak_reserved_bytes", FactKind::Number, &F::memPeakReservedBytes},
    };
    return kColumns;
}

AuditRecord toAudit(const TraceFacts& facts)
{
    std::string figures;
    std::int64_t figureCount = 0;
    const auto add = [&](const std::string& key, std::int64_t value) {
        figures += (figures.empty() ? "" : " ") + key + "=" + std::to_string(value);
        ++figureCount;
    };
    for (const FactColumn& column : factColumns())
        if (facts.*column.value) add(auditName(column), *(facts.*column.value));
    for (const auto& [phase, count] : facts.eventPhases) add(std::string(kPhasePrefix) + word(phase), count);
    for (const auto& [action, count] : facts.memActions) add(std::string(kActionPrefix) + word(action), count);
    return auditRecord(AuditCounter::ImportFacts, figureCount, figures);
}

std::optional<TraceFacts> factsFromAudit(const std::vector<AuditRecord>& audit)
{
    for (const AuditRecord& record : audit) {
        if (!isCounter(record, AuditCounter::ImportFacts)) continue;
        TraceFacts facts;
        std::string_view rest = record.detail;
        while (!rest.empty()) {
            std::string_view pair = rest.substr(0, rest.find(' '));
            rest.remove_prefix(std::min(pair.size() + 1, rest.size()));
            const std::size_t equals = pair.rfind('=');
            const auto value =
                equals == std::string_view::npos ? std::nullopt : integerFromText(pair.substr(equals + 1));
            if (!value) continue;
            std::string_view key = pair.substr(0, equals);
            if (takePrefix(key, kPhasePrefix))
                facts.eventPhases[std::string(key)] += *value;
            else if (takePrefix(key, kActionPrefix))
                facts.memActions[std::string(key)] += *value;
            // Earlier versions wrote nanoseconds below the names of microseconds.
            for (const FactColumn& column : factColumns())
                if (key == auditName(column) || key == column.name) facts.*column.value = *value;
        }
        return facts;
    }
    return std::nullopt;
}

} // namespace fourwalls::importers
