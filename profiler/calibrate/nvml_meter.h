// SPDX-License-Identifier: Apache-2.0
// Clock and power of a GPU by NVML's documented C interface.
#pragma once

#include <dlfcn.h>
#include <vector>

namespace fourwalls::calibrate {

/// The GPU's clock and power, where NVML is there.
class NvmlMeter {
public:
    explicit NvmlMeter(const char* pciBus)
    {
        if (*pciBus == 0) return;
        m_library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
        if (!m_library) return;
        int (*init)() = nullptr;
        int (*handle)(const char*, void**) = nullptr;
        find(init, "nvmlInit_v2");
        find(handle, "nvmlDeviceGetHandleByPciBusId_v2");
        find(m_clock, "nvmlDeviceGetClockInfo");
        find(m_power, "nvmlDeviceGetPowerUsage");
        if (!init || !handle || init() != 0 || handle(pciBus, &m_device) != 0) m_device = nullptr;
    }
    NvmlMeter(const NvmlMeter&) = delete;
    NvmlMeter& operator=(const NvmlMeter&) = delete;

    /// Adds a reading, at most ten in a second.
    void read(double now)
    {
        if (!m_device || now < m_next) return;
        m_next = now + 0.1;
        constexpr int kMultiprocessors = 1;
        unsigned value = 0;
        if (m_clock && m_clock(m_device, kMultiprocessors, &value) == 0) m_clocks.push_back(value);
        if (m_power && m_power(m_device, &value) == 0) m_powers.push_back(value * 1e-3);
    }
    void begin()
    {
        m_clocks.clear();
        m_powers.clear();
        m_next = 0;
    }
    double clock() const { return mean(m_clocks); }
    double power() const { return mean(m_powers); }

private:
    template <class Function>
    void find(Function& function, const char* name)
    {
        function = reinterpret_cast<Function>(dlsym(m_library, name));
    }
    static double mean(const std::vector<double>& values)
    {
        double sum = 0;
        for (const double value : values) sum += value;
        return values.empty() ? 0 : sum / static_cast<double>(values.size());
    }

    void* m_library = nullptr;
    void* m_device = nullptr;
    int (*m_clock)(void*, int, unsigned*) = nullptr;
    int (*m_power)(void*, unsigned*) = nullptr;
    double m_next = 0;
    std::vector<double> m_clocks, m_powers;
};

} // namespace fourwalls::calibrate
