// SPDX-License-Identifier: GPL-3.0-or-later
// Opens the predicted trace of small_spec.h, for tests of sliders and plan searches.
#pragma once

#include "model/trace/in_memory_query.h"
#include "tests/support/small_spec.h"
#include "views/session/trace_session.h"

#include <memory>

namespace fourwalls::sample {

/// Opens that trace whatever the path.
inline views::TraceOpener opener(const RunSpec& spec)
{
    return [data = predicted(spec)](const QString&) -> Result<std::unique_ptr<TraceQuery>> {
        return std::unique_ptr<TraceQuery>(std::make_unique<InMemoryTraceQuery>(data));
    };
}

} // namespace fourwalls::sample
