// SPDX-License-Identifier: Apache-2.0
// Binding of CUPTI by its SONAMEs.
#include "profiler/collect/module/cupti_library.h"

#include "profiler/collect/module/system.h"

namespace fourwalls::collect::module {

namespace {

constexpr const char* kNames[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so"};
constexpr std::uint32_t kOldestVersion = 19; // CUDA 12.0: the kernel record has all fields that are read; 18 is 11.8

void* findLibrary()
{
    for (const bool load : {false, true}) {
        for (const char* name : kNames) {
            if (void* library = openLibrary(name, load)) return library;
        }
    }
    return nullptr;
}

} // namespace

bool CuptiLibrary::load(const char** problem)
{
    void* const library = findLibrary();
    if (library == nullptr) {
        *problem = "libcupti was not found: nothing of the GPU is recorded (put the CUDA toolkit's library folder into "
                   "LD_LIBRARY_PATH)";
        return false;
    }
    const bool complete =
        bind(library, getVersion, "cuptiGetVersion") && bind(library, subscribe, "cuptiSubscribe") &&
        bind(library, unsubscribe, "cuptiUnsubscribe") && bind(library, enableCallback, "cuptiEnableCallback") &&
        bind(library, enableDomain, "cuptiEnableDomain") && bind(library, activityEnable, "cuptiActivityEnable") &&
        bind(library, activityDisable, "cuptiActivityDisable") &&
        bind(library, registerCallbacks, "cuptiActivityRegisterCallbacks") &&
        bind(library, flushAll, "cuptiActivityFlushAll") &&
        bind(library, getNextRecord, "cuptiActivityGetNextRecord") &&
        bind(library, getNumDropped, "cuptiActivityGetNumDroppedRecords");
    bind(library, getTimestamp, "cuptiGetTimestamp");
    bind(library, getResultString, "cuptiGetResultString");
    bind(library, getCallbackName, "cuptiGetCallbackName");
    bind(library, setAttribute, "cuptiActivitySetAttribute");
    bind(library, setThreadIdType, "cuptiSetThreadIdType");
    bind(library, registerClock, "cuptiActivityRegisterTimestampCallback");
    bind(library, pushExternal, "cuptiActivityPushExternalCorrelationId");
    bind(library, popExternal, "cuptiActivityPopExternalCorrelationId");
    bind(library, enableRuntimeApi, "cuptiActivityEnableRuntimeApi");
    bind(library, enableDriverApi, "cuptiActivityEnableDriverApi");
    bind(library, enableEventTimes, "cuptiActivityEnableCudaEventDeviceTimestamps");
    if (!complete || getVersion(&version) != CUPTI_SUCCESS || version < kOldestVersion) {
        *problem = "libcupti is older than CUDA 12.0: nothing of the GPU is recorded (put a newer toolkit's library "
                   "folder first in LD_LIBRARY_PATH)";
        return false;
    }
    return true;
}

const char* CuptiLibrary::textOf(CUptiResult result) const
{
    const char* text = nullptr;
    if (getResultString != nullptr && getResultString(result, &text) == CUPTI_SUCCESS && text != nullptr) return text;
    return "an error without a name";
}

} // namespace fourwalls::collect::module
