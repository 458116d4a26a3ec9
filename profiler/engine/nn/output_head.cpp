// SPDX-License-Identifier: Apache-2.0
// See output_head.h. n = rows; V = vocabulary.
#include "profiler/engine/nn/output_head.h"

#include "profiler/engine/nn/tensor_parallel.h"

#include <algorithm>

namespace fourwalls::engine {

namespace {

// The least rows of a chunk: below, the weight gradient of the head would be read and written too often.
constexpr std::int64_t kChunkRows = 256;

} // namespace

// Losses, and logits into their gradient.
void OutputHead::crossEntropy(RankContext& rank, const Tensor& logits, const Tensor& targets, const Tensor& losses,
                              double scale) const
{
    Device& device = rank.device;
    if (tensorRanks(rank) == 1) return device.crossEntropy(logits, targets, losses, scale);
    Communicator& group = *rank.tensorGroup();
    const auto perRow = [&](std::int64_t columns) {
        return Tensor::make(rank.allocator, {logits.rows(), columns}, rank.format.master, MemoryCategory::CommBuffers);
    };
    const Tensor maxima = perRow(1), sums = perRow(2);
    const std::int64_t firstToken = m_weight->shard.firstRow;
    device.rowMaxima(logits, maxima);
    group.allReduce(maxima, ReduceOp::Max);
    device.shardExponentials(logits, maxima, targets, firstToken, sums);
    group.allReduce(sums);
    device.shardCrossEntropy(logits, sums, targets, firstToken, losses, scale);
}

// One chunk of rows through the head: logits, loss, and the gradients of both the rows and the head's weights.
double OutputHead::rows(RankContext& rank, const Tensor& normed, const Tensor& targets, const Tensor& dNormed,
                        double scale) const
{
    Device& device = rank.device;
    const Scope op(rank.recorder, SliceKind::Operator, "head and loss");
    const Tensor logits = Tensor::make(rank.allocator, {normed.rows(), m_weight->compute.rows()}, rank.format.master,
                                       MemoryCategory::Activations);
    device.matmul(matrix(normed), matrix(m_weight->compute).transposed(), matrix(logits));
    Tensor dLogits = logits; // they become their gradient
    if (!rank.inPlace && dNormed.defined()) {
        dLogits = Tensor::make(rank.allocator, logits.shape(), logits.type(), MemoryCategory::Temporaries);
        device.convert(logits, dLogits);
    }
    const Tensor losses =
        Tensor::make(rank.allocator, {normed.rows()}, rank.format.master, MemoryCategory::Temporaries);
    crossEntropy(rank, dLogits, targets, losses, scale);
    const double sum = device.sum(losses);
    if (!dNormed.defined()) return sum;

    const PhaseTag input(rank.recorder, Phase::BackwardInput);
    if (rank.format.compute != rank.format.master) {
        const Tensor rounded = rank.temporary(logits.shape());
        device.convert(dLogits, rounded);
        dLogits = rounded;
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
    const std::int64_t n = targets.elements();
    std::int64_t chunk = n;
    // The same chunks on all ranks, also where their parts of the vocabulary differ.
    const std::int64_t vocabulary = m_weight->shard.whole ? m_weight->shape[0] : m_weight->shard.fullRows;
    const std::int64_t logits = (vocabulary + tensorRanks(rank) - 1) / tensorRanks(rank);
    if (m_fuse) chunk = std::min(n, std::max(kChunkRows, rank.device.chunkLogits() / logits / 16 * 16));
    const Tensor column = targets.reshaped({n, 1});
    const Tensor all = gatherRows(rank, normed);
    Tensor dAll = dNormed;
    if (rowsAreCut(rank) && dNormed.defined())
        dAll = Tensor::make(rank.allocator, all.shape(), rank.format.compute, MemoryCategory::CommBuffers);
    double sum = 0;
    for (std::int64_t first = 0; first < n; first += chunk) {
        const std::int64_t count = std::min(chunk, n - first);
        sum += rows(rank, all.rowRange(first, count), column.rowRange(first, count),
                    dAll.defined() ? dAll.rowRange(first, count) : Tensor(), scale);
    }
    if (tensorRanks(rank) == 1 || !dNormed.defined()) return sum;
    const PhaseTag input(rank.recorder, Phase::BackwardInput);
    if (rowsAreCut(rank))
        rank.tensorGroup()->reduceScatter(dAll, dNormed);
    else
        rank.tensorGroup()->allReduce(dNormed);
    return sum;
}

} // namespace fourwalls::engine
