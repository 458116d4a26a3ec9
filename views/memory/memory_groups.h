// SPDX-License-Identifier: GPL-3.0-or-later
// What was alive at one instant, added up by category, layer, operator or phase, and the sentence that says when
// and of what the peak is made.
#pragma once

#include "model/trace/trace_query.h"
#include "views/session/step_spans.h"
#include "views/words/format.h"

#include <QColor>
#include <QString>

#include <optional>
#include <vector>

namespace fourwalls::views {

/// Buffer: every buffer its own row.
enum class MemoryGrouping { Category, Layer, Operator, Phase, Buffer };

/// One row: buffers that have the asked property in common.
struct MemoryGroup {
    MemoryCategory category = MemoryCategory::Other; ///< with the most bytes in the group; the row's colour
    std::optional<LayerIndex> layer;                 ///< by layer and buffer
    QString op;                                      ///< by operator and buffer; empty: unknown
    Phase phase = Phase::None;                       ///< by phase and buffer
    std::int64_t bytes = 0;
    std::int64_t count = 0;
    double share = 0;       ///< of all bytes alive
    bool remainder = false; ///< buffers beyond the list's limit: nothing else is known
};

/// Groups, most bytes first (equal bytes: in order of first mention); bytes beyond the list's limit are the last row.
std::vector<MemoryGroup> groupAlive(const AllocationList& alive, MemoryGrouping by);

/// The row's name for a person ("activations", "layer 12", "attention.scores").
QString labelOf(const MemoryGroup& group, MemoryGrouping by);

/// The operator's name, or in the user's language that nobody knows it.
QString nameOfMaker(const std::string& name);
/// "aten::mul", which a snapshot's stack begins with; empty: not said.
QString atenOf(const OpInfo& op);
/// The colour of a buffer's block: its category's; of a buffer of no category one by its maker's name, so that what one
/// line of code made stands out from what others made.
QColor colourOfBlock(const AllocationView& item, const OpDictionary& ops);

/// "layer 12 · attention.scores · forward": what asked for the buffer, with the parts that are known.
QString originOf(const AllocationView& item, const OpDictionary& ops);

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

/// "peaks at 3.65 GB as backward begins: 85 % activations". total and parts in bytes; parts add up to total.
QString peakSentence(const QString& total, const CategoryBytes& parts, const InstantPhase& place);

} // namespace fourwalls::views
