// SPDX-License-Identifier: Apache-2.0
// Reads /proc, and asks the engine for the GPU.
#include "app/cli/this_machine.h"

#include "profiler/engine/device/processor_name.h"
#include "profiler/engine/gpu/gpu_description.h"
#include "profiler/engine/run.h"

#include <fstream>
#include <sstream>
#include <string>
#include <thread>

namespace fourwalls::cli {

void describeThisMachine(ClusterSpec& cluster)
{
    cluster.device.name = engine::processorName();
    std::string line;
    for (std::ifstream memory("/proc/meminfo"); std::getline(memory, line);) {
        if (!line.starts_with("MemTotal:")) continue;
        std::istringstream fields(line.substr(9));
        std::int64_t kibibytes = 0;
        if (fields >> kibibytes) cluster.device.memoryBytes = kibibytes * 1024;
        break;
    }
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
