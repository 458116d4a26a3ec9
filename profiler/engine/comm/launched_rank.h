// SPDX-License-Identifier: Apache-2.0
// What a launcher (torchrun, srun, mpirun) tells a process about its place in a run of several processes.
#pragma once

#include "model/base/result.h"

#include <functional>
#include <optional>
#include <string>

namespace fourwalls::engine {

struct LaunchedRank {
    int rank = 0;
    int world = 1;
    int localRank = 0; ///< among the processes of this machine
    std::string masterAddress = "127.0.0.1";
    int masterPort = 29500;
};

/// Reads RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT and nothing else. Absent without RANK and WORLD_SIZE.
/// LOCAL_RANK is the rank where it is missing, address and port have PyTorch's defaults.
/// Errors: InvalidArgument naming the variable.
/// variable: the value of an environment variable, or null.
Result<std::optional<LaunchedRank>> launchedRank(const std::function<const char*(const char*)>& variable);

} // namespace fourwalls::engine
