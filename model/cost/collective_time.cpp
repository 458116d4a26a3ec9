// SPDX-License-Identifier: Apache-2.0
// See collective_time.h.
#include "model/cost/collective_time.h"

#include "model/spec/collective_algorithm.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace fourwalls::cost {

namespace {

/// The words of curves, by Collective.
constexpr std::array<const char*, 4> kMeasuredAs{"all_reduce", "all_gather", "reduce_scatter", "all_to_all"};

/// Steps of the ring and share of the buffer that each rank sends in all.
double ringSteps(Collective collective, double ranks)
{
    return collective == Collective::AllReduce ? 2 * (ranks - 1) : ranks - 1;
}

/// Bus bandwidth of a curve at a size: linear between the logarithms, the ends held (below the first point the time is
/// held instead: it is latency).
double busRate(const CollectiveCurve& curve, double bytes)
{
    const auto& sizes = curve.bytes;
    const auto& rates = curve.busBytesPerSecond;
    if (bytes <= sizes.front()) return rates.front() * bytes / sizes.front();
    if (bytes >= sizes.back()) return rates.back();
    const auto above = static_cast<std::size_t>(std::upper_bound(sizes.begin(), sizes.end(), bytes) - sizes.begin());
    const double share = std::log(bytes / sizes[above - 1]) / std::log(sizes[above] / sizes[above - 1]);
    return rates[above - 1] * std::pow(rates[above] / rates[above - 1], share);
}

} // namespace

GroupPlacement placeGroup(int ranks, int stride, int devicesPerNode)
{
    GroupPlacement group;
    group.ranks = std::max(1, ranks);
    group.perNode = std::clamp(devicesPerNode / std::max(1, stride), 1, group.ranks);
    return group;
}

CollectiveTimes::CollectiveTimes(const ClusterSpec& cluster, const Calibration& calibration)
    : m_calibration(&calibration)
    , m_cluster(cluster)
{
    m_networkShare = cluster.networkBytesPerSecondPerDevice() * calibration.fractionOfNetwork(cluster.network);
    m_nodeRate = cluster.nodeLink.bytesPerSecond * calibration.nodeLinkFraction;
    // Without peer access a PCIe transfer goes through host memory: down and up again.
    if (cluster.fabric == NodeFabric::Pcie) m_nodeRate /= 2;
    for (const CollectiveCurve& curve : calibration.curves)
        for (std::size_t i = 0; i < kMeasuredAs.size(); ++i)
            if (curve.operation == kMeasuredAs[i] && curve.family == cluster.device.family &&
                curve.fabric == cluster.fabric)
                m_curves[i].push_back(&curve);
}

const CollectiveCurve* CollectiveTimes::curveFor(Collective collective, const GroupPlacement& group) const
{
    const CollectiveCurve* nearest = nullptr;
    const bool inside = group.insideNode();
    const auto search = [&](Collective operation) {
        for (const CollectiveCurve* curve : m_curves[static_cast<std::size_t>(operation)]) {
            if ((curve->perNode == 0) != inside) continue;
            // Between nodes the parts on and off a node are not those of another placement.
            if (!inside && (curve->perNode != group.perNode || curve->ranks != group.ranks)) continue;
            if (!nearest || std::abs(curve->ranks - group.ranks) < std::abs(nearest->ranks - group.ranks))
                nearest = curve;
        }
    };
    search(collective);
    if (!nearest && collective == Collective::ReduceScatter) search(Collective::AllGather);
    if (!nearest && collective != Collective::AllToAll) search(Collective::AllReduce);
    return nearest;
}

std::optional<double> CollectiveTimes::measured(Collective collective, double bytes, const GroupPlacement& group) const
{
    const CollectiveCurve* curve = curveFor(collective, group);
    if (!curve) return std::nullopt;
    const double link = group.insideNode() ? m_cluster.nodeLink.bytesPerSecond : m_cluster.nicLink.bytesPerSecond;
    const double scale = link > 0 ? link / curve->linkBytesPerSecond : 1;
    // A gather or scatter is half an all-reduce of the same buffer.
    return wireBytes(collective, bytes, group.ranks) / (busRate(*curve, bytes * std::min(1.0, 1 / scale)) * scale);
}

double CollectiveTimes::throughMemory(Collective collective, double bytes, int ranks,
                                      CollectiveAlgorithm algorithm) const
{
    const CollectiveLinks links{{m_nodeRate, m_cluster.nodeLink.latencySeconds}, {}, true};
    if (collective == Collective::AllToAll) return links.inside.seconds(bytes * (ranks - 1) / ranks);
    CollectiveShape shape;
    shape.kind = collective == Collective::AllReduce   ? CollectiveKind::AllReduce
                 : collective == Collective::AllGather ? CollectiveKind::AllGather
                                                       : CollectiveKind::ReduceScatter;
    shape.members = ranks;
    shape.elements = static_cast<std::int64_t>(std::min(bytes, 9e18));
    if (algorithm == CollectiveAlgorithm::Auto) algorithm = chooseAlgorithm(shape, 1, links);
    return collectiveSeconds(shape, algorithm, 1, links);
}

double CollectiveTimes::insideNode(Collective collective, double bytes, int ranks, CollectiveAlgorithm algorithm) const
{
    if (const auto seconds = measured(collective, bytes, {ranks, ranks})) return *seconds;
    if (m_cluster.fabric == NodeFabric::Shared) return throughMemory(collective, bytes, ranks, algorithm);
    const double n = ranks;
    const double sent = wireBytes(collective, bytes, ranks);
    const double rate = std::max(m_nodeRate, 1.0);
    const double ring =
        m_calibration->transferSeconds + ringSteps(collective, n) * m_cluster.nodeLink.latencySeconds + sent / rate;
    if (collective != Collective::AllReduce) return ring;
    const double tree = m_calibration->transferSeconds +
                        2 * std::ceil(std::log2(n)) * m_cluster.nodeLink.latencySeconds + 2 * bytes / rate;
    return std::min(ring, tree);
}

