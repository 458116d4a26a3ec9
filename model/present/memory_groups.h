// SPDX-License-Identifier: Apache-2.0
// What was alive at one instant, added up by category, layer, operator or phase, and where in its step an instant lies.
#pragma once

#include "model/present/step_spans.h"
#include "model/trace/trace_query.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fourwalls {

/// Buffer: every buffer its own row.
enum class MemoryGrouping { Category, Layer, Operator, Phase, Buffer };

/// One row: buffers that have the asked property in common.
struct MemoryGroup {
    MemoryCategory category = MemoryCategory::Other; ///< with the most bytes in the group; the row's colour
    std::optional<LayerIndex> layer;                 ///< by layer and buffer
    std::string op;                                  ///< by operator and buffer; empty: unknown
    Phase phase = Phase::None;                       ///< by phase and buffer
    std::int64_t bytes = 0;
    std::int64_t count = 0;
    double share = 0;       ///< of all bytes alive
    bool remainder = false; ///< buffers beyond the list's limit: nothing else is known
};

/// What asked for the buffer; null: not known.
const OpInfo* makerOf(const AllocationView& item, const OpDictionary& ops);

/// Groups, most bytes first (equal bytes: in order of first mention); bytes beyond the list's limit are the last row.
std::vector<MemoryGroup> groupAlive(const AllocationList& alive, MemoryGrouping by);

/// The buffer made last among those of the list alive at `at`, of one category or of any; null if there is none.
const AllocationView* latestAlive(const AllocationList& list, Instant at,
                                  std::optional<MemoryCategory> category = std::nullopt);

/// Where in the step an instant lies, from the phases recorded around it.
enum class PhasePlace { Unknown, Begin, During, End };
struct InstantPhase {
    PhasePlace place = PhasePlace::Unknown;
    Phase phase = Phase::None;
};

/// Begin and End are the first and last 15 % of the shortest phase around `at`; between two phases it is the end of
/// the earlier one.
InstantPhase placeIn(const std::vector<PhaseSpan>& phases, Instant at);

} // namespace fourwalls
