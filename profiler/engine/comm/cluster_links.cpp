// SPDX-License-Identifier: Apache-2.0
// See cluster_links.h.
#include "profiler/engine/comm/cluster_links.h"

#include <vector>

namespace fourwalls::engine {

int ranksPerNode(const ClusterSpec& cluster)
{
    const bool several = cluster.devicesPerNode > 1 || cluster.nodes > 1 || cluster.nicsPerNode > 0;
    return several ? cluster.devicesPerNode : 0;
}

LinkTable clusterLinks(const ClusterSpec& cluster, std::span<const LinkFault> faults)
{
    const LinkTimes inside{cluster.nodeLink.latencySeconds, cluster.nodeLink.bytesPerSecond, 0};
    const LinkTimes between{cluster.nicLink.latencySeconds, cluster.networkBytesPerSecondPerDevice(), 0};
    return [inside, between, perNode = ranksPerNode(cluster),
            faults = std::vector<LinkFault>(faults.begin(), faults.end())](RankId from, RankId to) {
        const bool together = perNode <= 0 || from.value / perNode == to.value / perNode;
        LinkTimes link = together ? inside : between;
        for (const LinkFault& fault : faults) {
            if (!((fault.a == from && fault.b == to) || (fault.a == to && fault.b == from))) continue;
            link.bytesPerSecond *= fault.bandwidthFactor;
            link.latencySeconds += fault.addedLatency.seconds();
            link.loss = 1 - (1 - link.loss) * (1 - fault.loss);
        }
        return link;
    };
}

CollectiveLinks collectiveLinks(const ClusterSpec& cluster)
{
    const bool connected = cluster.fabric == NodeFabric::NvSwitch || cluster.fabric == NodeFabric::Shared;
    return {cluster.nodeLink, {cluster.networkBytesPerSecondPerDevice(), cluster.nicLink.latencySeconds}, connected};
}

} // namespace fourwalls::engine
