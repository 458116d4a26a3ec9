// SPDX-License-Identifier: Apache-2.0
// What traces and checkpoints need of the file system: folders of paths, and bytes that are really on the disk.
#pragma once

#include "model/base/result.h"

#include <string>

namespace fourwalls {

/// The folder that a path lies in; "." for a bare name.
std::string folderOf(const std::string& path);

/// Returns when the disk has the file's content (or the folder's names). Errors: Io.
Status bringToDisk(const std::string& path);

} // namespace fourwalls
