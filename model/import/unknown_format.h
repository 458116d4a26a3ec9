// SPDX-License-Identifier: Apache-2.0
// What a file is that no importer takes, in words for a person, and what to give instead.
#pragma once

#include "model/base/result.h"

#include <string>
#include <string_view>

namespace fourwalls::importers {

/// beginning: the file's first bytes, unpacked.
Error unknownFormat(const std::string& path, std::string_view beginning);

/// A text without a byte order mark and the space before its first word.
std::string_view withoutSpace(std::string_view text);

} // namespace fourwalls::importers
