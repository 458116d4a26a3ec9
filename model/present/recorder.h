// SPDX-License-Identifier: Apache-2.0
// Which tool recorded a trace.
#pragma once

#include "model/trace/records.h"

namespace fourwalls {

/// What recorded a trace, as far as advice differs.
enum class Recorder { Own, PyTorch, AscendPyTorch, NsightSystems, MemorySnapshot, Other };
Recorder recorderOf(const TraceHeader& header);

} // namespace fourwalls
