// SPDX-License-Identifier: GPL-3.0-or-later
// What to record, where a trace says nothing of memory: one text for the Memory view and for the overview.
#pragma once

#include "model/trace/trace_query.h"

#include <QString>

namespace fourwalls::views {

/// Lines of text with what is missing and the exact lines to write; empty where the trace has buffers or an allocator's
/// curve.
QString memoryAdvice(const TraceInfo& info);

} // namespace fourwalls::views
