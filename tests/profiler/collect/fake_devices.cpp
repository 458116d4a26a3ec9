// SPDX-License-Identifier: Apache-2.0
// Stand-ins for the CUDA driver and NVML, as two libraries of their SONAMEs: one device with a context, whose figures
// are fixed.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <unistd.h>
#include <utility>

namespace {

constexpr char kUuid[] = "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f";

thread_local int t_captureMode = 0; // global, as every thread begins

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
    return *version = 13000, 0;
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
    std::swap(*mode, t_captureMode);
    return 0;
}
/// As while some thread captures: only a relaxed one may ask (900: it would end the capture).
int cuMemGetInfo_v2(std::size_t* free, std::size_t* total)
{
    if (t_captureMode != 2) return 900;
    return *free = 70, *total = 100, 0;
}

int nvmlInit_v2()
{
    return 0;
}
int nvmlDeviceGetHandleByUUID(const char* uuid, void** device)
{
    *device = device;
    return std::strcmp(uuid, kUuid) == 0 ? 0 : 2;
}
int nvmlDeviceGetClockInfo(void*, int type, unsigned* mhz)
{
    return *mhz = type == 1 ? 1980 : 2619, 0;
}
int nvmlDeviceGetPowerUsage(void*, unsigned* milliwatt)
{
    return *milliwatt = 650'000, 0;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* reasons)
{
    return *reasons = 4, 0;
}
int nvmlDeviceGetMemoryInfo(void*, Memory* memory)
{
    return *memory = {100, 70, 30}, 0;
}
int nvmlDeviceGetTemperature(void*, int, unsigned*)
{
    return 3;
} // not supported
int nvmlDeviceGetComputeRunningProcesses_v3(void*, unsigned* count, Process* processes)
{
    *count = 1;
    processes[0] = {static_cast<unsigned>(getpid()), 25, 0, 0};
    return 0;
}

} // extern "C"
