// SPDX-License-Identifier: Apache-2.0
// See stage_devices.h.
#include "model/cost/stage_devices.h"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace fourwalls::cost {

namespace {

/// Behind the last rank that runs on a device of that kind.
std::int64_t endOfKind(const ClusterSpec& cluster, std::size_t kind)
{
    return kind + 1 < cluster.deviceKinds() ? cluster.firstRankOfKind(kind + 1)
                                            : std::numeric_limits<std::int64_t>::max();
}

/// Whether a stage has a rank from begin on and before end: its ranks are one run, or one for each replica.
bool hasRank(const ParallelPlan& plan, int stage, std::int64_t begin, std::int64_t end)
{
    const bool scattered = plan.order == RankOrder::StagesFirst;
    const std::int64_t runs = scattered ? plan.dp : 1, apart = plan.replicaStride();
    const std::int64_t length = scattered ? plan.stageStride() : plan.worldSize() / plan.pp;
    const std::int64_t first = std::int64_t{stage} * plan.stageStride();
    if (end <= first) return false;
    const std::int64_t last = std::min(runs - 1, (end - 1 - first) / apart); // of those that begin before end
    return first + last * apart + length > begin;
}

} // namespace

StageDevice stageDevice(const ClusterSpec& cluster, std::span<const DeviceRates> rates, const ParallelPlan& plan,
                        int stage)
{
    StageDevice device{0, static_cast<double>(cluster.device.memoryBytes)};
    if (cluster.otherNodes.empty()) return device;
    device.memoryBytes = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t kind = 0; kind < cluster.deviceKinds(); ++kind) {
        if (!hasRank(plan, stage, cluster.firstRankOfKind(kind), endOfKind(cluster, kind))) continue;
        const DeviceSpec& of = cluster.deviceOfKind(kind);
        if (const double rate = rates[kind].gemmFlops / of.slowdown; rate < least) {
            least = rate;
            device.kind = kind;
        }
        const auto memory = static_cast<double>(of.memoryBytes);
        if (memory > 0 && (device.memoryBytes <= 0 || memory < device.memoryBytes)) device.memoryBytes = memory;
    }
    return device;
}

MeanDevice meanDevice(const ClusterSpec& cluster, std::span<const DeviceRates> rates, const ParallelPlan& plan)
{
    const std::int64_t world = plan.worldSize();
    MeanDevice mean;
    bool knowsPower = true;
    for (std::size_t kind = 0; kind < cluster.deviceKinds(); ++kind) {
        const std::int64_t begin = cluster.firstRankOfKind(kind), end = std::min(world, endOfKind(cluster, kind));
        if (end <= begin) continue;
        const double share = static_cast<double>(end - begin) / static_cast<double>(world);
        mean.peakFlops += share * rates[kind].peakFlops;
        mean.powerWatts += share * cluster.deviceOfKind(kind).powerWatts;
        knowsPower = knowsPower && cluster.deviceOfKind(kind).powerWatts > 0;
    }
    if (!knowsPower) mean.powerWatts = 0;
    return mean;
}

} // namespace fourwalls::cost
