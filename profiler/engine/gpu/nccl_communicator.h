// SPDX-License-Identifier: Apache-2.0
// The Communicator of one group whose members have a GPU each. NCCL carries out the collectives; messages between two
// members are somebody else's, because NCCL's sends wait for their receivers.
#pragma once

#include "model/trace/records.h"
#include "profiler/engine/comm/group_communicator.h"
#include "profiler/engine/gpu/nccl_world.h"

#include <memory>
#include <string>
#include <vector>

namespace fourwalls::engine {

class NcclCommunicator final : public Communicator {
public:
    /// end: set by the time of the first call. number: of the group, the same on all members.
    NcclCommunicator(NcclRank& rank, const GroupDescription& group, int number, gpu::GroupEnd* const& end,
                     std::unique_ptr<Communicator> messages);

    int size() const override { return m_messages->size(); }
    int index() const override { return m_messages->index(); }
    RankId rankAt(int index) const override { return m_messages->rankAt(index); }

    void allReduce(const Tensor& buffer, ReduceOp op) override;
    void reduceScatter(const Tensor& in, const Tensor& out) override;
    void allGather(const Tensor& in, const Tensor& out) override;
    void broadcast(const Tensor& buffer, int root) override;
    void allToAll(const Tensor& in, std::span<const std::int64_t> sendElements, const Tensor& out,
                  std::span<const std::int64_t> receiveElements) override;
    void barrier() override;
    CommRequest startAllReduce(const Tensor& buffer, ReduceOp op) override;
    CommRequest startReduceScatter(const Tensor& in, const Tensor& out) override;
    CommRequest startAllGather(const Tensor& in, const Tensor& out) override;

    void send(const Tensor& tensor, int to) override { m_messages->send(tensor, to); }
    void receive(const Tensor& tensor, int from) override { m_messages->receive(tensor, from); }
    int awaitAny(std::span<const int> members) override { return m_messages->awaitAny(members); }
    CommRequest startSend(const Tensor& tensor, int to) override { return m_messages->startSend(tensor, to); }
    CommRequest startReceive(const Tensor& tensor, int from) override { return m_messages->startReceive(tensor, from); }

private:
    class Started;

    struct Operation {
        CollectiveOp kind = CollectiveOp::AllReduce;
        gpu::GroupOperation call = gpu::GroupOperation::Sum;
        Tensor in, out;
        std::int64_t elements = 0; // as in GroupCall
        int root = 0;
        std::int64_t payloadBytes = 0, wireBytes = 0;
        std::vector<std::int64_t> sendElements, receiveElements; // of an all-to-all
    };
    Operation describe(CollectiveOp kind, gpu::GroupOperation call, const Tensor& in, const Tensor& out,
                       const Tensor& whole, int root = 0) const;
    Operation reduction(const Tensor& buffer, ReduceOp op) const;
    Operation scatter(const Tensor& in, const Tensor& out) const;
    Operation gather(const Tensor& in, const Tensor& out) const;
    void run(const Operation& operation);
    CommRequest start(Operation operation);
    void ask(const Operation& operation, GpuStream& stream);

    NcclRank& m_rank;
    gpu::GroupEnd* const& m_end;
    std::unique_ptr<Communicator> m_messages;
    LoggedGroup m_logged;
    GroupId m_groupId;
    std::int64_t m_nextSequence = 0;
};

} // namespace fourwalls::engine
