// SPDX-License-Identifier: Apache-2.0
// The operators of recommendation models, beside those of device.h: sums of table rows, dot products of all pairs of
// features, ReLU, and the loss of a yes or no. Each call is recorded as one kernel slice with its FLOPs and bytes.
// n: samples; w: width of a table's row; f: features (one dense, the others from tables). Tables are in the master
// type. One object per rank, used by its thread.
#pragma once

#include "profiler/engine/device/device.h"

#include <cstdint>

namespace fourwalls::engine {

class SparseOperators {
public:
    explicit SparseOperators(Device& device) : m_device(device) {}

    /// out[i, w column ...] = sum over the `lookups` entries of rows[i, lookups column ...] of table[entry]: one
    /// feature of every sample. rows: [n, tables lookups] of I32; table: [any, w]; out: [n, f w].
    void sumRows(const Tensor& table, const Tensor& rows, std::int64_t rowColumn, std::int64_t lookups,
                 const Tensor& out, std::int64_t outColumn);
    /// dTable += the gradient of sumRows.
    void sumRowsGradient(const Tensor& rows, std::int64_t rowColumn, std::int64_t lookups, const Tensor& dOut,
                         std::int64_t outColumn, const Tensor& dTable);

    /// out[i] = the dense feature (the first w numbers of features[i]), then the dot products of all pairs of its f
    /// features (second before first), as in arXiv:1906.00091. features: [n, f w]; out: [n, w + f (f - 1) / 2].
    void interact(const Tensor& features, std::int64_t width, const Tensor& out);
    void interactGradient(const Tensor& features, std::int64_t width, const Tensor& dOut, const Tensor& dFeatures);

    /// y = max(y, 0), and dy = dy where y > 0, else 0; both in place.
    void relu(const Tensor& y);
    void reluGradient(const Tensor& y, const Tensor& dy);

    /// losses[i] = -log of the probability that sigmoid(logits[i]) gives to labels[i] (0 or 1), and logits becomes the
    /// gradient of gradientScale * sum(losses). In place; master type.
    void binaryCrossEntropy(const Tensor& logits, const Tensor& labels, const Tensor& losses, double gradientScale);

    /// to[rows[i]] = from[i]. No two rows may be equal.
    void scatterRows(const Tensor& from, const Tensor& rows, const Tensor& to);

private:
    Device& m_device;
};

} // namespace fourwalls::engine
