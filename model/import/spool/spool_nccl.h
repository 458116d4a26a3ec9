// SPDX-License-Identifier: Apache-2.0
// NCCL's calls as a spool tells them: the profiler plugin's records, or else the ranges of NCCL's own NVTX domain. Each
// kernel gets the call that it carried out.
#pragma once

#include "model/import/spool/nccl_ranges.h"
#include "model/import/spool/spool_tables.h"
#include "model/import/spool/stream_captures.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

namespace fourwalls::importers {

class SpoolNccl {
public:
    /// captures: finished before addCall and pair.
    SpoolNccl(SpoolTables& tables, const StreamCaptures& captures) : m_tables(tables), m_captures(captures) {}

    void addSchema(const collect::SpoolRecord& record) { m_ranges.addSchema(record, m_tables.strings); }
    void addCorrelation(std::uint64_t launch, std::uint32_t kernel) { m_pairing.addCorrelation(launch, kernel); }
    void add(const collect::NcclCommunicator& made);
    void add(const collect::NcclApi& api) { m_apis[api.id] = api; }
    void add(const collect::NcclKernelLaunch& launch);
    void add(const collect::NcclGroup& group);
    void add(const collect::NcclColl& coll) { m_colls.push_back(coll); }
    void add(const collect::NcclP2p& message) { m_messages.push_back(message); }
    /// A collective that copy engines carry out.
    void addOfCopies(const collect::NcclColl& coll) { m_ofCopies[coll.id] = {coll, {}, {}}; }

    /// A range of NCCL's domain begins. Returns a number for what it says; -1 where it is no call that moves data.
    std::int32_t opened(const collect::NvtxEvent& event, std::span<const std::byte> payload);
    /// That range, once its end is known.
    void addCall(const SpoolRange& range, std::uint32_t thread, std::int32_t known);
    /// Finds the copies of those among all copies of the process.
    void tie(const std::vector<SpoolKernel>& copies);
    /// Fills the tables' operations, and says of each communication kernel which one it is. Once, after all else.
    void pair();

private:
    /// The communicator of that NCCL id, made if only ranges name it.
    std::uint64_t localOf(std::uint64_t commId);
    std::int64_t bytesOf(std::uint64_t count, std::uint32_t type) const;
    int ranksOf(std::uint64_t communicator) const;
    void pairCopies();

    struct OfCopies {
        collect::NcclColl coll;
        SpoolCommunication whole; ///< from the first copy to the end of the last
        std::vector<std::uint32_t> correlations;
    };

    SpoolTables& m_tables;
    const StreamCaptures& m_captures;
    NcclRanges m_ranges;
    std::vector<NcclRangeFacts> m_rangeFacts;
    NcclPairing m_pairing;
    std::vector<NcclLaunch> m_launches;
    std::set<std::uint64_t> m_capturedGroups;
    std::vector<collect::NcclColl> m_colls;
    std::vector<collect::NcclP2p> m_messages;
    std::map<std::uint64_t, OfCopies> m_ofCopies; ///< by NCCL's event
    std::unordered_map<std::uint64_t, collect::NcclApi> m_apis;
    std::unordered_map<std::uint64_t, std::uint64_t> m_local; ///< NCCL's id of a communicator: this process's
};

} // namespace fourwalls::importers
