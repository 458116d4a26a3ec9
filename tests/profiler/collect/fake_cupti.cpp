// SPDX-License-Identifier: Apache-2.0
// A stand-in for libcupti, with its SONAME: what the collector calls, and what a program on a GPU would make CUPTI
// record, written with CUPTI's own structures. FAKE_CUPTI_REAL names the true library, whose record iterator is then
// used; FAKE_CUPTI_RESULT is the answer to a subscription, FAKE_CUPTI_VERSION its version.
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <cupti.h>
#include <dlfcn.h>
#include <mutex>
#include <unistd.h>

namespace {

std::mutex g_mutex;
CUpti_BuffersCallbackRequestFunc g_request = nullptr;
CUpti_BuffersCallbackCompleteFunc g_complete = nullptr;
CUpti_CallbackFunc g_callback = nullptr;
void* g_userData = nullptr;
bool g_enabled[CUPTI_ACTIVITY_KIND_COUNT] = {};
std::uint8_t* g_buffer = nullptr;
std::size_t g_size = 0;
std::size_t g_used = 0;
std::size_t g_dropped = 0;
bool g_keepBuffers = false;
CUpti_TimestampCallbackFunc g_clock = nullptr;
std::uint32_t g_flushes = 0;
std::atomic<bool> g_gone{false};
std::atomic<bool> g_asked{false};
bool g_eventTimes = false;
std::uint32_t g_correlation = 0;
thread_local std::uint64_t t_external = 0;

// While it is held, whoever reads records waits.
std::mutex g_holdMutex;
std::condition_variable g_holdChanged;
bool g_hold = false;
bool g_held = false;

std::uint64_t now()
{
    if (g_clock != nullptr) return g_clock();
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC_RAW, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(time.tv_nsec);
}

void completeBuffer()
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
    std::memset(static_cast<void*>(record), 0, sizeof(Record));
    g_used += sizeof(Record);
    record->kind = kind;
    return record;
}

std::size_t sizeOf(CUpti_ActivityKind kind)
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

NextRecord realIterator()
{
    static const NextRecord real = [] {
        const char* path = std::getenv("FAKE_CUPTI_REAL");
        void* library = path != nullptr && *path != '\0' ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
        return library == nullptr ? nullptr
                                  : reinterpret_cast<NextRecord>(dlsym(library, "cuptiActivityGetNextRecord"));
    }();
    return real;
}

void addApi(CUpti_ActivityKind kind, std::uint32_t function, std::uint32_t correlation, std::uint64_t start)
{
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
        api->threadId = static_cast<std::uint32_t>(gettid());
        api->correlationId = correlation;
    }
}

void addKernel(std::uint32_t correlation, std::uint64_t start, std::uint64_t end, const char* name)
{
    auto* kernel = add<CUpti_ActivityKernel10>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    if (kernel == nullptr) return;
    kernel->start = start;
    kernel->end = end;
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

} // namespace

