// SPDX-License-Identifier: Apache-2.0
// The operators of a mixture of experts in a layer: routing, exchange between expert-parallel ranks, the experts' products.
#include "model/cost/layer_shape.h"

#include <algorithm>
#include <cmath>

namespace fourwalls::cost {

namespace {

/// Chance that one of a token's experts is on a given one of the nodes (or ranks) that share the experts out. Where the
/// router picks some of its groups of experts first, the token goes to those alone.
double shareOfNodes(const ExpertSpec& mixture, double nodes)
{
    const auto copies = static_cast<double>(mixture.topK);
    if (mixture.groups <= 1) return 1 - std::pow(1 - 1 / nodes, copies);
    const auto groups = static_cast<double>(mixture.groups), picked = static_cast<double>(mixture.topGroups);
    const double perNode = groups / nodes; // of a group, if below 1
    if (perNode < 1) return picked / groups * (1 - std::pow(1 - perNode, copies / picked));
    // Of the groups that are here, `here` are among the picked: hypergeometric.
    const auto ways = [](double of, double take) {
        return std::exp(std::lgamma(of + 1) - std::lgamma(take + 1) - std::lgamma(of - take + 1));
    };
    double missed = 0;
    const double most = std::min(std::floor(perNode), picked);
    for (double here = 0; here <= most; ++here) {
        if (picked - here > groups - perNode) continue;
        const double chance = ways(perNode, here) * ways(groups - perNode, picked - here) / ways(groups, picked);
        missed += chance * std::pow(1 - here / picked, copies);
    }
    return 1 - missed;
}

} // namespace

void LayerShape::exchangeExperts(PassBuilder& pass, const CostContext& c, const LayerSetting& s, const char* name,
                                 Collective kind) const
{
    const double bytes = e * expertRows * hidden;
    pass.communicate(
        name, CostPart::TensorComm, kind,
        c.collectives.seconds(kind, bytes, placeGroup(s.expertTensor(), 1, c.devicesPerNode), s.collective), bytes,
        CollectiveTimes::wireBytes(kind, bytes, s.expertTensor()));
}

void LayerShape::gatherExperts(PassBuilder& pass, const CostContext& c, const LayerSetting& s, const char* name) const
{
    if (s.expertTensor() == s.tp) return gatherInput(pass, c, s, name, 0);
    exchangeExperts(pass, c, s, name, Collective::AllGather);
}

void LayerShape::reduceExperts(PassBuilder& pass, const CostContext& c, const LayerSetting& s, const char* name) const
{
    if (s.expertTensor() == s.tp) return reduceOutput(pass, c, s, name);
    exchangeExperts(pass, c, s, name, Collective::ReduceScatter);
}

void LayerShape::allToAll(PassBuilder& pass, const CostContext& c, const LayerSetting& s, const char* name) const
{
    if (s.ep <= 1) return;
    const double skew = s.naturalRouting ? c.calibration.routingImbalance : 1;
    const double bytes = e * m_routed * hidden * skew;
    const GroupPlacement group = placeGroup(s.ep, s.expertTensor(), c.devicesPerNode);
    const double window = s.overlapExperts ? s.besideExchange : 0;
    double seconds = 0;
    if (s.oncePerNode) {
        // To each other node once, if any of the token's experts is there, and on inside the node to each rank once.
        const double row = e * rowsSplit * hidden * skew;
        const double visits = s.ep * shareOfNodes(c.model.mixture, s.ep);
        const GroupPlacement inside{std::min(group.ranks, group.perNode), group.perNode};
        seconds = c.collectives.seconds(Collective::AllToAll, row * visits, inside);
        const double nodes = group.nodes();
        if (!group.insideNode())
            seconds += c.collectives.pointToPoint(row * (nodes - 1) * shareOfNodes(c.model.mixture, nodes), false);
    } else {
        seconds = c.collectives.seconds(Collective::AllToAll, bytes, group, s.collective);
    }
    // Between nodes the exchange of a step is slower than alone; beside computation that is said there.
    if (!group.insideNode() && window == 0) seconds /= c.calibration.besideFraction;
    pass.communicateBeside(name, CostPart::ExpertComm, Collective::AllToAll, seconds, bytes,
                           CollectiveTimes::wireBytes(Collective::AllToAll, e * m_routed * hidden, s.ep), window);
}

/// What came from other ranks lies rank by rank and is wanted expert by expert. Where a token goes to a rank only once,
/// it is copied there and nowhere before, which is the permutation that is counted already.
void LayerShape::sortReceived(PassBuilder& pass, const CostContext& c, const LayerSetting& s, const char* name) const
{
    if (!c.framework.sortsReceivedRows || s.ep <= 1 || experts <= 1 || s.oncePerNode) return;
    pass.memory(name, 2 * e * expertRows * hidden, 1);
}

/// How many rows every expert gets from this rank (four bytes each), before the rows themselves.
void LayerShape::exchangeCounts(PassBuilder& pass, const CostContext& c, const LayerSetting& s) const
{
    if (s.ep <= 1) return;
    const double bytes = 4 * static_cast<double>(c.model.mixture.experts);
    pass.communicate(
        "moe.counts", CostPart::ExpertComm, Collective::AllToAll,
        c.collectives.seconds(Collective::AllToAll, bytes, placeGroup(s.ep, s.expertTensor(), c.devicesPerNode)), bytes,
        CollectiveTimes::wireBytes(Collective::AllToAll, bytes, s.ep));
}

/// Expert by expert the bias times the gate in 32 bits, the sum with the expert's result, all of them in one, in 16 bits.
void LayerShape::addExpertBiases(PassBuilder& pass, const CostContext& c) const
{
    if (!c.framework.addsExpertBiases || !c.model.biases) return;
    constexpr double kWide = 4;
    pass.memory("moe.bias", (2 * e + 6 * kWide) * expertRows * hidden, static_cast<int>(2 * experts) + 2);
}

/// The gradient in 32 bits; of the result; of bias and gate a product and a sum each.
void LayerShape::addExpertBiasesBackward(PassBuilder& pass, const CostContext& c) const
{
    if (!c.framework.addsExpertBiases || !c.model.biases) return;
    constexpr double kWide = 4;
    pass.memory("moe.bias.backward", (2 * e + 8 * kWide) * expertRows * hidden, static_cast<int>(5 * experts) + 1);
}

/// A block of its own, with its own exchange.
void LayerShape::sharedForward(PassBuilder& pass, const CostContext& c, const LayerSetting& s) const
{
    if (!(sharedInner > 0)) return;
    gatherInput(pass, c, s, "moe.shared.all_gather", 0);
    pass.gemm("moe.shared.up", {1, rows, gates * sharedInner, hidden});
    activationForward(pass, c, rows, sharedInner);
    pass.gemm("moe.shared.down", {1, rows, hidden, sharedInner});
    reduceOutput(pass, c, s, "moe.shared.all_reduce");
}

void LayerShape::mixtureForward(PassBuilder& pass, const CostContext& c, const LayerSetting& s) const
{
    const auto all = static_cast<double>(c.model.mixture.experts);
    gatherExperts(pass, c, s, "moe.all_gather");
    pass.gemm("moe.router", {1, rowsSplit, all, hidden});
    pass.memory("moe.top_k", 8 * rowsSplit * all, 6);
    if (s.balanced.ranks > 1) { // choices and probabilities of every expert
        const double bytes = 2 * 4 * all;
        pass.communicate("moe.balance", CostPart::ParameterComm, Collective::AllReduce,
                         c.collectives.seconds(Collective::AllReduce, bytes, s.balanced), bytes,
                         CollectiveTimes::wireBytes(Collective::AllReduce, bytes, s.balanced.ranks));
    }
    pass.setCaptured(false);
    pass.memory("moe.permute", 2 * e * m_routed * hidden, 4);
    exchangeCounts(pass, c, s);
    allToAll(pass, c, s, "moe.dispatch");
    sortReceived(pass, c, s, "moe.sort");
    pass.gemm("moe.up", {experts, expertRows / experts, gates * expertInner, hidden});
    activationForward(pass, c, expertRows, expertInner);
    pass.gemm("moe.down", {experts, expertRows / experts, hidden, expertInner});
    addExpertBiases(pass, c);
    sortReceived(pass, c, s, "moe.unsort");
    allToAll(pass, c, s, "moe.combine");
    pass.memory("moe.unpermute", e * (m_topK + 1) * rowsSplit * hidden, 4);
    sharedForward(pass, c, s);
    reduceExperts(pass, c, s, "moe.all_reduce");
}

void LayerShape::mixtureBackwardInput(PassBuilder& pass, const CostContext& c, const LayerSetting& s) const
{
    const auto all = static_cast<double>(c.model.mixture.experts);
    if (s.expertTensor() == s.tp)
        gatherGradient(pass, c, s, "moe.all_gather_gradient");
    else
        exchangeExperts(pass, c, s, "moe.all_gather_gradient", Collective::AllGather);
    pass.memory("moe.unpermute.backward", 2 * e * m_routed * hidden, 4);
    allToAll(pass, c, s, "moe.combine.backward");
    sortReceived(pass, c, s, "moe.unsort.backward");
    if (c.framework.globalRouting && s.tp > 1) { // every rank has seen its summands of the experts' results only
        const double bytes = 4 * rows * m_topK;
        pass.communicate("moe.gates", CostPart::TensorComm, Collective::AllReduce,
                         tensorCollective(c, s, Collective::AllReduce, bytes), bytes,
                         CollectiveTimes::wireBytes(Collective::AllReduce, bytes, s.tp));
    }
    addExpertBiasesBackward(pass, c);
    pass.gemm("moe.down.input_gradient", {experts, expertRows / experts, expertInner, hidden});
    activationBackward(pass, c, expertRows, expertInner);
    pass.gemm("moe.up.input_gradient", {experts, expertRows / experts, hidden, gates * expertInner});
    sortReceived(pass, c, s, "moe.sort.backward");
    allToAll(pass, c, s, "moe.dispatch.backward");
    pass.memory("moe.permute.backward", e * (m_topK + 1) * rowsSplit * hidden, 4);
    pass.setCaptured(c.framework.capturesAttention);
    pass.gemm("moe.router.input_gradient", {1, rowsSplit, hidden, all});
    pass.setCaptured(false);
    if (sharedInner > 0) {
        gatherGradient(pass, c, s, "moe.shared.all_gather_gradient");
        pass.gemm("moe.shared.down.input_gradient", {1, rows, sharedInner, hidden});
        activationBackward(pass, c, rows, sharedInner);
        pass.gemm("moe.shared.up.input_gradient", {1, rows, hidden, gates * sharedInner});
        reduceGradient(pass, c, s, "moe.shared.all_reduce_gradient", 0);
    }
    if (s.expertTensor() == s.tp)
        reduceGradient(pass, c, s, "moe.all_reduce_gradient", m_upSeconds);
    else
        exchangeExperts(pass, c, s, "moe.all_reduce_gradient", Collective::ReduceScatter);
}

void LayerShape::mixtureBackwardWeight(PassBuilder& pass, const CostContext& c, double outputBytes) const
{
    const auto all = static_cast<double>(c.model.mixture.experts);
    pass.gemm("moe.down.weight_gradient", {experts, hidden, expertInner, expertRows / experts}, 8, outputBytes);
    pass.gemm("moe.up.weight_gradient", {experts, gates * expertInner, hidden, expertRows / experts}, 8, outputBytes);
    pass.gemm("moe.router.weight_gradient", {1, all, hidden, rowsSplit}, 8, outputBytes);
    if (sharedInner > 0) {
        pass.gemm("moe.shared.down.weight_gradient", {1, hidden, sharedInner, rows}, 8, outputBytes);
        pass.gemm("moe.shared.up.weight_gradient", {1, gates * sharedInner, hidden, rows}, 8, outputBytes);
    }
}

} // namespace fourwalls::cost
