// SPDX-License-Identifier: Apache-2.0
// See processor_name.h.
#include "profiler/engine/device/processor_name.h"

#include <array>
#include <fstream>
#include <string_view>

namespace fourwalls::engine {

namespace {

struct ArmCore {
    std::string_view maker, part, name;
};

constexpr std::array kArmCores{
    ArmCore{"0x41", "0xd08", "Arm Cortex-A72"},
    ArmCore{"0x41", "0xd0b", "Arm Cortex-A76"},
    ArmCore{"0x41", "0xd0c", "Arm Neoverse N1"},
    ArmCore{"0x41", "0xd40", "Arm Neoverse V1"},
    ArmCore{"0x41", "0xd49", "Arm Neoverse N2"},
    ArmCore{"0x41", "0xd4f", "Arm Neoverse V2"},
    ArmCore{"0x41", "0xd83", "Arm Neoverse V3AE"},
    ArmCore{"0x41", "0xd84", "Arm Neoverse V3"},
    ArmCore{"0x41", "0xd8e", "Arm Neoverse N3"},
    ArmCore{"0x46", "0x001", "Fujitsu A64FX"},
    ArmCore{"0x48", "0xd01", "HiSilicon Kunpeng 920"},
    ArmCore{"0xc0", "0xac3", "Ampere-1"},
    ArmCore{"0xc0", "0xac4", "Ampere-1A"},
};

} // namespace

std::string processorNameIn(std::istream& cpuinfo)
{
    std::string maker, part;
    for (std::string line; std::getline(cpuinfo, line);) {
        const auto colon = line.find(": ");
        if (colon == std::string::npos) continue;
        const std::string value = line.substr(colon + 2);
        if (line.starts_with("model name")) return value;
        if (maker.empty() && line.starts_with("CPU implementer")) maker = value;
        if (part.empty() && line.starts_with("CPU part")) part = value;
        if (!maker.empty() && !part.empty()) break;
    }
    if (maker.empty() || part.empty()) return "CPU";
    for (const ArmCore& core : kArmCores)
        if (core.maker == maker && core.part == part) return std::string(core.name);
    return "ARM processor " + maker + "/" + part;
}

std::string processorName()
{
    std::ifstream cpuinfo("/proc/cpuinfo");
    return processorNameIn(cpuinfo);
}

} // namespace fourwalls::engine
