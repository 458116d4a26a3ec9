// SPDX-License-Identifier: Apache-2.0
// The filter of API calls, by the names that CUPTI gives them ("cudaGetDevice_v3020", "cuCtxGetCurrent").
#include "profiler/collect/module/api_filter.h"

#include <cstring>

namespace fourwalls::collect::module {

bool isQuery(const char* function)
{
    // Beginnings of names. Everything that launches, copies, allocates, synchronises or creates stays.
    constexpr const char* kQueries[] = {
        "cudaGetDevice",
        "cudaSetDevice",
        "cudaGetLastError",
        "cudaPeekAtLastError",
        "cudaDeviceGet",
        "cudaStreamIsCapturing",
        "cudaStreamGetCaptureInfo",
        "cudaStreamGetFlags",
        "cudaStreamGetPriority",
        "cudaStreamGetDevice",
        "cudaStreamGetId",
        "cudaStreamQuery",
        "cudaEventQuery",
        "cudaEventElapsedTime",
        "cudaFuncGetAttributes",
        "cudaFuncSetAttribute",
        "cudaFuncGetName",
        "cudaOccupancy",
        "cudaPointerGetAttributes",
        "cudaRuntimeGetVersion",
        "cudaDriverGetVersion",
        "cudaGetDriverEntryPoint",
        "cudaMemGetInfo",
        "cudaGetExportTable",
        "cudaThreadExchangeStreamCaptureMode",
        "cudaGetFuncBySymbol",
        "cudaGetSymbol",
        "cuCtxGet",
        "cuCtxSetCurrent",
        "cuCtxPushCurrent",
        "cuCtxPopCurrent",
        "cuDeviceGet",
        "cuDeviceComputeCapability",
        "cuDevicePrimaryCtxGetState",
        "cuDriverGetVersion",
        "cuGetProcAddress",
        "cuGetExportTable",
        "cuInit",
        "cuStreamIsCapturing",
        "cuStreamGetCaptureInfo",
        "cuStreamGetFlags",
        "cuStreamGetCtx",
        "cuStreamGetPriority",
        "cuStreamQuery",
        "cuEventQuery",
        "cuEventElapsedTime",
        "cuFuncGet",
        "cuFuncSetAttribute",
        "cuKernelGet",
        "cuKernelSetAttribute",
        "cuLibraryGet",
        "cuModuleGet",
        "cuOccupancy",
        "cuPointerGetAttribute",
        "cuGetErrorString",
        "cuGetErrorName",
        "cuMemGetInfo",
        "cuMemGetAddressRange",
        "cuMemHostGet",
        "cuTensorMapEncode",
        "cuThreadExchangeStreamCaptureMode",
        "cuMemGetAllocationGranularity",
    };
    for (const char* query : kQueries) {
        if (std::strncmp(function, query, std::strlen(query)) == 0) return true;
    }
    return false;
}

void ApiFilter::learn(const CuptiLibrary& cupti)
{
    if (cupti.getCallbackName == nullptr) return;
    const CUpti_CallbackDomain domains[] = {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_CB_DOMAIN_RUNTIME_API};
    for (int d = 0; d < 2; ++d) {
        int unknown = 0;
        for (std::uint32_t function = 1; function < kMostFunctions && unknown < 64; ++function) {
            const char* name = nullptr;
            if (cupti.getCallbackName(domains[d], function, &name) != CUPTI_SUCCESS || name == nullptr) {
                ++unknown; // gaps are short: after many there is nothing more
                continue;
            }
            unknown = 0;
            m_unwanted[d][function] = isQuery(name);
        }
    }
}

void ApiFilter::apply(const CuptiLibrary& cupti) const
{
    for (std::uint32_t function = 1; function < kMostFunctions; ++function) {
        if (m_unwanted[0][function]) cupti.enableCall(CUPTI_CB_DOMAIN_DRIVER_API, function, false);
        if (m_unwanted[1][function]) cupti.enableCall(CUPTI_CB_DOMAIN_RUNTIME_API, function, false);
    }
}

} // namespace fourwalls::collect::module
