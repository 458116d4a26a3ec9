// SPDX-License-Identifier: Apache-2.0
// The columns of the facts, and facts as audit counters.
#include "model/import/trace_facts.h"

namespace fourwalls::importers {

namespace {

constexpr std::string_view kPrefix = "fact_";
constexpr std::string_view kPhasePrefix = "fact_phase_";
constexpr std::string_view kActionPrefix = "fact_mem_action_";

bool takePrefix(std::string_view& text, std::string_view prefix)
{
    if (text.substr(0, prefix.size()) != prefix) return false;
    text.remove_prefix(prefix.size());
    return true;
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

std::vector<AuditRecord> toAudit(const TraceFacts& facts)
{
    std::vector<AuditRecord> audit;
    for (const FactColumn& column : factColumns()) {
        const auto& value = facts.*column.value;
        if (!value) continue;
        std::string name = std::string(kPrefix) + std::string(column.name);
        audit.push_back({std::move(name), AuditSeverity::Info, *value,
                         column.kind == FactKind::Microseconds ? "nanoseconds" : ""});
    }
    for (const auto& [phase, count] : facts.eventPhases)
        audit.push_back({std::string(kPhasePrefix) + phase, AuditSeverity::Info, count, "events of this phase"});
    for (const auto& [action, count] : facts.memActions)
        audit.push_back({std::string(kActionPrefix) + action, AuditSeverity::Info, count, "entries of this action"});
    return audit;
}

std::optional<TraceFacts> factsFromAudit(const std::vector<AuditRecord>& audit)
{
    TraceFacts facts;
    bool any = false;
    for (const AuditRecord& record : audit) {
        std::string_view name = record.name;
        if (takePrefix(name, kPhasePrefix)) {
            facts.eventPhases[std::string(name)] += record.count;
        } else if (takePrefix(name, kActionPrefix)) {
            facts.memActions[std::string(name)] += record.count;
        } else if (takePrefix(name, kPrefix)) {
            for (const FactColumn& column : factColumns())
                if (column.name == name) facts.*column.value = record.count;
        } else {
            continue;
        }
        any = true;
    }
    return any ? std::optional(facts) : std::nullopt;
}

} // namespace fourwalls::importers
