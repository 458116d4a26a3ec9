// SPDX-License-Identifier: Apache-2.0
// Binding, and the choice between the two families of functions.
#include "profiler/collect/module/cupti_library.h"

#include "profiler/collect/module/system.h"

namespace fourwalls::collect::module {

namespace {

constexpr std::uint32_t kOldestVersion = 19; // CUDA 12.0: the kernel record has all fields that are read; 18 is 11.8
constexpr std::size_t kNameBytes = 64;

bool bindSharing(void* library, SharingFunctions& to)
{
    bind(library, to.getTimestamp, "cuptiGetTimestamp_v2");
    return bind(library, to.subscribe, "cuptiSubscribe_v2") && bind(library, to.enable, "cuptiActivityEnable_v2") &&
           bind(library, to.disable, "cuptiActivityDisable_v2") &&
           bind(library, to.registerCallbacks, "cuptiActivityRegisterCallbacks_v2") &&
           bind(library, to.nextRecord, "cuptiActivityGetNextRecord_v2") &&
           bind(library, to.dropped, "cuptiActivityGetNumDroppedRecords_v2") &&
           bind(library, to.setAttribute, "cuptiActivitySetAttribute_v2") &&
           bind(library, to.pushExternal, "cuptiActivityPushExternalCorrelationId_v2") &&
           bind(library, to.popExternal, "cuptiActivityPopExternalCorrelationId_v2") &&
           bind(library, to.enableDriverApi, "cuptiActivityEnableDriverApi_v2") &&
           bind(library, to.enableRuntimeApi, "cuptiActivityEnableRuntimeApi_v2");
}

} // namespace

CUptiResult CuptiLibrary::bindTo(void* library)
{
    *this = {};
    const bool complete =
        bind(library, getVersion, "cuptiGetVersion") && bind(library, subscribeAlone, "cuptiSubscribe") &&
        bind(library, enableCallback, "cuptiEnableCallback") && bind(library, enableDomain, "cuptiEnableDomain") &&
        bind(library, activityEnable, "cuptiActivityEnable") &&
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
    bind(library, pushExternalId, "cuptiActivityPushExternalCorrelationId");
    bind(library, popExternalId, "cuptiActivityPopExternalCorrelationId");
    bind(library, enableRuntimeApi, "cuptiActivityEnableRuntimeApi");
    bind(library, enableDriverApi, "cuptiActivityEnableDriverApi");
    bind(library, enableEventTimes, "cuptiActivityEnableCudaEventDeviceTimestamps");
    if (!complete) return kTooOld;
    if (const CUptiResult result = getVersion(&version); result != CUPTI_SUCCESS) return result;
    if (version < kOldestVersion) return kTooOld;
    canShare = version >= SharingFunctions::kSince && bindSharing(library, sharing);
    return CUPTI_SUCCESS;
}

CUptiResult CuptiLibrary::subscribe(CUpti_CallbackFunc callback, void* userData, char* otherName)
{
    if (canShare) {
        SharedSubscriber parameters;
        parameters.name = "Fourwalls";
        parameters.otherName = otherName;
        parameters.otherNameBytes = kNameBytes;
        shared = sharing.subscribe(&subscriber, callback, userData, &parameters) == CUPTI_SUCCESS;
        if (shared) return CUPTI_SUCCESS;
    }
    return subscribeAlone(&subscriber, callback, userData); // the driver is older, or somebody wants to be alone
}

CUptiResult CuptiLibrary::enableKind(CUpti_ActivityKind kind, bool on) const
{
    if (shared) return on ? sharing.enable(subscriber, kind, nullptr) : sharing.disable(subscriber, kind, nullptr);
    return on ? activityEnable(kind) : activityDisable(kind);
}

CUptiResult CuptiLibrary::nextRecord(std::uint8_t* buffer, std::size_t valid, CUpti_Activity** record) const
{
    return shared ? sharing.nextRecord(subscriber, buffer, valid, record) : getNextRecord(buffer, valid, record);
}

std::uint64_t CuptiLibrary::dropped() const
{
    std::size_t count = 0;
    const CUptiResult result =
        shared ? sharing.dropped(subscriber, nullptr, 0, &count) : getNumDropped(nullptr, 0, &count);
    return result == CUPTI_SUCCESS ? count : 0;
}

bool CuptiLibrary::set(CUpti_ActivityAttribute attribute, std::size_t size, void* value) const
{
    if (shared) return sharing.setAttribute(subscriber, attribute, &size, value) == CUPTI_SUCCESS;
    return setAttribute != nullptr && setAttribute(attribute, &size, value) == CUPTI_SUCCESS;
}

// What has a function of its own is an attribute among several subscribers (not yet in CUDA 13.3).
void CuptiLibrary::useSystemThreads() const
{
    CUpti_ActivityThreadIdType type = CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM;
    if (shared && set(SharingFunctions::kThreadIdType, sizeof type, &type)) return;
    if (setThreadIdType != nullptr) setThreadIdType(type);
}

void CuptiLibrary::useClock(CUpti_TimestampCallbackFunc clock) const
{
    if (registerClock != nullptr) registerClock(clock);
}

std::uint64_t CuptiLibrary::now() const
{
    std::uint64_t time = 0;
    CUptiResult result = CUPTI_ERROR_NOT_SUPPORTED;
    if (shared && sharing.getTimestamp != nullptr) {
        result = sharing.getTimestamp(subscriber, &time);
    } else if (getTimestamp != nullptr) {
        result = getTimestamp(&time);
    }
    return result == CUPTI_SUCCESS ? time : 0;
}

void CuptiLibrary::recordTimesOfEvents() const
{
    std::uint8_t on = 1;
    if (shared && set(SharingFunctions::kEventTimes, sizeof on, &on)) return;
    if (enableEventTimes != nullptr) enableEventTimes(on);
}

void CuptiLibrary::allowWholeGraphs() const
{
    std::uint8_t on = 1;
    if (shared) set(SharingFunctions::kGraphTrace, sizeof on, &on);
}

bool CuptiLibrary::pushExternal(CUpti_ExternalCorrelationKind kind, std::uint64_t id) const
{
    if (shared) return sharing.pushExternal(subscriber, kind, id) == CUPTI_SUCCESS;
    return pushExternalId != nullptr && popExternalId != nullptr && pushExternalId(kind, id) == CUPTI_SUCCESS;
}

void CuptiLibrary::popExternal(CUpti_ExternalCorrelationKind kind) const
{
    std::uint64_t last = 0;
    if (shared) {
        sharing.popExternal(subscriber, kind, &last);
    } else {
        popExternalId(kind, &last);
    }
}

void CuptiLibrary::enableCall(CUpti_CallbackDomain domain, CUpti_CallbackId function, bool on) const
{
    const std::uint8_t flag = on ? 1 : 0;
    const bool runtime = domain == CUPTI_CB_DOMAIN_RUNTIME_API;
    if (shared) {
        (runtime ? sharing.enableRuntimeApi : sharing.enableDriverApi)(subscriber, function, flag);
        return;
    }
    auto* const enable = runtime ? enableRuntimeApi : enableDriverApi;
    if (enable != nullptr) enable(function, flag);
}

const char* CuptiLibrary::textOf(CUptiResult result) const
{
    const char* text = nullptr;
    if (getResultString != nullptr && getResultString(result, &text) == CUPTI_SUCCESS && text != nullptr) return text;
    return "an error without a name";
}

} // namespace fourwalls::collect::module
