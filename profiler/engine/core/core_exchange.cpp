// SPDX-License-Identifier: Apache-2.0
// See core_exchange.h.
#include "profiler/engine/core/core_exchange.h"

#include <algorithm>

#include <sched.h>

namespace fourwalls::engine {

namespace {

/// Moves the calling thread to that core, and lets it go again.
void moveTo(int core)
{
    cpu_set_t allowed, one;
    CPU_ZERO(&one);
    if (core < 0 || core >= CPU_SETSIZE || ::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
    if (!CPU_ISSET(core, &allowed)) return;
    CPU_SET(core, &one);
    if (::sched_setaffinity(0, sizeof one, &one) == 0) ::sched_setaffinity(0, sizeof allowed, &allowed);
}

} // namespace

CoreExchange::CoreExchange(int ranks)
    : m_cores{Cores(static_cast<std::size_t>(ranks)), Cores(static_cast<std::size_t>(ranks))}
{
    for (Cores& cores : m_cores)
        for (std::atomic<int>& core : cores) core.store(-1, std::memory_order_relaxed);
}

void CoreExchange::beforeStep(int rank, std::int64_t step)
{
    const auto own = static_cast<std::size_t>(rank);
    const Cores& before = m_cores[static_cast<std::size_t>((step + 1) % 2)];
    std::vector<int> cores;
    for (const std::atomic<int>& core : before) cores.push_back(core.load(std::memory_order_relaxed));
    const int next = cores[(own + 1) % cores.size()];
    std::sort(cores.begin(), cores.end());
    const bool apart = cores.front() >= 0 && std::adjacent_find(cores.begin(), cores.end()) == cores.end();
    if (apart) moveTo(next);
    m_cores[static_cast<std::size_t>(step % 2)][own].store(::sched_getcpu(), std::memory_order_relaxed);
}

} // namespace fourwalls::engine
