// SPDX-License-Identifier: Apache-2.0
// An allocator's segments and blocks as JSON arrays, which SQLite's json_each can read: in the trace file's meta and in
// exported Chrome traces.
#pragma once

#include "model/trace/records.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fourwalls {

/// So many are kept of a trace: each is read when the trace is opened.
inline constexpr std::size_t kMostSegments = 50'000, kMostBlocks = 150'000;

/// [[RANK,ADDRESS,BYTES,START,END or null,STREAM,FLAGS],...]; flags: 1 small, 2 private pool, 4 expandable.
std::string segmentsText(const std::vector<AllocatorSegment>& segments);
/// [[RANK,BUFFER,BYTES,LET_GO or null],...].
std::string blocksText(const std::vector<AllocatorBlock>& blocks);

/// Read exactly that form, in any order; absent if the text has another one, times or sizes beyond those of a trace, or too
/// many entries.
std::optional<std::vector<AllocatorSegment>> segmentsOf(std::string_view text);
std::optional<std::vector<AllocatorBlock>> blocksOf(std::string_view text);

/// Puts both in the order that a trace has them.
void sortAllocatorState(TraceClosing& closing);

} // namespace fourwalls
