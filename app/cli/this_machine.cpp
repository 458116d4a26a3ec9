// SPDX-License-Identifier: Apache-2.0
// Asks the system, and the engine for the GPU.
#include "app/cli/this_machine.h"

#include "model/base/machine_memory.h"
#include "profiler/engine/device/processor_name.h"
#include "profiler/engine/gpu/gpu_description.h"
#include "profiler/engine/run.h"

#include <thread>

namespace fourwalls::cli {

void describeThisMachine(ClusterSpec& cluster)
{
    cluster.device.name = engine::processorName();
    cluster.device.memoryBytes = machineMemoryBytes();
    if (const unsigned threads = std::thread::hardware_concurrency(); threads > 0)
        cluster.devicesPerNode = static_cast<int>(threads); // one rank per hardware thread
}

Status describeThisGpu(ClusterSpec& cluster)
{
    FOURWALLS_TRY_ASSIGN(const engine::GpuDescription gpu, engine::describeGpu());
    cluster.device = {};
    cluster.device.name = gpu.name;
    cluster.device.family = gpu.family;
    cluster.device.memoryBytes = gpu.memoryBytes;
    cluster.device.multiprocessors = gpu.multiprocessors;
    cluster.devicesPerNode = 1; // ranks share it
    return {};
}

} // namespace fourwalls::cli
