// SPDX-License-Identifier: Apache-2.0
// From the element type of a tensor to the kernels for it.
#pragma once

#include "profiler/engine/core/engine_error.h"
#include "profiler/engine/core/tensor.h"

#include <string>

namespace fourwalls::engine {

/// Calls f with a value of the activation type of t. Throws EngineError for types that there are no kernels for.
template <class F>
void dispatchActivation(const Tensor& t, F f)
{
    if (t.type() == DType::F32)
        f(float{});
    else if (t.type() == DType::Bf16)
        f(Bf16{});
    else
        throw EngineError(ErrorCode::Internal, "the device has no kernels for " + std::string(name(t.type())),
                          "device");
}

} // namespace fourwalls::engine
