// SPDX-License-Identifier: Apache-2.0
// Setting CUPTI up. The order matters: subscribing first finds out whether somebody else holds it; limits and buffer
// callbacks come before any kind is enabled.
#include "profiler/collect/module/cupti_session.h"

#include "profiler/collect/module/activity_records.h"
#include "profiler/collect/module/recorder.h"
#include "profiler/collect/module/system.h"

#include <cstdio>
#include <cstdlib>

namespace fourwalls::collect::module {

namespace {

// Definitions and memory are always recorded: what a window needs may have been made before it.
constexpr CUpti_ActivityKind kAlways[] = {CUPTI_ACTIVITY_KIND_DEVICE, CUPTI_ACTIVITY_KIND_CONTEXT,
                                          CUPTI_ACTIVITY_KIND_STREAM};
constexpr CUpti_ActivityKind kMemoryKinds[] = {CUPTI_ACTIVITY_KIND_MEMORY2, CUPTI_ACTIVITY_KIND_MEMORY_POOL};
constexpr CUpti_ActivityKind kDeviceKinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                                               CUPTI_ACTIVITY_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMSET,
                                               CUPTI_ACTIVITY_KIND_OVERHEAD};
constexpr CUpti_ActivityKind kApiKinds[] = {CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_DRIVER,
                                            CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION};

// NCCL launches its kernels with this function of the driver (enqueue.cc).
constexpr CUpti_CallbackId kNcclLaunch = CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx;

// From this version on a refused buffer is safe; before, CUPTI could crash on one.
constexpr std::uint32_t kRefusalIsSafe = 27;
constexpr std::size_t kScrapBytes = 256 << 10;
constexpr std::uint32_t kMostStateMessages = 8;

void CUPTIAPI onBufferRequested(std::uint8_t** buffer, std::size_t* size, std::size_t* maxNumRecords)
{
    *maxNumRecords = 0; // as many as fit
    *size = 0;
    Recorder* const recorder = Recorder::current();
    *buffer = recorder == nullptr ? nullptr : recorder->bufferRequested(size);
}

std::uint64_t CUPTIAPI cuptiClock()
{
    return realtime();
}

void CUPTIAPI onBufferCompleted(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t validSize)
{
    Recorder* const recorder = Recorder::current();
    if (recorder != nullptr && buffer != nullptr) recorder->bufferCompleted(buffer, validSize);
}

} // namespace

std::uint8_t* Recorder::bufferRequested(std::size_t* size)
{
    const CostScope cost(callbackNs, callbacks);
    if (std::uint8_t* const buffer = m_pool.take()) {
        *size = kBufferBytes;
        return buffer;
    }
    m_refusedBuffers.fetch_add(1, std::memory_order_relaxed);
    m_writerAlarm.wake();
    if (m_cupti.library().version >= kRefusalIsSafe) return nullptr;
    *size = kScrapBytes;
    return static_cast<std::uint8_t*>(std::calloc(1, kScrapBytes));
}

void Recorder::bufferCompleted(std::uint8_t* bytes, std::size_t valid)
{
    const CostScope cost(callbackNs, callbacks);
    m_completedBuffers.fetch_add(1, std::memory_order_relaxed);
    if (m_pool.complete(bytes, valid)) {
        m_writerAlarm.wake();
        return;
    }
    m_discardedRecords.fetch_add(countRecords(m_cupti.library(), {bytes, valid}), std::memory_order_relaxed);
    std::free(bytes);
}

void CuptiSession::enable(CUpti_ActivityKind kind, bool on)
{
    const CUptiResult result = on ? m_library.activityEnable(kind) : m_library.activityDisable(kind);
    const std::uint64_t bit = 1ULL << (static_cast<unsigned>(kind) & 63U);
    if (!on || result == CUPTI_SUCCESS || (m_refusedKinds & bit) != 0) return;
    m_refusedKinds |= bit;
    char text[192];
    std::snprintf(text, sizeof text, "CUPTI does not record activity kind %d here: %s", static_cast<int>(kind),
                  m_library.textOf(result));
    m_recorder.message(MessageCode::KindRefused, Severity::Warning, static_cast<std::int64_t>(kind), text);
}

bool CuptiSession::subscribe()
{
    const CUptiResult result = m_library.subscribe(&m_subscriber, &CuptiSession::onCallback, &m_recorder);
    if (result == CUPTI_SUCCESS) return true;
    const bool busy = static_cast<int>(result) == 39; // CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED
    char text[256];
    std::snprintf(text, sizeof text,
                  busy
                      ? "another profiler (%s) holds CUPTI in this process: nothing of the GPU is recorded; end it, or "
                        "record without it"
                      : "CUPTI cannot be used (%s): nothing of the GPU is recorded; check the driver",
                  m_library.textOf(result));
    m_recorder.message(busy ? MessageCode::CuptiBusy : MessageCode::CuptiFailed, Severity::Error,
                       static_cast<std::int64_t>(result), text);
    return false;
}

