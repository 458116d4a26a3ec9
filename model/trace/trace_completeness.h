// SPDX-License-Identifier: Apache-2.0
// Whether a trace holds all that was recorded, from its audit counters: one answer for info, check, the status bar and
// the chips.
#pragma once

#include "model/trace/trace_query.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fourwalls {

/// In rising order of doubt. Partial: something of the source was not read, not there, or not understood. Cut: the source
/// ended before it was finished. Interrupted: the recording into the trace itself was.
enum class Completeness : std::uint8_t { Complete = 0, Partial = 1, Cut = 2, Interrupted = 3 };

/// Stable lower-case words (JSON, text): complete, partial, cut, interrupted.
std::string_view name(Completeness completeness);

struct TraceCompleteness {
    Completeness state = Completeness::Complete;
    std::vector<AuditRecord> reasons; ///< why not complete: the gravest first
    std::int64_t entriesRead = 0;     ///< events or rows of the source that were read; 0: not counted
};

/// Records that were skipped or dropped, sources that end early, and clocks of several ranks that could not be aligned
/// make a trace less than complete; repairs that lose nothing do not.
TraceCompleteness completenessOf(const TraceInfo& info);

/// "end without begin: 3 (…)": a counter as people read it.
std::string describe(const AuditRecord& record);

/// One line in English: "complete", "the file ends early: 1234 events read; …", "partial: …".
std::string sentenceOf(const TraceCompleteness& completeness);

/// How well the clocks of a trace's ranks agree: the largest of the ranks' median distances after alignment [ns].
/// Absent: one rank, or clocks that are common by construction or could not be aligned.
std::optional<std::int64_t> clockErrorOf(const TraceInfo& info);

} // namespace fourwalls
