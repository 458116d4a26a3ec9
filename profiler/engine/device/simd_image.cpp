// SPDX-License-Identifier: Apache-2.0
// See simd_image.h. The bodies are written once and inlined into one function per instruction set, where the compiler
// turns the loops into vector code.
#include "profiler/engine/device/simd_image.h"

namespace fourwalls::engine {

namespace {

#define FW_INLINE [[gnu::always_inline]] inline

FW_INLINE float widen(float x)
{
    return x;
}
FW_INLINE float widen(Bf16 x)
{
    return __builtin_bit_cast(float, static_cast<std::uint32_t>(x.bits) << 16);
}
FW_INLINE void narrow(float x, float& to)
{
    to = x;
}
// Round to nearest, ties to even; every NaN becomes the quiet one.
FW_INLINE void narrow(float x, Bf16& to)
{
    const auto u = __builtin_bit_cast(std::uint32_t, x);
    const std::uint32_t rounded = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
    to.bits = static_cast<std::uint16_t>(x != x ? 0x7fc0u : rounded);
}

template <class T>
FW_INLINE void reluBody(T* y, std::int64_t count)
{
    for (std::int64_t i = 0; i < count; ++i) y[i] = widen(y[i]) < 0.0f ? T{} : y[i];
}

template <class T>
FW_INLINE void addReluBody(T* __restrict y, const T* __restrict shortcut, std::int64_t count)
{
    for (std::int64_t i = 0; i < count; ++i) {
        const float sum = widen(y[i]) + widen(shortcut[i]);
        narrow(sum < 0.0f ? 0.0f : sum, y[i]); // written so that a NaN stays one
    }
}

template <class T>
FW_INLINE void addReluGradientBody(const T* __restrict y, T* __restrict dy, const T* __restrict other,
                                   std::int64_t count)
{
    if (other) {
        for (std::int64_t i = 0; i < count; ++i) {
            const float sum = widen(dy[i]) + widen(other[i]);
            narrow(widen(y[i]) > 0.0f ? sum : 0.0f, dy[i]);
        }
    } else {
        for (std::int64_t i = 0; i < count; ++i) dy[i] = widen(y[i]) > 0.0f ? dy[i] : T{};
    }
}

#define FW_KERNELS(suffix, ...)                                                                     \
    template <class T>                                                                              \
    __VA_ARGS__ void relu##suffix(T* y, std::int64_t count)                                         \
    {                                                                                               \
        reluBody(y, count);                                                                         \
    }                                                                                               \
    template <class T>                                                                              \
    __VA_ARGS__ void addRelu##suffix(T* y, const T* shortcut, std::int64_t count)                   \
    {                                                                                               \
        addReluBody(y, shortcut, count);                                                            \
    }                                                                                               \
    template <class T>                                                                              \
    __VA_ARGS__ void addReluGradient##suffix(const T* y, T* dy, const T* other, std::int64_t count) \
    {                                                                                               \
        addReluGradientBody(y, dy, other, count);                                                   \
    }

FW_KERNELS(Baseline)
#if defined(__x86_64__)
FW_KERNELS(Avx2, [[gnu::target("avx2,fma")]])
#if defined(__clang__) // chooses the width of its vectors by itself
FW_KERNELS(Avx512, [[gnu::target("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma")]])
#else
FW_KERNELS(Avx512, [[gnu::target("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,prefer-vector-width=512")]])
#endif
#endif

template <class T>
ImageKernels<T> choose()
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq"))
        return {reluAvx512<T>, addReluAvx512<T>, addReluGradientAvx512<T>};
    if (__builtin_cpu_supports("avx2")) return {reluAvx2<T>, addReluAvx2<T>, addReluGradientAvx2<T>};
#endif
    return {reluBaseline<T>, addReluBaseline<T>, addReluGradientBaseline<T>};
}

} // namespace

const ImageKernels<float>& imageKernels(float)
{
    static const ImageKernels<float> best = choose<float>();
    return best;
}

const ImageKernels<Bf16>& imageKernels(Bf16)
{
    static const ImageKernels<Bf16> best = choose<Bf16>();
    return best;
}

} // namespace fourwalls::engine
