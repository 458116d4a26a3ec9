// SPDX-License-Identifier: GPL-3.0-or-later
// See communication_data.h.
#include "views/communication/communication_data.h"

#include "model/cost/collective_time.h"
#include "model/spec/calibration.h"
#include "model/spec/device_datasheet.h"
#include "model/trace/collective_rows.h"
#include "model/trace/known_spec.h"
#include "model/trace/saturating_sum.h"

#include <QStringList>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

namespace fourwalls::views {

namespace {

bool leavesNode(const ProcessGroupInfo& group, int devicesPerNode)
{
    if (devicesPerNode <= 0 || group.ranks.empty()) return false;
    const int first = group.ranks.front().value / devicesPerNode;
    return std::any_of(group.ranks.begin(), group.ranks.end(),
                       [&](RankId rank) { return rank.value / devicesPerNode != first; });
}

std::optional<cost::Collective> pricedKind(CollectiveOp operation)
{
    switch (operation) {
    case CollectiveOp::AllReduce: return cost::Collective::AllReduce;
    case CollectiveOp::AllGather: return cost::Collective::AllGather;
    case CollectiveOp::ReduceScatter: return cost::Collective::ReduceScatter;
    case CollectiveOp::AllToAll: return cost::Collective::AllToAll;
    default: return std::nullopt;
    }
}

/// Links that the trace's groups use, from its specification.
void addLinkRates(CommunicationData& data, const TraceInfo& info, const ClusterSpec& cluster)
{
    // Ranks that share one machine are in one node, however few devices its preset counts.
    data.devicesPerNode = cluster.nicsPerNode > 0 ? std::max(1, cluster.devicesPerNode) : 0;
    for (const ProcessGroupInfo& group : info.groups) {
        if (group.ranks.size() < 2) continue;
        if (leavesNode(group, data.devicesPerNode))
            data.groupsBetween = true;
        else
            data.groupsInside = true;
    }
    if (cluster.nodeLink.bytesPerSecond > 0) data.insideNode = cluster.nodeLink.bytesPerSecond;
    if (cluster.networkBytesPerSecondPerDevice() > 0) data.betweenNodes = cluster.networkBytesPerSecondPerDevice();
}

/// The link of an import's device, by its data sheet; else that of a guessed machine.
void addDeviceLink(CommunicationData& data, const TraceInfo& info, const KnownSpec& known)
{
    if (info.header.ranks.empty()) return;
    const std::string& device = info.header.ranks.front().device;
    for (const RankInfo& rank : info.header.ranks)
        if (rank.device != device) return; // parts of several kinds: whose link counts is not known
    data.groupsInside = true;
    const auto sheet = deviceDatasheet(device);
    if (sheet && sheet->linkBytesPerSecond > 0) {
        data.insideNode = sheet->linkBytesPerSecond;
        data.linkOf = sheet->name;
    } else if (!sheet && known.spec && known.spec->cluster.nodeLink.bytesPerSecond > 0) {
        data.insideNode = known.spec->cluster.nodeLink.bytesPerSecond;
        data.linkOf = known.spec->cluster.name;
        data.linkGuessed = true;
    }
}

/// Exposed communication of the steps and ranks looked at, by their time.
Result<std::optional<double>> exposedShareOf(TraceQuery& trace, const StepWindow& window, std::optional<RankId> only)
{
    FOURWALLS_TRY_ASSIGN(const std::vector<StepSummary> summaries,
                         window.step ? trace.stepSummaries(*window.step) : trace.stepSummaries());
    double exposed = 0, all = 0;
    for (const StepSummary& summary : summaries) {
        if (!window.step && summary.state != StepState::Measured) continue;
        if (only && summary.rank != *only) continue;
        int weight = 1;
        for (const RankInfo& rank : trace.info().header.ranks)
            if (rank.rank == summary.rank) weight = std::max(1, rank.multiplicity);
        exposed += weight * static_cast<double>(summary.exposedComm.ns);
        all += weight * static_cast<double>(summary.range.length().ns);
    }
    return all > 0 ? std::optional(exposed / all) : std::nullopt;
}

void addCurves(CommunicationData& data, const TraceInfo& info, const ClusterSpec& cluster)
{
    if (!data.insideNode && !data.betweenNodes) return;
    const auto calibration = loadCalibration("published");
    if (!calibration) return;
    const cost::CollectiveTimes times(cluster, *calibration);
    double least = 1e300, most = 0;
    for (const JoinedOperation& operation : data.step.operations)
        if (operation.payloadBytes.value_or(0) > 0) {
            least = std::min(least, static_cast<double>(*operation.payloadBytes));
            most = std::max(most, static_cast<double>(*operation.payloadBytes));
        }
    if (most <= 0) return;
    least /= 4;
    most *= 4;
    constexpr int kPoints = 40;
    for (const KindOfStep& kind : data.step.kinds) {
        const auto priced = pricedKind(kind.operation);
        const auto group = std::find_if(info.groups.begin(), info.groups.end(), [&](const ProcessGroupInfo& each) {
            return each.name == kind.group && each.ranks.size() > 1;
        });
        if (!priced || group == info.groups.end() || data.curves.size() >= 2) continue;
        ModelCurve curve;
        curve.operation = kind.operation;
        curve.group = kind.group;
        curve.members = group->ranks.size();
        const int stride = std::max(1, group->ranks[1].value - group->ranks[0].value);
        const cost::GroupPlacement placement =
            data.groupsBetween ? cost::placeGroup(static_cast<int>(curve.members), stride, data.devicesPerNode)
                               : cost::GroupPlacement{static_cast<int>(curve.members), static_cast<int>(curve.members)};
        for (int i = 0; i <= kPoints; ++i) {
            const double bytes = least * std::pow(most / least, double(i) / kPoints);
            const double seconds = times.seconds(*priced, bytes, placement);
            if (seconds > 0)
                curve.points.emplace_back(bytes, bytes / seconds * busBandwidthFactor(kind.operation, curve.members));
        }
        data.curves.push_back(std::move(curve));
    }
}

} // namespace

std::vector<CollectiveRow> collectiveRows(const TraceMetrics& metrics, const TraceInfo& info,
                                          const CommunicationStep& step)
{
    std::map<std::pair<CollectiveOp, std::string>, CollectiveRow> rows;
    for (const CollectiveMetrics& entry : metrics.collectives) {
        CollectiveRow& row = rows[{entry.summary.operation, entry.group}];
        const auto index = static_cast<std::size_t>(std::max(0, entry.summary.group.value));
        row.operation = entry.summary.operation;
        row.group = entry.group;
        ++row.groups;
        if (index < info.groups.size()) row.members = std::max(row.members, info.groups[index].ranks.size());
        addTo(row.count, entry.summary.count);
        addKnown(row.payloadBytes, entry.summary.payloadBytes);
        addKnown(row.wireBytes, entry.summary.wireBytes);
        addTo(row.time, entry.summary.time);
        addTo(row.wait, entry.summary.wait);
    }
    const bool repeated = receivesRepeatSends(rows, [](const auto& row) { return row.first.first; });
    std::vector<CollectiveRow> sorted;
    for (auto& [key, row] : rows) {
        const bool isRepeat = repeated && row.operation == CollectiveOp::Receive;
        if (!isRepeat && row.time.ns > 0 && row.payloadBytes.value_or(0) > 0) {
            row.algorithmBytesPerSecond = static_cast<double>(*row.payloadBytes) / row.time.seconds();
            row.busBytesPerSecond = *row.algorithmBytesPerSecond * busBandwidthFactor(row.operation, row.members);
        }
        for (const KindOfStep& kind : step.kinds)
            if (kind.operation == row.operation && kind.group == row.group) row.inStep = kind;
        sorted.push_back(std::move(row));
    }
    std::stable_sort(sorted.begin(), sorted.end(), [](const CollectiveRow& a, const CollectiveRow& b) {
        return a.time.milliseconds() + a.wait.milliseconds() > b.time.milliseconds() + b.wait.milliseconds();
    });
    return sorted;
}

namespace {

/// Own arrival to last arrival, of the members that are looked at.
Duration waitOf(const JoinedOperation& operation, std::optional<RankId> only)
{
    if (!only) return operation.wait();
    Duration sum;
    for (const CollectiveView& member : operation.members)
        if (member.rank == *only) addTo(sum, operation.lastArrival - member.record.start);
    return sum;
}

/// What a rank sends and gets.
void keepTrafficOf(TrafficMatrix& traffic, RankId only)
{
    std::erase_if(traffic.cells, [&](const TrafficCell& cell) {
        return traffic.ranks[static_cast<std::size_t>(cell.from)] != only &&
               traffic.ranks[static_cast<std::size_t>(cell.to)] != only;
    });
}

} // namespace

std::vector<CollectiveRow> rowsOfStep(const TraceInfo& info, const CommunicationStep& step)
{
    std::map<std::pair<CollectiveOp, std::string>, CollectiveRow> rows;
    std::map<std::pair<CollectiveOp, std::string>, std::set<GroupId>> groups;
    for (const JoinedOperation& operation : step.operations) {
        const std::pair key{operation.operation, groupName(info, operation.group)};
        CollectiveRow& row = rows[key];
        std::tie(row.operation, row.group) = key;
        const CollectiveTiming timing = collectiveTiming(info, operation.group, operation.operation);
        row.timing = std::max(row.timing, timing);
        addTo(row.count, 1);
        addKnown(row.payloadBytes, operation.payloadBytes);
        addKnown(row.wireBytes, operation.wireBytes);
        addTo(row.time, operation.transfer());
        if (timing == CollectiveTiming::Separated) addTo(row.wait, waitOf(operation, step.rank));
        if (!groups[key].insert(operation.group).second) continue;
        ++row.groups;
        const GroupCoverage coverage = groupCoverage(info, operation.group);
        row.members = std::max(row.members, coverage.members.value_or(0));
        const auto index = static_cast<std::size_t>(operation.group.value);
        if (row.raw.size() > 300 || operation.group.value < 0 || index >= info.groups.size()) continue;
        QStringList ranks;
        for (const RankId rank : info.groups[index].ranks)
            if (ranks.size() < 16) ranks << QString::number(rank.value);
        if (info.groups[index].ranks.size() > 16) ranks << QStringLiteral("…");
        if (!row.raw.isEmpty()) row.raw += QLatin1Char('\n');
        row.raw += QString::fromStdString(info.groups[index].name) + QStringLiteral(" [") +
                   ranks.join(QStringLiteral(", ")) + QLatin1Char(']');
    }
    const bool repeated = receivesRepeatSends(rows, [](const auto& row) { return row.first.first; });
    std::vector<CollectiveRow> sorted;
    for (auto& [key, row] : rows) {
        const bool isRepeat = repeated && row.operation == CollectiveOp::Receive;
        const bool rated = row.timing == CollectiveTiming::Separated && row.members != 1 && !isRepeat;
        if (rated && row.time.ns > 0 && row.payloadBytes.value_or(0) > 0) {
            row.algorithmBytesPerSecond = static_cast<double>(*row.payloadBytes) / row.time.seconds();
            row.busBytesPerSecond = *row.algorithmBytesPerSecond * busBandwidthFactor(row.operation, row.members);
        }
        for (const KindOfStep& kind : step.kinds)
            if (kind.operation == row.operation && kind.group == row.group) row.inStep = kind;
        sorted.push_back(std::move(row));
    }
    std::stable_sort(sorted.begin(), sorted.end(), [](const CollectiveRow& left, const CollectiveRow& right) {
        return left.time.milliseconds() + left.wait.milliseconds() >
               right.time.milliseconds() + right.wait.milliseconds();
    });
    return sorted;
}

std::optional<double> busRate(const TraceInfo& info, const JoinedOperation& operation)
{
    if (!hasRate(info, operation)) return std::nullopt;
    const std::size_t members = groupCoverage(info, operation.group).members.value_or(0);
    return static_cast<double>(*operation.payloadBytes) / operation.transfer().seconds() *
           busBandwidthFactor(operation.operation, std::max(members, operation.members.size()));
}

Result<CommunicationData> askCommunication(TraceQuery& trace, std::optional<StepIndex> step, std::optional<RankId> rank,
                                           std::stop_token stop)
{
    CommunicationData data;
    FOURWALLS_TRY_ASSIGN(data.metrics, computeMetrics(trace));
    FOURWALLS_TRY_ASSIGN(data.step,
                         step ? communicationStep(trace, step, stop, rank) : communicationOfSteps(trace, stop, rank));
    const TraceInfo& info = trace.info();
    data.ranks = rankScope(info, rank);
    data.rates = transferRates(info, data.step);
    FOURWALLS_TRY_ASSIGN(data.exposedShare, exposedShareOf(trace, data.step.window, rank));
    // What the recorder counted is of the whole trace.
    data.traffic = step ? derivedTraffic(info, data.step) : trafficMatrix(info, data.step);
    if (rank) keepTrafficOf(data.traffic, *rank);
    data.formulas = groupTraffic(info, data.step);
    data.rows = rowsOfStep(info, data.step);
    const KnownSpec known = knownSpec(info);
    if (known.spec && !known.isGuess) {
        addLinkRates(data, info, known.spec->cluster);
        addCurves(data, info, known.spec->cluster);
    } else {
        addDeviceLink(data, info, known);
    }
    return data;
}

Result<ScalingData> askScaling(TraceQuery& trace, std::stop_token stop)
{
    const Error cancelled{ErrorCode::Cancelled, "a newer question came", "scaling", {}};
    ScalingData data;
    const TraceInfo& info = trace.info();
    data.source = info.header.source;
    const KnownSpec known = knownSpec(info);
    if (!known.spec) {
        data.problem = "specification";
        return data;
    }
    if (known.isGuess) { // what was put together from signs says nothing of other machines
        data.problem = "specification";
        return data;
    }
    data.assumed = !known.assumed.empty() && info.header.source == TraceSource::Imported;
    RunSpec spec = *known.spec;
    data.ownDevices = spec.plan.worldSize();
    // Ranks that share one machine are in one node, however few devices its preset counts.
    if (spec.cluster.nicsPerNode == 0)
        spec.cluster.devicesPerNode = std::max(spec.cluster.devicesPerNode, data.ownDevices);
    FOURWALLS_TRY_ASSIGN(const Calibration calibration, loadCalibration("published"));
    auto devices = cost::scalingByDevices(spec, calibration);
    if (devices)
        data.devices = std::move(*devices);
    else
        data.problem = devices.error().message();
    if (stop.stop_requested()) return cancelled;
    auto links = cost::scalingByLink(spec, calibration);
    if (links)
        data.links = std::move(*links);
    else
        data.linksProblem = links.error().message();

    if (stop.stop_requested()) return cancelled;
    FOURWALLS_TRY_ASSIGN(const TraceMetrics metrics, computeMetrics(trace));
    const double base = data.devices.baseSamplesPerSecond;
    if (metrics.samplesPerSecond && base > 0)
        data.ownEfficiency = *metrics.samplesPerSecond / (base * data.ownDevices / data.devices.baseDevices);
    const bool leaves = data.ownDevices > spec.cluster.devicesPerNode && spec.cluster.nicsPerNode > 0;
    const double rate = leaves ? spec.cluster.networkBytesPerSecondPerDevice() : spec.cluster.nodeLink.bytesPerSecond;
    if (rate > 0 && data.ownDevices > 1) {
        data.ownLinkBits = rate * 8;
        FOURWALLS_TRY_ASSIGN(const CommunicationStep step, communicationStep(trace, std::nullopt, stop));
        std::map<RankId, double> sent;
        // Only what goes over that link: groups inside a node do not use the network.
        bool otherLink = false;
        for (const JoinedOperation& operation : step.operations) {
            const auto group = static_cast<std::size_t>(std::max(0, operation.group.value));
            const bool outside =
                group < info.groups.size() && leavesNode(info.groups[group], spec.cluster.devicesPerNode);
            // The curve has every link at one speed: with traffic over both kinds this step is no point of it.
            otherLink = otherLink || (outside != leaves && operation.payloadBytes.value_or(0) > 0);
            if (outside != leaves) continue;
            for (const CollectiveView& member : operation.members)
                sent[member.rank] += static_cast<double>(member.record.wireBytes.value_or(0));
        }
        double most = 0;
        for (const auto& [rank, bytes] : sent) most = std::max(most, bytes);
        if (!otherLink && metrics.stepTime && metrics.stepTime->ns > 0)
            data.ownUtilisation = most / (metrics.stepTime->seconds() * rate);
    }
    return data;
}

Result<std::optional<SelectedSlice>> sliceOfCollective(TraceQuery& trace, const CollectiveRecord& record)
{
    FOURWALLS_TRY_ASSIGN(const SliceWindow window,
                         trace.slices({{record.track}, {record.start, record.start + Duration{1}}, 1}));
    std::optional<SliceView> found;
    for (const LaneSlices& lane : window.lanes)
        for (const SliceView& slice : lane.exact)
            if (slice.start == record.start && (!found || slice.end() == record.end)) found = slice;
    if (!found) return std::optional<SelectedSlice>();
    FOURWALLS_TRY_ASSIGN(std::shared_ptr<const OpInfo> op, trace.op(found->op));
    return std::optional(SelectedSlice{*found, std::move(op)});
}

} // namespace fourwalls::views
