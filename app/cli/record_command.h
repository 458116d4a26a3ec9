// SPDX-License-Identifier: Apache-2.0
// `record -- COMMAND`: runs any CUDA program with the collector injected and makes one trace of what its processes
// recorded.
#pragma once

#include "app/cli/console.h"

#include <string>
#include <vector>

namespace fourwalls::cli {

struct CommandRecording {
    std::string output;
    std::string steps;                  ///< "A-B" or "A"; empty: everything
    bool memory = false;                ///< PyTorch's memory snapshot of the recorded steps
    std::vector<std::string> command;
};

/// The exit code: done if a trace with work on a GPU was made and the command returned 0; else "could not", with one line
/// that says which of the two it was (what was recorded until then is in the file; the spools stay where no trace can be
/// made of them).
int recordCommand(Console& console, const CommandRecording& recording);

} // namespace fourwalls::cli
