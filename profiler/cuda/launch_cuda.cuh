// SPDX-License-Identifier: Apache-2.0
// How the function objects of profiler/engine/gpu become kernels: threads that share elements or packs of them, and blocks
// of threads that share a row.
#pragma once

#include "profiler/cuda/cuda_stream.h"
#include "profiler/engine/gpu/kernel_list.h"

namespace fourwalls::engine::gpu {

constexpr int kBlockThreads = 256;
constexpr int kBlocksPerMultiprocessor = 32; // four rounds of what it holds at a time
constexpr unsigned kAllLanes = 0xffffffffu;

/// A block of whole warps. Results of sum() and largest() have the same bits in all threads and in all runs.
struct BlockTeam {
    __device__ int rank() const { return static_cast<int>(threadIdx.x); }
    __device__ int size() const { return static_cast<int>(blockDim.x); }

    __device__ float sum(float x) const
    {
        return over(x, 0.0f, [](float a, float b) { return a + b; });
    }
    __device__ double sum(double x) const
    {
        return over(x, 0.0, [](double a, double b) { return a + b; });
    }
    __device__ float largest(float x) const
    {
        return over(x, -INFINITY, [](float a, float b) { return fmaxf(a, b); });
    }

private:
    template <class T, class Op>
    static __device__ T warp(T x, Op op)
    {
        for (int distance = 16; distance > 0; distance /= 2) x = op(x, __shfl_xor_sync(kAllLanes, x, distance));
        return x;
    }
    template <class T, class Op>
    static __device__ T over(T x, T neutral, Op op)
    {
        __shared__ T parts[32];
        x = warp(x, op);
        // Two barriers also where one warp is alone: callers rely on them between reading and writing a row.
        __syncthreads();
        const int lane = static_cast<int>(threadIdx.x) % 32, own = static_cast<int>(threadIdx.x) / 32;
        if (lane == 0) parts[own] = x;
        __syncthreads();
        return warp(lane < static_cast<int>(blockDim.x) / 32 ? parts[lane] : neutral, op);
    }
};

template <class Kernel>
__global__ void __launch_bounds__(kBlockThreads) elementKernel(Kernel kernel, PackPlan plan)
{
    const Index items = itemsOf(plan), step = static_cast<Index>(gridDim.x) * kBlockThreads;
    for (Index i = static_cast<Index>(blockIdx.x) * kBlockThreads + threadIdx.x; i < items; i += step)
        runItem(kernel, plan, i);
}

template <class Kernel>
__global__ void __launch_bounds__(512) rowKernel(Kernel kernel)
{
    BlockTeam team;
    kernel(team, static_cast<Index>(blockIdx.x));
}

template <class Kernel>
void launchElements(CudaStream* stream, const void* object, std::int64_t count)
{
    const Kernel& kernel = *static_cast<const Kernel*>(object);
    const PackPlan plan = planOfKernel(kernel, count);
    const std::int64_t wanted = (itemsOf(plan) + kBlockThreads - 1) / kBlockThreads;
    const auto most = static_cast<std::int64_t>(stream->multiprocessors) * kBlocksPerMultiprocessor;
    const auto blocks = static_cast<unsigned>(wanted < most ? wanted : most);
    elementKernel<<<blocks, kBlockThreads, 0, stream->stream>>>(kernel, plan);
    succeeded(stream, cudaGetLastError(), "launching a kernel");
}

template <class Kernel>
void launchRows(CudaStream* stream, const void* object, std::int64_t rows, std::int64_t columns)
{
    std::int64_t items = columns; // of a row that is aligned
    if constexpr (requires { Kernel::kPack; }) items /= Kernel::kPack;
    const int threads = items <= 64 ? 32 : items <= 512 ? 128 : items <= 4096 ? 256 : 512;
    if (rows > 0x7fffffff) return fail(stream, "a kernel of more than 2^31 rows");
    rowKernel<<<static_cast<unsigned>(rows), threads, 0, stream->stream>>>(*static_cast<const Kernel*>(object));
    succeeded(stream, cudaGetLastError(), "launching a kernel");
}

} // namespace fourwalls::engine::gpu
