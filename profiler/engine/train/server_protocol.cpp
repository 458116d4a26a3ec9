// SPDX-License-Identifier: Apache-2.0
// See server_protocol.h.
#include "profiler/engine/train/server_protocol.h"

#include <algorithm>

namespace fourwalls::engine {

int ranksOf(const ParallelPlan& plan)
{
    return plan.worldSize() + (plan.parameterServer == ParameterServer::None ? 0 : plan.servers);
}

ParallelPlan worldOf(const ParallelPlan& plan)
{
    if (plan.parameterServer == ParameterServer::None) return plan;
    ParallelPlan world;
    world.dp = ranksOf(plan);
    world.collective = plan.collective;
    world.overlap = plan.overlap;
    return world;
}

bool isServer(const ParallelPlan& plan, RankId rank)
{
    return plan.parameterServer != ParameterServer::None && rank.value >= plan.worldSize();
}

ServerLayout::ServerLayout(const ParameterList& parameters, int servers)
{
    constexpr std::int64_t kAlignment = 16; // elements: whole vectors
    for (const auto& p : parameters.all()) {
        entries.push_back({p.get(), elements});
        elements += (p->shape.elements() + kAlignment - 1) / kAlignment * kAlignment;
    }
    const std::int64_t unit = kAlignment * servers;
    elements = (elements + unit - 1) / unit * unit;
    share = elements / servers;
}

std::vector<ServerLayout::Stretch> ServerLayout::stretchesOf(int server) const
{
    const std::int64_t begin = share * server, end = begin + share;
    std::vector<Stretch> stretches;
    for (const Entry& entry : entries) {
        const std::int64_t first = std::max(begin, entry.first),
                           last = std::min(end, entry.first + entry.parameter->shape.elements());
        if (first < last) stretches.push_back({entry.parameter, first - entry.first, first - begin, last - first});
    }
    return stretches;
}

Tensor stretch(const Tensor& tensor, std::int64_t first, std::int64_t count)
{
    return tensor.reshaped({tensor.elements(), 1}).rowRange(first, count).reshaped({1, count});
}

} // namespace fourwalls::engine
