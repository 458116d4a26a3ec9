// SPDX-License-Identifier: Apache-2.0
// Layers whose weights are cut over the tensor group (Shoeybi et al. 2019, arXiv:1909.08053), and sequence parallelism
// (Korthikanti et al. 2022, arXiv:2205.05198): with it, what lies between such layers is cut over the group by rows.
// In a group of one everything here is a plain linear layer.
#pragma once

#include "profiler/engine/nn/linear.h"

#include <cstdint>

namespace fourwalls::engine {

/// Members of the rank's tensor group, and the rank's place among them.
int tensorRanks(const RankContext& rank);
int tensorIndex(const RankContext& rank);

/// Whether the rows between the layers are cut over the tensor group.
bool rowsAreCut(const RankContext& rank);
/// Of n rows those that the rank holds between the layers. n: a multiple of the group's size if rows are cut.
IndexRange heldRows(const RankContext& rank, std::int64_t n);
/// The other way round: rows inside the layers, when `held` are held between them.
std::int64_t allRows(const RankContext& rank, std::int64_t held);

/// All rows of a tensor of held rows: gathered from the group, or x itself if rows are not cut.
Tensor gatherRows(const RankContext& rank, const Tensor& x);

/// Rows of the vocabulary that the rank has, as a shard of a matrix [vocabulary, width]. Lengths differ by one where
/// the vocabulary does not divide.
Shard vocabularyShard(const RankContext& rank, std::int64_t vocabulary, std::int64_t width);

/// y = x W + b with the columns of W cut over the tensor group: every rank needs all of x and has its columns of y.
struct ColumnLinear {
    Linear linear; ///< the rank's columns

    /// x: held rows; y: [all rows, the rank's columns].
    void forward(RankContext& rank, const Tensor& x, const Tensor& y) const
    {
        linear.forward(rank, gatherRows(rank, x), y);
    }
    /// Returns the gradient of the held rows of x, added up over the group; adds the weights' gradients. The sum over
    /// the group runs beside the weights' product if the plan overlaps. withBias: see Linear.
    Tensor backward(RankContext& rank, const Tensor& x, const Tensor& dy, bool withBias = true) const;
};

/// y = x W + b (+ residual) with the rows of W cut over the tensor group: every rank has its columns of x, and the
/// products of all ranks add up to y. Bias and residual are added once, after the sum.
struct RowLinear {
    Linear linear;             ///< the rank's rows, with the bias only in a group of one
    Parameter* bias = nullptr; ///< of a group of several; may be null

    /// x: [all rows, the rank's columns]; y and residual: held rows.
    void forward(RankContext& rank, const Tensor& x, const Tensor& y, const Tensor& residual) const;
    /// dy: held rows. Returns the gradient with respect to x; adds the weights' gradients.
    Tensor backward(RankContext& rank, const Tensor& x, const Tensor& dy) const;
};

} // namespace fourwalls::engine
