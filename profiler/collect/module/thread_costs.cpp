// SPDX-License-Identifier: Apache-2.0
// The table of costs. A thread looks for its place once; what it adds there meets no other thread.
#include "profiler/collect/module/thread_costs.h"

namespace fourwalls::collect::module {

namespace {

struct alignas(64) CostPlace {
    ThreadCost cost;
};
static_assert(sizeof(CostPlace) == 64);

CostPlace g_costs[kMostThreadCosts];
thread_local ThreadCost* t_cost = nullptr;

ThreadCost* findCost(std::uint32_t thread)
{
    for (std::size_t i = 0; i + 1 < kMostThreadCosts; ++i) {
        std::uint32_t owner = 0;
        std::atomic<std::uint32_t>& place = g_costs[i].cost.thread;
        if (place.compare_exchange_strong(owner, thread) || owner == thread) return &g_costs[i].cost;
    }
    return &g_costs[kMostThreadCosts - 1].cost;
}

} // namespace

ThreadCost& costOfThisThread()
{
    if (t_cost == nullptr) t_cost = findCost(threadId());
    return *t_cost;
}

const ThreadCost& threadCost(std::size_t index)
{
    return g_costs[index].cost;
}

void forgetThreadCosts()
{
    for (CostPlace& place : g_costs) {
        place.cost.thread.store(0);
        place.cost.nanoseconds.store(0);
        place.cost.calls.store(0);
    }
    t_cost = nullptr;
}

} // namespace fourwalls::collect::module
