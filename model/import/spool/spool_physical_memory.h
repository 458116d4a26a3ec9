// SPDX-License-Identifier: Apache-2.0
// Physical memory of the driver's virtual memory calls: it is given back when its handle has been released and nothing
// maps it any more, whichever comes last.
#pragma once

#include "model/import/spool/spool_tables.h"

#include <vector>

namespace fourwalls::importers {

class PhysicalMemory {
public:
    /// False for what has no possible time or size.
    bool add(const collect::VirtualMemory& operation);
    /// Appends what was obtained and given back. Call once, when everything has been added, in any order.
    void finish(std::vector<SpoolMemory>& memory);

private:
    std::vector<collect::VirtualMemory> m_operations;
};

} // namespace fourwalls::importers
