// SPDX-License-Identifier: GPL-3.0-or-later
// The trace's vocabulary in the user's language.
#pragma once

#include "model/trace/vocabulary.h"

#include <QString>

namespace fourwalls::views {

QString words(TraceSource source);      ///< "recorded"
QString words(ClockKind clock);         ///< "wall clock"
QString words(SliceKind kind);
QString words(Phase phase);
QString words(Activity activity);
QString words(MemoryCategory category);
QString words(CollectiveOp operation);
QString words(AuditSeverity severity);

} // namespace fourwalls::views
