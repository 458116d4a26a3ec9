// SPDX-License-Identifier: Apache-2.0
// NVTX ranges of a spool: each begin gets its end, whatever stands between them.
#pragma once

#include "model/import/common/duration_pairs.h"
#include "model/import/spool/spool_nccl.h"
#include "model/import/spool/spool_tables.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace fourwalls::importers {

class SpoolRanges {
public:
    /// Both must outlive this.
    SpoolRanges(SpoolTables& tables, SpoolNccl& nccl);

    /// NvtxPush, NvtxRangeStart or NvtxMark. A mark is no range; it gives its thread a lane.
    void begin(const collect::SpoolRecord& record);
    /// NvtxPop or NvtxRangeEnd.
    void end(collect::RecordKind kind, const collect::NvtxEnd& end);
    /// Fills the tables' ranges, and hands those of NCCL's domain over as calls. Once, when all windows are known, by time,
    /// and the stream captures are finished.
    void finish();

private:
    struct Opened {
        std::uint32_t name, domain, thread;
        std::int32_t facts; ///< that NCCL's calls have of it; -1: none
    };

    SpoolTables& m_tables;
    SpoolNccl& m_nccl;
    DurationPairs m_pairs;
    std::vector<Opened> m_opened;
    std::vector<std::pair<std::size_t, std::int32_t>> m_ncclOf; ///< of the tables' ranges: of m_opened
};

} // namespace fourwalls::importers
