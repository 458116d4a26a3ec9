// SPDX-License-Identifier: Apache-2.0
// The text of resources/text, built into the program, so that a run without --data has something real to learn.
#pragma once

#include <string_view>

namespace fourwalls::engine {

/// The whole text, one byte per token. Lives as long as the program.
std::string_view builtinText();

} // namespace fourwalls::engine
