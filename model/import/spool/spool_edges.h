// SPDX-License-Identifier: Apache-2.0
// Streams that wait for events of other streams, as edges between the work before the event and the work behind the wait.
#pragma once

#include "model/import/spool/spool_tables.h"

#include <cstdint>
#include <vector>

namespace fourwalls::importers {

class SpoolEdges {
public:
    void add(const collect::CudaEvent& event) { m_events.push_back(event); }
    void add(const collect::Synchronization& wait);
    /// A copy or set; kernels are those of the tables.
    void addCopy(std::int32_t lane, std::uint32_t correlation, std::int64_t start, std::int64_t end);
    const std::vector<SpoolKernel>& copies() const { return m_copies; }
    /// Fills edges and waitsWithoutEdge. Call once, when everything has been added: records come in any order.
    void finish(SpoolTables& tables);

private:
    std::vector<collect::CudaEvent> m_events;
    std::vector<collect::Synchronization> m_waits;
    std::vector<SpoolKernel> m_copies;
};

} // namespace fourwalls::importers
