// SPDX-License-Identifier: Apache-2.0
// A strided view of (a batch of) matrices inside tensors: how heads are cut out of a fused projection without copying.
#pragma once

#include "profiler/engine/core/tensor.h"

#include <cstdint>

namespace fourwalls::engine {

/// Element (i, j) of matrix (b0, b1) is data[b0*batchStride0 + b1*batchStride1 + i*rowStride + j*colStride].
/// Does not own the elements. An operand of batch extent 1 is used for every matrix of the batch.
struct Matrix {
    void* data = nullptr;
    DType type = DType::F32;
    std::int64_t batch0 = 1, batch1 = 1;
    std::int64_t batchStride0 = 0, batchStride1 = 0;
    std::int64_t rows = 0, cols = 0;
    std::int64_t rowStride = 0, colStride = 1;

    Matrix transposed() const
    {
        Matrix t = *this;
        t.rows = cols;
        t.cols = rows;
        t.rowStride = colStride;
        t.colStride = rowStride;
        return t;
    }
    std::int64_t elements() const { return batch0 * batch1 * rows * cols; }
    std::int64_t bytes() const { return elements() * bytesOf(type); }
    template <class T>
    T* as() const
    {
        return static_cast<T*>(data);
    }
};

/// The tensor as one matrix [rows(), columns()].
inline Matrix matrix(const Tensor& tensor)
{
    return {tensor.data(), tensor.type(), 1, 1, 0, 0, tensor.rows(), tensor.columns(), tensor.columns(), 1};
}

/// Columns [first, first + count) of the tensor seen as a matrix.
inline Matrix columnRange(const Tensor& tensor, std::int64_t first, std::int64_t count)
{
    Matrix m = matrix(tensor);
    m.data = static_cast<char*>(m.data) + first * bytesOf(m.type);
    m.cols = count;
    return m;
}

} // namespace fourwalls::engine
