// SPDX-License-Identifier: Apache-2.0
// See reduction.h. Loops that the compiler vectorises; they are bound by memory.
#include "profiler/engine/comm/reduction.h"

#include <algorithm>

namespace fourwalls::engine {

namespace {

template <class T>
void reduceTyped(void* into, const void* from, std::int64_t elements, ReduceOp op)
{
    T* __restrict__ a = static_cast<T*>(into);
    const T* __restrict__ b = static_cast<const T*>(from);
    if (op == ReduceOp::Sum)
        for (std::int64_t i = 0; i < elements; ++i) a[i] = a[i] + b[i];
    else
        for (std::int64_t i = 0; i < elements; ++i) a[i] = std::max(a[i], b[i]);
}

void reduceBf16(void* into, const void* from, std::int64_t elements, ReduceOp op)
{
    Bf16* a = static_cast<Bf16*>(into);
    const Bf16* b = static_cast<const Bf16*>(from);
    for (std::int64_t i = 0; i < elements; ++i) {
        const float x = a[i].toFloat(), y = b[i].toFloat();
        a[i] = Bf16::fromFloat(op == ReduceOp::Sum ? x + y : std::max(x, y));
    }
}

} // namespace

void reduceInto(void* into, const void* from, std::int64_t elements, DType type, ReduceOp op)
{
    switch (type) {
    case DType::F32: reduceTyped<float>(into, from, elements, op); break;
    case DType::F64: reduceTyped<double>(into, from, elements, op); break;
    case DType::I32: reduceTyped<std::int32_t>(into, from, elements, op); break;
    case DType::Bf16: reduceBf16(into, from, elements, op); break;
    }
}

} // namespace fourwalls::engine
