// SPDX-License-Identifier: Apache-2.0
// See ranks_out_of_memory.h.
#include "model/trace/ranks_out_of_memory.h"

#include "model/trace/memory_facts.h"

namespace fourwalls {

Result<std::vector<RankId>> ranksOutOfMemory(TraceQuery& trace)
{
    std::vector<RankId> ranks;
    FOURWALLS_TRY_ASSIGN(const std::vector<OutOfMemory> moments, outOfMemoryMoments(trace));
    for (const OutOfMemory& moment : moments)
        if (moment.rank) ranks.push_back(*moment.rank);
    return ranks;
}

} // namespace fourwalls