extern "C" {

CUptiResult cuptiGetVersion(std::uint32_t* version)
{
    const char* other = std::getenv("FAKE_CUPTI_VERSION");
    *version = other != nullptr ? static_cast<std::uint32_t>(std::atoi(other)) : 130001;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback, void* userData)
{
    const char* result = std::getenv("FAKE_CUPTI_RESULT");
    if (result != nullptr && std::atoi(result) != 0) return static_cast<CUptiResult>(std::atoi(result));
    g_callback = callback;
    g_userData = userData;
    *subscriber = reinterpret_cast<CUpti_SubscriberHandle>(&g_callback);
    return CUPTI_SUCCESS;
}

CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle)
{
    return CUPTI_SUCCESS;
}
CUptiResult cuptiEnableCallback(std::uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain, CUpti_CallbackId)
{
    return CUPTI_SUCCESS;
}
CUptiResult cuptiEnableDomain(std::uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain)
{
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind)
{
    const std::lock_guard lock(g_mutex);
    g_enabled[kind] = true;
    return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind)
{
    const std::lock_guard lock(g_mutex);
    g_enabled[kind] = false;
    return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                           CUpti_BuffersCallbackCompleteFunc complete)
{
    g_request = request;
    g_complete = complete;
    return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityFlushAll(std::uint32_t)
{
    if (g_gone.load()) {
        g_asked.store(true);
        for (;;) pause();
    }
    const std::lock_guard lock(g_mutex);
    ++g_flushes;
    completeBuffer();
    return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, std::uint32_t, std::size_t* dropped)
{
    const std::lock_guard lock(g_mutex);
    *dropped = g_dropped;
    g_dropped = 0;
    return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityGetNextRecord(std::uint8_t* buffer, std::size_t valid, CUpti_Activity** record)
{
    {
        std::unique_lock lock(g_holdMutex);
        g_held = g_hold;
        g_holdChanged.notify_all();
        g_holdChanged.wait(lock, [] { return !g_hold; });
    }
    if (realIterator() != nullptr) return realIterator()(buffer, valid, record);
    std::uint8_t* next = buffer;
    if (*record != nullptr) next = reinterpret_cast<std::uint8_t*>(*record) + sizeOf((*record)->kind);
    if (next >= buffer + valid) return CUPTI_ERROR_MAX_LIMIT_REACHED;
    *record = reinterpret_cast<CUpti_Activity*>(next);
    return sizeOf((*record)->kind) == 0 ? CUPTI_ERROR_INVALID_KIND : CUPTI_SUCCESS;
}
CUptiResult cuptiActivityEnableCudaEventDeviceTimestamps(std::uint8_t enable)
{
    g_eventTimes = enable != 0;
    return CUPTI_SUCCESS;
}
/// As CUPTI has it under WSL: its own clock is another one, unless the tool gives it one.
CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc clock)
{
    for (const bool enabled : g_enabled) {
        if (enabled) return CUPTI_ERROR_INVALID_OPERATION; // before any kind, CUPTI's manual says
    }
    g_clock = clock;
    return CUPTI_SUCCESS;
}
/// The GPU falls off the bus: who asks for records waits for ever. Returns when somebody does.
void fake_gone()
{
    g_gone.store(true);
    while (!g_asked.load()) usleep(1000);
}
/// CUPTI reports an error of its own, `count` times.
void fake_state_errors(int count)
{
    CUpti_StateData state{};
    state.notification.result = CUPTI_ERROR_UNKNOWN;
    state.notification.message = "something is wrong";
    for (int i = 0; i < count; ++i) g_callback(g_userData, CUPTI_CB_DOMAIN_STATE, 1, &state);
}
/// How often the driver was asked for records so far.
std::uint32_t fake_flushes()
{
    const std::lock_guard lock(g_mutex);
    return g_flushes;
}
CUptiResult cuptiGetTimestamp(std::uint64_t* time)
{
    *time = now();
    return CUPTI_SUCCESS;
}
CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, std::uint32_t id, const char** name)
{
    const bool runtime = domain == CUPTI_CB_DOMAIN_RUNTIME_API;
    if (runtime && id == CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000) {
        *name = "cudaLaunchKernel_v7000";
    } else if (runtime && id == CUPTI_RUNTIME_TRACE_CBID_cudaGetDevice_v3020) {
        *name = "cudaGetDevice_v3020";
    } else if (!runtime && id == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel) {
        *name = "cuLaunchKernel";
    } else {
        *name = "other";
    }
    return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind, std::uint64_t id)
{
    t_external = id;
    return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind, std::uint64_t* id)
{
    *id = t_external;
    t_external = 0;
    return CUPTI_SUCCESS;
}

// ---- What the recorded program does -------------------------------------------------------------------------------

