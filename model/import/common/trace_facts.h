// SPDX-License-Identifier: Apache-2.0
// Figures of an imported file that are defined on its raw events, so that an import can be checked against an
// independent count (the definitions are in docs/import.md). They travel in the trace's audit.
#pragma once

#include "model/trace/records.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fourwalls::importers {

/// Absent: the file's format has no such thing, or there was nothing to measure.
struct TraceFacts {
    std::optional<std::int64_t> eventsTotal, gpuKernelEvents, gpuKernelTimeNs, gpuKernelBusyNs, ncclKernels, ncclTimeNs,
        memcpyEvents, memcpyTimeNs, memsetEvents, spanNs, gpuSpanNs, firstEventNs, streams, cpuOpEvents, runtimeEvents,
        pythonFunctionEvents, memoryInstants, flowStart, flowEnd, profilerSteps, nvtxRanges, memSegments, memBlocks,
        memTraceEntries, memReservedBytes, memActiveRequestedBytes, memPeakRequestedBytes, memPeakReservedBytes;
    std::map<std::string, std::int64_t> eventPhases; ///< events by ph
    std::map<std::string, std::int64_t> memActions;  ///< entries of a snapshot's history by action
};

/// How a fact is written: a count or bytes as a number, a time as exact decimal microseconds. first_event_ns is a
/// number of nanoseconds.
enum class FactKind : std::uint8_t { Number, Microseconds };

/// One column: its stable name, kind, and where it lives.
struct FactColumn {
    std::string_view name;
    FactKind kind;
    std::optional<std::int64_t> TraceFacts::*value;
};

/// The columns in the order of the contract.
const std::vector<FactColumn>& factColumns();

/// The facts as one audit record ("import_facts", with "column=value …" in its detail; times in nanoseconds, and "_ns" in
/// their names) and back. Absent if there is none.
AuditRecord toAudit(const TraceFacts& facts);
std::optional<TraceFacts> factsFromAudit(const std::vector<AuditRecord>& audit);

} // namespace fourwalls::importers
