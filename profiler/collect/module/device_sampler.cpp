// SPDX-License-Identifier: Apache-2.0
// NVML by its documented C interface, declared here because the toolkit does not always bring its header; the CUDA
// driver by the toolkit's.
#include "profiler/collect/module/device_sampler.h"

#include "profiler/collect/module/system.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <cuda.h>
#include <unistd.h>

namespace fourwalls::collect::module {

struct NvmlLibrary {
    using Device = void*;
    struct MemoryUse {
        unsigned long long total, free, used;
    };
    struct Utilization {
        unsigned gpu, memory;
    };
    struct Process {
        unsigned pid;
        unsigned long long usedMemory;
        unsigned gpuInstance, computeInstance;
    };
    int (*init)() = nullptr;
    int (*handleByUuid)(const char*, Device*) = nullptr;
    int (*clock)(Device, int type, unsigned* mhz) = nullptr;
    int (*power)(Device, unsigned* milliwatt) = nullptr;
    int (*throttle)(Device, unsigned long long* reasons) = nullptr;
    int (*memory)(Device, MemoryUse*) = nullptr;
    int (*temperature)(Device, int sensor, unsigned* celsius) = nullptr;
    int (*utilization)(Device, Utilization*) = nullptr;
    int (*cardOf)(Device instance, Device* card) = nullptr;
    int (*processes)(Device, unsigned* count, Process*) = nullptr;
};

struct DriverLibrary {
    decltype(cuDriverGetVersion)* version = nullptr;
    decltype(cuDeviceGetCount)* count = nullptr;
    decltype(cuDeviceGet)* get = nullptr;
    CUresult(CUDAAPI* uuid)(CUuuid*, CUdevice) = nullptr;
    decltype(cuDevicePrimaryCtxGetState)* contextState = nullptr;
    decltype(cuDevicePrimaryCtxRetain)* retain = nullptr;
    CUresult(CUDAAPI* release)(CUdevice) = nullptr;
    CUresult(CUDAAPI* pushContext)(CUcontext) = nullptr;
    CUresult(CUDAAPI* popContext)(CUcontext*) = nullptr;
    CUresult(CUDAAPI* memory)(std::size_t*, std::size_t*) = nullptr;
    decltype(cuThreadExchangeStreamCaptureMode)* exchangeCaptureMode = nullptr;
};

namespace {

constexpr int kNvmlSm = 1;
constexpr int kNvmlGpuIsLost = 15;                      // NVML_ERROR_GPU_IS_LOST: it has fallen off the bus
constexpr unsigned long long kNvmlNotAvailable = ~0ULL; // NVML_VALUE_NOT_AVAILABLE
constexpr int kNvmlMemoryDomain = 2;
// What CUPTI sets aside on each device from the start: three buffers of 3.2 MB.
constexpr std::uint64_t kCuptiDeviceBytes = 3 * 3'200'000;

NvmlLibrary g_nvml;
DriverLibrary g_driver;

bool bindNvml()
{
    void* const library = openLibrary("libnvidia-ml.so.1", true);
    if (library == nullptr || !bind(library, g_nvml.init, "nvmlInit_v2") ||
        !bind(library, g_nvml.handleByUuid, "nvmlDeviceGetHandleByUUID") || g_nvml.init() != 0) {
        return false;
    }
    bind(library, g_nvml.clock, "nvmlDeviceGetClockInfo");
    bind(library, g_nvml.power, "nvmlDeviceGetPowerUsage");
    if (!bind(library, g_nvml.throttle, "nvmlDeviceGetCurrentClocksEventReasons")) {
        bind(library, g_nvml.throttle, "nvmlDeviceGetCurrentClocksThrottleReasons");
    }
    bind(library, g_nvml.memory, "nvmlDeviceGetMemoryInfo");
    bind(library, g_nvml.temperature, "nvmlDeviceGetTemperature");
    bind(library, g_nvml.utilization, "nvmlDeviceGetUtilizationRates");
    bind(library, g_nvml.cardOf, "nvmlDeviceGetDeviceHandleFromMigDeviceHandle");
    bind(library, g_nvml.processes, "nvmlDeviceGetComputeRunningProcesses_v3");
    return true;
}

bool bindDriver()
{
    void* const library = openLibrary("libcuda.so.1", false); // the program's own or none: a driver is not started here
    bind(library, g_driver.exchangeCaptureMode, "cuThreadExchangeStreamCaptureMode");
    const bool named =
        bind(library, g_driver.uuid, "cuDeviceGetUuid_v2") || bind(library, g_driver.uuid, "cuDeviceGetUuid");
    return named && bind(library, g_driver.version, "cuDriverGetVersion") &&
           bind(library, g_driver.count, "cuDeviceGetCount") && bind(library, g_driver.get, "cuDeviceGet") &&
           bind(library, g_driver.contextState, "cuDevicePrimaryCtxGetState") &&
           bind(library, g_driver.retain, "cuDevicePrimaryCtxRetain") &&
           bind(library, g_driver.release, "cuDevicePrimaryCtxRelease_v2") &&
           bind(library, g_driver.pushContext, "cuCtxPushCurrent_v2") &&
           bind(library, g_driver.popContext, "cuCtxPopCurrent_v2") &&
           bind(library, g_driver.memory, "cuMemGetInfo_v2");
}

void* nvmlHandleOf(const std::uint8_t* uuid)
{
    for (const char* prefix : {"GPU", "MIG"}) {
        char text[64];
        int at = std::snprintf(text, sizeof text, "%s-", prefix);
        for (int i = 0; i < 16; ++i) {
            const bool dash = i == 4 || i == 6 || i == 8 || i == 10;
            at += std::snprintf(text + at, sizeof text - static_cast<std::size_t>(at), "%s%02x", dash ? "-" : "",
                                uuid[i]);
        }
        void* device = nullptr;
        if (g_nvml.handleByUuid(text, &device) == 0) return device;
    }
    return nullptr;
}

/// Whether NVML lists this process among those of the device, or does not list any.
bool readProcessMemory(void* device, NvmlSample* to)
{
    NvmlLibrary::Process processes[64];
    unsigned count = 64;
    if (g_nvml.processes == nullptr || g_nvml.processes(device, &count, processes) != 0) return true;
    for (unsigned i = 0; i < std::min(count, 64U); ++i) {
        if (processes[i].pid != static_cast<unsigned>(getpid())) continue;
        if (processes[i].usedMemory == kNvmlNotAvailable) return true;
        to->processMemory = processes[i].usedMemory;
        to->valid |= kNvmlProcessMemory;
        return true;
    }
    return count == 0;
}

/// card: the same, or the card that an instance (MIG) is a part of: clocks and power are the card's. lost: whether NVML
/// says that the GPU is gone. Whether the process is listed, as readProcessMemory.
bool readSample(void* device, void* card, NvmlSample* to, bool* lost)
{
    // NVML's functions do not come with every driver.
    const auto ask = [to, lost](std::uint32_t figure, auto function, auto... arguments) {
        const int result = function == nullptr ? -1 : function(arguments...);
        *lost = *lost || result == kNvmlGpuIsLost;
        if (result == 0) to->valid |= figure;
        return result == 0;
    };
    ask(kNvmlSmClock, g_nvml.clock, card, kNvmlSm, &to->smClockMhz);
    ask(kNvmlMemoryClock, g_nvml.clock, card, kNvmlMemoryDomain, &to->memoryClockMhz);
    ask(kNvmlPower, g_nvml.power, card, &to->powerMilliwatt);
    unsigned long long reasons = 0;
    ask(kNvmlThrottle, g_nvml.throttle, card, &reasons);
    to->throttleReasons = reasons;
    NvmlLibrary::MemoryUse use{};
    if (ask(kNvmlMemory, g_nvml.memory, device, &use)) {
        to->memoryUsed = use.used;
        to->memoryTotal = use.total;
    }
    ask(kNvmlTemperature, g_nvml.temperature, card, 0, &to->temperatureC);
    NvmlLibrary::Utilization utilization{};
    if (ask(kNvmlUtilization, g_nvml.utilization, device, &utilization)) to->utilizationPercent = utilization.gpu;
    return readProcessMemory(device, to);
}

} // namespace

bool DeviceSampler::begin(const char** problem)
{
    if (bindNvml()) m_nvml = &g_nvml;
    if (m_nvml == nullptr) *problem = "NVML was not found: clocks, power and memory of the GPU are not sampled";
    return m_nvml != nullptr;
}

int DeviceSampler::driverVersion()
{
    if (m_driver == nullptr && bindDriver()) m_driver = &g_driver;
    int version = 0;
    return m_driver != nullptr && m_driver->version(&version) == CUDA_SUCCESS ? version : 0;
}

void DeviceSampler::leaveCapturesAlone()
{
    if (m_relaxed || driverVersion() == 0) return;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    // It refuses while the program's cuInit still runs, which is what has begun the recording.
    m_relaxed = m_driver->exchangeCaptureMode == nullptr || m_driver->exchangeCaptureMode(&mode) == CUDA_SUCCESS;
}

void DeviceSampler::findDevices()
{
    int count = 0;
    if (driverVersion() == 0 || m_driver->count(&count) != CUDA_SUCCESS) return;
    m_usedCount = 0;
    for (int i = 0; i < count && m_usedCount < kMostDevices; ++i) {
        CUdevice device = 0;
        unsigned flags = 0;
        int active = 0;
        CUuuid uuid{};
        if (m_driver->get(&device, i) != CUDA_SUCCESS ||
            m_driver->contextState(device, &flags, &active) != CUDA_SUCCESS || active == 0 ||
            m_driver->uuid(&uuid, device) != CUDA_SUCCESS) {
            continue;
        }
        Used& used = m_used[m_usedCount++];
        std::memcpy(used.uuid, &uuid, sizeof used.uuid);
        used.ordinal = i;
        used.device = device;
        used.nvml = used.card = m_nvml != nullptr ? nvmlHandleOf(used.uuid) : nullptr;
        void* card = nullptr;
        if (used.nvml != nullptr && m_nvml->cardOf != nullptr && m_nvml->cardOf(used.nvml, &card) == 0)
            used.card = card;
    }
}

std::size_t DeviceSampler::sample(NvmlSample* samples, std::size_t room)
{
    std::size_t filled = 0;
    for (std::size_t i = 0; i < m_usedCount && filled < room; ++i) {
        if (m_used[i].nvml == nullptr) continue;
        NvmlSample& to = samples[filled++];
        to = {};
        to.time = realtime();
        std::memcpy(to.uuid, m_used[i].uuid, sizeof to.uuid);
        bool lost = false;
        m_notListed = readSample(m_used[i].nvml, m_used[i].card, &to, &lost) ? 0 : m_notListed + 1;
        if (!lost) continue;
        m_lost = m_used[i].ordinal;
        m_used[i].nvml = nullptr;
        --filled;
    }
    return filled;
}

std::size_t DeviceSampler::memory(MemoryInfo* infos, std::size_t room)
{
    std::size_t filled = 0;
    for (std::size_t i = 0; i < m_usedCount && filled < room; ++i) {
        CUcontext context = nullptr;
        unsigned flags = 0;
        int active = 0;
        // The context is the program's: it is held for the time of the question only, and never created here.
        if (m_driver->contextState(m_used[i].device, &flags, &active) != CUDA_SUCCESS || active == 0 ||
            m_driver->retain(&context, m_used[i].device) != CUDA_SUCCESS) {
            continue;
        }
        MemoryInfo& to = infos[filled];
        to = {};
        to.time = realtime();
        to.device = m_used[i].ordinal;
        to.ownBytes = kCuptiDeviceBytes;
        std::size_t free = 0;
        std::size_t total = 0;
        if (m_driver->pushContext(context) == CUDA_SUCCESS) {
            if (m_driver->memory(&free, &total) == CUDA_SUCCESS) ++filled;
            m_driver->popContext(&context);
        }
        to.freeBytes = free;
        to.totalBytes = total;
        m_driver->release(m_used[i].device);
    }
    return filled;
}

} // namespace fourwalls::collect::module
