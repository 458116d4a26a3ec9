// SPDX-License-Identifier: Apache-2.0
// A stand-in for libcupti, with its SONAME: what the collector calls. FAKE_CUPTI_REAL names the true library, whose
// record iterator is then used. FAKE_CUPTI_VERSION is its version; from 130300 on it lets several profilers subscribe,
// unless FAKE_CUPTI_ALONE is set. FAKE_CUPTI_OTHER is the name of a profiler that has subscribed before; FAKE_CUPTI_RESULT
// the answer to a subscription, of the copy whose path FAKE_CUPTI_FAILS is part of; FAKE_CUPTI_FORBIDS the answer to
// every kind, FAKE_CUPTI_VERSION_RESULT the one to the question for the version. FAKE_CUPTI_WSL: its clock is WSL's.
#include "tests/profiler/collect/fake_cupti.h"
#include "profiler/collect/module/cupti_sharing.h"

#include <algorithm>
#include <iterator>

using namespace fake;
using fourwalls::collect::module::SharedBufferInfo;
using fourwalls::collect::module::SharedSubscriber;
using fourwalls::collect::module::SharingFunctions;

namespace {

SharingFunctions::Requested g_sharedRequest = nullptr;
SharingFunctions::Completed g_sharedComplete = nullptr;

CUptiResult refusal()
{
    Dl_info self{};
    dladdr(reinterpret_cast<const void*>(&refusal), &self);
    if (std::strstr(self.dli_fname, setting("FAKE_CUPTI_FAILS")) == nullptr) return CUPTI_SUCCESS;
    return static_cast<CUptiResult>(std::atoi(setting("FAKE_CUPTI_RESULT")));
}

CUptiResult switchKind(CUpti_ActivityKind kind, bool on)
{
    if (on && *setting("FAKE_CUPTI_FORBIDS") != '\0')
        return static_cast<CUptiResult>(std::atoi(setting("FAKE_CUPTI_FORBIDS")));
    const std::lock_guard lock(g_mutex);
    g_enabled[kind] = on;
    // As the manual says: the kind overrides what was said about its functions before.
    for (auto at = g_muted.begin(); at != g_muted.end();) at = at->first == kind ? g_muted.erase(at) : std::next(at);
    return CUPTI_SUCCESS;
}

bool isAnyEnabled()
{
    return std::any_of(std::begin(g_enabled), std::end(g_enabled), [](bool enabled) { return enabled; });
}

/// With the sizes that CUPTI's manual has.
CUptiResult setAttribute(CUpti_ActivityAttribute attribute, const std::size_t* size, const void* value)
{
    if (attribute == CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT) {
        if (*size != sizeof g_poolLimit) return CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT;
        std::memcpy(&g_poolLimit, value, sizeof g_poolLimit);
    } else if (attribute == CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER) {
        if (*size != 1) return CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT;
        g_zeroed = *static_cast<const std::uint8_t*>(value) != 0;
    }
    return CUPTI_SUCCESS;
}

CUptiResult switchCall(CUpti_ActivityKind kind, std::uint32_t function, bool on)
{
    const std::lock_guard lock(g_mutex);
    if (on) {
        g_muted.erase({kind, function});
    } else {
        g_muted.insert({kind, function});
    }
    return CUPTI_SUCCESS;
}

CUptiResult nextRecord(std::uint8_t* buffer, std::size_t valid, CUpti_Activity** record)
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

} // namespace