void CuptiSession::setLimits(std::uint32_t poolLimit)
{
    if (m_library.setAttribute != nullptr) {
        std::size_t limit = poolLimit;
        std::size_t size = sizeof limit;
        m_library.setAttribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT, &size, &limit);
        std::uint8_t zeroed = 1; // the pool's buffers are zero already: CUPTI need not do it on the program's threads
        size = sizeof zeroed;
        m_library.setAttribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, &size, &zeroed);
    }
    if (m_library.setThreadIdType != nullptr) m_library.setThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
    // The clock of everything else in the spool: of itself CUPTI takes another one under WSL.
    if (m_library.registerClock != nullptr) m_library.registerClock(&cuptiClock);
}

void CuptiSession::watchCalls()
{
    constexpr CUpti_CallbackId kDriver[] = {
        CUPTI_DRIVER_TRACE_CBID_cuProfilerStart, CUPTI_DRIVER_TRACE_CBID_cuProfilerStop,
        CUPTI_DRIVER_TRACE_CBID_cuMemCreate,     CUPTI_DRIVER_TRACE_CBID_cuMemRelease,
        CUPTI_DRIVER_TRACE_CBID_cuMemMap,        CUPTI_DRIVER_TRACE_CBID_cuMemUnmap};
    for (const CUpti_CallbackId id : kDriver) {
        m_library.enableCallback(1, m_subscriber, CUPTI_CB_DOMAIN_DRIVER_API, id);
    }
    m_library.enableCallback(1, m_subscriber, CUPTI_CB_DOMAIN_RUNTIME_API,
                             CUPTI_RUNTIME_TRACE_CBID_cudaDeviceReset_v3020);
    m_library.enableDomain(1, m_subscriber, CUPTI_CB_DOMAIN_STATE);
}

void CuptiSession::begin(const Settings& settings)
{
    if (m_begun.exchange(true)) return;
    m_parts = settings.parts;
    if (settings.detail != Detail::Auto) m_detail.store(settings.detail);
    if (!m_parts.cuda) return;
    const char* problem = nullptr;
    if (!m_library.load(&problem)) {
        m_recorder.message(MessageCode::CuptiMissing, Severity::Error, 0, problem);
        return;
    }
    if (!subscribe()) return;
    setLimits(settings.poolLimit);
    if (const CUptiResult result = m_library.registerCallbacks(onBufferRequested, onBufferCompleted);
        result != CUPTI_SUCCESS) {
        m_recorder.message(MessageCode::CuptiFailed, Severity::Error, static_cast<std::int64_t>(result),
                           "CUPTI takes no buffers: nothing of the GPU is recorded; check the driver");
        return;
    }
    m_filter.learn(m_library);
    watchCalls();
    m_active.store(true, std::memory_order_release);
    for (const CUpti_ActivityKind kind : kAlways) enable(kind, true);
    if (m_parts.memory) {
        for (const CUpti_ActivityKind kind : kMemoryKinds) enable(kind, true);
    }
    if (m_recorder.capturing()) capture(true);
}

void CuptiSession::capture(bool on)
{
    if (!active()) return;
    for (const CUpti_ActivityKind kind : kDeviceKinds) enable(kind, on);
    if (!m_parts.graphNodes) enable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE, on);
    captureCalls(on);
    m_capturing.store(on);
    if (on && m_detail.load() == Detail::Low) captureCalls(true); // it was set meanwhile
}

void CuptiSession::captureCalls(bool on)
{
    const bool each = on && m_detail.load() != Detail::Low;
    if (m_parts.api) {
        for (const CUpti_ActivityKind kind : kApiKinds) enable(kind, each);
        // NCCL's launches are tied to its calls even so: by the one function that launches them.
        if (on && !each) {
            enable(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, true);
            if (m_library.enableDriverApi != nullptr) m_library.enableDriverApi(kNcclLaunch, 1);
        } else if (!on && m_library.enableDriverApi != nullptr) {
            m_library.enableDriverApi(kNcclLaunch, 0);
        }
    }
    if (!m_parts.sync) return;
    if (each && m_detail.load() == Detail::Full && m_library.enableEventTimes != nullptr) m_library.enableEventTimes(1);
    enable(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, each);
    enable(CUPTI_ACTIVITY_KIND_CUDA_EVENT, each);
}

void CuptiSession::setDetail(Detail detail)
{
    m_detail.store(detail);
    if (active() && m_capturing.load()) captureCalls(true);
}

