// SPDX-License-Identifier: Apache-2.0
// What NCCL's own watch over a job (RAS, `ncclras`, since NCCL 2.24) says of a hung job, as text. Written after NCCL,
// src/ras/client_support.cc.
#pragma once

#include "model/diagnose/hang_report.h"

#include <string>
#include <string_view>
#include <vector>

namespace fourwalls::importers {

/// Whether a text begins as a report of RAS does.
bool isRasText(std::string_view text);

/// What a report names: ranks that launched another number of operations than most of their communicator, or are in another
/// state, ranks that are missing or report errors, and processes that do not answer. Other lines are passed over.
std::vector<diagnose::RasNote> rasNotes(std::string_view text);

/// The text of a file of at most 16 MiB that is a report of RAS; empty if it is none or cannot be read.
std::string readRasText(const std::string& path);

} // namespace fourwalls::importers
