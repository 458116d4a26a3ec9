// SPDX-License-Identifier: Apache-2.0
// What CUPTI tells of single calls while the program makes them.
#include "profiler/collect/module/cupti_session.h"
#include "profiler/collect/module/python_stacks.h"
#include "profiler/collect/module/recorder.h"
#include "profiler/collect/module/system.h"

namespace fourwalls::collect::module {

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

bool changesVirtualMemory(CUpti_CallbackId id)
{
    return id == CUPTI_DRIVER_TRACE_CBID_cuMemCreate || id == CUPTI_DRIVER_TRACE_CBID_cuMemRelease ||
           id == CUPTI_DRIVER_TRACE_CBID_cuMemMap || id == CUPTI_DRIVER_TRACE_CBID_cuMemUnmap;
}

/// What CUPTI's records of a launch take at least.
std::size_t leastBytesOf(CUpti_CallbackId launch)
{
    const bool graph =
        launch == CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch || launch == CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz;
    return graph ? sizeof(CUpti_ActivityGraphTrace) : sizeof(CUpti_ActivityKernel9);
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
        constexpr std::uint32_t kMostStateMessages = 8;
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
        if (!enter) return;
        if (id != CUPTI_RUNTIME_TRACE_CBID_cudaDeviceReset_v3020) return notePythonStack(call.correlationId);
        recorder.cupti().flush(false); // before the reset destroys what is not delivered
        return;
    }
    if (domain != CUPTI_CB_DOMAIN_DRIVER_API) return;
    if (id == CUPTI_DRIVER_TRACE_CBID_cuProfilerStart) {
        if (!enter) recorder.profilerApi(true);
    } else if (id == CUPTI_DRIVER_TRACE_CBID_cuProfilerStop) {
        if (enter) recorder.profilerApi(false);
    } else if (!changesVirtualMemory(id)) {
        if (enter) recorder.launched(leastBytesOf(id)); // launches are the only others that are watched
    } else if (!enter && succeeded(call) && recorder.settings().parts.memory) {
        const CostScope cost(recorder.callbackNs, recorder.callbacks);
        recordVirtualMemory(recorder, id, call);
    }
}

} // namespace fourwalls::collect::module
