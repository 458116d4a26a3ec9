// SPDX-License-Identifier: Apache-2.0
// One vector register as a type, and loops over rows with it: the ground that simd_kernels.inc.h stands on, included
// by it once per instruction set. FW_INLINE functions are always inlined into the kernels.
// No #pragma once: see simd_kernels.inc.h.

namespace fourwalls::engine::FW_SIMD_NAMESPACE {
namespace {

constexpr std::int64_t kLanes = FW_SIMD_BYTES / 4;
typedef float VF __attribute__((vector_size(FW_SIMD_BYTES)));
typedef std::int32_t VI __attribute__((vector_size(FW_SIMD_BYTES)));
typedef std::uint32_t VU __attribute__((vector_size(FW_SIMD_BYTES)));
typedef std::uint16_t VH __attribute__((vector_size(FW_SIMD_BYTES / 2)));

#define FW_INLINE static inline __attribute__((always_inline))

FW_INLINE VF splat(float x)
{
    return x - VF{};
}
FW_INLINE VF select(VI mask, VF a, VF b)
{
    return mask ? a : b;
}
FW_INLINE VF maximum(VF a, VF b)
{
    return a > b ? a : b;
}

FW_INLINE VF load(const float* p)
{
    VF v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
}
FW_INLINE void store(float* p, VF v)
{
    __builtin_memcpy(p, &v, sizeof v);
}

FW_INLINE VF load(const Bf16* p)
{
    VH h;
    __builtin_memcpy(&h, p, sizeof h);
    const VU u = __builtin_convertvector(h, VU) << 16;
    return (VF)u;
}
FW_INLINE void store(Bf16* p, VF v)
{
    const VU u = (VU)v;
    VU r = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
    r = (VI)(v != v) ? VU{} + 0x7fc0u : r;
    const VH h = __builtin_convertvector(r, VH);
    __builtin_memcpy(p, &h, sizeof h);
}

// The first `count` lanes; the others read as 0 and are not written.
template <class T>
FW_INLINE VF loadPart(const T* p, std::int64_t count)
{
    T buffer[kLanes] = {};
    for (std::int64_t i = 0; i < count; ++i) buffer[i] = p[i];
    return load(buffer);
}
template <class T>
FW_INLINE void storePart(T* p, VF v, std::int64_t count)
{
    T buffer[kLanes];
    store(buffer, v);
    for (std::int64_t i = 0; i < count; ++i) p[i] = buffer[i];
}

FW_INLINE float sumLanes(VF v)
{
    float lanes[kLanes];
    __builtin_memcpy(lanes, &v, sizeof v);
    for (std::int64_t width = kLanes / 2; width > 0; width /= 2)
        for (std::int64_t i = 0; i < width; ++i) lanes[i] += lanes[i + width];
    return lanes[0];
}
FW_INLINE float maxLanes(VF v)
{
    float lanes[kLanes];
    __builtin_memcpy(lanes, &v, sizeof v);
    float m = lanes[0];
    for (std::int64_t i = 1; i < kLanes; ++i) m = lanes[i] > m ? lanes[i] : m;
    return m;
}

// exp to about 1 ulp: x = n ln2 + r with |r| <= ln2/2, a Taylor polynomial of degree 7 in r (remainder below 1e-8
// of the value), then n into the exponent. Below -87.3, where results would leave the normal numbers, it is 0; above
// 88.37 it stays at a large finite number. Callers subtract the largest argument first, or want exactly these limits.
FW_INLINE VF exponential(VF x)
{
    const VF original = x;
    x = x < splat(-87.3f) ? splat(-87.3f) : x;
    x = x > splat(88.37f) ? splat(88.37f) : x;
    const VF magic = splat(12582912.0f); // 1.5 * 2^23: adding it rounds to an integer
    const VF n = (x * 1.44269504088896341f + magic) - magic;
    VF r = x - n * 0.693359375f; // ln2 in two parts (Cody, Waite)
    r = r - n * -2.12194440054690583e-4f;
    VF p = splat(1.0f / 5040.0f);
    p = p * r + 1.0f / 720.0f;
    p = p * r + 1.0f / 120.0f;
    p = p * r + 1.0f / 24.0f;
    p = p * r + 1.0f / 6.0f;
    p = p * r + 0.5f;
    p = p * r * r + r + 1.0f;
    const VI scale = (__builtin_convertvector(n, VI) + 127) << 23;
    const VF y = p * (VF)scale;
    return select((VI)(original < splat(-87.3f)), VF{}, y);
}
FW_INLINE VF sigmoid(VF x)
{
    return 1.0f / (1.0f + exponential(-x));
}

// Calls body(load-position, lanes) over [0, count): full vectors first, then one partial.
template <class Full, class Part>
FW_INLINE void sweep(std::int64_t count, Full full, Part part)
{
    std::int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) full(i);
    if (i < count) part(i, count - i);
}

// Sums f(value) over a row with two accumulators.
template <class T, class F>
FW_INLINE float sumRow(const T* row, std::int64_t c, F f)
{
    VF a = {}, b = {};
    std::int64_t j = 0;
    for (; j + 2 * kLanes <= c; j += 2 * kLanes) {
        a += f(load(row + j));
        b += f(load(row + j + kLanes));
    }
    for (; j + kLanes <= c; j += kLanes) a += f(load(row + j));
    float sum = sumLanes(a + b);
    if (j < c) {
        float lanes[kLanes];
        store(lanes, f(loadPart(row + j, c - j)));
        for (std::int64_t k = 0; k < c - j; ++k) sum += lanes[k];
    }
    return sum;
}

template <class T, class F>
FW_INLINE void mapRow(const T* x, T* y, std::int64_t c, F f)
{
    sweep(
        c, [&](std::int64_t j) __attribute__((always_inline)) { store(y + j, f(load(x + j), j, kLanes)); },
        [&](std::int64_t j, std::int64_t k)
            __attribute__((always_inline)) { storePart(y + j, f(loadPart(x + j, k), j, k), k); });
}

FW_INLINE VF loadAny(const float* p, std::int64_t lanes)
{
    return lanes == kLanes ? load(p) : loadPart(p, lanes);
}
FW_INLINE VF loadAny(const Bf16* p, std::int64_t lanes)
{
    return lanes == kLanes ? load(p) : loadPart(p, lanes);
}
template <class T>
FW_INLINE void storeAny(T* p, VF v, std::int64_t lanes)
{
    if (lanes == kLanes)
        store(p, v);
    else
        storePart(p, v, lanes);
}

} // namespace
} // namespace fourwalls::engine::FW_SIMD_NAMESPACE
