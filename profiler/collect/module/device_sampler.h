// SPDX-License-Identifier: Apache-2.0
// Clocks, power, throttling, temperature and memory of the devices that this process uses: NVML and the driver, both
// found at run time.
#pragma once

#include "profiler/collect/spool_format.h"

#include <cstddef>
#include <cstdint>

namespace fourwalls::collect::module {

struct NvmlLibrary;
struct DriverLibrary;

class DeviceSampler {
public:
    static constexpr std::size_t kMostDevices = 16;

    /// Finds the libraries. False: no NVML; `problem` says so.
    bool begin(const char** problem);
    /// CUDA's driver version, as 13000; 0: no driver.
    int driverVersion();
    bool hasDriver() const { return m_driver != nullptr; }
    /// The calling thread asks the driver questions while the program captures graphs: in the mode that threads begin with,
    /// a question that is not allowed meanwhile would end the program's capture. Does nothing until there is a driver.
    void leaveCapturesAlone();

    /// Looks again which devices have a context of this process (at most once a second by itself).
    void findDevices();
    /// One sample per device in use; how many were filled.
    std::size_t sample(NvmlSample* samples, std::size_t room);
    /// Free and total memory of each device with a context; how many were filled.
    std::size_t memory(MemoryInfo* infos, std::size_t room);

    /// NVML tells of this device's processes, and for ten samples has not named this one: their numbers are of another
    /// namespace than this process's own.
    bool isNotListed() const { return m_notListed >= 10; }
    /// The ordinal of a GPU that NVML has called lost; -1: none.
    int lost() const { return m_lost; }

private:
    struct Used {
        std::uint8_t uuid[16];
        int ordinal;
        int device;
        void* nvml; ///< NVML's handle, nullptr: it does not know the device
        void* card; ///< of the card that an instance (MIG) is a part of; else the same
    };
    Used m_used[kMostDevices] = {};
    std::size_t m_usedCount = 0;
    const NvmlLibrary* m_nvml = nullptr;
    const DriverLibrary* m_driver = nullptr;
    bool m_relaxed = false;
    std::uint32_t m_notListed = 0; ///< samples in a row
    int m_lost = -1;
};

} // namespace fourwalls::collect::module
