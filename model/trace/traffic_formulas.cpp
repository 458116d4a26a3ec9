// SPDX-License-Identifier: Apache-2.0
// See traffic_formulas.h.
#include "model/trace/traffic_formulas.h"

#include "model/trace/collective_rows.h"

#include <algorithm>
#include <map>

namespace fourwalls {

namespace {

double multiplicity(const TraceInfo& info, RankId rank)
{
    for (const RankInfo& each : info.header.ranks)
        if (each.rank == rank) return std::max(1, each.multiplicity);
    return 1;
}

void addPublished(GroupTraffic& row, const RunSpec& spec)
{
    const TransformerSpec* net = spec.model.transformer();
    if (!net) return;
    const ParallelPlan& plan = spec.plan;
    const double p = static_cast<double>(parameterCount(spec.model)), l = static_cast<double>(net->layers);
    const double h = static_cast<double>(net->hidden);
    const double t = static_cast<double>(spec.training.batch) * static_cast<double>(spec.training.sequence);
    if ((row.group == "dp" || row.group == "dp_cp") && plan.dp > 1) {
        if (plan.zero >= 3) {
            row.published = 2 * 2 * p * (plan.dp - 1);
            row.formula = "2 x 2P(Gdp - 1)";
        } else {
            row.published = 2 * p * plan.dp * (plan.dp - 1);
            row.formula = "2P Gdp (Gdp - 1)";
        }
    } else if (row.group == "tp" && plan.tp > 1) {
        row.published = 2 * p * plan.dp * 2 * l * (plan.tp - 1) / plan.pp + 4 * l * t * h * (plan.tp - 1) * plan.tp;
        row.formula = "4PL Gdp (Gtp - 1) / Gpp + 4LTH Gtp (Gtp - 1)";
    } else if (row.group == "pp" && plan.pp > 1) {
        row.published = 2 * 2 * t * h * (plan.pp - 1);
        row.formula = "2 x 2TH (Gpp - 1)";
    }
}

} // namespace

std::vector<GroupTraffic> groupTraffic(const TraceInfo& info, const CommunicationStep& step)
{
    std::map<std::string, GroupTraffic> rows;
    const int perNode = info.header.spec ? info.header.spec->cluster.devicesPerNode : 0;
    const bool predicted = info.header.source == TraceSource::Predicted;
    const bool repeated = receivesRepeatSends(step.operations, &JoinedOperation::operation);
    for (const JoinedOperation& operation : step.operations) {
        if (repeated && operation.operation == CollectiveOp::Receive) continue;
        const std::string name = groupName(info, operation.group);
        const auto index = static_cast<std::size_t>(std::max(0, operation.group.value));
        const std::size_t named = index < info.groups.size() ? info.groups[index].ranks.size() : 0;
        const int n = static_cast<int>(std::max(named, operation.members.size()));
        GroupTraffic& row = rows[name];
        row.group = name;
        row.members = std::max(row.members, n);
        const double payload = static_cast<double>(operation.payloadBytes.value_or(0));
        if (operation.isMessage()) {
            const double times = predicted ? multiplicity(info, operation.members.front().rank) : 1;
            row.operations += times;
            row.payload += times * payload;
            for (double* sum : {&row.naive, &row.ring, &row.tree, &row.direct}) *sum += times * payload;
            row.measured +=
                times * static_cast<double>(operation.wireBytes.value_or(0) > 0 ? *operation.wireBytes
                                                                                : operation.payloadBytes.value_or(0));
            if (row.hierarchical) *row.hierarchical += times * payload;
            continue;
        }
        if (n < 2) continue;
        // One rank of a prediction stands for many, each group of them with an operation of its own.
        const double groups = predicted ? multiplicity(info, operation.members.front().rank) / n : 1;
        row.operations += groups;
        row.payload += groups * payload;
        row.naive += groups * payload * naiveMultiples(n).all;
        const auto all = [&](CollectiveAlgorithm algorithm, int local = 0) {
            return groups * payload * sentMultiples(operation.operation, algorithm, n, local).all;
        };
        row.ring += all(CollectiveAlgorithm::Ring);
        row.tree += all(CollectiveAlgorithm::Tree);
        row.direct += all(CollectiveAlgorithm::Direct);
        if (perNode > 1 && perNode < n && n % perNode == 0)
            row.hierarchical = row.hierarchical.value_or(0) + all(CollectiveAlgorithm::Hierarchical, perNode);
        double wire = 0;
        for (const CollectiveView& member : operation.members)
            wire += static_cast<double>(member.record.wireBytes.value_or(0));
        // Members that the trace does not have send what the others do.
        row.measured += groups * wire * n / static_cast<double>(operation.members.size());
    }
    std::vector<GroupTraffic> sorted;
    const auto steps = static_cast<double>(std::max(1, step.window.steps));
    for (auto& [name, row] : rows) {
        for (double* sum :
             {&row.operations, &row.payload, &row.naive, &row.ring, &row.tree, &row.direct, &row.measured})
            *sum /= steps;
        if (row.hierarchical) *row.hierarchical /= steps;
        if (info.header.spec) addPublished(row, *info.header.spec);
        if (row.payload > 0) sorted.push_back(std::move(row));
    }
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const GroupTraffic& a, const GroupTraffic& b) { return a.measured > b.measured; });
    return sorted;
}

} // namespace fourwalls
