// SPDX-License-Identifier: Apache-2.0
// Stand-ins for the CUDA driver and NVML, as two libraries of their SONAMEs: one device with a context, whose figures
// are fixed.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <unistd.h>
#include <utility>

namespace {

constexpr char kUuid[] = "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f";

constexpr char kInstance[] = "MIG-00010203-0405-0607-0809-0a0b0c0d0e0f";
int g_device = 0;
int g_card = 0;

bool isInstance()
{
    return std::getenv("FAKE_NVML_MIG") != nullptr;
}

thread_local int t_captureMode = 0; // global, as every thread begins

/// FAKE_NVML_STANDS: who asks for a clock waits for ever. FAKE_NVML_LOST_AFTER: the GPU falls off the bus after so many
/// questions for a clock.
std::atomic<int> g_clocksAsked{0};

bool isLost()
{
    const char* const after = std::getenv("FAKE_NVML_LOST_AFTER");
    return after != nullptr && g_clocksAsked.load() > std::atoi(after);
}

constexpr int kNvmlLost = 15;

struct Memory {
    unsigned long long total, free, used;
};
struct Process {
    unsigned pid;
    unsigned long long usedMemory;
    unsigned gpuInstance, computeInstance;
};

} // namespace

extern "C" {

int cuDriverGetVersion(int* version)
{
    const char* const other = std::getenv("FAKE_DRIVER_VERSION");
    return *version = other != nullptr ? std::atoi(other) : 13000, 0;
}
int cuDeviceGetCount(int* count)
{
    return *count = 1, 0;
}
int cuDeviceGet(int* device, int ordinal)
{
    return *device = ordinal, 0;
}
int cuDeviceGetUuid_v2(unsigned char* uuid, int)
{
    for (unsigned char i = 0; i < 16; ++i) uuid[i] = i;
    return 0;
}
int cuDevicePrimaryCtxGetState(int, unsigned* flags, int* active)
{
    return *flags = 0, *active = 1, 0;
}
int cuDevicePrimaryCtxRetain(void** context, int)
{
    return *context = &*context, 0;
}
int cuDevicePrimaryCtxRelease_v2(int)
{
    return 0;
}
int cuCtxPushCurrent_v2(void*)
{
    return 0;
}
int cuCtxPopCurrent_v2(void**)
{
    return 0;
}
int cuThreadExchangeStreamCaptureMode(int* mode)
{
    static std::atomic<int> asked{0};
    const char* const refusals = std::getenv("FAKE_DRIVER_STARTS"); // so many questions come before cuInit is done
    if (refusals != nullptr && asked.fetch_add(1) < std::atoi(refusals)) return 3;
    std::swap(*mode, t_captureMode);
    return 0;
}
/// As while some thread captures: only a relaxed one may ask (900: it would end the capture).
int cuMemGetInfo_v2(std::size_t* free, std::size_t* total)
{
    if (t_captureMode != 2) return 900;
    if (isLost()) return 999;
    return *free = 70, *total = 100, 0;
}

int nvmlInit_v2()
{
    return 0;
}
/// FAKE_NVML_MIG: the device is an instance of a card. It has memory and processes; clocks and power are the card's.
int nvmlDeviceGetHandleByUUID(const char* uuid, void** device)
{
    *device = &g_device;
    if (isLost()) return kNvmlLost;
    return std::strcmp(uuid, isInstance() ? kInstance : kUuid) == 0 ? 0 : 2;
}
int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(void* instance, void** card)
{
    if (!isInstance() || instance != &g_device) return 2;
    return *card = &g_card, 0;
}
int nvmlDeviceGetClockInfo(void* device, int type, unsigned* mhz)
{
    if (isInstance() && device != &g_card) return 3;
    g_clocksAsked.fetch_add(1);
    while (std::getenv("FAKE_NVML_STANDS") != nullptr) pause();
    if (isLost()) return kNvmlLost;
    return *mhz = type == 1 ? 1980 : 2619, 0;
}
int nvmlDeviceGetPowerUsage(void* device, unsigned* milliwatt)
{
    if (isInstance() && device != &g_card) return 3;
    if (isLost()) return kNvmlLost;
    return *milliwatt = 650'000, 0;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* reasons)
{
    if (isLost()) return kNvmlLost;
    return *reasons = 4, 0;
}
int nvmlDeviceGetMemoryInfo(void*, Memory* memory)
{
    if (isLost()) return kNvmlLost;
    return *memory = {100, 70, 30}, 0;
}
int nvmlDeviceGetTemperature(void*, int, unsigned*)
{
    return 3;
} // not supported
int nvmlDeviceGetComputeRunningProcesses_v3(void*, unsigned* count, Process* processes)
{
    if (isLost()) return kNvmlLost;
    *count = 1;
    // From a container's own process numbers the host's are others.
    const bool namespaced = std::getenv("FAKE_NVML_OTHER_PIDS") != nullptr;
    const bool silent = std::getenv("FAKE_NVML_SILENT") != nullptr; // NVML_VALUE_NOT_AVAILABLE
    processes[0] = {static_cast<unsigned>(namespaced ? 4'000'000 : getpid()), silent ? ~0ULL : 25, 0, 0};
    return 0;
}

} // extern "C"
