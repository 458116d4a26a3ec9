// SPDX-License-Identifier: Apache-2.0
// See core_share.h.
#include "model/replay/core_share.h"

#include <algorithm>
#include <map>
#include <string>

namespace fourwalls::replay {

std::optional<CoreShare> coreShare(const TraceHeader& header)
{
    if (header.source != TraceSource::Recorded || header.clock != ClockKind::Wall || !header.spec ||
        header.spec->training.device != DeviceKind::Cpu)
        return std::nullopt;
    std::map<std::string, int> ranks; // by host
    CoreShare share;
    for (const RankInfo& rank : header.ranks) share.ranks = std::max(share.ranks, ++ranks[rank.host]);
    if (share.ranks < 2) return std::nullopt;
    // Machines that were measured here count their cores as devices; those of a preset are elsewhere.
    if (header.spec->cluster.device.family == "cpu") share.cores = header.spec->cluster.devicesPerNode;
    return share;
}

} // namespace fourwalls::replay