double CollectiveTimes::betweenNodes(Collective collective, double bytes, const GroupPlacement& group,
                                     CollectiveAlgorithm algorithm) const
{
    if (const auto seconds = measured(collective, bytes, group)) return *seconds;
    const double n = group.ranks, inside = group.perNode, nodes = group.nodes();
    const double alpha = m_cluster.nicLink.latencySeconds;
    const double inner = m_cluster.nodeLink.latencySeconds;
    // What leaves a node: the adapters' share of all its members together.
    double share = std::max(m_networkShare, 1.0) * inside;
    if (collective == Collective::AllToAll) {
        // Only what is meant for other nodes leaves; a torus or hypercube carries it over several hops.
        double hops = 1;
        if (m_cluster.topology == Topology::Torus) hops = std::max(1.0, std::cbrt(nodes) * 3 / 4);
        if (m_cluster.topology == Topology::Hypercube) hops = std::max(1.0, std::log2(nodes) / 2);
        const double outside = bytes * (n - inside) / n * hops;
        const double local = inside > 1 ? bytes * (inside - 1) / n / std::max(m_nodeRate, 1.0) : 0;
        return m_calibration->transferSeconds + (n - 1) * std::min(alpha, 2e-6) + alpha +
               std::max(outside / std::max(m_networkShare, 1.0), local);
    }
    const double rate = std::min(share, inside > 1 ? std::max(m_nodeRate, 1.0) : share);
    const double sent = wireBytes(collective, bytes, group.ranks);
    const double steps = ringSteps(collective, n);
    const double across = ringSteps(collective, nodes); // steps that wait for the network
    // What large messages take beyond bytes over bandwidth grows with the nodes, whatever the algorithm.
    const double growth = m_calibration->nodesLatency * std::sqrt(nodes) * bytes /
                          (bytes + m_calibration->nodesLatencyBytes) * (collective == Collective::AllReduce ? 1 : 0.5);
    const double ring =
        m_calibration->transferSeconds + std::max(growth, across * alpha + (steps - across) * inner) + sent / rate;
    const double depth = std::ceil(std::log2(nodes));
    const double tree = collective == Collective::AllReduce
                            ? m_calibration->transferSeconds +
                                  std::max(growth, 2 * depth * alpha + 2 * (inside - 1) * inner) +
                                  2 * bytes / (rate * 0.92)
                            : ring;
    double hierarchical = ring;
    if (inside > 1 && collective == Collective::AllReduce) {
        GroupPlacement outer;
        outer.ranks = static_cast<int>(nodes);
        hierarchical = 2 * insideNode(Collective::AllGather, bytes, group.perNode, CollectiveAlgorithm::Auto) +
                       betweenNodes(collective, bytes / inside, outer, CollectiveAlgorithm::Auto);
    }
    switch (algorithm) {
    case CollectiveAlgorithm::Ring: return ring;
    case CollectiveAlgorithm::Tree: return tree;
    case CollectiveAlgorithm::Hierarchical: return hierarchical;
    case CollectiveAlgorithm::Direct: return m_calibration->transferSeconds + 2 * alpha + sent / rate;
    case CollectiveAlgorithm::Auto: break;
    }
    return std::min({ring, tree, hierarchical});
}

double CollectiveTimes::seconds(Collective collective, double bytes, const GroupPlacement& group,
                                CollectiveAlgorithm algorithm) const
{
    if (group.ranks <= 1 || !(bytes > 0)) return 0;
    if (group.insideNode()) return insideNode(collective, bytes, group.ranks, algorithm);
    return betweenNodes(collective, bytes, group, algorithm);
}

double CollectiveTimes::pointToPoint(double bytes, bool sameNode) const
{
    if (sameNode && m_cluster.fabric == NodeFabric::Shared)
        return LinkSpec{m_nodeRate, m_cluster.nodeLink.latencySeconds}.seconds(bytes);
    if (sameNode)
        return m_calibration->transferSeconds + m_cluster.nodeLink.latencySeconds + bytes / std::max(m_nodeRate, 1.0);
    return m_calibration->transferSeconds + m_cluster.nicLink.latencySeconds + bytes / std::max(m_networkShare, 1.0);
}

double CollectiveTimes::smallReduceBytes(int numbers, int bytesEach, const GroupPlacement& group) const
{
    if (group.ranks <= 1) return 0;
    if (m_cluster.fabric != NodeFabric::Shared || !group.insideNode())
        return wireBytes(Collective::AllReduce, static_cast<double>(numbers) * bytesEach, group.ranks);
    CollectiveShape shape;
    shape.members = group.ranks;
    shape.elements = numbers;
    const CollectiveLinks links{{m_nodeRate, m_cluster.nodeLink.latencySeconds}, {}, true};
    const CollectiveAlgorithm algorithm = chooseAlgorithm(shape, bytesEach, links);
    return static_cast<double>(elementsSent(shape, algorithm, 0) * bytesEach);
}

double CollectiveTimes::wireBytes(Collective collective, double bytes, int ranks)
{
    if (ranks <= 1) return 0;
    const double share = (ranks - 1.0) / ranks;
    return collective == Collective::AllReduce ? 2 * share * bytes : share * bytes;
}

} // namespace fourwalls::cost
