// SPDX-License-Identifier: Apache-2.0
// Rank threads that take turns on their cores. Cores of one machine are not equally quick: other programs, other guests of
// a host and hyper-threads beside them see to that. Where each rank stays on its core, a slow core looks like a slow rank.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

namespace fourwalls::engine {

class CoreExchange {
public:
    explicit CoreExchange(int ranks);

    /// By each rank's thread before each step: it goes on where the next rank began the step before, and may be moved by the
    /// system afterwards. Does nothing in the first step, and where ranks share a core: they were moved already. No
    /// rank may call it again before all ranks have come to the end of the step between: its collectives see to that.
    void beforeStep(int rank, std::int64_t step);

private:
    using Cores = std::vector<std::atomic<int>>;
    std::array<Cores, 2> m_cores; ///< by parity of the step, and by rank; -1: unknown
};

} // namespace fourwalls::engine
