// SPDX-License-Identifier: Apache-2.0
// Names of temporary files say which process made them, so that what a killed one left can be removed by the next.
#pragma once

#include <string>
#include <string_view>

namespace fourwalls {

/// "HOST-PID" of this process, for the name of a temporary file or folder.
std::string processMark();

/// Removes files and folders in `folder` whose names hold `before` and the mark of a process of this machine that no
/// longer runs.
void removeAbandoned(const std::string& folder, std::string_view before);

/// Removes the file or folder `path` and SQLite's files beside it, as a destructor can: what cannot be removed, or not
/// without memory, is left for removeAbandoned.
void removeTemporary(const std::string& path) noexcept;

} // namespace fourwalls
