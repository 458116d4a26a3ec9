// SPDX-License-Identifier: Apache-2.0
// CUPTI, found at run time: the copy that the process has loaded already, whatever folder it came from, else one on the
// usual paths. A second copy beside the program's own would record nothing.
#pragma once

#include <cstdint>
#include <cupti.h>

namespace fourwalls::collect::module {

/// The functions of CUPTI that the collector calls. Those of the second group may be missing (nullptr).
struct CuptiLibrary {
    decltype(cuptiGetVersion)* getVersion = nullptr;
    decltype(cuptiSubscribe)* subscribe = nullptr;
    decltype(cuptiUnsubscribe)* unsubscribe = nullptr;
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
    decltype(cuptiActivityPushExternalCorrelationId)* pushExternal = nullptr;
    decltype(cuptiActivityPopExternalCorrelationId)* popExternal = nullptr;
    decltype(cuptiActivityEnableRuntimeApi)* enableRuntimeApi = nullptr;
    decltype(cuptiActivityEnableDriverApi)* enableDriverApi = nullptr;
    CUptiResult(CUPTIAPI* enableEventTimes)(std::uint8_t enable) = nullptr; // since CUDA 12.8

    std::uint32_t version = 0; ///< of CUPTI's API

    /// Finds the library. False: there is none, or it lacks what is needed; `problem` says which, in words.
    bool load(const char** problem);
    /// A result in words; never nullptr.
    const char* textOf(CUptiResult result) const;
};

} // namespace fourwalls::collect::module