/// `count` launches: a runtime call and its kernel each, one of them lasting 5 us.
void fake_launch(std::uint32_t count)
{
    static const char* const kNames[] = {"_Z4gemmPfS_S_", "_Z9layernormPf", "ncclDevKernel_AllReduce_Sum_f32_RING_LL"};
    const std::lock_guard lock(g_mutex);
    for (std::uint32_t i = 0; i < count; ++i) {
        const std::uint32_t correlation = ++g_correlation;
        const std::uint64_t start = now();
        addApi(CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, correlation, start);
        addKernel(correlation, start + 3000, start + 8000, kNames[t_external != 0 ? 2 : correlation % 3]); // NCCL's own
    }
}

/// One record of every kind that the collector knows, and a call that it filters out.
void fake_every_kind()
{
    const std::lock_guard lock(g_mutex);
    const std::uint64_t start = now();
    if (auto* device = add<CUpti_ActivityDevice5>(CUPTI_ACTIVITY_KIND_DEVICE)) {
        device->name = "Fake GPU";
        device->globalMemorySize = 80ULL << 30;
        device->numMultiprocessors = 132;
        device->computeCapabilityMajor = 9;
    }
    if (auto* context = add<CUpti_ActivityContext3>(CUPTI_ACTIVITY_KIND_CONTEXT)) {
        context->contextId = 1;
        context->nullStreamId = 7;
    }
    if (auto* stream = add<CUpti_ActivityStream>(CUPTI_ACTIVITY_KIND_STREAM)) {
        stream->contextId = 1;
        stream->streamId = 13;
        stream->priority = static_cast<std::uint32_t>(-1);
        stream->flag = CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NON_BLOCKING;
    }
    if (auto* copy = add<CUpti_ActivityMemcpy6>(CUPTI_ACTIVITY_KIND_MEMCPY)) {
        copy->copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_HTOD;
        copy->srcKind = CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
        copy->dstKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
        copy->flags = CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC;
        copy->bytes = 1 << 20;
        copy->start = start;
        copy->end = start + 100;
        copy->correlationId = 1001;
    }
    if (auto* copy = add<CUpti_ActivityMemcpyPtoP4>(CUPTI_ACTIVITY_KIND_MEMCPY2)) {
        copy->copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP;
        copy->bytes = 2 << 20;
        copy->start = start;
        copy->end = start + 100;
        copy->dstDeviceId = 1;
    }
    if (auto* set = add<CUpti_ActivityMemset4>(CUPTI_ACTIVITY_KIND_MEMSET)) {
        set->bytes = 4096;
        set->value = 7;
        set->start = start;
        set->end = start + 50;
    }
    if (auto* memory = add<CUpti_ActivityMemory4>(CUPTI_ACTIVITY_KIND_MEMORY2)) {
        memory->memoryOperationType = CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION;
        memory->memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
        memory->address = 0x7f0000000000;
        memory->bytes = 123456;
        memory->timestamp = start;
        memory->isAsync = 1;
        memory->memoryPoolConfig.memoryPoolType = CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL;
        memory->memoryPoolConfig.address = 0x1234;
        memory->memoryPoolConfig.pool.size = 1 << 21;
        memory->memoryPoolConfig.utilizedSize = 123456;
    }
    if (auto* pool = add<CUpti_ActivityMemoryPool3>(CUPTI_ACTIVITY_KIND_MEMORY_POOL)) {
        pool->memoryPoolOperationType = CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_CREATED;
        pool->memoryPoolType = CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL;
        pool->address = 0x1234;
        pool->timestamp = start;
    }
    if (auto* external = add<CUpti_ActivityExternalCorrelation>(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION)) {
        external->externalKind = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0; // somebody else's
        external->externalId = 0x123456789abc;
        external->correlationId = 1001;
    }
    if (auto* external = add<CUpti_ActivityExternalCorrelation>(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION)) {
        external->externalKind = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2; // the collector's own
        external->externalId = 42;
        external->correlationId = 1003;
    }
    addApi(CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_RUNTIME_TRACE_CBID_cudaGetDevice_v3020, 1002, start);
    addApi(CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, 1003, start);
    if (auto* sync = add<CUpti_ActivitySynchronization2>(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION)) {
        sync->type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE;
        sync->start = start;
        sync->end = start + 10;
        sync->streamId = 7;
        sync->cudaEventId = 0xffffffff;
    }
    if (auto* overhead = add<CUpti_ActivityOverhead3>(CUPTI_ACTIVITY_KIND_OVERHEAD)) {
        overhead->overheadKind = CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH;
        overhead->objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
        overhead->objectId.pt.threadId = 77;
        overhead->start = start;
        overhead->end = start + 10;
    }
    if (auto* graph = add<CUpti_ActivityGraphTrace2>(CUPTI_ACTIVITY_KIND_GRAPH_TRACE)) {
        graph->graphId = 5;
        graph->start = start;
        graph->end = start + 10;
    }
    addKernel(2000, 0, 0, "lost");                  // CUPTI lost the times
    addKernel(2001, start + 50, start, "inverted"); // ends before it starts
    addKernel(2002, start, 0, "running");           // still running at a forced flush
    addKernel(2003, start, start + 5, "fine");
}

