// SPDX-License-Identifier: Apache-2.0
// The functions of CUPTI that know several subscribers in one process, so that a recording and another profiler go on
// side by side. They came with CUDA 13.3 (and a driver of its time); the headers that the module is built with may be
// older, and so they are declared here, after cupti_callbacks.h and cupti_activity.h of CUDA 13.5 (package
// nvidia-cuda-cupti 13.5.25). All of them are used or none: CUPTI refuses to mix them with the older ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cupti.h>

namespace fourwalls::collect::module {

/// CUpti_SubscriberParams.
struct SharedSubscriber {
    std::size_t structBytes = sizeof(SharedSubscriber);
    const char* name = nullptr;
    char* otherName = nullptr; ///< filled with the name of who is there already, 64 bytes at least
    std::size_t otherNameBytes = 0;
    std::uint8_t allowOthers = 1;
    std::uint8_t padding[7] = {};
};
static_assert(sizeof(SharedSubscriber) == 40 && offsetof(SharedSubscriber, allowOthers) == 32);

/// CUPTI hands more about a buffer over than is used: its structures begin with their size.
struct SharedBufferInfo;

struct SharingFunctions {
    CUptiResult(CUPTIAPI* subscribe)(CUpti_SubscriberHandle*, CUpti_CallbackFunc, void*, SharedSubscriber*) = nullptr;
    CUptiResult(CUPTIAPI* enable)(CUpti_SubscriberHandle, CUpti_ActivityKind, void* config) = nullptr;
    CUptiResult(CUPTIAPI* disable)(CUpti_SubscriberHandle, CUpti_ActivityKind, void* config) = nullptr;
    using Requested = void(CUPTIAPI*)(std::uint8_t**, std::size_t*, std::size_t*, SharedBufferInfo*);
    using Completed = void(CUPTIAPI*)(std::uint8_t*, std::size_t, std::size_t, SharedBufferInfo*);
    CUptiResult(CUPTIAPI* registerCallbacks)(CUpti_SubscriberHandle, Requested, Completed) = nullptr;
    CUptiResult(CUPTIAPI* nextRecord)(CUpti_SubscriberHandle, std::uint8_t*, std::size_t, CUpti_Activity**) = nullptr;
    CUptiResult(CUPTIAPI* dropped)(CUpti_SubscriberHandle, CUcontext, std::uint32_t, std::size_t*) = nullptr;
    CUptiResult(CUPTIAPI* setAttribute)(CUpti_SubscriberHandle, CUpti_ActivityAttribute, std::size_t*, void*) = nullptr;
    CUptiResult(CUPTIAPI* pushExternal)(CUpti_SubscriberHandle, CUpti_ExternalCorrelationKind, std::uint64_t) = nullptr;
    CUptiResult(CUPTIAPI* popExternal)(CUpti_SubscriberHandle, CUpti_ExternalCorrelationKind, std::uint64_t*) = nullptr;
    CUptiResult(CUPTIAPI* enableDriverApi)(CUpti_SubscriberHandle, CUpti_CallbackId, std::uint8_t) = nullptr;
    CUptiResult(CUPTIAPI* enableRuntimeApi)(CUpti_SubscriberHandle, CUpti_CallbackId, std::uint8_t) = nullptr;

    CUptiResult(CUPTIAPI* getTimestamp)(CUpti_SubscriberHandle, std::uint64_t*) = nullptr; ///< may be missing

    // Attributes of a subscriber, CUPTI_ACTIVITY_ATTR_ENABLE_CUDA_EVENT_DEVICE_TIMESTAMPS, _ENABLE_MULTI_SUBSCRIBER_GRAPH_TRACE
    // and _THREAD_ID_TYPE. Without the second one, no subscriber may record graphs as a whole.
    static constexpr auto kEventTimes = static_cast<CUpti_ActivityAttribute>(17);
    static constexpr auto kGraphTrace = static_cast<CUpti_ActivityAttribute>(20);
    static constexpr auto kThreadIdType = static_cast<CUpti_ActivityAttribute>(21);

    /// The first version of CUPTI's API of which all are used.
    static constexpr std::uint32_t kSince = 130300;
};

} // namespace fourwalls::collect::module
