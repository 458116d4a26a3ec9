// SPDX-License-Identifier: Apache-2.0
// NCCL's communicators and operations over all recorded processes of a run.
#pragma once

#include "model/import/common/run_collectives.h"
#include "model/import/common/trace_clocks.h"
#include "model/import/spool/spool_tables.h"
#include "model/trace/trace_sink.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fourwalls::importers {

/// Process groups, known by NCCL's own id of a communicator.
class SpoolGroups {
public:
    /// A process of the run, with the rank that it has there.
    void add(const SpoolTables& tables, RankId rank);
    /// Names and members; call once, when all processes have been added. world: ranks of the run.
    void settle(const std::vector<RankId>& world, int worldSize);

    /// The group of a communicator of that process; absent for unknown ones.
    const ProcessGroupInfo* find(const SpoolTables& tables, std::uint64_t communicator) const;
    /// The rank of the run that has that rank in the communicator; absent where neither its file nor its place tells.
    std::optional<RankId> member(const SpoolTables& tables, std::uint64_t communicator, int rank) const;
    const std::map<std::uint64_t, ProcessGroupInfo>& all() const { return m_groups; }

private:
    struct Known {
        std::string name;
        int size = 0;
        std::int64_t time = 0;
        std::map<int, RankId> members; ///< by rank in the communicator
    };
    std::map<std::uint64_t, Known> m_known; ///< by NCCL's id
    std::map<std::uint64_t, ProcessGroupInfo> m_groups;
};

/// Operations whose place in the job is known (group, kind and sequence) are matched by it; others by time.
class SpoolCollectives {
public:
    SpoolCollectives(const SpoolGroups& groups, std::vector<RankId> world)
        : m_groups(groups)
        , m_byTime("nccl", std::move(world))
    {}

    /// All communication kernels of a process. track: of a lane.
    template <class TrackOf>
    void add(const SpoolTables& tables, RankId rank, std::int64_t shiftNs, TrackOf&& track)
    {
        for (const SpoolCommunication& each : tables.communication) {
            if (each.start + shiftNs < -kLargestTimeNs || each.end + shiftNs > kLargestTimeNs) continue;
            addKernel(tables, rank, shiftNs, each, track(each.lane));
        }
    }

    /// Hands over everything. Call once.
    void finish(TraceSink& sink);

    std::int64_t matched() const { return m_matched + m_byTime.matchedOperations(); }
    /// Operations of groups of several ranks without a place in the job.
    std::int64_t unnumbered() const { return m_unnumbered; }

private:
    void addKernel(const SpoolTables& tables, RankId rank, std::int64_t shiftNs, const SpoolCommunication& kernel,
                   TrackId track);

    struct Member {
        const ProcessGroupInfo* group;
        RankId rank;
        CollectiveRecord record;
    };
    const SpoolGroups& m_groups;
    RunCollectives m_byTime;
    std::vector<Member> m_members;
    std::int64_t m_matched = 0, m_unnumbered = 0;
};

/// Marks of a process's operations for aligning clocks, in the file's times.
std::vector<OperationMark> operationMarks(const SpoolTables& tables);

} // namespace fourwalls::importers
