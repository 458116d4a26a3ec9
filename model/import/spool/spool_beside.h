// SPDX-License-Identifier: Apache-2.0
// How spools and what belongs to them are told from other files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fourwalls::importers {

/// Whether a file that begins so is a spool of the collector.
bool isSpool(std::string_view beginning);

/// PyTorch memory snapshots that lie beside spools under their names (HOST-PID-rankR.memory.pickle).
std::vector<std::string> snapshotsBeside(const std::vector<std::string>& spools);

} // namespace fourwalls::importers
