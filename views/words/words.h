// SPDX-License-Identifier: GPL-3.0-or-later
// The trace's vocabulary in the user's language.
#pragma once

#include "model/trace/collective_timing.h"
#include "model/trace/trace_query.h"
#include "model/trace/vocabulary.h"

#include <QString>

namespace fourwalls::views {

QString words(TraceSource source); ///< "recorded"
QString words(ClockKind clock);    ///< "wall clock"
QString words(SliceKind kind);
QString words(Phase phase);
QString words(Activity activity);
QString words(MemoryCategory category);
QString words(CollectiveOp operation);
QString words(AuditSeverity severity);
/// Of a step that no figure counts: "warm-up", "cut", "odd"; empty for a measured one.
QString words(StepState state);
/// The same behind a step's number: " (warm-up)".
QString stepStateNote(StepState state);

/// Whose time a figure is of: "all 8 ranks", "2 of 8 ranks", "rank 0, the only one of 8 in the trace", "rank 3".
QString words(const RankScope& scope);

/// The name of a track as the screen shows it: the names that Fourwalls itself gives are translated, others stay.
QString trackName(const TrackInfo& track);
/// The same for an operator's name: steps and phases are words, all else is a name.
QString opName(const OpInfo& op);

} // namespace fourwalls::views
