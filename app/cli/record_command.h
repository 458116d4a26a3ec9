// SPDX-License-Identifier: Apache-2.0
// `record -- COMMAND`: runs any CUDA program with the collector injected and makes one trace of what its processes
// recorded.
#pragma once

#include "app/cli/console.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fourwalls::cli {

struct CommandRecording {
    std::string output;
    std::string steps;                 ///< "A-B" or "A"; empty: everything
    bool memory = false;               ///< PyTorch's memory snapshot of the recorded steps
    std::string detail;                ///< auto, low, normal or full; empty: as the environment says
    std::string host;                  ///< all, pauses, stacks or none; empty: as the environment says
    std::optional<std::int64_t> every; ///< one step out of so many
    std::optional<std::int64_t> limit; ///< of a process's spool [MiB]; 0: none
    std::vector<std::string> command;
};

/// The recording itself failed although the command returned 0: no trace came of it.
inline constexpr int kExitNotRecorded = 125;

/// The exit code is the command's own, as a shell gives it: what it returned, 128+n after signal n, 126 or 127 where it
/// cannot be started. A command that returned 0 and left no trace gives kExitNotRecorded. One line on standard error says
/// what went wrong; the spools stay where no trace can be made of them.
int recordCommand(Console& console, const CommandRecording& recording);

} // namespace fourwalls::cli
