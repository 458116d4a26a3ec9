// SPDX-License-Identifier: Apache-2.0
// Names of kernels as people write them.
#pragma once

#include <string>
#include <string_view>

namespace fourwalls::importers {

/// A C++ name from its mangled form; other texts as they are, and so are mangled names that are damaged or whose
/// written form would be longer than a megabyte (a stranger's file may hold one that doubles itself many times over).
std::string demangledName(std::string_view name);

} // namespace fourwalls::importers
