// SPDX-License-Identifier: Apache-2.0
// See traffic_matrix.h.
#include "model/trace/traffic_matrix.h"

#include "model/spec/rank_layout.h"
#include "model/trace/collective_rows.h"
#include "model/trace/metrics.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace fourwalls {

namespace {

/// Adds cells by rank and group name, and numbers them at the end.
class Builder {
public:
    void add(const std::string& group, RankId from, RankId to, double payload, double wire)
    {
        if (from == to || !(payload > 0 || wire > 0)) return;
        TrafficCell& cell = m_cells[{from, to, group}];
        cell.payloadBytes += payload;
        cell.wireBytes += wire;
    }

    TrafficMatrix build(TrafficMatrix::Origin origin, std::set<RankId> ranks) const
    {
        TrafficMatrix matrix;
        std::set<std::string> groups;
        for (const auto& [key, cell] : m_cells) {
            ranks.insert(std::get<0>(key));
            ranks.insert(std::get<1>(key));
            groups.insert(std::get<2>(key));
        }
        matrix.ranks.assign(ranks.begin(), ranks.end());
        matrix.ranksInAll = matrix.ranks.size();
        if (matrix.ranks.size() > kMostRanksAnalysed) matrix.ranks.resize(kMostRanksAnalysed);
        matrix.groups.assign(groups.begin(), groups.end());
        const auto placeOf = [](const auto& all, const auto& one) {
            const auto found = std::lower_bound(all.begin(), all.end(), one);
            return found != all.end() && *found == one ? static_cast<int>(found - all.begin()) : -1;
        };
        for (const auto& [key, sums] : m_cells) {
            TrafficCell cell = sums;
            cell.from = placeOf(matrix.ranks, std::get<0>(key));
            cell.to = placeOf(matrix.ranks, std::get<1>(key));
            cell.group = placeOf(matrix.groups, std::get<2>(key));
            if (cell.from >= 0 && cell.to >= 0) matrix.cells.push_back(cell);
        }
        matrix.origin = matrix.cells.empty() ? TrafficMatrix::Origin::None : origin;
        return matrix;
    }

private:
    std::map<std::tuple<RankId, RankId, std::string>, TrafficCell> m_cells;
};

std::set<RankId> ranksOf(const TraceInfo& info)
{
    std::set<RankId> ranks;
    for (const RankInfo& rank : info.header.ranks) ranks.insert(rank.rank);
    return ranks;
}

/// Bytes that a member sends where the record does not say: what a bandwidth-optimal algorithm would.
double wireOf(const CollectiveRecord& record, std::size_t members)
{
    if (record.wireBytes.value_or(0) > 0) return static_cast<double>(*record.wireBytes);
    const double n = static_cast<double>(members);
    const double factor = record.operation == CollectiveOp::AllToAll && n > 1
                              ? (n - 1) / n
                              : busBandwidthFactor(record.operation, members);
    return factor * static_cast<double>(record.payloadBytes.value_or(0));
}

/// Operations as rows of the matrix.
class Deriver {
public:
    Deriver(const TraceInfo& info, Builder& builder) : m_info(info), m_builder(builder) {}

    bool assumedRing() const { return m_assumedRing; }

    void add(const JoinedOperation& operation)
    {
        const std::string name = groupName(m_info, operation.group);
        const auto index = static_cast<std::size_t>(std::max(0, operation.group.value));
        std::vector<RankId> members = index < m_info.groups.size() ? m_info.groups[index].ranks : std::vector<RankId>();
        if (members.size() < operation.members.size()) {
            members.clear();
            for (const CollectiveView& view : operation.members) members.push_back(view.rank);
            std::sort(members.begin(), members.end());
        }
        if (operation.isMessage()) return addMessage(name, operation.members.front());
        for (const CollectiveView& view : operation.members) {
            const auto place = std::find(members.begin(), members.end(), view.rank);
            if (place == members.end()) continue;
            addRow(name, view.record, members, static_cast<int>(place - members.begin()));
        }
        // Members that the trace does not have send what the others do.
        if (operation.members.size() < members.size() && m_info.header.source != TraceSource::Predicted)
            for (std::size_t place = 0; place < members.size(); ++place)
                if (std::none_of(operation.members.begin(), operation.members.end(),
                                 [&](const CollectiveView& v) { return v.rank == members[place]; }))
                    addRow(name, operation.members.front().record, members, static_cast<int>(place));
    }

