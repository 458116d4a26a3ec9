// SPDX-License-Identifier: Apache-2.0
// Setting CUPTI up. The order matters: subscribing first finds out whether somebody else holds it; limits and buffer
// callbacks come before any kind is enabled.
#include "profiler/collect/module/cupti_session.h"

#include "profiler/collect/collector_environment.h"
#include "profiler/collect/module/activity_records.h"
#include "profiler/collect/module/cupti_search.h"
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
constexpr CUpti_CallbackId kLaunches[] = {
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,   CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch,    CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz};

constexpr int kBusy = 39; // CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED
constexpr char kForbidden[] = "the driver lets administrators only profile: nothing of the GPU is recorded; run with "
                              "CAP_SYS_ADMIN, or load the driver with NVreg_RestrictProfilingToAdminUsers=0";

bool isForbidden(CUptiResult result)
{
    return result == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES ||
           result == CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES;
}

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

void CUPTIAPI onSharedBufferRequested(std::uint8_t** buffer, std::size_t* size, std::size_t* most, SharedBufferInfo*)
{
    onBufferRequested(buffer, size, most);
}

void CUPTIAPI onSharedBufferCompleted(std::uint8_t* buffer, std::size_t size, std::size_t validSize, SharedBufferInfo*)
{
    onBufferCompleted(nullptr, 0, buffer, size, validSize);
}

} // namespace

std::uint8_t* Recorder::bufferRequested(std::size_t* size)
{
    const CostScope cost(callbackNs, callbacks);
    m_requestedBuffers.fetch_add(1, std::memory_order_relaxed);
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
    const CUptiResult result = m_library.enableKind(kind, on);
    const std::uint64_t bit = 1ULL << (static_cast<unsigned>(kind) & 63U);
    if (!on || result == CUPTI_SUCCESS || (m_refusedKinds & bit) != 0) return;
    m_refusedKinds |= bit;
    if (isForbidden(result)) {
        if (m_forbidden) return; // once for all kinds
        m_forbidden = true;
        m_recorder.message(MessageCode::CuptiFailed, Severity::Error, static_cast<std::int64_t>(result), kForbidden);
        return;
    }
    char text[192];
    std::snprintf(text, sizeof text, "CUPTI does not record activity kind %d here: %s", static_cast<int>(kind),
                  m_library.textOf(result));
    m_recorder.message(MessageCode::KindRefused, Severity::Warning, static_cast<std::int64_t>(kind), text);
}

bool CuptiSession::subscribe()
{
    const int driver = loadedDriverVersion();
    // CUPTI itself is not asked then: the one of CUDA 13.2 (nvidia-cuda-cupti 13.2.86) calls itself for ever.
    if (driver == 0 && openLibrary("libcuda.so.1", true) == nullptr) {
        m_recorder.message(MessageCode::CuptiFailed, Severity::Error, 0,
                           "this machine has no CUDA driver (libcuda.so.1): nothing of the GPU is recorded");
        return false;
    }
    CuptiSearch search(driver);
    CUptiResult failure = CUPTI_SUCCESS;
    int cudaMajor = 0; // of the CUPTI that failed
    bool tooOld = false;
    char other[64] = "";
    while (void* const library = search.next()) {
        CUptiResult result = m_library.bindTo(library);
        if (result == CuptiLibrary::kTooOld) {
            tooOld = true;
            continue;
        }
        if (result == CUPTI_SUCCESS) result = m_library.subscribe(&CuptiSession::onCallback, &m_recorder, other);
        if (result == CUPTI_SUCCESS) {
            char text[1200];
            char paths[1000];
            if (search.loaded(paths, sizeof paths) > 1) {
                std::snprintf(text, sizeof text, "the process has loaded several copies of CUPTI (%s); %s is used",
                              paths, search.path());
                m_recorder.message(MessageCode::CuptiCopies, Severity::Info, 0, text);
            }
            return true;
        }
        if (failure == CUPTI_SUCCESS || static_cast<int>(result) == kBusy) {
            failure = result;
            cudaMajor = m_library.version != 0 ? m_library.cudaMajor() : search.cudaMajor();
        }
        if (static_cast<int>(result) == kBusy) break; // any other copy would record nothing
    }
    sayWhyNot(failure, tooOld, cudaMajor, other);
    return false;
}

