// SPDX-License-Identifier: Apache-2.0
// What the two halves of the stand-in for libcupti share: its buffers, what is switched on, and how records get there.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <cupti.h>
#include <dlfcn.h>
#include <mutex>
#include <set>
#include <unistd.h>
#include <utility>

namespace fake {

inline std::mutex g_mutex;
inline CUpti_BuffersCallbackRequestFunc g_request = nullptr;
inline CUpti_BuffersCallbackCompleteFunc g_complete = nullptr;
inline CUpti_CallbackFunc g_callback = nullptr;
inline void* g_userData = nullptr;
inline bool g_enabled[CUPTI_ACTIVITY_KIND_COUNT] = {};
inline std::uint8_t* g_buffer = nullptr;
inline std::size_t g_size = 0;
inline std::size_t g_used = 0;
inline std::size_t g_dropped = 0;
inline bool g_keepBuffers = false;
inline bool g_unfinished = false; ///< the buffer holds a record of work that goes on: given back full or by force only
inline std::size_t g_poolLimit = 0; ///< device buffers of a context; 0: nobody has said
inline bool g_zeroed = false;       ///< buffers come zeroed
inline CUpti_TimestampCallbackFunc g_clock = nullptr;
inline std::uint32_t g_flushes = 0;
inline std::atomic<bool> g_gone{false};
inline std::atomic<bool> g_goneAtEnd{false};
inline std::atomic<bool> g_asked{false};
inline bool g_eventTimes = false;
inline bool g_systemThreads = false; ///< threads have the system's numbers
inline bool g_wholeGraphs = false;   ///< of several subscribers: graphs may be recorded as a whole
inline bool g_shared = false;        ///< subscribed by the functions that know several subscribers
// Never destroyed: a recording ends in an exit handler, which may run behind this library's own.
inline auto& g_muted =
    *new std::set<std::pair<int, std::uint32_t>>; ///< calls that are not recorded: domain and function
inline auto& g_watched = *new std::set<std::pair<int, std::uint32_t>>; ///< calls that are told by callback
inline std::uint32_t g_correlation = 0;
inline thread_local std::uint64_t t_external = 0;

// While it is held, whoever reads records waits.
inline std::mutex g_holdMutex;
inline std::condition_variable g_holdChanged;
inline bool g_hold = false;
inline bool g_held = false;

inline const char* setting(const char* name)
{
    const char* const value = std::getenv(name);
    return value != nullptr ? value : "";
}

inline std::uint32_t version()
{
    const char* const other = setting("FAKE_CUPTI_VERSION");
    return *other != '\0' ? static_cast<std::uint32_t>(std::atoi(other)) : 130'001;
}

/// The clock that CUPTI's manual names, of Linux or of WSL.
inline std::uint64_t now()
{
    if (g_clock != nullptr) return g_clock();
    static const bool wsl = *setting("FAKE_CUPTI_WSL") != '\0';
    timespec time{};
    clock_gettime(wsl ? CLOCK_MONOTONIC_RAW : CLOCK_REALTIME, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(time.tv_nsec);
}

inline void completeBuffer()
{
    if (g_buffer == nullptr || g_keepBuffers) return;
    std::uint8_t* const buffer = g_buffer;
    g_buffer = nullptr;
    g_complete(nullptr, 0, buffer, g_size, g_used);
}

/// A zeroed record in the current buffer; nullptr: it is dropped. A disabled kind is not recorded.
template <class Record>
Record* add(CUpti_ActivityKind kind)
{
    if (!g_enabled[kind]) return nullptr;
    if (g_buffer != nullptr && g_size - g_used < sizeof(Record)) {
        completeBuffer();
        if (g_keepBuffers) g_buffer = nullptr;
    }
    if (g_buffer == nullptr) {
        std::size_t most = 0;
        g_used = g_size = 0;
        g_request(&g_buffer, &g_size, &most);
        if (g_buffer == nullptr || g_size < sizeof(Record)) {
            g_buffer = nullptr;
            ++g_dropped;
            return nullptr;
        }
    }
    auto* record = reinterpret_cast<Record*>(g_buffer + g_used);
    if (!g_zeroed) std::memset(static_cast<void*>(record), 0, sizeof(Record));
    g_used += sizeof(Record);
    record->kind = kind;
    return record;
}

inline std::size_t sizeOf(CUpti_ActivityKind kind)
{
    switch (kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: return sizeof(CUpti_ActivityKernel10);
    case CUPTI_ACTIVITY_KIND_MEMCPY: return sizeof(CUpti_ActivityMemcpy6);
    case CUPTI_ACTIVITY_KIND_MEMCPY2: return sizeof(CUpti_ActivityMemcpyPtoP4);
    case CUPTI_ACTIVITY_KIND_MEMSET: return sizeof(CUpti_ActivityMemset4);
    case CUPTI_ACTIVITY_KIND_MEMORY2: return sizeof(CUpti_ActivityMemory4);
    case CUPTI_ACTIVITY_KIND_MEMORY_POOL: return sizeof(CUpti_ActivityMemoryPool3);
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER: return sizeof(CUpti_ActivityAPI);
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION: return sizeof(CUpti_ActivityExternalCorrelation);
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION: return sizeof(CUpti_ActivitySynchronization2);
    case CUPTI_ACTIVITY_KIND_CUDA_EVENT: return sizeof(CUpti_ActivityCudaEvent2);
    case CUPTI_ACTIVITY_KIND_OVERHEAD: return sizeof(CUpti_ActivityOverhead3);
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE: return sizeof(CUpti_ActivityGraphTrace2);
    case CUPTI_ACTIVITY_KIND_DEVICE: return sizeof(CUpti_ActivityDevice5);
    case CUPTI_ACTIVITY_KIND_CONTEXT: return sizeof(CUpti_ActivityContext3);
    case CUPTI_ACTIVITY_KIND_STREAM: return sizeof(CUpti_ActivityStream);
    default: return 0;
    }
}

using NextRecord = decltype(cuptiActivityGetNextRecord)*;

inline NextRecord realIterator()
{
    static const NextRecord real = [] {
        const char* path = std::getenv("FAKE_CUPTI_REAL");
        void* library = path != nullptr && *path != '\0' ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
        return library == nullptr ? nullptr
                                  : reinterpret_cast<NextRecord>(dlsym(library, "cuptiActivityGetNextRecord"));
    }();
    return real;
}

/// The recorded program makes a call: CUPTI tells of it if it is watched.
inline void tell(CUpti_CallbackDomain domain, std::uint32_t function, std::uint32_t correlation,
                 CUpti_ApiCallbackSite site, const void* parameters = nullptr)
{
    CUresult result = CUDA_SUCCESS;
    CUpti_CallbackData data{};
    data.functionReturnValue = &result;
    data.functionParams = parameters;
    data.correlationId = correlation;
    data.callbackSite = site;
    if (g_callback != nullptr && g_watched.count({domain, function}) != 0)
        g_callback(g_userData, domain, function, &data);
}

inline void addApi(CUpti_ActivityKind kind, std::uint32_t function, std::uint32_t correlation, std::uint64_t start)
{
    if (g_muted.count({kind, function}) != 0) return;
    if (t_external != 0) {
        if (auto* external = add<CUpti_ActivityExternalCorrelation>(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION)) {
            external->externalKind = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2;
            external->externalId = t_external;
            external->correlationId = correlation;
        }
    }
    if (auto* api = add<CUpti_ActivityAPI>(kind)) {
        api->cbid = function;
        api->start = start;
        api->end = start + 2000;
        api->processId = static_cast<std::uint32_t>(getpid());
        api->threadId =
            g_systemThreads ? static_cast<std::uint32_t>(gettid()) : 0x7f000001; // pthread_self's lower half
        api->correlationId = correlation;
    }
}

inline void addKernel(std::uint32_t correlation, std::uint64_t start, std::uint64_t end, const char* name)
{
    auto* kernel = add<CUpti_ActivityKernel10>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    if (kernel == nullptr) return;
    // With a clock of the tool's, CUPTI of CUDA 12.6 to 13.0 gives kernels without times (release notes of 13.1).
    const bool timeless = g_clock != nullptr && version() < 130'100;
    kernel->start = timeless ? 0 : start;
    kernel->end = timeless ? 0 : end;
    kernel->contextId = 1;
    kernel->streamId = 7;
    kernel->gridX = 132;
    kernel->gridY = kernel->gridZ = 1;
    kernel->blockX = 256;
    kernel->blockY = kernel->blockZ = 1;
    kernel->clusterX = 2;
    kernel->registersPerThread = 64;
    kernel->dynamicSharedMemory = 49152;
    kernel->correlationId = correlation;
    kernel->name = name;
}

} // namespace fake