/// An event is recorded into stream 7, and stream 13 waits for it.
void fake_event_edge()
{
    const std::lock_guard lock(g_mutex);
    if (auto* event = add<CUpti_ActivityCudaEvent2>(CUPTI_ACTIVITY_KIND_CUDA_EVENT)) {
        event->eventId = 5;
        event->contextId = 1;
        event->streamId = 7;
        event->deviceId = 3;
        event->correlationId = 500;
        event->deviceTimestamp = g_eventTimes ? 123'456 : 0;
        event->cudaEventSyncId = 0x1'0000'0001;
    }
    if (auto* wait = add<CUpti_ActivitySynchronization2>(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION)) {
        wait->type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT;
        wait->start = now();
        wait->end = wait->start + 10;
        wait->contextId = 1;
        wait->streamId = 13;
        wait->cudaEventId = 5;
        wait->correlationId = 501;
        wait->cudaEventSyncId = 0x1'0000'0001;
    }
}

/// Whether CUPTI records this kind now.
int fake_enabled(int kind)
{
    const std::lock_guard lock(g_mutex);
    return g_enabled[kind] ? 1 : 0;
}

/// Whoever reads records next waits until this is called with 0. Returns when somebody does wait.
void fake_hold(int hold)
{
    std::unique_lock lock(g_holdMutex);
    g_hold = hold != 0;
    g_holdChanged.notify_all();
    if (g_hold) g_holdChanged.wait(lock, [] { return g_held; });
}

/// Buffers are requested and never given back, as when another profiler has replaced the callbacks.
void fake_keep_buffers(int keep)
{
    g_keepBuffers = keep != 0;
}

/// The program calls cudaProfilerStart (1) or cudaProfilerStop (0).
void fake_profiler_api(int on)
{
    CUresult result = CUDA_SUCCESS;
    CUpti_CallbackData data{};
    data.functionReturnValue = &result;
    const CUpti_CallbackId id =
        on != 0 ? CUPTI_DRIVER_TRACE_CBID_cuProfilerStart : CUPTI_DRIVER_TRACE_CBID_cuProfilerStop;
    data.callbackSite = CUPTI_API_ENTER;
    g_callback(g_userData, CUPTI_CB_DOMAIN_DRIVER_API, id, &data);
    data.callbackSite = CUPTI_API_EXIT;
    g_callback(g_userData, CUPTI_CB_DOMAIN_DRIVER_API, id, &data);
}

/// The program calls cuMemCreate of `bytes` on device 0.
void fake_mem_create(std::uint64_t bytes)
{
    CUresult result = CUDA_SUCCESS;
    CUmemGenericAllocationHandle handle = 99;
    CUmemAllocationProp property{};
    property.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    cuMemCreate_params parameters{&handle, bytes, &property, 0};
    CUpti_CallbackData data{};
    data.functionReturnValue = &result;
    data.functionParams = &parameters;
    data.callbackSite = CUPTI_API_EXIT;
    g_callback(g_userData, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuMemCreate, &data);
}

} // extern "C"