void CuptiSession::sayWhyNot(CUptiResult failure, bool tooOld, int cudaMajor, const char* other)
{
    constexpr char kNothing[] = "nothing of the GPU is recorded";
    const auto say = [&](MessageCode code, const char* text) {
        m_recorder.message(code, Severity::Error, static_cast<std::int64_t>(failure), text);
    };
    char text[512];
    const char* const named = std::getenv(kEnvCupti);
    const int driver = loadedDriverVersion();
    if (failure == CUPTI_SUCCESS && tooOld) {
        std::snprintf(text, sizeof text,
                      "libcupti is older than CUDA 12.0: %s (put a newer toolkit's library folder first in "
                      "LD_LIBRARY_PATH)",
                      kNothing);
        return say(MessageCode::CuptiMissing, text);
    }
    if (failure == CUPTI_SUCCESS && named != nullptr && *named != '\0') {
        std::snprintf(text, sizeof text, "%s=%s cannot be loaded: %s", kEnvCupti, named, kNothing);
        return say(MessageCode::CuptiMissing, text);
    }
    if (failure == CUPTI_SUCCESS) {
        std::snprintf(text, sizeof text,
                      "libcupti was not found: %s (put the CUDA toolkit's library folder into LD_LIBRARY_PATH, or its "
                      "path into %s)",
                      kNothing, kEnvCupti);
        return say(MessageCode::CuptiMissing, text);
    }
    if (static_cast<int>(failure) == kBusy) {
        std::snprintf(text, sizeof text,
                      "another profiler (%s) holds CUPTI in this process: %s; end it, or record without it",
                      *other != '\0' ? other : m_library.textOf(failure), kNothing);
        return say(MessageCode::CuptiBusy, text);
    }
    if (isForbidden(failure)) return say(MessageCode::CuptiFailed, kForbidden);
    if (driver != 0 && driver / 1000 < cudaMajor) {
        std::snprintf(text, sizeof text,
                      "the driver is of CUDA %d.%d and libcupti of CUDA %d: %s; use a newer driver, or a libcupti of "
                      "the driver's CUDA",
                      driver / 1000, driver % 1000 / 10, cudaMajor, kNothing);
        return say(MessageCode::CuptiFailed, text);
    }
    std::snprintf(text, sizeof text, "CUPTI cannot be used (%s): %s; check the driver", m_library.textOf(failure),
                  kNothing);
    say(MessageCode::CuptiFailed, text);
}

bool CuptiSession::registerBuffers()
{
    const CUptiResult result = m_library.shared
                                   ? m_library.sharing.registerCallbacks(m_library.subscriber, onSharedBufferRequested,
                                                                         onSharedBufferCompleted)
                                   : m_library.registerCallbacks(onBufferRequested, onBufferCompleted);
    if (result == CUPTI_SUCCESS) return true;
    m_recorder.message(MessageCode::CuptiFailed, Severity::Error, static_cast<std::int64_t>(result),
                       "CUPTI takes no buffers: nothing of the GPU is recorded; check the driver");
    return false;
}

void CuptiSession::setLimits(std::uint32_t poolLimit)
{
    std::size_t limit = poolLimit;
    m_library.set(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT, sizeof limit, &limit);
    std::uint8_t zeroed = 1; // the pool's buffers are zero already: CUPTI need not do it on the program's threads
    m_library.set(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, sizeof zeroed, &zeroed);
    m_library.useSystemThreads();
    if (m_wholeGraphs.load()) m_library.allowWholeGraphs();
}

void CuptiSession::watchCalls()
{
    constexpr CUpti_CallbackId kDriver[] = {
        CUPTI_DRIVER_TRACE_CBID_cuProfilerStart, CUPTI_DRIVER_TRACE_CBID_cuProfilerStop,
        CUPTI_DRIVER_TRACE_CBID_cuMemCreate,     CUPTI_DRIVER_TRACE_CBID_cuMemRelease,
        CUPTI_DRIVER_TRACE_CBID_cuMemMap,        CUPTI_DRIVER_TRACE_CBID_cuMemUnmap};
    for (const CUpti_CallbackId id : kDriver) {
        m_library.enableCallback(1, m_library.subscriber, CUPTI_CB_DOMAIN_DRIVER_API, id);
    }
    m_library.enableCallback(1, m_library.subscriber, CUPTI_CB_DOMAIN_RUNTIME_API,
                             CUPTI_RUNTIME_TRACE_CBID_cudaDeviceReset_v3020);
    m_library.enableDomain(1, m_library.subscriber, CUPTI_CB_DOMAIN_STATE);
}

