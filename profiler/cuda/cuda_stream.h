// SPDX-License-Identifier: Apache-2.0
// The module's side of a stream, and how its parts report what went wrong.
#pragma once

#include "profiler/engine/gpu/gpu_module.h"

#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cuda_runtime_api.h>
#include <memory>

namespace fourwalls::engine::gpu {

/// What cuBLASLt and cuDNN need for one stream; made at the first product and the first convolution.
class Products;
class Convolutions;

struct CudaStream : Stream {
    int device = 0;
    int multiprocessors = 1;
    cudaStream_t stream = nullptr;
    std::shared_ptr<Products> products;
    std::shared_ptr<Convolutions> convolutions;
};

/// Keeps the first failure of a stream.
[[gnu::format(printf, 2, 3)]] inline void fail(Stream* stream, const char* format, ...)
{
    if (!stream || stream->failed) return;
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(stream->message, sizeof stream->message, format, arguments);
    va_end(arguments);
    stream->failed = 1;
}

/// False and a failure of the stream, if the call failed.
inline bool succeeded(Stream* stream, cudaError_t error, const char* what)
{
    if (error == cudaSuccess) return true;
    fail(stream, "%s failed: %s", what, cudaGetErrorString(error));
    return false;
}

/// Makes the stream's GPU the calling thread's.
inline CudaStream* use(Stream* stream)
{
    auto* own = static_cast<CudaStream*>(stream);
    thread_local int current = -1;
    if (current != own->device && succeeded(stream, cudaSetDevice(own->device), "choosing the GPU"))
        current = own->device;
    return own;
}

/// Opens a library by its names, in order; in the folders of FOURWALLS_CUDA_LIBRARIES, where the system looks, and in the
/// toolkit's usual place. Null: there is none.
void* openLibrary(std::initializer_list<const char*> names);

/// Launchers by kernel number; each file of kernels has its own stretch.
using ElementLaunch = void (*)(CudaStream* stream, const void* object, std::int64_t count);
using RowLaunch = void (*)(CudaStream* stream, const void* object, std::int64_t rows, std::int64_t columns);
struct ElementLaunches {
    const ElementLaunch* launches;
    int count;
};
ElementLaunches elementLaunches1();
ElementLaunches elementLaunches2();
ElementLaunches elementLaunches3();
const RowLaunch* rowLaunches();

/// Whether cuBLASLt is there; if not, `why` says so.
bool findProducts(char* why, int whySize);
/// 0: it is not there.
std::int64_t cudnnVersion();

void runProduct(Stream* stream, const Product* product);
std::int64_t workspaceOf(Stream* stream, const Convolution* convolution, std::int64_t limit);
void runConvolution(Stream* stream, const Convolution* convolution);

// NCCL's part of the table, see gpu_module.h.
bool findGroups(int* version, char* why, int whySize);
bool openGroup(Stream* const* members, int count, GroupEnd** ends, char* why, int whySize);
void groupCall(GroupEnd* end, Stream* stream, const GroupCall* call);
void groupExchange(GroupEnd* end, Stream* stream, const GroupExchange* exchange);
bool groupFailed(GroupEnd* end, char* why, int whySize);
void abortGroup(GroupEnd* end);
void closeGroup(GroupEnd* end);

} // namespace fourwalls::engine::gpu
