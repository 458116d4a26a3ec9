// SPDX-License-Identifier: Apache-2.0
// See ring_attention.h. In step s a rank holds the keys and values of rank (index - s) mod ranks.
#include "profiler/engine/nn/ring_attention.h"

#include <utility>

namespace fourwalls::engine {

namespace {

// The rank's neighbours in the ring.
struct Ring {
    explicit Ring(const RankContext& rank)
        : group(*rank.contextGroup())
        , overlap(rank.groups->plan.overlap)
        , next((group.index() + 1) % group.size())
        , previous((group.index() + group.size() - 1) % group.size())
    {}

    Communicator& group;
    bool overlap;
    int next, previous;

    int ownerIn(int step) const { return (group.index() - step + group.size()) % group.size(); }
    CommRequest send(const Tensor& t) const
    {
        if (overlap) return group.startSend(t, next);
        group.send(t, next);
        return {};
    }
    // Started at once if communication runs beside computation, else when `wait` is called.
    CommRequest startReceive(const Tensor& t) const
    {
        return overlap ? group.startReceive(t, previous) : CommRequest();
    }
    void finishReceive(CommRequest& request, const Tensor& t) const
    {
        if (overlap)
            request.wait();
        else
            group.receive(t, previous);
    }
};

Tensor buffer(const RankContext& rank, const Shape& shape, DType type)
{
    return Tensor::make(rank.allocator, shape, type, MemoryCategory::CommBuffers);
}

Tensor temporary(const RankContext& rank, const Shape& shape)
{
    return Tensor::make(rank.allocator, shape, rank.format.master, MemoryCategory::Temporaries);
}

Tensor ownKeys(RankContext& rank, const AttentionShape& s, const Tensor& qkv)
{
    const std::int64_t width = 2 * s.kvHeads * s.headDim;
    Tensor kv = buffer(rank, {qkv.rows(), width}, qkv.type());
    rank.device.copyColumns(qkv, s.keyColumn(), kv, 0, width);
    return kv;
}

} // namespace

std::optional<AttentionBlock> RingAttention::blockWith(int owner) const
{
    const std::int64_t length = shape.sequence;
    AttentionBlock block{shape.batch, shape.heads, shape.kvHeads, shape.headDim, length, 0, length,
                         length,      0,           length,        false};
    if (!shape.causal) return block;
    if (owner == split.index) {
        block.causal = true; // stretches lie in the order of their positions
        return block;
    }
    if (!split.zigzag()) return owner < split.index ? std::optional(block) : std::nullopt;
    if (owner < split.index) {
        block.keys = length / 2; // their front stretch comes before all queries, their back stretch after all
    } else {
        block.firstQuery = block.queries = length / 2; // the back stretch sees everything of theirs
    }
    return block;
}

Tensor RingAttention::forward(RankContext& rank, const Tensor& qkv, Tensor& logSumExp) const
{
    const Scope scope(rank.recorder, SliceKind::Operator, "attention.ring");
    const Ring ring(rank);
    Device& device = rank.device;
    Tensor out = rank.activation({qkv.rows(), shape.heads * shape.headDim});
    const bool rounded = out.type() != rank.format.master;
    const Tensor sum = rounded ? temporary(rank, out.shape()) : out, part = temporary(rank, out.shape());
    logSumExp = rank.statistic({shape.batch, shape.heads, shape.sequence});
    const Tensor partLogSumExp = temporary(rank, logSumExp.shape());
    Tensor kv = ownKeys(rank, shape, qkv);
    for (int step = 0; step < split.ranks; ++step) {
        const bool more = step + 1 < split.ranks;
        Tensor coming = more ? buffer(rank, kv.shape(), kv.type()) : Tensor();
        CommRequest sending, receiving;
        if (more) {
            sending = ring.send(kv);
            receiving = ring.startReceive(coming);
        }
        const auto block = blockWith(ring.ownerIn(step));
        if (step == 0) {
            device.attentionBlockForward(*block, qkv, kv, sum, logSumExp);
        } else if (block) {
            device.attentionBlockForward(*block, qkv, kv, part, partLogSumExp);
            device.mergeAttention(*block, part, partLogSumExp, sum, logSumExp);
        }
        if (!more) break;
        ring.finishReceive(receiving, coming);
        sending.wait();
        kv = std::move(coming);
    }
    if (rounded) device.convert(sum, out);
    return out;
}

Tensor RingAttention::backward(RankContext& rank, const Tensor& qkv, const Tensor& out, const Tensor& logSumExp,
                               const Tensor& dout) const
{
    const Scope scope(rank.recorder, SliceKind::Operator, "attention.ring");
    const Ring ring(rank);
    Device& device = rank.device;
    const Tensor dq = temporary(rank, out.shape());
    device.zero(dq);
    Tensor kv = ownKeys(rank, shape, qkv);
    Tensor dkv; // of the keys and values that are here
    CommRequest sendingGradients;
    for (int step = 0; step < split.ranks; ++step) {
        const bool more = step + 1 < split.ranks;
        Tensor comingKeys = more ? buffer(rank, kv.shape(), kv.type()) : Tensor();
        Tensor comingGradients = step > 0 ? buffer(rank, kv.shape(), rank.format.master) : Tensor();
        // In this order everywhere: gradients of the last step, then the next keys.
        CommRequest sendingKeys, receivingKeys, receivingGradients;
        if (more) sendingKeys = ring.send(kv);
        if (step > 0) receivingGradients = ring.startReceive(comingGradients);
        if (more) receivingKeys = ring.startReceive(comingKeys);
        sendingGradients.wait();
        dkv = buffer(rank, kv.shape(), rank.format.master);
        device.zero(dkv);
        if (const auto block = blockWith(ring.ownerIn(step)))
            device.attentionBlockBackward(*block, qkv, kv, out, logSumExp, dout, dq, dkv);
        if (step > 0) {
            ring.finishReceive(receivingGradients, comingGradients);
            device.add(dkv, comingGradients, dkv);
        }
        if (more) ring.finishReceive(receivingKeys, comingKeys);
        sendingKeys.wait();
        sendingGradients = ring.send(dkv);
        if (more) kv = std::move(comingKeys);
    }
    const Tensor home = buffer(rank, kv.shape(), rank.format.master);
    CommRequest receiving = ring.startReceive(home);
    ring.finishReceive(receiving, home);
    sendingGradients.wait();
    Tensor dqkv = rank.temporary(qkv.shape());
    device.copyColumns(dq, 0, dqkv, 0, dq.columns());
    device.copyColumns(home, 0, dqkv, shape.keyColumn(), home.columns());
    return dqkv;
}

} // namespace fourwalls::engine
