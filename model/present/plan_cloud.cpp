// SPDX-License-Identifier: Apache-2.0
// See plan_cloud.h.
#include "model/present/plan_cloud.h"

#include <algorithm>
#include <tuple>

namespace fourwalls {

double valueOn(PlanAxis axis, const PlanPoint& point)
{
    switch (axis) {
    case PlanAxis::Tensor: return point.tp;
    case PlanAxis::Pipeline: return point.pp;
    case PlanAxis::Data: return point.dp;
    case PlanAxis::Context: return point.cp;
    case PlanAxis::Expert: return point.ep;
    case PlanAxis::Chunks: return point.vpp;
    case PlanAxis::Microbatches: return point.microbatches;
    case PlanAxis::Zero: return point.zero;
    case PlanAxis::Recompute: return point.recompute;
    case PlanAxis::Time: return point.seconds;
    case PlanAxis::Memory: return point.bytes;
    }
    return 0;
}

void PlanCloud::reset(const ParallelPlan& base)
{
    m_base = base;
    m_points.clear();
    m_stages.clear();
    m_modules = 0;
    m_front.clear();
    m_limits = {};
}

void PlanCloud::add(std::span<const cost::SearchedPlan> plans)
{
    const std::size_t first = m_points.size();
    for (const cost::SearchedPlan& each : plans) {
        const ParallelPlan& plan = each.plan;
        PlanPoint point;
        point.seconds = static_cast<float>(each.seconds);
        point.bytes = static_cast<float>(each.peakBytes);
        point.dp = plan.dp;
        point.microbatches = plan.microbatches;
        point.tp = static_cast<std::int16_t>(plan.tp);
        point.pp = static_cast<std::int16_t>(plan.pp);
        point.cp = static_cast<std::int16_t>(plan.cp);
        point.ep = static_cast<std::int16_t>(plan.ep);
        point.vpp = static_cast<std::int16_t>(plan.vpp);
        if (!plan.stageLayers.empty() || !plan.stageRecompute.empty()) {
            m_stages.push_back({plan.stageLayers, plan.stageRecompute});
            point.stages = static_cast<std::uint32_t>(m_stages.size());
        }
        point.zero = static_cast<std::int8_t>(plan.zero);
        // On the axis a plan is where its most eager stage is.
        Recompute most = plan.recompute;
        for (const Recompute stage : plan.stageRecompute) most = std::max(most, stage);
        point.recompute = static_cast<std::int8_t>(most);
        m_modules |= plan.recomputeModules;
        point.schedule = static_cast<std::int8_t>(plan.schedule);
        point.sequenceParallel = plan.sequenceParallel;
        point.offloadOptimizer = plan.offloadOptimizer;
        point.stagesFirst = plan.order == RankOrder::StagesFirst;
        point.feasible = each.feasible;
        for (std::size_t axis = 0; axis < kPlanAxes; ++axis) {
            const double value = valueOn(static_cast<PlanAxis>(axis), point);
            auto& [low, high] = m_limits[axis];
            low = m_points.empty() ? value : std::min(low, value);
            high = m_points.empty() ? value : std::max(high, value);
        }
        m_points.push_back(point);
    }
    mergeFront(first);
}

void PlanCloud::mergeFront(std::size_t first)
{
    std::vector<std::uint32_t> candidates = m_front;
    for (std::size_t i = first; i < m_points.size(); ++i)
        if (m_points[i].feasible) candidates.push_back(static_cast<std::uint32_t>(i));
    std::sort(candidates.begin(), candidates.end(), [this](std::uint32_t a, std::uint32_t b) {
        const PlanPoint &p = m_points[a], &q = m_points[b];
        if (p.seconds != q.seconds) return p.seconds < q.seconds;
        return p.bytes != q.bytes ? p.bytes < q.bytes : a < b;
    });
    m_front.clear();
    for (const std::uint32_t index : candidates)
        if (m_front.empty() || m_points[index].bytes < m_points[m_front.back()].bytes) m_front.push_back(index);
}

ParallelPlan PlanCloud::plan(std::size_t index) const
{
    const PlanPoint& point = m_points[index];
    ParallelPlan plan = m_base;
    plan.dp = point.dp;
    plan.tp = point.tp;
    plan.pp = point.pp;
    plan.cp = point.cp;
    plan.ep = point.ep;
    plan.vpp = point.vpp;
    plan.microbatches = point.microbatches;
    plan.zero = point.zero;
    plan.setRecompute(static_cast<Recompute>(point.recompute));
    if (plan.recompute == Recompute::Selective) plan.recomputeModules = m_modules;
    plan.stageLayers.clear();
    if (point.stages > 0) {
        const Stages& stages = m_stages[point.stages - 1];
        plan.stageLayers = stages.layers;
        if (!stages.recompute.empty()) plan.setRecompute(stages.recompute);
    }
    plan.schedule = static_cast<PipelineSchedule>(point.schedule);
    plan.sequenceParallel = point.sequenceParallel;
    plan.offloadOptimizer = point.offloadOptimizer;
    plan.order = point.stagesFirst ? RankOrder::StagesFirst : RankOrder::ReplicasFirst;
    return plan;
}

bool PlanCloud::passes(const PlanPoint& point, const PlanBrushes& brushes)
{
    for (std::size_t axis = 0; axis < kPlanAxes; ++axis)
        if (brushes[axis] && !brushes[axis]->holds(valueOn(static_cast<PlanAxis>(axis), point))) return false;
    return true;
}

std::vector<std::uint32_t> PlanCloud::best(const PlanBrushes& brushes, std::size_t most) const
{
    const auto slower = [this](std::uint32_t a, std::uint32_t b) {
        const PlanPoint &p = m_points[a], &q = m_points[b];
        return std::tie(p.seconds, p.bytes, a) < std::tie(q.seconds, q.bytes, b);
    };
    std::vector<std::uint32_t> heap; // the slowest of the best on top
    for (std::size_t i = 0; i < m_points.size(); ++i) {
        const auto index = static_cast<std::uint32_t>(i);
        if (!m_points[i].feasible) continue;
        if (heap.size() == most && !slower(index, heap.front())) continue;
        if (!passes(m_points[i], brushes)) continue;
        if (heap.size() == most) {
            std::pop_heap(heap.begin(), heap.end(), slower);
            heap.pop_back();
        }
        heap.push_back(index);
        std::push_heap(heap.begin(), heap.end(), slower);
    }
    std::sort_heap(heap.begin(), heap.end(), slower);
    return heap;
}

std::vector<std::uint32_t> PlanCloud::sample(const PlanBrushes& brushes, std::size_t most) const
{
    std::vector<std::uint32_t> chosen;
    if (most == 0) return chosen;
    const bool all = brushes == PlanBrushes{};
    std::size_t passing = all ? m_points.size() : 0;
    if (!all)
        for (const PlanPoint& point : m_points) passing += passes(point, brushes) ? 1 : 0;
    const std::size_t stride = std::max<std::size_t>(1, (passing + most - 1) / most);
    std::size_t seen = 0;
    for (std::size_t i = 0; i < m_points.size(); i += all ? stride : 1)
        if (all || (passes(m_points[i], brushes) && seen++ % stride == 0))
            chosen.push_back(static_cast<std::uint32_t>(i));
    return chosen;
}

} // namespace fourwalls
