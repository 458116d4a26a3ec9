// SPDX-License-Identifier: Apache-2.0
// The CUDA module's table carried out by the processor, so that the GPU device of the engine and the bodies of its
// kernels are tested where there is no GPU: GPUs as lazy as real ones (host_gpus.h), NCCL between them (host_groups.h),
// and here the arithmetic: kernels, and plain loops over what cuBLASLt and cuDNN would be given.
#pragma once

#include "profiler/engine/gpu/kernel_list.h"
#include "tests/profiler/engine/gpu/host_gpus.h"
#include "tests/profiler/engine/gpu/host_groups.h"

#include <utility>
#include <vector>

namespace fourwalls::engine::gpu::testing {

template <class Kernel>
void runElements(Stream* stream, const void* object, std::int64_t count)
{
    ask(stream, [kernel = *static_cast<const Kernel*>(object), count] {
        const PackPlan plan = planOfKernel(kernel, count);
        for (Index i = 0; i < itemsOf(plan); ++i) runItem(kernel, plan, i);
    });
}

template <class Kernel>
void runRows(Stream* stream, const void* object, std::int64_t rows)
{
    ask(stream, [kernel = *static_cast<const Kernel*>(object), rows] {
        SoleTeam team;
        for (Index i = 0; i < rows; ++i) kernel(team, i);
    });
}

inline float valueAt(const void* data, DType type, std::int64_t i)
{
    return type == DType::Bf16 ? static_cast<const Bf16*>(data)[i].toFloat() : static_cast<const float*>(data)[i];
}
inline void putAt(void* data, DType type, std::int64_t i, float value)
{
    if (type == DType::Bf16)
        static_cast<Bf16*>(data)[i] = Bf16::fromFloat(value);
    else
        static_cast<float*>(data)[i] = value;
}

/// BLAS as its manual describes it.
[[gnu::optimize("O2")]] inline void multiply(const Product& p)
{
    for (std::int64_t batch = 0; batch < p.batch; ++batch)
        for (std::int64_t j = 0; j < p.n; ++j)
            for (std::int64_t i = 0; i < p.m; ++i) {
                double sum = 0;
                for (std::int64_t l = 0; l < p.k; ++l) {
                    const std::int64_t a = batch * p.strideA + (p.transposeA ? i * p.lda + l : l * p.lda + i);
                    const std::int64_t b = batch * p.strideB + (p.transposeB ? l * p.ldb + j : j * p.ldb + l);
                    sum += static_cast<double>(valueAt(p.a, p.operands, a)) * valueAt(p.b, p.operands, b);
                }
                const std::int64_t at = batch * p.strideC + j * p.ldc + i;
                if (p.bias) sum += valueAt(p.bias, p.result, i);
                if (p.residual) sum += valueAt(p.residual, p.result, at);
                putAt(p.c, p.result, at, static_cast<float>(sum));
            }
}

[[gnu::optimize("O2")]] inline void convolve(const Convolution& c)
{
    const std::int64_t xs = c.images * c.height * c.width * c.inChannels;
    const std::int64_t ws = c.outChannels * c.kernel * c.kernel * c.inChannels;
    const std::int64_t ys = c.images * c.outHeight * c.outWidth * c.outChannels;
    std::vector<float> sums(static_cast<std::size_t>(c.pass == 0 ? ys : c.pass == 1 ? xs : ws), 0.0f);
    for (std::int64_t n = 0; n < c.images; ++n)
        for (std::int64_t p = 0; p < c.outHeight; ++p)
            for (std::int64_t q = 0; q < c.outWidth; ++q)
                for (std::int64_t r = 0; r < c.kernel; ++r)
                    for (std::int64_t s = 0; s < c.kernel; ++s) {
                        const std::int64_t h = p * c.stride + r - c.padding, w = q * c.stride + s - c.padding;
                        if (h < 0 || h >= c.height || w < 0 || w >= c.width) continue;
                        for (std::int64_t o = 0; o < c.outChannels; ++o)
                            for (std::int64_t i = 0; i < c.inChannels; ++i) {
                                const std::int64_t x = ((n * c.height + h) * c.width + w) * c.inChannels + i;
                                const std::int64_t k = ((o * c.kernel + r) * c.kernel + s) * c.inChannels + i;
                                const std::int64_t y = ((n * c.outHeight + p) * c.outWidth + q) * c.outChannels + o;
                                if (c.pass == 0)
                                    sums[static_cast<std::size_t>(y)] +=
                                        valueAt(c.x, c.type, x) * valueAt(c.w, c.type, k);
                                else if (c.pass == 1)
                                    sums[static_cast<std::size_t>(x)] +=
                                        valueAt(c.y, c.type, y) * valueAt(c.w, c.type, k);
                                else
                                    sums[static_cast<std::size_t>(k)] +=
                                        valueAt(c.x, c.type, x) * valueAt(c.y, c.type, y);
                            }
                    }
    void* const to = c.pass == 0 ? c.y : c.pass == 1 ? c.x : c.w;
    for (std::size_t i = 0; i < sums.size(); ++i) putAt(to, c.type, static_cast<std::int64_t>(i), sums[i]);
}

inline const Module& hostModule()
{
    static const Module module = [] {
        Module m{};
        m.mark = kKernelListMark;
        addGpus(m);
        addGroups(m);
        m.elements = [](Stream* s, int kernel, const void* object, std::int64_t count) {
            using Run = void (*)(Stream*, const void*, std::int64_t);
#define FOURWALLS_RUN(...) &runElements<__VA_ARGS__>,
            static constexpr Run runs[] = {FOURWALLS_ELEMENT_KERNELS(FOURWALLS_RUN)};
#undef FOURWALLS_RUN
            runs[kernel](s, object, count);
        };
        m.rows = [](Stream* s, int kernel, const void* object, std::int64_t rows, std::int64_t) {
            using Run = void (*)(Stream*, const void*, std::int64_t);
#define FOURWALLS_RUN(...) &runRows<__VA_ARGS__>,
            static constexpr Run runs[] = {FOURWALLS_ROW_KERNELS(FOURWALLS_RUN)};
#undef FOURWALLS_RUN
            runs[kernel](s, object, rows);
        };
        m.product = [](Stream* s, const Product* product) {
            if (!std::exchange(own(s)->hasLibrary, true)) { // it takes memory and loads kernels
                auto& state = HostModuleState::get();
                const std::lock_guard lock(state.mutex);
                state.mayWait(bitOf(own(s)->device));
            }
            ask(s, [p = *product] { multiply(p); });
        };
        m.convolutionWorkspace = [](Stream*, const Convolution* c, std::int64_t) -> std::int64_t {
            return c->pass == 2 ? 1000 : 0;
        };
        m.convolve = [](Stream* s, const Convolution* c) { ask(s, [copy = *c] { testing::convolve(copy); }); };
        return m;
    }();
    return module;
}

} // namespace fourwalls::engine::gpu::testing
