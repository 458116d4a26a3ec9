// SPDX-License-Identifier: Apache-2.0
// Everything that the module exports: what the CUDA driver, NVTX and NCCL look for by name, and the module's own
// functions (collector_environment.h). All other symbols are hidden.
#include "profiler/collect/module/nccl_events.h"
#include "profiler/collect/module/nvtx_events.h"
#include "profiler/collect/module/recorder.h"

#define FOURWALLS_EXPORT extern "C" __attribute__((visibility("default")))

using namespace fourwalls::collect;
using namespace fourwalls::collect::module;

/// Called by the CUDA driver when it is initialised, where CUDA_INJECTION64_PATH names the module.
FOURWALLS_EXPORT int InitializeInjection(void)
{
    Recorder::start(kEntryCuda);
    return 1;
}

/// Called by NVTX in every library that brings it, where NVTX_INJECTION64_PATH names the module.
FOURWALLS_EXPORT int InitializeInjectionNvtx2(nvtx::GetExportTable getExportTable)
{
    pinModule();
    return getExportTable != nullptr && attachNvtx(getExportTable) ? 1 : 0;
}

/// The same for NVTX's payload extension.
FOURWALLS_EXPORT int InitializeInjectionNvtxExtension(nvtx::ExtensionModule* extension)
{
    return attachNvtxPayloads(extension) ? 1 : 0;
}

/// Looked for by NCCL, where NCCL_PROFILER_PLUGIN names the module; the newest that it knows is used.
FOURWALLS_EXPORT const nccl::PluginV5 ncclProfiler_v6 = {"Fourwalls", ncclInitV6, ncclStartV5,
                                                         ncclStop,    ncclState,  ncclFinalize};
FOURWALLS_EXPORT const nccl::PluginV5 ncclProfiler_v5 = {"Fourwalls", ncclInitV5, ncclStartV5,
                                                         ncclStop,    ncclState,  ncclFinalize};
FOURWALLS_EXPORT const nccl::PluginV4 ncclProfiler_v4 = {"Fourwalls", ncclInitV4, ncclStartV4,
                                                         ncclStop,    ncclState,  ncclFinalize};

FOURWALLS_EXPORT int fourwalls_collector_start(void)
{
    return Recorder::start(kEntryApi) != nullptr ? 1 : 0;
}

FOURWALLS_EXPORT void fourwalls_collector_step(long long step)
{
    if (Recorder* const recorder = Recorder::current())
        recorder->stepBegan(step < 0 ? -1 : step, StepSource::Api, nullptr);
}

FOURWALLS_EXPORT void fourwalls_collector_stop(void)
{
    if (Recorder* const recorder = Recorder::current()) recorder->stop(EndReason::Stopped, MessageCode::Other, 0);
}

FOURWALLS_EXPORT const char* fourwalls_collector_path(void)
{
    const Recorder* const recorder = Recorder::current();
    return recorder == nullptr ? "" : recorder->path();
}

FOURWALLS_EXPORT void fourwalls_collector_pause(unsigned kind, unsigned long long begin, unsigned long long detail)
{
    Recorder* const recorder = Recorder::current();
    if (recorder == nullptr || !recorder->capturing()) return;
    const CostScope cost(recorder->callbackNs, recorder->callbacks);
    recorder->push(RecordKind::HostPause, HostPause{begin, realtime(), threadId(), kind, detail});
}
