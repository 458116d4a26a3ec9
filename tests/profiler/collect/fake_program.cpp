// SPDX-License-Identifier: Apache-2.0
// The other half of the stand-in for libcupti: what a program on a GPU would make CUPTI record, written with CUPTI's own
// structures. The recorded program (recorded_program.cpp) calls these functions in the place of CUDA's.
#include "tests/profiler/collect/fake_cupti.h"

#include <vector>

using namespace fake;

extern "C" {

/// `count` launches: a runtime call and its kernel each, one of them lasting 5 us.
void fake_launch(std::uint32_t count)
{
    static const char* const kNames[] = {"_Z4gemmPfS_S_", "_Z9layernormPf", "ncclDevKernel_AllReduce_Sum_f32_RING_LL"};
    for (std::uint32_t i = 0; i < count; ++i) {
        const std::uint32_t correlation = ++g_correlation;
        tell(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, correlation, CUPTI_API_ENTER);
        const std::lock_guard lock(g_mutex);
        const std::uint64_t start = now();
        addApi(CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, correlation, start);
        addKernel(correlation, start + 3000, start + 8000, kNames[t_external != 0 ? 2 : correlation % 3]); // NCCL's own
    }
}

/// The program copies from GPU to GPU, asynchronously.
void fake_copy(std::uint64_t bytes)
{
    const std::lock_guard lock(g_mutex);
    const std::uint32_t correlation = ++g_correlation;
    addApi(CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020, correlation, now());
    if (auto* copy = add<CUpti_ActivityMemcpy6>(CUPTI_ACTIVITY_KIND_MEMCPY)) {
        copy->copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_DTOD;
        copy->bytes = bytes;
        copy->start = now();
        copy->end = copy->start + 100;
        copy->contextId = 1;
        copy->streamId = 7;
        copy->correlationId = correlation;
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
        std::memset(&device->uuid, 0x11, sizeof device->uuid);
        device->isMigEnabled = 1; // the part of a card, which has a name of its own
        std::memset(&device->migUuid, 0x22, sizeof device->migUuid);
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

/// The program always has work under way: of itself CUPTI gives back full buffers only.
void fake_unfinished(int unfinished)
{
    const std::lock_guard lock(g_mutex);
    g_unfinished = unfinished != 0;
}

/// That many threads call CUDA, and CUPTI asks for a buffer for each. How many it got; they are given back empty.
std::uint32_t fake_threads(std::uint32_t count)
{
    std::vector<std::uint8_t*> buffers;
    std::size_t size = 0, most = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
        std::uint8_t* buffer = nullptr;
        g_request(&buffer, &size, &most);
        if (buffer != nullptr) buffers.push_back(buffer);
    }
    for (std::uint8_t* const buffer : buffers) g_complete(nullptr, 0, buffer, size, 0);
    return static_cast<std::uint32_t>(buffers.size());
}

/// How many device buffers of a context CUPTI may make, as the recording has said.
std::size_t fake_pool_limit()
{
    return g_poolLimit;
}

/// The GPU falls off the bus: who asks for records waits for ever. Returns when somebody does.
void fake_gone()
{
    g_gone.store(true);
    g_asked.wait(false);
}

/// The same when the program ends, and not before.
void fake_gone_at_end()
{
    g_goneAtEnd.store(true);
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

/// The program calls cudaProfilerStart (1) or cudaProfilerStop (0).
void fake_profiler_api(int on)
{
    const std::uint32_t function =
        on != 0 ? CUPTI_DRIVER_TRACE_CBID_cuProfilerStart : CUPTI_DRIVER_TRACE_CBID_cuProfilerStop;
    tell(CUPTI_CB_DOMAIN_DRIVER_API, function, 0, CUPTI_API_ENTER);
    tell(CUPTI_CB_DOMAIN_DRIVER_API, function, 0, CUPTI_API_EXIT);
}

/// The program calls cuMemCreate of `bytes` on device 0.
void fake_mem_create(std::uint64_t bytes)
{
    CUmemGenericAllocationHandle handle = 99;
    CUmemAllocationProp property{};
    property.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    const cuMemCreate_params parameters{&handle, bytes, &property, 0};
    tell(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuMemCreate, 0, CUPTI_API_EXIT, &parameters);
}

/// Whether CUPTI records calls of this function of the runtime (1) or the driver (0).
int fake_call_enabled(int runtime, std::uint32_t function)
{
    const std::lock_guard lock(g_mutex);
    const int kind = runtime != 0 ? CUPTI_ACTIVITY_KIND_RUNTIME : CUPTI_ACTIVITY_KIND_DRIVER;
    return g_enabled[kind] && g_muted.count({kind, function}) == 0 ? 1 : 0;
}

/// The program waits for a stream: cudaStreamSynchronize.
void fake_synchronize()
{
    const std::uint32_t correlation = ++g_correlation;
    constexpr auto kFunction = CUPTI_RUNTIME_TRACE_CBID_cudaStreamSynchronize_v3020;
    tell(CUPTI_CB_DOMAIN_RUNTIME_API, kFunction, correlation, CUPTI_API_ENTER);
    tell(CUPTI_CB_DOMAIN_RUNTIME_API, kFunction, correlation, CUPTI_API_EXIT);
    const std::lock_guard lock(g_mutex);
    addApi(CUPTI_ACTIVITY_KIND_RUNTIME, kFunction, correlation, now());
}

/// Another profiler takes the buffers over, with a clock of its own that counts ticks, and ends with switching its kinds
/// off, as Kineto does.
void fake_take_over()
{
    const std::lock_guard lock(g_mutex);
    completeBuffer();
    g_request = [](std::uint8_t** buffer, std::size_t* size, std::size_t*) {
        *buffer = static_cast<std::uint8_t*>(std::calloc(1, *size = 1 << 20));
    };
    g_complete = [](CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t) { std::free(buffer); };
    for (bool& enabled : g_enabled) enabled = false;
    g_clock = [] {
        timespec time{};
        clock_gettime(CLOCK_MONOTONIC_RAW, &time);
        return static_cast<std::uint64_t>(time.tv_sec) * 3'000'000'000U + static_cast<std::uint64_t>(time.tv_nsec) * 3;
    };
}

/// `count` replays of a graph of one kernel, whose times CUPTI has lost; one record each where graphs are recorded whole.
void fake_graph(std::uint32_t count)
{
    const std::lock_guard lock(g_mutex);
    for (std::uint32_t i = 0; i < count; ++i) {
        if (g_enabled[CUPTI_ACTIVITY_KIND_GRAPH_TRACE]) {
            auto* graph = add<CUpti_ActivityGraphTrace2>(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
            if (graph == nullptr) continue;
            graph->graphId = 5;
            graph->start = now();
            graph->end = graph->start + 10;
        } else if (auto* kernel = add<CUpti_ActivityKernel10>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)) {
            kernel->graphId = 5;
            kernel->graphNodeId = 50;
            kernel->correlationId = ++g_correlation;
            kernel->name = "node";
        }
    }
}

} // extern "C"