void CuptiSession::begin(const Settings& settings)
{
    if (m_begun.exchange(true)) return;
    m_parts = settings.parts;
    m_syncStacks = settings.syncStacks;
    if (settings.detail != Detail::Auto) m_detail.store(settings.detail);
    if (!m_parts.cuda) return;
    m_wholeGraphs.store(!m_parts.graphNodes);
    if (!subscribe()) return;
    setLimits(settings.poolLimit);
    if (!registerBuffers()) return;
    m_filter.learn(m_library);
    watchCalls();
    m_active.store(true, std::memory_order_release);
    enableAlways();
    if (m_recorder.capturing()) capture(true);
}

void CuptiSession::enableAlways()
{
    for (const CUpti_ActivityKind kind : kAlways) enable(kind, true);
    if (!m_parts.memory) return;
    for (const CUpti_ActivityKind kind : kMemoryKinds) enable(kind, true);
}

void CuptiSession::takeBack()
{
    if (!active() || m_library.shared) return;
    m_library.registerCallbacks(onBufferRequested, onBufferCompleted);
    m_library.useClock(&cuptiClock); // Kineto has given CUPTI its own, which counts the processor's ticks
    enableAlways();
    if (m_capturing.load()) capture(true);
}

void CuptiSession::watchWaits(bool on)
{
    constexpr CUpti_CallbackId kRuntime[] = {CUPTI_RUNTIME_TRACE_CBID_cudaMemcpy_v3020,
                                             CUPTI_RUNTIME_TRACE_CBID_cudaMemcpy_ptds_v7000,
                                             CUPTI_RUNTIME_TRACE_CBID_cudaStreamSynchronize_v3020,
                                             CUPTI_RUNTIME_TRACE_CBID_cudaStreamSynchronize_ptsz_v7000,
                                             CUPTI_RUNTIME_TRACE_CBID_cudaEventSynchronize_v3020,
                                             CUPTI_RUNTIME_TRACE_CBID_cudaDeviceSynchronize_v3020};
    for (const CUpti_CallbackId id : kRuntime) {
        m_library.enableCallback(on ? 1 : 0, m_library.subscriber, CUPTI_CB_DOMAIN_RUNTIME_API, id);
    }
}

void CuptiSession::watchLaunches(bool on)
{
    for (const CUpti_CallbackId id : kLaunches) {
        m_library.enableCallback(on ? 1 : 0, m_library.subscriber, CUPTI_CB_DOMAIN_DRIVER_API, id);
    }
}

void CuptiSession::recordWholeGraphs()
{
    if (m_library.shared || m_wholeGraphs.exchange(true) || !active() || !m_capturing.load()) return;
    enable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE, true);
}

void CuptiSession::capture(bool on)
{
    if (!active()) return;
    for (const CUpti_ActivityKind kind : kDeviceKinds) enable(kind, on);
    if (m_wholeGraphs.load()) enable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE, on);
    captureCalls(on);
    m_capturing.store(on);
    if (on && m_detail.load() == Detail::Low) captureCalls(true); // it was set meanwhile
}

void CuptiSession::captureCalls(bool on)
{
    const bool each = on && m_detail.load() != Detail::Low;
    if (m_parts.api) {
        for (const CUpti_ActivityKind kind : kApiKinds) enable(kind, each);
        if (each) m_filter.apply(m_library);
        // NCCL's launches are tied to its calls even so: by the one function that launches them.
        if (on && !each) {
            enable(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, true);
            m_library.enableCall(CUPTI_CB_DOMAIN_DRIVER_API, kNcclLaunch, true);
        } else if (!on) {
            m_library.enableCall(CUPTI_CB_DOMAIN_DRIVER_API, kNcclLaunch, false);
        }
    }
    if (m_parts.api && m_syncStacks) watchWaits(each);
    if (!m_parts.sync) return;
    if (each && m_detail.load() == Detail::Full) m_library.recordTimesOfEvents();
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
    m_dropped.fetch_add(m_library.dropped());
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
    return active() && m_library.pushExternal(kOwnExternalKind, id);
}

void CuptiSession::popExternal() const
{
    m_library.popExternal(kOwnExternalKind);
}

std::uint64_t CuptiSession::timestamp() const
{
    return active() ? m_library.now() : 0;
}

} // namespace fourwalls::collect::module
