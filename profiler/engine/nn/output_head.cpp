// SPDX-License-Identifier: Apache-2.0
// See output_head.h. n = rows; V = vocabulary.
#include "profiler/engine/nn/output_head.h"

#include <algorithm>

namespace fourwalls::engine {

namespace {

// Logits held at a time when the loss is computed in chunks, and the least rows of a chunk: below, the weight
// gradient of the head would be read and written too often.
constexpr std::int64_t kChunkLogits = 4 << 20;
constexpr std::int64_t kChunkRows = 256;

} // namespace

// One chunk of rows through the head: logits, loss, and the gradients of both the rows and the head's weights.
double OutputHead::rows(RankContext& rank, const Tensor& normed, const Tensor& targets, const Tensor& dNormed,
                        double scale) const
{
    Device& device = rank.device;
    const Scope op(rank.recorder, SliceKind::Operator, "head and loss");
    const Tensor logits = Tensor::make(rank.allocator, {normed.rows(), m_weight->compute.rows()}, rank.format.master,
                                       MemoryCategory::Activations);
    device.matmul(matrix(normed), matrix(m_weight->compute).transposed(), matrix(logits));
    const Tensor losses =
        Tensor::make(rank.allocator, {normed.rows()}, rank.format.master, MemoryCategory::Temporaries);
    device.crossEntropy(logits, targets, losses, scale);
    const double sum = device.sum(losses);

    const PhaseTag input(rank.recorder, Phase::BackwardInput);
    Tensor dLogits = logits;
    if (rank.format.compute != rank.format.master) {
        dLogits = rank.temporary(logits.shape());
        device.convert(logits, dLogits);
    }
    device.matmul(matrix(dLogits), matrix(m_weight->compute), matrix(dNormed));
    const PhaseTag weight(rank.recorder, Phase::BackwardWeight);
    MatmulOptions options;
    options.accumulate = m_weight->takeAccumulate();
    device.matmul(matrix(dLogits).transposed(), matrix(normed), matrix(m_weight->gradient), options);
    return sum;
}

double OutputHead::loss(RankContext& rank, const Tensor& normed, const Tensor& targets, const Tensor& dNormed,
                        double scale) const
{
    const std::int64_t n = normed.rows();
    std::int64_t chunk = n;
    if (m_fuse) chunk = std::min(n, std::max(kChunkRows, kChunkLogits / m_weight->compute.rows() / 16 * 16));
    const Tensor column = targets.reshaped({n, 1});
    double sum = 0;
    for (std::int64_t first = 0; first < n; first += chunk) {
        const std::int64_t count = std::min(chunk, n - first);
        sum += rows(rank, normed.rowRange(first, count), column.rowRange(first, count),
                    dNormed.rowRange(first, count), scale);
    }
    return sum;
}

} // namespace fourwalls::engine
