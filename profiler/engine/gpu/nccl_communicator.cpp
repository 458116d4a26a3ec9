// SPDX-License-Identifier: Apache-2.0
// See nccl_communicator.h.
#include "profiler/engine/gpu/nccl_communicator.h"

#include "model/spec/collective_algorithm.h"

#include <numeric>
#include <utility>

namespace fourwalls::engine {

namespace {

// What a member sends by the convention for bandwidths, which is what a ring sends: what NCCL chooses it does not say.
std::int64_t wireBytesOf(CollectiveOp operation, const Tensor& whole, int members, int member, int root)
{
    CollectiveShape shape{CollectiveKind::AllReduce, members, whole.elements(), root, 0};
    if (operation == CollectiveOp::AllGather) shape.kind = CollectiveKind::AllGather;
    if (operation == CollectiveOp::ReduceScatter) shape.kind = CollectiveKind::ReduceScatter;
    if (operation == CollectiveOp::Broadcast) shape.kind = CollectiveKind::Broadcast;
    return elementsSent(shape, CollectiveAlgorithm::Ring, member) * bytesOf(whole.type());
}

} // namespace

// An operation on the stream beside the computation. It holds the tensors until the computation waits for it.
class NcclCommunicator::Started final : public CommRequest::State {
public:
    Started(NcclRank& rank, Operation operation, RankMemory::Fence done)
        : m_rank(rank)
        , m_operation(std::move(operation))
        , m_done(std::move(done))
    {}
    void wait() override
    {
        m_rank.compute.follow(m_done);
        if (m_operation.in.deviceMemory() && m_operation.out.deviceMemory()) return;
        m_rank.compute.settle(); // the host may read it
        m_rank.check();
    }

private:
    NcclRank& m_rank;
    Operation m_operation;
    RankMemory::Fence m_done;
};

NcclCommunicator::NcclCommunicator(NcclRank& rank, const GroupDescription& group, int number, gpu::GroupEnd* const& end,
                                   std::unique_ptr<Communicator> messages)
    : m_rank(rank)
    , m_end(end)
    , m_messages(std::move(messages))
    , m_logged{number, static_cast<int>(group.ranks.size()), group.acrossStages}
{
    if (rank.log) m_groupId = rank.log->define({group.name, group.ranks, "nccl"});
}

NcclCommunicator::Operation NcclCommunicator::describe(CollectiveOp kind, gpu::GroupOperation call, const Tensor& in,
                                                       const Tensor& out, const Tensor& whole, int root) const
{
    Operation operation;
    operation.kind = kind;
    operation.call = call;
    operation.in = in;
    operation.out = out;
    operation.elements = std::min(in.elements(), out.elements());
    operation.root = root;
    operation.payloadBytes = kind == CollectiveOp::Barrier ? 0 : whole.bytes();
    operation.wireBytes = wireBytesOf(kind, whole, size(), index(), root);
    return operation;
}

NcclCommunicator::Operation NcclCommunicator::reduction(const Tensor& buffer, ReduceOp op) const
{
    return describe(CollectiveOp::AllReduce,
                    op == ReduceOp::Sum ? gpu::GroupOperation::Sum : gpu::GroupOperation::Maximum, buffer, buffer,
                    buffer);
}

NcclCommunicator::Operation NcclCommunicator::scatter(const Tensor& in, const Tensor& out) const
{
    return describe(CollectiveOp::ReduceScatter, gpu::GroupOperation::ReduceScatter, in, out, in);
}

NcclCommunicator::Operation NcclCommunicator::gather(const Tensor& in, const Tensor& out) const
{
    return describe(CollectiveOp::AllGather, gpu::GroupOperation::AllGather, in, out, out);
}

void NcclCommunicator::ask(const Operation& operation, GpuStream& stream)
{
    const auto call = [&] {
        if (operation.kind == CollectiveOp::AllToAll)
            stream.exchange(m_end, {operation.in.type(), operation.in.data(), operation.out.data(),
                                    operation.sendElements.data(), operation.receiveElements.data()});
        else
            stream.call(m_end, {operation.call, operation.in.type(), operation.in.data(), operation.out.data(),
                                operation.elements, operation.root});
    };
    const std::int64_t sequence = m_nextSequence++;
    if (!m_rank.log) return call();
    CollectiveRecord record; // without an algorithm: NCCL chooses it and does not say
    record.operation = operation.kind;
    record.group = m_groupId;
    record.sequence = sequence;
    record.payloadBytes = operation.payloadBytes;
    record.wireBytes = operation.wireBytes;
    m_rank.log->add(stream, m_logged, std::move(record), call);
}

void NcclCommunicator::run(const Operation& operation)
{
    m_rank.check();
    m_rank.compute.follow(std::exchange(m_rank.lastStarted, {}));
    ask(operation, m_rank.compute);
    if (operation.in.deviceMemory() && operation.out.deviceMemory()) return;
    m_rank.compute.settle(); // the host may read and write it
    m_rank.check();
}

CommRequest NcclCommunicator::start(Operation operation)
{
    m_rank.check();
    m_rank.beside->follow(m_rank.compute.fence()); // what the operation works on is computed
    ask(operation, *m_rank.beside);
    m_rank.lastStarted = m_rank.beside->fence();
    return CommRequest(std::make_unique<Started>(m_rank, std::move(operation), m_rank.lastStarted));
}

void NcclCommunicator::allReduce(const Tensor& buffer, ReduceOp op)
{
    run(reduction(buffer, op));
}

void NcclCommunicator::reduceScatter(const Tensor& in, const Tensor& out)
{
    run(scatter(in, out));
}

void NcclCommunicator::allGather(const Tensor& in, const Tensor& out)
{
    run(gather(in, out));
}

CommRequest NcclCommunicator::startAllReduce(const Tensor& buffer, ReduceOp op)
{
    return start(reduction(buffer, op));
}

CommRequest NcclCommunicator::startReduceScatter(const Tensor& in, const Tensor& out)
{
    return start(scatter(in, out));
}

CommRequest NcclCommunicator::startAllGather(const Tensor& in, const Tensor& out)
{
    return start(gather(in, out));
}

void NcclCommunicator::broadcast(const Tensor& buffer, int root)
{
    run(describe(CollectiveOp::Broadcast, gpu::GroupOperation::Broadcast, buffer, buffer, buffer, root));
}

void NcclCommunicator::allToAll(const Tensor& in, std::span<const std::int64_t> sendElements, const Tensor& out,
                                std::span<const std::int64_t> receiveElements)
{
    const auto own = static_cast<std::size_t>(index());
    const std::int64_t width = bytesOf(in.type());
    const auto before = [&](std::span<const std::int64_t> counts) {
        return std::accumulate(counts.begin(), counts.begin() + index(), std::int64_t{0});
    };
    m_rank.compute.copy(static_cast<char*>(out.data()) + before(receiveElements) * width,
                        static_cast<const char*>(in.data()) + before(sendElements) * width,
                        receiveElements[own] * width);
    Operation operation;
    operation.kind = CollectiveOp::AllToAll;
    operation.in = in;
    operation.out = out;
    operation.sendElements.assign(sendElements.begin(), sendElements.end());
    operation.receiveElements.assign(receiveElements.begin(), receiveElements.end());
    operation.payloadBytes = in.bytes();
    operation.wireBytes =
        (std::accumulate(sendElements.begin(), sendElements.end(), std::int64_t{0}) - sendElements[own]) * width;
    run(operation);
}

void NcclCommunicator::barrier()
{
    const Tensor token = Tensor::make(m_rank.allocator, {1}, DType::I32, MemoryCategory::CommBuffers);
    token.as<std::int32_t>()[0] = 0;
    run(describe(CollectiveOp::Barrier, gpu::GroupOperation::Maximum, token, token, token));
}

} // namespace fourwalls::engine
