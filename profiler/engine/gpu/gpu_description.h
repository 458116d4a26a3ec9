// SPDX-License-Identifier: Apache-2.0
// What GPU this machine has.
#pragma once

#include "model/base/result.h"

#include <cstdint>
#include <string>

namespace fourwalls::engine {

/// The GPU that --device cuda runs on.
struct GpuDescription {
    std::string name, family; ///< "NVIDIA H100 80GB HBM3", "hopper"
    std::int64_t memoryBytes = 0;
    int multiprocessors = 0;
};
/// Errors: Unsupported, one sentence on what is missing: the CUDA part of the build, driver, library or GPU.
Result<GpuDescription> describeGpu();

} // namespace fourwalls::engine