void CuptiSession::flush(bool forced)
{
    if (!active()) return;
    // Before the program's first launches, and between them, there is nothing to ask the driver for.
    if (!forced && m_recorder.pool().outside() == 0) return;
    m_library.flushAll(forced ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0);
    std::size_t dropped = 0;
    if (m_library.getNumDropped(nullptr, 0, &dropped) == CUPTI_SUCCESS) m_dropped.fetch_add(dropped);
}

void CuptiSession::end()
{
    if (!active()) return;
    capture(false);
    for (const CUpti_ActivityKind kind : kAlways) enable(kind, false);
    for (const CUpti_ActivityKind kind : kMemoryKinds) enable(kind, false);
    flush(true);
}

bool CuptiSession::pushExternal(std::uint64_t id) const
{
    return active() && m_library.pushExternal != nullptr && m_library.popExternal != nullptr &&
           m_library.pushExternal(kOwnExternalKind, id) == CUPTI_SUCCESS;
}

void CuptiSession::popExternal() const
{
    std::uint64_t last = 0;
    m_library.popExternal(kOwnExternalKind, &last);
}

std::uint64_t CuptiSession::timestamp() const
{
    std::uint64_t now = 0;
    return active() && m_library.getTimestamp != nullptr && m_library.getTimestamp(&now) == CUPTI_SUCCESS ? now : 0;
}

namespace {

void recordVirtualMemory(Recorder& recorder, CUpti_CallbackId id, const CUpti_CallbackData& call)
{
    VirtualMemory to{};
    to.time = realtime();
    to.device = -1;
    to.thread = threadId();
    to.correlation = call.correlationId;
    switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuMemCreate: {
        const auto* from = static_cast<const cuMemCreate_params*>(call.functionParams);
        to.operation = static_cast<std::uint32_t>(VirtualMemoryOperation::Create);
        to.handle = from->handle != nullptr ? *from->handle : 0;
        to.size = from->size;
        if (from->prop != nullptr && from->prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE) {
            to.device = from->prop->location.id;
        }
        break;
    }
    case CUPTI_DRIVER_TRACE_CBID_cuMemRelease:
        to.operation = static_cast<std::uint32_t>(VirtualMemoryOperation::Release);
        to.handle = static_cast<const cuMemRelease_params*>(call.functionParams)->handle;
        break;
    case CUPTI_DRIVER_TRACE_CBID_cuMemMap: {
        const auto* from = static_cast<const cuMemMap_params*>(call.functionParams);
        to.operation = static_cast<std::uint32_t>(VirtualMemoryOperation::Map);
        to.handle = from->handle;
        to.address = from->ptr;
        to.size = from->size;
        break;
    }
    default: {
        const auto* from = static_cast<const cuMemUnmap_params*>(call.functionParams);
        to.operation = static_cast<std::uint32_t>(VirtualMemoryOperation::Unmap);
        to.address = from->ptr;
        to.size = from->size;
    }
    }
    recorder.push(RecordKind::VirtualMemory, to);
}

bool succeeded(const CUpti_CallbackData& call)
{
    return call.functionReturnValue != nullptr &&
           *static_cast<const CUresult*>(call.functionReturnValue) == CUDA_SUCCESS;
}

} // namespace

void CuptiSession::onCallback(void* userData, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data)
{
    Recorder& recorder = *static_cast<Recorder*>(userData);
    if (Recorder::current() != &recorder) return; // a forked child
    if (domain == CUPTI_CB_DOMAIN_STATE) {
        // They may come with every launch; the first ones tell.
        if (recorder.cupti().m_stateMessages.fetch_add(1) >= kMostStateMessages) return;
        const auto* state = static_cast<const CUpti_StateData*>(data);
        recorder.message(
            MessageCode::CuptiFailed, Severity::Error, static_cast<std::int64_t>(state->notification.result),
            state->notification.message != nullptr ? state->notification.message : "CUPTI reports an error");
        return;
    }
    const auto& call = *static_cast<const CUpti_CallbackData*>(data);
    const bool enter = call.callbackSite == CUPTI_API_ENTER;
    if (domain == CUPTI_CB_DOMAIN_RUNTIME_API) {
        if (enter) recorder.cupti().flush(false); // before cudaDeviceReset destroys what is not delivered
        return;
    }
    if (domain != CUPTI_CB_DOMAIN_DRIVER_API) return;
    if (id == CUPTI_DRIVER_TRACE_CBID_cuProfilerStart) {
        if (!enter) recorder.profilerApi(true);
    } else if (id == CUPTI_DRIVER_TRACE_CBID_cuProfilerStop) {
        if (enter) recorder.profilerApi(false);
    } else if (!enter && succeeded(call) && recorder.settings().parts.memory) {
        const CostScope cost(recorder.callbackNs, recorder.callbacks);
        recordVirtualMemory(recorder, id, call);
    }
}

} // namespace fourwalls::collect::module
