// SPDX-License-Identifier: Apache-2.0
// The machines: device capacity and rates, and how many devices hang together.
#pragma once

#include "model/spec/training_settings.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace fourwalls {

struct DeviceSpec {
    std::string name;
    std::int64_t memoryBytes = 0;              ///< capacity: the memory wall
    double memoryBytesPerSecond = 0;           ///< main memory bandwidth; 0 unknown
    std::map<Precision, double> peakFlops;     ///< dense rate [FLOP/s] per precision; absent: unknown

    std::optional<double> peak(Precision precision) const
    {
        const auto found = peakFlops.find(precision);
        return found == peakFlops.end() ? std::nullopt : std::optional(found->second);
    }
};

struct ClusterSpec {
    std::string name;                          ///< preset name; "this-machine" is measured where it runs
    DeviceSpec device;
    int devicesPerNode = 1;
    int nodes = 1;
};

} // namespace fourwalls
