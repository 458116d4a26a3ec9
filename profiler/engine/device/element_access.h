// SPDX-License-Identifier: Apache-2.0
// Reading and writing elements of any type in plain loops, for operators that move memory or touch few numbers.
#pragma once

#include "profiler/engine/core/engine_error.h"
#include "profiler/engine/core/tensor.h"

#include <string>

namespace fourwalls::engine {

// Sums are in the master type of the element type: float for f32 and bf16, double for f64.
inline float load(float x)
{
    return x;
}
inline float load(Bf16 x)
{
    return x.toFloat();
}
inline double load(double x)
{
    return x;
}
inline void store(float& to, float x)
{
    to = x;
}
inline void store(Bf16& to, float x)
{
    to = Bf16::fromFloat(x);
}
inline void store(double& to, double x)
{
    to = x;
}

/// Calls f(element, master) with values of the tensor's type and of the type of its sums. Throws EngineError for
/// integers.
template <class F>
void dispatchElements(const Tensor& t, F f)
{
    switch (t.type()) {
    case DType::F32: return f(float{}, float{});
    case DType::Bf16: return f(Bf16{}, float{});
    case DType::F64: return f(double{}, double{});
    case DType::I32: break;
    }
    throw EngineError(ErrorCode::Internal, "no arithmetic in " + std::string(name(t.type())), "operator");
}

} // namespace fourwalls::engine
