// SPDX-License-Identifier: Apache-2.0
// The Python file that a recorded job runs before its script (resources/python/sitecustomize.py), built in.
#pragma once

#include <string_view>

namespace fourwalls::cli {

/// The whole file. Lives as long as the program.
std::string_view pythonHook();

} // namespace fourwalls::cli
