// SPDX-License-Identifier: Apache-2.0
// How spools and what belongs to them are told from other files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fourwalls::importers {

/// Audit record of a recording whose operations (some or all) have no numbers of the job.
inline constexpr char kCollectivesUnnumbered[] = "collectives_unnumbered";

/// Audit record of a recording in which nothing ran on a GPU.
inline constexpr char kNoGpuWork[] = "no_gpu_work";

/// Whether a file that begins so is a spool of the collector.
bool isSpool(std::string_view beginning);

/// PyTorch memory snapshots that lie beside spools under their names (HOST-PID-rankR.memory.pickle).
std::vector<std::string> snapshotsBeside(const std::vector<std::string>& spools);

} // namespace fourwalls::importers
