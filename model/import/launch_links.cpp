// SPDX-License-Identifier: Apache-2.0
// One sweep per thread over operators and calls in time order, with the stack of open operators.
#include "model/import/launch_links.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace fourwalls::importers {

void LaunchLinks::addLaunch(std::int64_t correlation, int lane, std::int64_t at)
{
    Launch launch;
    launch.correlation = correlation;
    launch.at = at;
    launch.lane = lane;
    m_launches.push_back(launch);
}

void LaunchLinks::addOperator(int lane, std::int64_t begin, std::int64_t end, const OperatorContext& context)
{
    std::int32_t flops = -1;
    if (context.flops > 0) {
        flops = static_cast<std::int32_t>(m_flops.size());
        m_flops.push_back(context.flops);
    }
    m_operators.push_back({begin, end, lane, flops, context.collective, context.phase});
}

void LaunchLinks::resolve(Phase otherwise)
{
    std::sort(m_operators.begin(), m_operators.end(), [](const Operator& a, const Operator& b) {
        return std::tie(a.lane, a.begin, b.end) < std::tie(b.lane, b.begin, a.end);
    });
    std::sort(m_launches.begin(), m_launches.end(),
              [](const Launch& a, const Launch& b) { return std::tie(a.lane, a.at) < std::tie(b.lane, b.at); });
    std::vector<Operator> open;   // outer first; each says what is true inside it
    std::size_t next = 0;
    for (Launch& launch : m_launches) {
        while (next < m_operators.size() &&
               std::tie(m_operators[next].lane, m_operators[next].begin) <= std::tie(launch.lane, launch.at)) {
            Operator opened = m_operators[next++];
            while (!open.empty() && (open.back().lane != opened.lane || open.back().end <= opened.begin)) open.pop_back();
            if (!open.empty()) {
                if (opened.phase == Phase::None) opened.phase = open.back().phase;
                if (opened.flops < 0) opened.flops = open.back().flops;
                if (opened.collective < 0) opened.collective = open.back().collective;
            }
            open.push_back(opened);
        }
        while (!open.empty() && (open.back().lane != launch.lane || open.back().end < launch.at)) open.pop_back();
        launch.phase = otherwise;
        if (open.empty()) continue;
        if (open.back().phase != Phase::None) launch.phase = open.back().phase;
        launch.flopsOperator = open.back().flops;
        launch.collective = open.back().collective;
    }
    m_operators = {};
    std::stable_sort(m_launches.begin(), m_launches.end(), [](const Launch& a, const Launch& b) {
        return std::tie(a.correlation, a.at) < std::tie(b.correlation, b.at);
    });
}

const Launch* LaunchLinks::find(std::int64_t correlation) const
{
    const auto found = std::lower_bound(m_launches.begin(), m_launches.end(), correlation,
                                        [](const Launch& launch, std::int64_t id) { return launch.correlation < id; });
    return found != m_launches.end() && found->correlation == correlation ? &*found : nullptr;
}

double LaunchLinks::takeFlops(std::int32_t flopsOperator)
{
    if (flopsOperator < 0) return 0;
    return std::exchange(m_flops[static_cast<std::size_t>(flopsOperator)], 0.0);
}

std::int64_t LaunchLinks::flopsLeft() const
{
    return std::count_if(m_flops.begin(), m_flops.end(), [](double flops) { return flops > 0; });
}

} // namespace fourwalls::importers
