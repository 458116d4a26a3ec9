// SPDX-License-Identifier: Apache-2.0
// See transfer_times.h.
#include "model/learn/transfer_times.h"

#include "model/trace/collective_timing.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <set>

namespace fourwalls::learn {

namespace {

std::optional<cost::Collective> collectiveOf(CollectiveOp operation)
{
    switch (operation) {
    case CollectiveOp::AllReduce: return cost::Collective::AllReduce;
    case CollectiveOp::AllGather: return cost::Collective::AllGather;
    case CollectiveOp::ReduceScatter: return cost::Collective::ReduceScatter;
    case CollectiveOp::AllToAll: return cost::Collective::AllToAll;
    default: return std::nullopt;
    }
}

/// Bytes that a rank sends.
double wireBytes(CollectiveOp operation, double bytes, int ranks)
{
    const auto kind = collectiveOf(operation);
    return kind ? cost::CollectiveTimes::wireBytes(*kind, bytes, ranks) : bytes;
}

/// The hops of an operation that follow each other, and the bytes that they carry (collectiveSeconds of model/spec); of an
/// algorithm that is not known, those of a ring.
void describeHops(CollectiveOp operation, const std::string& algorithm, int ranks, LearnedTransfer::Point& point)
{
    const bool both = operation == CollectiveOp::AllReduce; // there and back
    point.pathBytes = wireBytes(operation, point.bytes, ranks);
    point.rounds = collectiveOf(operation) ? (both ? 2.0 : 1.0) * (ranks - 1) : 1.0;
    if (algorithm == "direct" || operation == CollectiveOp::AllToAll) point.rounds = both ? 2 : 1;
    if (algorithm == "tree" && both) {
        point.rounds = 2 * std::ceil(std::log2(ranks));
        point.pathBytes = point.rounds * point.bytes;
    }
    if (algorithm == "hierarchical") point.rounds = point.pathBytes = 0; // over two kinds of links
}

cost::GroupPlacement placementOf(const std::vector<RankId>& ranks, const std::map<RankId, std::int64_t>& nodeOf)
{
    std::map<std::int64_t, int> perNode;
    for (const RankId rank : ranks) {
        const auto node = nodeOf.find(rank);
        ++perNode[node == nodeOf.end() ? 0 : node->second];
    }
    int most = 1;
    for (const auto& [node, count] : perNode) most = std::max(most, count);
    return {std::max(1, static_cast<int>(ranks.size())), most};
}

/// Least squares of relative errors: seconds = latency + bytes / rate. Neither is negative.
void fitLine(LearnedTransfer& transfer)
{
    double w = 0, x = 0, y = 0, xx = 0, xy = 0;
    for (const LearnedTransfer::Point& point : transfer.points) {
        const double seconds = point.seconds.median;
        if (!(seconds > 0)) continue;
        const double weight = static_cast<double>(point.seconds.count) / (seconds * seconds);
        const double bytes = wireBytes(transfer.operation, point.bytes, transfer.group.ranks);
        w += weight;
        x += weight * bytes;
        y += weight * seconds;
        xx += weight * bytes * bytes;
        xy += weight * bytes * seconds;
    }
    if (!(w > 0) || !(x > 0)) return;
    transfer.bytesPerSecond = y > 0 ? x / y : 0;
    const double determinant = w * xx - x * x;
    if (transfer.points.size() < 2 || !(determinant > 1e-9 * w * xx)) return;
    const double slope = (w * xy - x * y) / determinant, start = (xx * y - x * xy) / determinant;
    if (!(slope > 0)) return; // larger ones were not slower: the links are not what takes the time
    transfer.latency = std::max(0.0, start);
    transfer.bytesPerSecond = start < 0 ? xx / xy : 1 / slope;
}

} // namespace

void TransferSamples::add(const replay::Recording& recording, const std::map<RankId, std::int64_t>& nodeOf)
{
    struct Operation {
        Instant lastArrival{std::numeric_limits<std::int64_t>::min()}, end = lastArrival;
        std::int64_t bytes = 0;
        std::string algorithm;
        std::size_t members = 0;
        bool known = true;
    };
    std::map<std::tuple<std::int32_t, int, std::int64_t, std::int32_t>, Operation> operations;
    std::map<std::int32_t, CollectiveTiming> timings;
    for (const replay::Piece& piece : recording.pieces) {
        if (!piece.isCollective()) continue;
        const CollectiveRecord& record = recording.collectives[piece.collective].record;
        if (record.operation == CollectiveOp::Barrier || record.operation == CollectiveOp::Receive) continue;
        const bool message = record.operation == CollectiveOp::Send;
        // Messages have a sender each, whatever their number in the group.
        Operation& operation = operations[{record.group.value, static_cast<int>(record.operation), record.sequence,
                                           message ? piece.rank.value : -1}];
        operation.lastArrival = std::max(operation.lastArrival, std::max(record.start, record.lastArrival));
        operation.end = std::max(operation.end, record.end);
        operation.bytes = std::max(operation.bytes, record.payloadBytes.value_or(0));
        operation.known = operation.known && record.payloadBytes.has_value();
        operation.algorithm = record.algorithm;
        ++operation.members;
    }
    for (const auto& [key, operation] : operations) {
        const GroupId group{std::get<0>(key)};
        const auto kind = static_cast<CollectiveOp>(std::get<1>(key));
        const ProcessGroupInfo& info = recording.info.groups[static_cast<std::size_t>(group.value)];
        if (!operation.known || operation.bytes <= 0 || operation.end < operation.lastArrival) continue;
        const bool message = kind == CollectiveOp::Send;
        const auto [timing, isNew] = timings.try_emplace(group.value, CollectiveTiming::Separated);
        if (isNew) timing->second = groupCoverage(recording.info, group).timing;
        if (timing->second == CollectiveTiming::RequestsOnly) continue;
        const bool complete =
            timing->second == CollectiveTiming::Separated && (message || operation.members == info.ranks.size());
        cost::GroupPlacement placement = placementOf(info.ranks, nodeOf);
        if (message) placement = {2, placement.insideNode() ? 2 : 1};
        Samples& samples = m_kinds[{kind, placement.ranks, placement.perNode}];
        samples.groups[info.name] = true;
        samples.algorithms[operation.bytes] = operation.algorithm;
        const double seconds = (operation.end - operation.lastArrival).seconds();
        if (complete) {
            samples.seconds[operation.bytes].push_back(seconds);
        } else {
            double& shortest = samples.shortest.try_emplace(operation.bytes, seconds).first->second;
            shortest = std::min(shortest, seconds);
        }
    }
}

std::vector<LearnedTransfer> TransferSamples::transfers() const
{
    std::vector<LearnedTransfer> all;
    for (const auto& [kind, samples] : m_kinds) {
        LearnedTransfer transfer;
        transfer.operation = kind.operation;
        transfer.group = {kind.ranks, kind.perNode};
        for (const auto& [name, met] : samples.groups) transfer.groups.push_back(name);
        std::map<std::int64_t, Spread> points;
        for (const auto& [bytes, seconds] : samples.seconds) points[bytes] = spreadOf(seconds);
        for (const auto& [bytes, seconds] : samples.shortest)
            transfer.isEstimate = points.try_emplace(bytes, spreadOf({seconds})).second || transfer.isEstimate;
        for (const auto& [bytes, spread] : points) {
            transfer.points.push_back({static_cast<double>(bytes), spread, 0, 0});
            describeHops(kind.operation, samples.algorithms.at(bytes), kind.ranks, transfer.points.back());
        }
        fitLine(transfer);
        if (!transfer.points.empty()) all.push_back(std::move(transfer));
    }
    return all;
}

namespace {

/// A link's latency and rate behind all transfers over it: least squares of relative errors over hops and bytes. Where
/// bytes make up less than a fifth of the time of all transfers, they tell nothing of the rate: it is the data sheet's.
std::optional<LinkSpec> linkBehind(const std::vector<LearnedTransfer>& transfers, bool inside, double sheetRate)
{
    constexpr double kLeastShare = 0.2;
    constexpr double kFree = 1e15; // of links that take no time, as those of a clock without links
    double hh = 0, hb = 0, bb = 0, h = 0, b = 0, largest = 0, bytesPerHop = 0, sheetShare = 0;
    bool met = false;
    for (const LearnedTransfer& transfer : transfers) {
        if (transfer.group.insideNode() != inside) continue;
        for (const LearnedTransfer::Point& point : transfer.points) {
            met = true;
            if (!(point.rounds > 0) || !(point.seconds.median > 0)) continue;
            const double weight =
                static_cast<double>(point.seconds.count) / (point.seconds.median * point.seconds.median);
            hh += weight * point.rounds * point.rounds;
            hb += weight * point.rounds * point.pathBytes;
            bb += weight * point.pathBytes * point.pathBytes;
            h += weight * point.rounds * point.seconds.median;
            b += weight * point.pathBytes * point.seconds.median;
            largest = std::max(largest, point.pathBytes / point.seconds.median);
            bytesPerHop = std::max(bytesPerHop, point.pathBytes / point.rounds);
            if (sheetRate > 0) sheetShare = std::max(sheetShare, point.pathBytes / sheetRate / point.seconds.median);
        }
    }
    if (met && !(largest > 0)) return LinkSpec{kFree, 0};
    if (!(bb > 0) || !(b > 0)) return std::nullopt;
    const double determinant = hh * bb - hb * hb;
    LinkSpec link{bb / b, 0}; // of one size only, all of it is taken for bytes
    const LinkSpec onlyHops{std::max(largest, sheetRate), std::max(0.0, h / hh)};
    if (sheetRate > 0 && sheetShare < kLeastShare && !(determinant > 1e-9 * hh * bb)) link = onlyHops;
    if (determinant > 1e-9 * hh * bb) {
        const double latency = (h * bb - b * hb) / determinant, perByte = (b * hh - h * hb) / determinant;
        if (perByte > 0 && latency >= 0) link = {1 / perByte, latency};
        // Only hops take time, or so nearly that nothing follows for more bytes.
        if (!(perByte > 0))
            link = onlyHops;
        else if (sheetRate > 0 && bytesPerHop * perByte < kLeastShare * latency)
            link = {sheetRate, latency};
    }
    return link;
}

/// Sizes that were not met: from the smallest and the largest that were, the link's rate goes on.
void goOn(CollectiveCurve& curve, const LearnedTransfer& transfer, const LinkSpec& link)
{
    constexpr double kFactor = 4, kSmallest = 256, kLargest = 16e9; // [bytes]
    const auto wire = [&](double bytes) { return wireBytes(transfer.operation, bytes, transfer.group.ranks); };
    if (!(link.bytesPerSecond > 0) || !(wire(1) > 0)) return;
    const double first = curve.bytes.front(), last = curve.bytes.back();
    const double slowest = wire(last) / curve.busBytesPerSecond.back();
    for (double bytes = last * kFactor; bytes < kFactor * kLargest; bytes *= kFactor) {
        curve.bytes.push_back(bytes);
        curve.busBytesPerSecond.push_back(wire(bytes) / (slowest + wire(bytes - last) / link.bytesPerSecond));
    }
    const double quickest = wire(first) / curve.busBytesPerSecond.front();
    std::vector<double> sizes, rates;
    for (double bytes = first / kFactor; bytes > kSmallest; bytes /= kFactor) {
        const double seconds =
            std::max(quickest - wire(first - bytes) / link.bytesPerSecond, std::min(quickest, link.latencySeconds));
        if (!(seconds > 0)) break;
        sizes.push_back(bytes);
        rates.push_back(wire(bytes) / seconds);
    }
    curve.bytes.insert(curve.bytes.begin(), sizes.rbegin(), sizes.rend());
    curve.busBytesPerSecond.insert(curve.busBytesPerSecond.begin(), rates.rbegin(), rates.rend());
}

} // namespace

void learnLinks(const std::vector<LearnedTransfer>& transfers, ClusterSpec& cluster, Calibration& calibration)
{
    const double staged = cluster.fabric == NodeFabric::Pcie ? 2 : 1; // down to the host's memory and up again
    const auto inside = linkBehind(transfers, true, cluster.nodeLink.bytesPerSecond / staged);
    const auto outside = linkBehind(transfers, false, cluster.networkBytesPerSecondPerDevice());
    // Each link keeps its data sheet's rate where transfers stay below it.
    if (const auto& link = inside) {
        cluster.nodeLink.latencySeconds = link->latencySeconds;
        cluster.nodeLink.bytesPerSecond = std::max(cluster.nodeLink.bytesPerSecond, staged * link->bytesPerSecond);
        calibration.nodeLinkFraction = staged * link->bytesPerSecond / cluster.nodeLink.bytesPerSecond;
        calibration.transferSeconds = 0; // what a transfer takes whatever its size is the links' latency
    }
    if (const auto& link = outside; link && cluster.nicsPerNode > 0) {
        cluster.nicLink.latencySeconds = link->latencySeconds;
        const double share = cluster.networkBytesPerSecondPerDevice();
        if (share > 0 && share < link->bytesPerSecond) cluster.nicLink.bytesPerSecond *= link->bytesPerSecond / share;
        calibration.networkFraction =
            std::min(1.0, link->bytesPerSecond / std::max(1.0, cluster.networkBytesPerSecondPerDevice()));
        calibration.networkFractions.clear();
        calibration.nodesLatency = 0;
        calibration.transferSeconds = 0;
    }
    // Curves that were learned go before others of this fabric.
    const std::string family = cluster.device.family;
    std::vector<CollectiveCurve> curves;
    for (const LearnedTransfer& transfer : transfers) {
        CollectiveCurve curve;
        curve.family = family;
        curve.operation = name(transfer.operation);
        curve.ranks = transfer.group.ranks;
        curve.perNode = transfer.group.insideNode() ? 0 : transfer.group.perNode;
        curve.fabric = cluster.fabric;
        curve.linkBytesPerSecond =
            transfer.group.insideNode() ? cluster.nodeLink.bytesPerSecond : cluster.nicLink.bytesPerSecond;
        if (!collectiveOf(transfer.operation) || !(curve.linkBytesPerSecond > 0)) continue;
        for (const LearnedTransfer::Point& point : transfer.points) {
            if (!(point.seconds.median > 0)) continue;
            curve.bytes.push_back(point.bytes);
            curve.busBytesPerSecond.push_back(wireBytes(transfer.operation, point.bytes, transfer.group.ranks) /
                                              point.seconds.median);
        }
        if (curve.bytes.empty()) continue;
        if (const auto& link = transfer.group.insideNode() ? inside : outside) goOn(curve, transfer, *link);
        makeMonotone(curve);
        curves.push_back(std::move(curve));
    }
    std::erase_if(calibration.curves, [&](const CollectiveCurve& old) {
        return std::any_of(curves.begin(), curves.end(), [&](const CollectiveCurve& fresh) {
            return old.family == family && old.fabric == fresh.fabric && old.operation == fresh.operation &&
                   (old.perNode == 0) == (fresh.perNode == 0);
        });
    });
    calibration.curves.insert(calibration.curves.end(), std::make_move_iterator(curves.begin()),
                              std::make_move_iterator(curves.end()));
}

} // namespace fourwalls::learn
