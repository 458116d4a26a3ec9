// SPDX-License-Identifier: Apache-2.0
// What the names of profiles say: that a file which cannot be read should have been one, and which files are the windows
// of one process.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace fourwalls::importers {

/// Why a file that no importer knows is a profile that was lost: it has a profile's name, and is empty, damaged or cut.
/// Empty: it is another file. beginning: its first bytes, unpacked; whole: all of them; damage: as ByteSource has it.
std::string lossOf(const std::string& name, std::string_view beginning, bool whole, const std::string& damage);

/// The files (by index) that are windows of a process before or after the one that is taken. PyTorch's
/// tensorboard_trace_handler writes one file per window, WORKER.TIME.pt.trace.json: taken is the last window that all
/// workers have. Other names are never left out.
std::vector<std::size_t> otherWindows(const std::vector<std::string>& names);

} // namespace fourwalls::importers
