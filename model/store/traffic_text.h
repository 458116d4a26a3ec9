// SPDX-License-Identifier: Apache-2.0
// The traffic matrix as the file stores it: a JSON array that SQLite's json_each can read.
#pragma once

#include "model/trace/records.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fourwalls::store {

/// [["tp",FROM,TO,PAYLOAD_BYTES,WIRE_BYTES,MESSAGES],...]. Characters of a group's name that JSON would escape become
/// '_'.
std::string trafficText(const std::vector<TrafficRecord>& traffic);

/// Reads exactly that form; absent if the text has another one, negative numbers or too many entries.
std::optional<std::vector<TrafficRecord>> trafficOf(std::string_view text);

} // namespace fourwalls::store
