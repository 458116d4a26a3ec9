// SPDX-License-Identifier: Apache-2.0
// Stacks of a stopped Python program, as text: what `py-spy dump` prints and what faulthandler writes.
#pragma once

#include <string>
#include <string_view>

namespace fourwalls::importers {

/// The main thread's stack of a text of either kind, innermost frame first, one frame a line; empty if it is none.
std::string mainThreadStack(std::string_view text);

/// The same of a file of at most 16 MiB; empty if it is none or cannot be read.
std::string readThreadStack(const std::string& path);

} // namespace fourwalls::importers
