// SPDX-License-Identifier: Apache-2.0
// The cluster "this-machine": what the operating system says about the processor and the memory here, or the driver about
// the GPU.
#pragma once

#include "model/base/result.h"
#include "model/spec/cluster_spec.h"

namespace fourwalls::cli {

/// Fills name, memory and device count of the CPU that this runs on, where /proc tells; rates stay unknown.
void describeThisMachine(ClusterSpec& cluster);
/// The same for the GPU that --device cuda runs on. Errors: what is missing for it, in one sentence.
Status describeThisGpu(ClusterSpec& cluster);

} // namespace fourwalls::cli
