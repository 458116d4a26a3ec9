// SPDX-License-Identifier: Apache-2.0
// What NCCL's profiler plugin, or its NVTX ranges, say about operations, paired with the kernels that carried them out.
#pragma once

#include "model/trace/vocabulary.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace fourwalls::importers {

struct NcclCommunicatorInfo {
    std::uint64_t commId = 0; ///< equal on all members; 0 unknown
    std::string name;
    int ranks = 0, rank = 0;
    std::int64_t time = 0;
};

/// What one kernel carried out: usually one operation, or several of one NCCL group.
struct NcclOperation {
    std::uint64_t communicator = 0; ///< of this process; 0 unknown
    CollectiveOp operation = CollectiveOp::Other;
    std::int64_t payloadBytes = 0;
    std::int64_t wireBytes = -1;          ///< -1: by formula
    std::optional<std::int64_t> sequence; ///< equal on all members
    std::optional<int> peer;              ///< rank in the communicator
    std::string algorithm, protocol;
    int channels = 0;
    int count = 1;         ///< operations of one launch
    bool byCopies = false; ///< of copy engines, with no kernel
};

/// A call into NCCL: from the plugin (CollApi with its Coll, or P2pApi with its P2p), or an NVTX range.
struct NcclCall {
    std::uint64_t id = 0;
    std::uint64_t group = 0; ///< the API's group that it belongs to; 0 unknown
    std::uint64_t plan = 0;  ///< the group of tasks behind it (NcclPlan); 0 unknown
    std::uint64_t communicator = 0;
    std::int64_t begin = 0, end = 0;
    std::uint32_t thread = 0;
    bool fromRange = false;  ///< told by NVTX only
    bool captured = false;   ///< into a graph: carried out by the graph's replays, any number of times
    NcclOperation operation; ///< payload as NCCL defines it, before wholePayload
};

/// The launch of one kernel of NCCL's.
struct NcclLaunch {
    std::uint64_t id = 0, group = 0, communicator = 0;
    std::int64_t begin = 0;
    std::uint32_t thread = 0;
    bool captured = false;
};

/// A group of tasks that one launch carries out; NCCL tells it right after the launch has begun, on the same thread, but
/// not while it captures.
struct NcclPlan {
    std::uint64_t id = 0, communicator = 0;
    std::int64_t begin = 0;
    std::uint32_t thread = 0;
};

/// A communication kernel, as far as pairing needs it.
struct NcclKernel {
    std::uint32_t correlation = 0;
    std::int64_t launchedAt = 0; ///< 0 unknown
    std::uint32_t thread = 0;
    bool inGraph = false; ///< a node of a replayed graph
};

/// Bytes of one element of "ncclFloat32" and the like; 0 unknown.
std::int64_t ncclTypeBytes(std::string_view datatype);

/// "AllReduce", "ncclAllReduce", "Send", …; absent for calls that move nothing ("ncclGroupEnd", "ncclCommInitRank").
std::optional<CollectiveOp> ncclFunction(std::string_view name);

/// The buffer that an operation works on, from NCCL's count (per rank for an all-gather and a reduce-scatter).
std::int64_t wholePayload(CollectiveOp operation, std::int64_t bytesPerCount, int ranks);

class NcclPairing {
public:
    void add(NcclCall call) { m_calls.push_back(std::move(call)); }
    void add(const NcclLaunch& launch) { m_launches.push_back(launch); }
    void add(const NcclPlan& plan) { m_plans.push_back(plan); }
    /// The API call with that correlation was made while launch `id` was being made.
    void addCorrelation(std::uint64_t launchId, std::uint32_t correlation) { m_launchOf[correlation] = launchId; }
    /// The id that such a call was made under; 0: none.
    std::uint64_t launchOf(std::uint32_t correlation) const
    {
        const auto found = m_launchOf.find(correlation);
        return found == m_launchOf.end() ? 0 : found->second;
    }

    /// For every kernel the index of its operation in `operations` (-1: none). ranksOf: size of a communicator.
    /// Exactly, where the plugin's launches are known: a launch carries the operations of its plan; without plans, those
    /// of its group and communicator belong to the group's launches, in order. Else by thread and time: a kernel carries
    /// the calls that its thread has begun since the kernel before it; plugin calls first, ranges where there are none.
    /// Never so in graphs: what was captured once is replayed often, so those kernels stay without an operation.
    template <class RanksOf>
    std::vector<std::int32_t> pair(const std::vector<NcclKernel>& kernels, RanksOf&& ranksOf,
                                   std::vector<NcclOperation>& operations)
    {
        std::unordered_map<std::uint64_t, int> ranks;
        for (const NcclCall& call : m_calls) ranks.try_emplace(call.communicator, ranksOf(call.communicator));
        return pairKernels(kernels, ranks, operations);
    }

    std::int64_t exactly() const { return m_exactly; }
    std::int64_t byTime() const { return m_byTime; }
    /// Calls on communicators of one rank that no kernel carried out.
    std::int64_t callsWithoutKernel() const { return m_without; }
    /// Kernels of groups with several launches that no plan ties to their calls: calls divided evenly, a guess.
    std::int64_t divided() const { return m_divided; }
    /// Kernels of replayed graphs: known by their names only.
    std::int64_t inGraphs() const { return m_inGraphs; }

private:
    std::unordered_map<std::uint64_t, std::uint64_t> plansOfLaunches() const;
    std::vector<std::int32_t> pairKernels(const std::vector<NcclKernel>& kernels,
                                          const std::unordered_map<std::uint64_t, int>& ranks,
                                          std::vector<NcclOperation>& operations);
    static NcclOperation together(const std::vector<const NcclCall*>& calls,
                                  const std::unordered_map<std::uint64_t, int>& ranks);

    std::vector<NcclCall> m_calls;
    std::vector<NcclLaunch> m_launches;
    std::unordered_map<std::uint32_t, std::uint64_t> m_launchOf;
    std::vector<NcclPlan> m_plans;
    std::int64_t m_exactly = 0, m_byTime = 0, m_without = 0, m_divided = 0, m_inGraphs = 0;
};

} // namespace fourwalls::importers
