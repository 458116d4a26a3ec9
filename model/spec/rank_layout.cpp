// SPDX-License-Identifier: Apache-2.0
// Rank arithmetic: every group of a kind is an arithmetic progression of ranks.
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
{}

RankCoordinates RankLayout::coordinates(RankId rank) const
{
    RankCoordinates at;
    int rest = rank.value;
    at.tensor = rest % m_tp;
    rest /= m_tp;
    at.context = rest % m_cp;
    at.data = rest / m_cp % m_dp;
    at.stage = rest / (m_cp * m_dp);
    const int replica = at.context + m_cp * at.data;
    at.expert = replica % m_ep;
    at.expertReplica = replica / m_ep;
    return at;
}

RankId RankLayout::rankAt(const RankCoordinates& at) const
{
    return RankId{at.tensor + m_tp * (at.context + m_cp * (at.data + m_dp * at.stage))};
}

int RankLayout::groupSize(GroupKind kind) const
{
    switch (kind) {
    case GroupKind::World: return worldSize();
    case GroupKind::Tensor: return m_tp;
    case GroupKind::Context: return m_cp;
    case GroupKind::Data: return m_dp;
    case GroupKind::DataContext: return m_dp * m_cp;
    case GroupKind::Expert: return m_ep;
    case GroupKind::ExpertData: return m_dp * m_cp / m_ep;
    case GroupKind::Pipeline: return m_pp;
    }
    return 1;
}

int RankLayout::stride(GroupKind kind) const
{
    switch (kind) {
    case GroupKind::World:
    case GroupKind::Tensor: return 1;
    case GroupKind::Context:
    case GroupKind::DataContext:
    case GroupKind::Expert: return m_tp;
    case GroupKind::Data: return m_tp * m_cp;
    case GroupKind::ExpertData: return m_tp * m_ep;
    case GroupKind::Pipeline: return m_tp * m_cp * m_dp;
    }
    return 1;
}

int RankLayout::groupOf(GroupKind kind, RankId rank) const
{
    // rank = low + stride * (index + size * high), with low < stride and index < size.
    const int step = stride(kind);
    return rank.value % step + step * (rank.value / (step * groupSize(kind)));
}

int RankLayout::indexInGroup(GroupKind kind, RankId rank) const
{
    return rank.value / stride(kind) % groupSize(kind);
}

std::vector<RankId> RankLayout::members(GroupKind kind, int group) const
{
    const int step = stride(kind), size = groupSize(kind);
    const int first = group % step + step * size * (group / step);
    std::vector<RankId> ranks;
    ranks.reserve(static_cast<std::size_t>(size));
    for (int i = 0; i < size; ++i) ranks.push_back(RankId{first + step * i});
    return ranks;
}

RankId RankLayout::onStage(RankId rank, int stage) const
{
    RankCoordinates at = coordinates(rank);
    at.stage = stage;
    return rankAt(at);
}

} // namespace fourwalls