    /// One rank of a prediction stands for all ranks of its stage.
    void addForClass(const JoinedOperation& operation, const RankLayout& layout, int worldSize)
    {
        const CollectiveView& view = operation.members.front();
        const std::string name = groupName(m_info, operation.group);
        const int stage = layout.coordinates(view.rank).stage;
        const auto kind = std::find_if(std::begin(kGroupKinds), std::end(kGroupKinds),
                                       [&](GroupKind k) { return fourwalls::name(k) == name; });
        if (kind == std::end(kGroupKinds)) return;
        for (int r = 0; r < worldSize; ++r) {
            const RankId rank{r};
            if (layout.coordinates(rank).stage != stage) continue;
            if (operation.isMessage()) {
                if (operation.operation != CollectiveOp::Send || !view.record.peer) continue;
                const int peerStage = layout.coordinates(*view.record.peer).stage;
                m_builder.add(name, rank, layout.onStage(rank, peerStage),
                              static_cast<double>(view.record.payloadBytes.value_or(0)), wireOf(view.record, 2));
                continue;
            }
            addRow(name, view.record, layout.groupMembers(*kind, rank), layout.indexInGroup(*kind, rank));
        }
    }

private:
    void addMessage(const std::string& name, const CollectiveView& view)
    {
        // Sends say it all; receives count only where they come from.
        if (view.record.operation == CollectiveOp::Send && view.record.peer)
            m_builder.add(name, view.rank, *view.record.peer, static_cast<double>(view.record.payloadBytes.value_or(0)),
                          wireOf(view.record, 2));
    }

    void addRow(const std::string& name, const CollectiveRecord& record, const std::vector<RankId>& members, int place)
    {
        const int n = static_cast<int>(members.size());
        if (n < 2) return;
        const int perNode = m_info.header.spec ? m_info.header.spec->cluster.devicesPerNode : 0;
        if (collectiveKind(record.operation) && !algorithmNamed(record.algorithm)) m_assumedRing = true;
        const auto key = std::tuple(record.operation, record.algorithm, n, place);
        auto found = m_shares.find(key);
        if (found == m_shares.end())
            found = m_shares
                        .emplace(key, sentShares(record.operation, record.algorithm, n, place,
                                                 perNode > 0 && perNode < n && n % perNode == 0 ? perNode : 0))
                        .first;
        double sum = 0;
        for (const auto& [to, share] : found->second) sum += share;
        if (sum <= 0) return;
        const double wire = wireOf(record, members.size());
        for (const auto& [to, share] : found->second)
            m_builder.add(name, members[static_cast<std::size_t>(place)], members[static_cast<std::size_t>(to)],
                          static_cast<double>(record.payloadBytes.value_or(0)) * share / sum, wire * share / sum);
    }

    const TraceInfo& m_info;
    Builder& m_builder;
    bool m_assumedRing = false;
    std::map<std::tuple<CollectiveOp, std::string, int, int>, std::vector<std::pair<int, double>>> m_shares;
};

} // namespace

std::vector<double> TrafficMatrix::dense(bool wire, int group) const
{
    std::vector<double> sums(ranks.size() * ranks.size(), 0.0);
    for (const TrafficCell& cell : cells) {
        if (group >= 0 && cell.group != group) continue;
        sums[static_cast<std::size_t>(cell.from) * ranks.size() + static_cast<std::size_t>(cell.to)] +=
            wire ? cell.wireBytes : cell.payloadBytes;
    }
    return sums;
}

double TrafficMatrix::total(bool wire, int group) const
{
    double sum = 0;
    for (const TrafficCell& cell : cells)
        if (group < 0 || cell.group == group) sum += wire ? cell.wireBytes : cell.payloadBytes;
    return sum;
}

TrafficMatrix recordedTraffic(const TraceInfo& info)
{
    Builder builder;
    for (const TrafficRecord& record : info.closing.traffic)
        builder.add(record.group, record.from, record.to, static_cast<double>(record.payloadBytes),
                    static_cast<double>(record.wireBytes));
    return builder.build(TrafficMatrix::Origin::Recorded, ranksOf(info));
}

TrafficMatrix derivedTraffic(const TraceInfo& info, const CommunicationStep& step)
{
    Builder builder;
    Deriver deriver(info, builder);
    const bool predicted = info.header.source == TraceSource::Predicted && info.header.spec;
    if (predicted) {
        const RankLayout layout(info.header.spec->plan);
        const int world = std::min(layout.worldSize(), static_cast<int>(kMostRanksAnalysed));
        for (const JoinedOperation& operation : step.operations) deriver.addForClass(operation, layout, world);
    } else {
        for (const JoinedOperation& operation : step.operations) deriver.add(operation);
    }
    TrafficMatrix matrix =
        builder.build(predicted ? TrafficMatrix::Origin::Modelled : TrafficMatrix::Origin::Derived, ranksOf(info));
    matrix.assumedRing = deriver.assumedRing();
    if (predicted) matrix.ranksInAll = static_cast<std::size_t>(info.header.spec->plan.worldSize());
    return matrix;
}

TrafficMatrix trafficMatrix(const TraceInfo& info, const CommunicationStep& step)
{
    TrafficMatrix matrix = recordedTraffic(info);
    return matrix.origin == TrafficMatrix::Origin::None ? derivedTraffic(info, step) : matrix;
}

} // namespace fourwalls
