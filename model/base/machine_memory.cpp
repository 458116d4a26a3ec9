// SPDX-License-Identifier: Apache-2.0
// See machine_memory.h.
#include "model/base/machine_memory.h"

#include <unistd.h>

namespace fourwalls {

std::int64_t machineMemoryBytes()
{
    const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? static_cast<std::int64_t>(pages) * size : 0;
}

} // namespace fourwalls
