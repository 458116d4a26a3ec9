// SPDX-License-Identifier: Apache-2.0
// See nccl_world.h.
#include "profiler/engine/gpu/nccl_world.h"

#include "profiler/engine/comm/failure.h"
#include "profiler/engine/core/engine_error.h"
#include "profiler/engine/gpu/nccl_communicator.h"

#include <algorithm>

namespace fourwalls::engine {

namespace {

GpuStream& streamOf(RankMemory& memory)
{
    return static_cast<GpuStream&>(memory);
}

// "2.28.9" of 22809.
std::string versionText(int version)
{
    return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
           std::to_string(version % 100);
}

} // namespace

NcclRank::NcclRank(RankSlot& slot, const WorldOptions& options, Failure& failure, ArrivalBoard& board)
    : id(slot.recorder->rank())
    , compute(streamOf(*slot.memory))
    , beside(slot.comm ? &streamOf(*slot.comm->threadMemory) : nullptr)
    , allocator(*slot.allocator)
    , log(options.sink ? std::make_unique<CollectiveLog>(*slot.recorder, compute, beside, options, board) : nullptr)
    , m_failure(failure)
{
    const auto interruption = std::make_shared<GpuStream::Interruption>();
    interruption->happened = [this] { return failed(); };
    interruption->raise = [this] { check(); };
    interruption->join = [this] { compute.follow(lastStarted); };
    compute.interruptBy(interruption);
    if (beside) beside->interruptBy(interruption);
}

bool NcclRank::failed() const
{
    char why[256] = {};
    return m_failure.happened() || std::ranges::any_of(ends, [&](gpu::GroupEnd* end) {
               return compute.module().groupFailed(end, why, sizeof why);
           });
}

bool NcclRank::runFailed() const
{
    return m_failure.happened();
}

void NcclRank::check()
{
    if (!failed()) return;
    char why[256] = {};
    for (gpu::GroupEnd* end : ends)
        if (compute.module().groupFailed(end, why, sizeof why)) break;
    giveUp();
    m_failure.throwIfHappened();
    throw EngineError(ErrorCode::Internal, why, "rank " + std::to_string(id.value), "NCCL_DEBUG=INFO says more");
}

void NcclRank::giveUp()
{
    for (gpu::GroupEnd* end : ends) compute.module().abortGroup(end);
}

NcclWorld::NcclWorld(const gpu::Module& module, int version) : m_module(module), m_version(versionText(version)) {}

NcclWorld::~NcclWorld() = default;

void NcclWorld::join(RankSlot& slot, const WorldOptions& options, Failure& failure)
{
    auto rank = std::make_unique<NcclRank>(slot, options, failure, m_board);
    const RankId id = rank->id;
    if (rank->log && m_ranks.empty()) rank->log->note("NCCL " + m_version);
    m_ranks[id] = std::move(rank);
    m_memoryLimit = options.memoryLimit;
    if (options.plan.worldSize() == 1) connectionOf({id}); // nothing to communicate, but NCCL is tried
}

NcclWorld::Connection& NcclWorld::connectionOf(const std::vector<RankId>& ranks)
{
    for (const auto& connection : m_connections)
        if (connection->ranks == ranks) return *connection;
    m_connections.push_back(std::make_unique<Connection>());
    Connection& connection = *m_connections.back();
    connection.ranks = ranks;
    connection.ends.assign(ranks.size(), nullptr);
    return connection;
}

std::unique_ptr<Communicator> NcclWorld::communicator(RankId rank, const GroupDescription& group,
                                                      std::unique_ptr<Communicator> messages)
{
    if (group.pipeline) return messages; // nothing else is sent there
    const auto number =
        m_groups.try_emplace({group.name, group.ranks}, static_cast<int>(m_groups.size())).first->second;
    const auto place = static_cast<std::size_t>(messages->index());
    return std::make_unique<NcclCommunicator>(rankOf(rank), group, number, connectionOf(group.ranks).ends[place],
                                              std::move(messages));
}

void NcclWorld::open()
{
    for (const auto& connection : m_connections) {
        std::vector<gpu::Stream*> streams;
        for (const RankId rank : connection->ranks) streams.push_back(rankOf(rank).compute.handle());
        char why[256] = {};
        if (!m_module.openGroup(streams.data(), static_cast<int>(streams.size()), connection->ends.data(), why,
                                sizeof why))
            throw EngineError(ErrorCode::Unsupported, why, "--transport nccl",
                              "NCCL_DEBUG=INFO says more, or --transport local");
        for (std::size_t i = 0; i < streams.size(); ++i)
            rankOf(connection->ranks[i]).ends.push_back(connection->ends[i]);
    }
    // NCCL has what it needs, and nothing is under way.
    for (const auto& [id, rank] : m_ranks) rank->compute.reserve(m_memoryLimit);
}

void NcclWorld::giveUp(RankId rank)
{
    rankOf(rank).giveUp();
}

std::int64_t NcclWorld::events(RankId rank) const
{
    const NcclRank& r = rankOf(rank);
    return r.log ? r.log->events() : 0;
}

void NcclWorld::close()
{
    const bool failed = std::ranges::any_of(m_ranks, [](const auto& rank) { return rank.second->runFailed(); });
    for (const auto& [id, rank] : m_ranks) {
        if (failed) rank->giveUp();
        if (rank->log) rank->log->close();
        rank->ends.clear();
        rank->lastStarted = {};
    }
    for (const auto& connection : m_connections)
        for (gpu::GroupEnd* end : connection->ends)
            if (end) m_module.closeGroup(end);
    m_connections.clear();
}

} // namespace fourwalls::engine
