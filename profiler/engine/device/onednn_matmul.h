// SPDX-License-Identifier: Apache-2.0
// Matrix products by oneDNN, with its primitives kept from call to call.
#pragma once

#include "profiler/engine/device/device.h"

#include <memory>

namespace fourwalls::engine {

/// One per rank. The heavy oneDNN header stays in the implementation.
class OneDnnMatmul {
public:
    explicit OneDnnMatmul(Allocator& allocator);
    ~OneDnnMatmul();

    /// See Device::matmul. Types: f32 x f32 -> f32, bf16 x bf16 -> bf16 or f32; bias in f32; residual in c's type.
    /// Scratch memory is taken from the allocator (category workspace) for the time of the call.
    void run(const Matrix& a, const Matrix& b, const Matrix& c, const MatmulOptions& options);

    /// Whether this oneDNN has bf16 products for this processor.
    static bool supportsBf16();

private:
    struct State;
    std::unique_ptr<State> m_state;
};

/// c [m, n] = alpha op(a) op(b) + beta c, all f32, row-major with the given leading dimensions.
void sgemm(bool transposeA, bool transposeB, std::int64_t m, std::int64_t n, std::int64_t k, float alpha,
           const float* a, std::int64_t lda, const float* b, std::int64_t ldb, float beta, float* c, std::int64_t ldc);

/// Makes oneDNN's calls from this thread use this one thread only.
void useSingleThread();

} // namespace fourwalls::engine
