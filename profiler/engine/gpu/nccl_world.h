// SPDX-License-Identifier: Apache-2.0
// NCCL between ranks that have a GPU each: what the ranks of a run share, and what each of them has. Collectives are
// asked for in the order of the ranks' streams, and the host does not wait for them unless it reads their results.
#pragma once

#include "profiler/engine/comm/device_collectives.h"
#include "profiler/engine/gpu/collective_log.h"
#include "profiler/engine/gpu/gpu_stream.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace fourwalls::engine {

/// One rank: its streams, and how it learns that the run has failed.
class NcclRank {
public:
    NcclRank(RankSlot& slot, const WorldOptions& options, Failure& failure, ArrivalBoard& board);

    const RankId id;
    GpuStream& compute;
    GpuStream* const beside; ///< for started operations; null in a world of one
    Allocator& allocator;
    const std::unique_ptr<CollectiveLog> log; ///< null: nothing is recorded
    /// The last operation that was started: what comes next waits for it on the GPU, because operations of several
    /// communicators must not meet in different orders on two GPUs.
    RankMemory::Fence lastStarted;
    std::vector<gpu::GroupEnd*> ends;

    /// Throws if another rank or NCCL has failed; this rank's operations are ended then.
    void check();
    void giveUp();
    bool runFailed() const;

private:
    bool failed() const;

    Failure& m_failure;
};

class NcclWorld final : public DeviceCollectives {
public:
    /// version: of the library, for the trace.
    NcclWorld(const gpu::Module& module, int version);
    ~NcclWorld() override;

    void join(RankSlot& slot, const WorldOptions& options, Failure& failure) override;
    std::unique_ptr<Communicator> communicator(RankId rank, const GroupDescription& group,
                                               std::unique_ptr<Communicator> messages) override;
    void open() override;
    void giveUp(RankId rank) override;
    std::int64_t events(RankId rank) const override;
    void close() override;

private:
    // Groups of the same ranks share a communicator: each has buffers on every GPU.
    struct Connection {
        std::vector<RankId> ranks;
        std::vector<gpu::GroupEnd*> ends; // by member; null until open()
    };
    Connection& connectionOf(const std::vector<RankId>& ranks);
    NcclRank& rankOf(RankId rank) const { return *m_ranks.at(rank); }

    const gpu::Module& m_module;
    std::string m_version;
    std::int64_t m_memoryLimit = 0; // per rank [bytes]
    ArrivalBoard m_board;
    std::map<RankId, std::unique_ptr<NcclRank>> m_ranks;
    std::vector<std::unique_ptr<Connection>> m_connections;
    std::map<std::pair<std::string, std::vector<RankId>>, int> m_groups; // numbers
};

} // namespace fourwalls::engine
