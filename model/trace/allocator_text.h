// SPDX-License-Identifier: Apache-2.0
// An allocator's segments and blocks as JSON arrays, which SQLite's json_each can read: in the trace file's meta and in
// exported Chrome traces.
#pragma once

#include "model/trace/records.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fourwalls {

/// So many are kept of a trace: each is read when the trace is opened, and the longest text of so many has less than 8 MiB,
/// which is what a trace file can hold in one value.
inline constexpr std::size_t kMostSegments = 50'000, kMostBlocks = 120'000;
inline constexpr std::int64_t kMostAddress = std::int64_t{1} << 62;      ///< so that an end can be added
inline constexpr std::int64_t kMostSegmentBytes = std::int64_t{1} << 42; ///< so that all can be added up

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

struct AllocatorLeftOut {
    std::int64_t segments = 0, blocks = 0;
};
/// Leaves as many as a trace keeps: of the segments those that existed longest, of the blocks the largest. Sorts both.
AllocatorLeftOut limitAllocatorState(TraceClosing& closing);

} // namespace fourwalls
