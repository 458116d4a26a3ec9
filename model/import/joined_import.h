// SPDX-License-Identifier: Apache-2.0
// Kernels from one profiler and buffers from PyTorch's memory recorder, of the same run, as one trace on one clock.
#pragma once

#include "model/import/common/trace_import.h"

#include <memory>

namespace fourwalls::importers {

/// kernels: what ran. buffers: memory snapshots of the same run. Both stamp events with the system's clock, so that
/// Unix times join them; where one has none, both begin together and the audit says so. Ranks of the snapshots are
/// those of the kernels where numbers fit, else they are paired in order. The snapshot's buffers replace those that
/// the other profile has of the same ranks.
std::unique_ptr<TraceImport> joinSnapshots(std::unique_ptr<TraceImport> kernels, std::unique_ptr<TraceImport> buffers);

} // namespace fourwalls::importers