extern "C" {

CUptiResult cuptiGetVersion(std::uint32_t* version)
{
    if (*setting("FAKE_CUPTI_VERSION_RESULT") != '\0')
        return static_cast<CUptiResult>(std::atoi(setting("FAKE_CUPTI_VERSION_RESULT")));
    *version = fake::version();
    return CUPTI_SUCCESS;
}

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback, void* userData)
{
    if (const CUptiResult refused = refusal(); refused != CUPTI_SUCCESS) return refused;
    if (*setting("FAKE_CUPTI_OTHER") != '\0') return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    g_callback = callback;
    g_userData = userData;
    *subscriber = reinterpret_cast<CUpti_SubscriberHandle>(&g_callback);
    return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableCallback(std::uint32_t enable, CUpti_SubscriberHandle, CUpti_CallbackDomain domain,
                                CUpti_CallbackId function)
{
    if (enable != 0) {
        g_watched.insert({domain, function});
    } else {
        g_watched.erase({domain, function});
    }
    return CUPTI_SUCCESS;
}
CUptiResult cuptiEnableDomain(std::uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain)
{
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind)
{
    return g_shared ? CUPTI_ERROR_NOT_COMPATIBLE : switchKind(kind, true);
}
CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind)
{
    return g_shared ? CUPTI_ERROR_NOT_COMPATIBLE : switchKind(kind, false);
}
CUptiResult cuptiActivityEnableDriverApi(CUpti_CallbackId function, std::uint8_t enable)
{
    return g_shared ? CUPTI_ERROR_NOT_COMPATIBLE : switchCall(CUPTI_ACTIVITY_KIND_DRIVER, function, enable != 0);
}
CUptiResult cuptiActivityEnableRuntimeApi(CUpti_CallbackId function, std::uint8_t enable)
{
    return g_shared ? CUPTI_ERROR_NOT_COMPATIBLE : switchCall(CUPTI_ACTIVITY_KIND_RUNTIME, function, enable != 0);
}
CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                           CUpti_BuffersCallbackCompleteFunc complete)
{
    if (g_shared) return CUPTI_ERROR_NOT_COMPATIBLE;
    const std::lock_guard lock(g_mutex);
    g_request = request;
    g_complete = complete;
    return CUPTI_SUCCESS;
}
CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute attribute, std::size_t* size, void* value)
{
    return g_shared ? CUPTI_ERROR_NOT_COMPATIBLE : setAttribute(attribute, size, value);
}
CUptiResult cuptiActivityFlushAll(std::uint32_t flag)
{
    if (g_gone.load() || (g_goneAtEnd.load() && (flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) != 0)) {
        g_asked.store(true);
        g_asked.notify_all();
        for (;;) pause();
    }
    const std::lock_guard lock(g_mutex);
    ++g_flushes;
    if (!g_unfinished || (flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) != 0) completeBuffer();
    return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, std::uint32_t, std::size_t* dropped)
{
    const std::lock_guard lock(g_mutex);
    if (g_shared) return CUPTI_ERROR_NOT_COMPATIBLE;
    *dropped = g_dropped;
    g_dropped = 0;
    return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityGetNextRecord(std::uint8_t* buffer, std::size_t valid, CUpti_Activity** record)
{
    return g_shared ? CUPTI_ERROR_NOT_COMPATIBLE : nextRecord(buffer, valid, record);
}
CUptiResult cuptiSetThreadIdType(CUpti_ActivityThreadIdType type)
{
    if (g_shared) return CUPTI_ERROR_NOT_COMPATIBLE;
    g_systemThreads = type == CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM;
    return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityEnableCudaEventDeviceTimestamps(std::uint8_t enable)
{
    if (g_shared) return CUPTI_ERROR_NOT_COMPATIBLE;
    g_eventTimes = enable != 0;
    return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc clock)
{
    if (isAnyEnabled()) return CUPTI_ERROR_INVALID_OPERATION; // before any kind, CUPTI's manual says
    if (g_shared) return CUPTI_ERROR_NOT_COMPATIBLE;
    g_clock = clock;
    return CUPTI_SUCCESS;
}
CUptiResult cuptiGetTimestamp(std::uint64_t* time)
{
    if (g_shared) return CUPTI_ERROR_NOT_COMPATIBLE;
    *time = now();
    return CUPTI_SUCCESS;
}
CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, std::uint32_t id, const char** name)
{
    const bool runtime = domain == CUPTI_CB_DOMAIN_RUNTIME_API;
    if (runtime && id == CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000) {
        *name = "cudaLaunchKernel_v7000";
    } else if (runtime && id == CUPTI_RUNTIME_TRACE_CBID_cudaStreamSynchronize_v3020) {
        *name = "cudaStreamSynchronize_v3020";
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
    if (g_shared) return CUPTI_ERROR_NOT_COMPATIBLE;
    t_external = id;
    return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind, std::uint64_t* id)
{
    *id = t_external;
    t_external = 0;
    return CUPTI_SUCCESS;
}

// ---- Several subscribers ------------------------------------------------------------------------------------------
// Under names of their own: a header may declare them with its own structures.

CUptiResult sharedSubscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback, void* userData,
                            SharedSubscriber* parameters) __asm__("cuptiSubscribe_v2");
CUptiResult sharedActivityEnable(CUpti_SubscriberHandle, CUpti_ActivityKind kind,
                                 void*) __asm__("cuptiActivityEnable_v2");
CUptiResult sharedActivityDisable(CUpti_SubscriberHandle, CUpti_ActivityKind kind,
                                  void*) __asm__("cuptiActivityDisable_v2");
CUptiResult
sharedActivityRegisterCallbacks(CUpti_SubscriberHandle, SharingFunctions::Requested request,
                                SharingFunctions::Completed complete) __asm__("cuptiActivityRegisterCallbacks_v2");
CUptiResult sharedActivityGetNextRecord(CUpti_SubscriberHandle, std::uint8_t* buffer, std::size_t valid,
                                        CUpti_Activity** record) __asm__("cuptiActivityGetNextRecord_v2");
CUptiResult sharedActivityGetNumDroppedRecords(CUpti_SubscriberHandle, CUcontext, std::uint32_t,
                                               std::size_t* dropped) __asm__("cuptiActivityGetNumDroppedRecords_v2");
CUptiResult sharedActivitySetAttribute(CUpti_SubscriberHandle, CUpti_ActivityAttribute, std::size_t*,
                                       void*) __asm__("cuptiActivitySetAttribute_v2");
CUptiResult
sharedActivityPushExternalCorrelationId(CUpti_SubscriberHandle, CUpti_ExternalCorrelationKind,
                                        std::uint64_t id) __asm__("cuptiActivityPushExternalCorrelationId_v2");
CUptiResult
sharedActivityPopExternalCorrelationId(CUpti_SubscriberHandle, CUpti_ExternalCorrelationKind,
                                       std::uint64_t* id) __asm__("cuptiActivityPopExternalCorrelationId_v2");
CUptiResult sharedActivityEnableDriverApi(CUpti_SubscriberHandle, CUpti_CallbackId function,
                                          std::uint8_t enable) __asm__("cuptiActivityEnableDriverApi_v2");
CUptiResult sharedActivityEnableRuntimeApi(CUpti_SubscriberHandle, CUpti_CallbackId function,
                                           std::uint8_t enable) __asm__("cuptiActivityEnableRuntimeApi_v2");
CUptiResult sharedGetTimestamp(CUpti_SubscriberHandle, std::uint64_t* time) __asm__("cuptiGetTimestamp_v2");

CUptiResult sharedGetTimestamp(CUpti_SubscriberHandle, std::uint64_t* time)
{
    *time = now();
    return CUPTI_SUCCESS;
}
CUptiResult sharedSubscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback, void* userData,
                            SharedSubscriber* parameters)
{
    if (const CUptiResult refused = refusal(); refused != CUPTI_SUCCESS) return refused;
    std::strncpy(parameters->otherName, setting("FAKE_CUPTI_OTHER"), parameters->otherNameBytes - 1);
    if (parameters->structBytes != 40 || parameters->allowOthers != 1) return CUPTI_ERROR_INVALID_PARAMETER;
    if (*setting("FAKE_CUPTI_ALONE") != '\0') return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    g_shared = true;
    g_callback = callback;
    g_userData = userData;
    *subscriber = reinterpret_cast<CUpti_SubscriberHandle>(&g_callback);
    return CUPTI_SUCCESS;
}
CUptiResult sharedActivityEnable(CUpti_SubscriberHandle, CUpti_ActivityKind kind, void*)
{
    if (kind == CUPTI_ACTIVITY_KIND_GRAPH_TRACE && !g_wholeGraphs) return CUPTI_ERROR_NOT_COMPATIBLE;
    return switchKind(kind, true);
}
CUptiResult sharedActivityDisable(CUpti_SubscriberHandle, CUpti_ActivityKind kind, void*)
{
    return switchKind(kind, false);
}
CUptiResult sharedActivityRegisterCallbacks(CUpti_SubscriberHandle, SharingFunctions::Requested request,
                                            SharingFunctions::Completed complete)
{
    g_sharedRequest = request;
    g_sharedComplete = complete;
    g_request = [](std::uint8_t** buffer, std::size_t* size, std::size_t* most) {
        g_sharedRequest(buffer, size, most, nullptr);
    };
    g_complete = [](CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t size, std::size_t valid) {
        g_sharedComplete(buffer, size, valid, nullptr);
    };
    return CUPTI_SUCCESS;
}
CUptiResult sharedActivityGetNextRecord(CUpti_SubscriberHandle, std::uint8_t* buffer, std::size_t valid,
                                        CUpti_Activity** record)
{
    return nextRecord(buffer, valid, record);
}
CUptiResult sharedActivityGetNumDroppedRecords(CUpti_SubscriberHandle, CUcontext, std::uint32_t, std::size_t* dropped)
{
    *dropped = 0;
    return CUPTI_SUCCESS;
}
CUptiResult sharedActivitySetAttribute(CUpti_SubscriberHandle, CUpti_ActivityAttribute attribute, std::size_t* size,
                                       void* value)
{
    // As cupti_activity.h of CUDA 13.5 has them.
    switch (static_cast<int>(attribute)) {
    case 17: g_eventTimes = *static_cast<const std::uint8_t*>(value) != 0; break;
    case 20:
        if (isAnyEnabled()) return CUPTI_ERROR_INVALID_OPERATION;
        g_wholeGraphs = *static_cast<const std::uint8_t*>(value) != 0;
        break;
    case 21:
        if (*size != sizeof(CUpti_ActivityThreadIdType)) return CUPTI_ERROR_INVALID_PARAMETER;
        g_systemThreads =
            *static_cast<const CUpti_ActivityThreadIdType*>(value) == CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM;
        break;
    default: return setAttribute(attribute, size, value);
    }
    return CUPTI_SUCCESS;
}
CUptiResult sharedActivityPushExternalCorrelationId(CUpti_SubscriberHandle, CUpti_ExternalCorrelationKind,
                                                    std::uint64_t id)
{
    t_external = id;
    return CUPTI_SUCCESS;
}
CUptiResult sharedActivityPopExternalCorrelationId(CUpti_SubscriberHandle, CUpti_ExternalCorrelationKind,
                                                   std::uint64_t* id)
{
    *id = std::exchange(t_external, 0);
    return CUPTI_SUCCESS;
}
CUptiResult sharedActivityEnableDriverApi(CUpti_SubscriberHandle, CUpti_CallbackId function, std::uint8_t enable)
{
    return switchCall(CUPTI_ACTIVITY_KIND_DRIVER, function, enable != 0);
}
CUptiResult sharedActivityEnableRuntimeApi(CUpti_SubscriberHandle, CUpti_CallbackId function, std::uint8_t enable)
{
    return switchCall(CUPTI_ACTIVITY_KIND_RUNTIME, function, enable != 0);
}

} // extern "C"
