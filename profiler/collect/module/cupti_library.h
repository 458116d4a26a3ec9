// SPDX-License-Identifier: Apache-2.0
// The functions of one copy of CUPTI, found at run time (cupti_search.h says which copy).
#pragma once

#include "profiler/collect/module/cupti_sharing.h"

#include <cstdint>
#include <cupti.h>

namespace fourwalls::collect::module {

/// What the collector calls of CUPTI. Functions of the second group may be missing (nullptr).
struct CuptiLibrary {
    decltype(cuptiGetVersion)* getVersion = nullptr;
    decltype(cuptiSubscribe)* subscribeAlone = nullptr;
    decltype(cuptiEnableCallback)* enableCallback = nullptr;
    decltype(cuptiEnableDomain)* enableDomain = nullptr;
    decltype(cuptiActivityEnable)* activityEnable = nullptr;
    decltype(cuptiActivityDisable)* activityDisable = nullptr;
    decltype(cuptiActivityRegisterCallbacks)* registerCallbacks = nullptr;
    decltype(cuptiActivityFlushAll)* flushAll = nullptr;
    decltype(cuptiActivityGetNextRecord)* getNextRecord = nullptr;
    decltype(cuptiActivityGetNumDroppedRecords)* getNumDropped = nullptr;

    decltype(cuptiGetTimestamp)* getTimestamp = nullptr;
    decltype(cuptiGetResultString)* getResultString = nullptr;
    decltype(cuptiGetCallbackName)* getCallbackName = nullptr;
    decltype(cuptiActivitySetAttribute)* setAttribute = nullptr;
    decltype(cuptiSetThreadIdType)* setThreadIdType = nullptr;
    decltype(cuptiActivityRegisterTimestampCallback)* registerClock = nullptr;
    decltype(cuptiActivityPushExternalCorrelationId)* pushExternalId = nullptr;
    decltype(cuptiActivityPopExternalCorrelationId)* popExternalId = nullptr;
    decltype(cuptiActivityEnableRuntimeApi)* enableRuntimeApi = nullptr;
    decltype(cuptiActivityEnableDriverApi)* enableDriverApi = nullptr;
    CUptiResult(CUPTIAPI* enableEventTimes)(std::uint8_t enable) = nullptr; // since CUDA 12.8

    SharingFunctions sharing;
    bool canShare = false; ///< all of `sharing` are there
    bool shared = false;   ///< the subscription is one that others may stand beside
    CUpti_SubscriberHandle subscriber = nullptr;
    std::uint32_t version = 0; ///< of CUPTI's API

    /// Takes the functions of a loaded library. kTooOld: it is no CUPTI of CUDA 12.0 or newer; else what it answers to
    /// the question for its version.
    CUptiResult bindTo(void* library);
    static constexpr CUptiResult kTooOld = CUPTI_ERROR_NOT_SUPPORTED;
    /// Subscribes, beside others where CUPTI can do that, else alone. otherName: who is there already (64 bytes), where
    /// CUPTI says it; else it is left as it was.
    CUptiResult subscribe(CUpti_CallbackFunc callback, void* userData, char* otherName);

    // By the functions that fit the subscription.
    CUptiResult enableKind(CUpti_ActivityKind kind, bool on) const;
    CUptiResult nextRecord(std::uint8_t* buffer, std::size_t valid, CUpti_Activity** record) const;
    /// Records that CUPTI dropped since the last question.
    std::uint64_t dropped() const;
    bool set(CUpti_ActivityAttribute attribute, std::size_t size, void* value) const;
    /// Before any kind is enabled: the system's numbers of threads.
    void useSystemThreads() const;
    /// The clock of its records, 0 where it does not tell.
    std::uint64_t now() const;
    /// Gives it another one. Not without need: from CUDA 12.6 Update 2 up to 13.0, kernels may then come without times
    /// (release notes of 13.1). Where its clock is not the system's (WSL), the pairs of both clocks in the spool tell.
    void useClock(CUpti_TimestampCallbackFunc clock) const;
    void recordTimesOfEvents() const;
    /// Replays of graphs as a whole; among several subscribers only from the start on, before any kind is enabled.
    void allowWholeGraphs() const;
    bool pushExternal(CUpti_ExternalCorrelationKind kind, std::uint64_t id) const;
    void popExternal(CUpti_ExternalCorrelationKind kind) const;
    /// Records the calls of one function or not, whatever the kind says that it belongs to.
    void enableCall(CUpti_CallbackDomain domain, CUpti_CallbackId function, bool on) const;

    /// A result in words; never nullptr.
    const char* textOf(CUptiResult result) const;
    /// The main number of the CUDA that this CUPTI is of.
    int cudaMajor() const { return version >= 130000 ? static_cast<int>(version / 10000) : 12; }
};

} // namespace fourwalls::collect::module
