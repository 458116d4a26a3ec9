// SPDX-License-Identifier: Apache-2.0
// Sorting by arrow and time; a start begins a new arrow of the same id.
#include "model/import/common/flow_pairs.h"

#include "model/base/fnv_hash.h"

#include <algorithm>
#include <functional>
#include <tuple>

namespace fourwalls::importers {

std::uint64_t FlowPairs::key(std::string_view category, std::string_view id, std::string_view name)
{
    std::uint64_t hash = kFnvBasis;
    for (const std::string_view part : {category, id, name}) hash = fnvHash("\xff", fnvHash(part, hash));
    return hash;
}

void FlowPairs::finish(TraceProducer& producer)
{
    std::stable_sort(m_points.begin(), m_points.end(), [](const Entry& a, const Entry& b) {
        return std::make_tuple(a.key, a.point.at.ns, !a.start) < std::make_tuple(b.key, b.point.at.ns, !b.start);
    });
    for (std::size_t i = 0; i < m_points.size(); ++i) {
        const bool follows = i > 0 && m_points[i - 1].key == m_points[i].key && !m_points[i].start;
        const bool leads = i + 1 < m_points.size() && m_points[i + 1].key == m_points[i].key && !m_points[i + 1].start;
        if (!follows && !leads) ++m_alone;
        if (!follows) continue;
        const Entry& from = m_points[i - 1];
        producer.flow({from.kind, from.point.track, from.point.at, m_points[i].point.track, m_points[i].point.at});
        ++m_arrows;
    }
    m_points = {};
}

} // namespace fourwalls::importers
