// SPDX-License-Identifier: Apache-2.0
// The collective operations of a whole run: members on different ranks are found by time, so that waiting (own
// arrival to last arrival) can be told from transfer. Position is not identity: files may be thinned.
#pragma once

#include "model/import/common/collective_detail.h"
#include "model/trace/trace_sink.h"

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

namespace fourwalls::importers {

/// One rank's part in one operation.
struct CollectiveMember {
    RankId rank;
    CollectiveRecord record; ///< group, sequence and lastArrival are filled in by RunCollectives
    int groupKey = 0;        ///< from RunCollectives::group
    bool hasSequence = false;
};

class RunCollectives {
public:
    /// backend: transport of groups ("nccl", "gloo"); worldRanks: ranks of the run. worldKnown: something says that these
    /// are all; else a group of unknown size may have members that no file shows.
    RunCollectives(std::string backend, std::vector<RankId> worldRanks, bool worldKnown = true)
        : m_backend(std::move(backend))
        , m_world(std::move(worldRanks))
        , m_worldKnown(worldKnown)
    {}

    /// The group of an operation's metadata, for CollectiveMember::groupKey. Empty metadata: a group that nobody names;
    /// where all ranks of the run turn out to take part in each of its operations it is the world. requestOnly: see
    /// kRequestsOnly.
    int group(const CollectiveDetail& detail, std::string_view kernelName, bool requestOnly = false);
    /// A group that is known as a whole.
    int group(const ProcessGroupInfo& info);
    void add(CollectiveMember member) { m_members.push_back(std::move(member)); }

    /// Operations whose members were found on more than one rank.
    std::int64_t matchedOperations() const { return m_matched; }

    /// Matches members over ranks, numbers the operations and hands them to the sink. Call once.
    void finish(TraceSink& sink);

private:
    struct Operation;
    std::vector<Operation> match(std::vector<CollectiveMember*>& members);
    void settleMembers(std::size_t group, const std::vector<Operation>& operations);

    std::string m_backend;
    std::vector<RankId> m_world;
    bool m_worldKnown;
    std::map<std::string, int> m_byKey;
    std::vector<ProcessGroupInfo> m_groups;
    std::vector<int> m_sizes;               ///< of groups whose ranks nobody lists; 0: unknown
    std::deque<CollectiveMember> m_members; ///< may be hundreds of thousands: never moved
    std::int64_t m_matched = 0;
};

} // namespace fourwalls::importers
