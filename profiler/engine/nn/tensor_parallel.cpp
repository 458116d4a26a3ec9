// SPDX-License-Identifier: Apache-2.0
// See tensor_parallel.h.
#include "profiler/engine/nn/tensor_parallel.h"

#include "profiler/engine/nn/deferred_work.h"

namespace fourwalls::engine {

namespace {

bool overlaps(const RankContext& rank)
{
    return rank.groups->plan.overlap;
}

} // namespace

int tensorRanks(const RankContext& rank)
{
    return sizeOf(rank.tensorGroup());
}

int tensorIndex(const RankContext& rank)
{
    return indexIn(rank.tensorGroup());
}

bool rowsAreCut(const RankContext& rank)
{
    return tensorRanks(rank) > 1 && rank.groups->plan.sequenceParallel;
}

IndexRange heldRows(const RankContext& rank, std::int64_t n)
{
    if (!rowsAreCut(rank)) return {0, n};
    return splitEvenly(n, tensorRanks(rank), tensorIndex(rank));
}

std::int64_t allRows(const RankContext& rank, std::int64_t held)
{
    return rowsAreCut(rank) ? held * tensorRanks(rank) : held;
}

Tensor gatherRows(const RankContext& rank, const Tensor& x)
{
    if (!rowsAreCut(rank)) return x;
    Tensor all = rank.communicated({allRows(rank, x.rows()), x.columns()});
    rank.tensorGroup()->allGather(x, all);
    return all;
}

Shard vocabularyShard(const RankContext& rank, std::int64_t vocabulary, std::int64_t width)
{
    return Shard::ofRows(vocabulary, width, splitEvenly(vocabulary, tensorRanks(rank), tensorIndex(rank)));
}

Tensor ColumnLinear::backward(RankContext& rank, const Tensor& x, const Tensor& dy, bool withBias) const
{
    const Shape full{dy.rows(), x.columns()};
    if (tensorRanks(rank) == 1) {
        const Tensor dx = rank.temporary(full);
        linear.backwardInput(rank, dy, dx);
        linear.backwardWeight(rank, x, dy, withBias);
        return dx;
    }
    Communicator& group = *rank.tensorGroup();
    const bool overlap = overlaps(rank), cut = rowsAreCut(rank), later = rank.deferred != nullptr;
    // Deferred weight gradients gather x again when they are computed; until then only the held rows stay.
    Tensor all = x;
    CommRequest gathering;
    if (cut && !later) {
        all = rank.communicated(full);
        if (overlap)
            gathering = group.startAllGather(x, all);
        else
            group.allGather(x, all);
    }
    const Tensor partial = cut ? rank.communicated(full) : rank.temporary(full);
    const Tensor dx = cut ? rank.temporary(x.shape()) : partial;
    linear.backwardInput(rank, dy, partial);
    gathering.wait();
    CommRequest adding;
    if (overlap && !later)
        adding = cut ? group.startReduceScatter(partial, dx) : group.startAllReduce(partial);
    else if (cut)
        group.reduceScatter(partial, dx);
    else
        group.allReduce(partial);
    if (cut && later)
        rank.deferred->add(rank.recorder.layer(), [layer = linear, x, dy, withBias](RankContext& then) {
            layer.addWeightGradient(then, gatherRows(then, x), dy, withBias);
        });
    else
        linear.backwardWeight(rank, all, dy, withBias);
    adding.wait();
    return dx;
}

void RowLinear::forward(RankContext& rank, const Tensor& x, const Tensor& y, const Tensor& residual) const
{
    if (tensorRanks(rank) == 1) return linear.forward(rank, x, y, &residual);
    const bool apart = !bias || !linear.fuse; // the residual has a pass of its own
    const Tensor sum = apart && !rank.inPlace ? rank.temporary(y.shape()) : y;
    if (rowsAreCut(rank)) {
        const Tensor partial = rank.communicated({x.rows(), y.columns()});
        linear.forward(rank, x, partial);
        rank.tensorGroup()->reduceScatter(partial, sum);
    } else {
        linear.forward(rank, x, sum);
        rank.tensorGroup()->allReduce(sum);
    }
    if (bias) rank.device.addBias(sum, bias->weight, apart ? Tensor() : residual);
    if (apart) rank.device.add(sum, residual, y);
}

Tensor RowLinear::backward(RankContext& rank, const Tensor& x, const Tensor& dy) const
{
    const Tensor all = gatherRows(rank, dy);
    Tensor dx = rank.temporary(x.shape());
    linear.backwardInput(rank, all, dx);
    linear.backwardWeight(rank, x, all);
    if (bias) {
        const PhaseTag tag(rank.recorder, Phase::BackwardWeight);
        rank.device.columnSum(dy, bias->gradient, bias->takeAccumulate());
    }
    return dx;
}

} // namespace fourwalls::engine
