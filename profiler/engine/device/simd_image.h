// SPDX-License-Identifier: Apache-2.0
// The engine's own passes over images: the residual's addition with its ReLU, which oneDNN would need two passes
// for. Compiled for several instruction sets; the processor's best is picked at run time.
#pragma once

#include "profiler/engine/core/dtype.h"

#include <cstdint>

namespace fourwalls::engine {

template <class T>
struct ImageKernels {
    /// y = max(y, 0).
    void (*relu)(T* y, std::int64_t count);
    /// y = max(y + shortcut, 0).
    void (*addRelu)(T* y, const T* shortcut, std::int64_t count);
    /// dy = (dy + other) where y > 0, else 0. other: may be null.
    void (*addReluGradient)(const T* y, T* dy, const T* other, std::int64_t count);
};

/// The best ones that this processor runs. Results do not depend on the choice.
const ImageKernels<float>& imageKernels(float);
const ImageKernels<Bf16>& imageKernels(Bf16);

} // namespace fourwalls::engine
