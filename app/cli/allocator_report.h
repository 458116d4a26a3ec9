// SPDX-License-Identifier: Apache-2.0
// What a caching allocator held at the moments that matter, as JSON and as text.
#pragma once

#include "model/trace/allocator_map.h"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace fourwalls::cli {

/// [{"rank","moment","at_ns","segments","reserved_bytes","cut_bytes","requested_bytes","awaited_bytes","free_bytes",
/// "largest_free_bytes","fragmentation","outside_bytes"}]; at out-of-memory also "asked_bytes","device_free_bytes" (null:
/// not known) and "refused_because" ("fragmented", "full" or null).
nlohmann::json allocatorJson(const std::vector<AllocatorMoment>& moments);
/// A paragraph; empty without moments.
std::string allocatorText(const std::vector<AllocatorMoment>& moments);

} // namespace fourwalls::cli
