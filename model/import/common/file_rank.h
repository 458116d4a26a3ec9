// SPDX-License-Identifier: Apache-2.0
// The rank that the name of a file tells.
#pragma once

#include <optional>
#include <string_view>

namespace fourwalls::importers {

/// A rank written in a file's name ("rank-70.", "worker3_", "_rank_0."), else in the names of the
/// folders around it; absent if there is none.
std::optional<int> rankFromFileName(std::string_view path);

} // namespace fourwalls::importers
