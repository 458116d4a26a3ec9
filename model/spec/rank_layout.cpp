// SPDX-License-Identifier: Apache-2.0
// Rank arithmetic: every group of a kind is an arithmetic progression of ranks, or a progression of progressions.
#include "model/spec/rank_layout.h"

namespace fourwalls {

std::string_view name(GroupKind kind)
{
    switch (kind) {
    case GroupKind::World: return "world";
    case GroupKind::Tensor: return "tp";
    case GroupKind::Context: return "cp";
    case GroupKind::Data: return "dp";
    case GroupKind::DataContext: return "dp_cp";
    case GroupKind::Expert: return "ep";
    case GroupKind::ExpertData: return "edp";
    case GroupKind::Pipeline: return "pp";
    }
    return "unknown";
}

RankLayout::RankLayout(const ParallelPlan& plan)
    : m_tp(plan.tp)
    , m_cp(plan.cp)
    , m_dp(plan.dp)
    , m_pp(plan.pp)
    , m_ep(plan.ep)
    , m_replicaStride(plan.replicaStride())
    , m_stageStride(plan.stageStride())
{}

RankCoordinates RankLayout::coordinates(RankId rank) const
{
    RankCoordinates at;
    at.tensor = rank.value % m_tp;
    at.context = rank.value / m_tp % m_cp;
    at.data = rank.value / m_replicaStride % m_dp;
    at.stage = rank.value / m_stageStride % m_pp;
    const int replica = at.context + m_cp * at.data;
    at.expert = replica % m_ep;
    at.expertReplica = replica / m_ep;
    return at;
}

RankId RankLayout::rankAt(const RankCoordinates& at) const
{
    return RankId{at.tensor + m_tp * at.context + m_replicaStride * at.data + m_stageStride * at.stage};
}

RankLayout::Axes RankLayout::axesOf(GroupKind kind) const
{
    const Axis context{m_cp, m_tp}, data{m_dp, m_replicaStride};
    switch (kind) {
    case GroupKind::World: return {{{worldSize(), 1}, {}}};
    case GroupKind::Tensor: return {{{m_tp, 1}, {}}};
    case GroupKind::Context: return {{context, {}}};
    case GroupKind::Data: return {{data, {}}};
    case GroupKind::DataContext: return {{context, data}};
    case GroupKind::Expert: return {{{m_ep, m_tp}, {}}};
    case GroupKind::ExpertData:
        if (m_ep == 1) return {{context, data}};
        return {{{m_dp * m_cp / m_ep, m_tp * m_ep}, {}}};
    case GroupKind::Pipeline: return {{{m_pp, m_stageStride}, {}}};
    }
    return {};
}

int RankLayout::groupSize(GroupKind kind) const
{
    const Axes axes = axesOf(kind);
    return axes[0].size * axes[1].size;
}

int RankLayout::groupOf(GroupKind kind, RankId rank) const
{
    // rank = low + stride * (index + size * high), with low < stride and index < size: what is left without the index.
    const auto without = [](int value, const Axis& axis) {
        return value % axis.stride + axis.stride * (value / (axis.stride * axis.size));
    };
    const Axes axes = axesOf(kind);
    return without(without(rank.value, axes[1]), axes[0]);
}

int RankLayout::indexInGroup(GroupKind kind, RankId rank) const
{
    const Axes axes = axesOf(kind);
    return rank.value / axes[0].stride % axes[0].size + axes[0].size * (rank.value / axes[1].stride % axes[1].size);
}

std::vector<RankId> RankLayout::members(GroupKind kind, int group) const
{
    const auto with = [](int value, const Axis& axis) { // index 0 put in
        return value % axis.stride + axis.stride * axis.size * (value / axis.stride);
    };
    const Axes axes = axesOf(kind);
    const int first = with(with(group, axes[0]), axes[1]);
    std::vector<RankId> ranks;
    ranks.reserve(static_cast<std::size_t>(axes[0].size) * static_cast<std::size_t>(axes[1].size));
    for (int outer = 0; outer < axes[1].size; ++outer)
        for (int inner = 0; inner < axes[0].size; ++inner)
            ranks.push_back(RankId{first + axes[0].stride * inner + axes[1].stride * outer});
    return ranks;
}

RankId RankLayout::onStage(RankId rank, int stage) const
{
    RankCoordinates at = coordinates(rank);
    at.stage = stage;
    return rankAt(at);
}

} // namespace fourwalls
