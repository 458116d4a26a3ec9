// SPDX-License-Identifier: Apache-2.0
// The device clock's table of kernel times as a file, so that recordings of different plans can share one: what differs
// between them is then the plan, not the weather of the machine.
#pragma once

#include "model/base/result.h"
#include "profiler/engine/core/kernel_times.h"

#include <string>

namespace fourwalls::engine {

/// Reads what writeKernelTable wrote; an empty table if there is no such file. Errors: Io; Format for anything else.
Result<KernelMedians::Table> readKernelTable(const std::string& path);

/// Writes beside the place and renames, so that the file is there completely or not at all. Errors: Io.
Status writeKernelTable(const std::string& path, const KernelMedians::Table& table);

} // namespace fourwalls::engine
