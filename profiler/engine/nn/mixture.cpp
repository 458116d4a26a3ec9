// SPDX-License-Identifier: Apache-2.0
// See mixture.h. n: tokens of this rank; E: experts; k: experts per token; C: hidden; F: inner width of an expert.
#include "profiler/engine/nn/mixture.h"

#include "profiler/engine/core/host_access.h"
#include "profiler/engine/nn/sequence_split.h"

#include <algorithm>
#include <numeric>

namespace fourwalls::engine {

namespace {

// Rows of one expert are filled up with zeros to a multiple of this, so that products come in few shapes.
constexpr std::int64_t kRowTile = 16;

std::int64_t tiled(std::int64_t rows)
{
    return (rows + kRowTile - 1) / kRowTile * kRowTile;
}

// Elements that travel when `rows` rows of the given width do.
std::vector<std::int64_t> elementsOf(const std::vector<std::int64_t>& rows, std::int64_t width)
{
    std::vector<std::int64_t> elements;
    for (const std::int64_t count : rows) elements.push_back(count * width);
    return elements;
}

} // namespace

MixtureOfExperts::MixtureOfExperts(const RankContext& rank, ParameterList& list, const TransformerSpec& spec,
                                   const std::string& prefix, std::uint64_t seed, double deviation,
                                   double residualDeviation, const MixtureOptions& options)
    : m_hidden(spec.hidden)
    , m_experts(spec.mixture.experts)
    , m_topK(spec.mixture.topK)
    , m_inner(splitEvenly(spec.mixture.expertHidden, tensorRanks(rank), tensorIndex(rank)).count)
    , m_activation(spec.activation)
    , m_options(options)
{
    const std::int64_t c = m_hidden, f = spec.mixture.expertHidden, own = m_experts / sizeOf(rank.expertGroup());
    m_firstExpert = own * indexIn(rank.expertGroup());
    const std::string router = prefix + "gate.weight";
    m_router.weight = &list.addMatrix(rank, seed, router, c, m_experts, deviation, {{router, 0, m_experts, true}});
    for (std::int64_t e = m_firstExpert; e < m_firstExpert + own; ++e) {
        // Named as in Mixtral's files: w1 is the gate, w3 the up and w2 the down projection.
        const std::string expert = prefix + "experts." + std::to_string(e) + ".";
        std::vector<ExternalPiece> pieces{{expert + "w1.weight", 0, f, true}},
            biases{{expert + "w1.bias", 0, f, false}};
        if (gated()) {
            pieces.push_back({expert + "w3.weight", f, f, true});
            biases.push_back({expert + "w3.bias", f, f, false});
        }
        const std::int64_t width = gated() ? 2 * f : f;
        const IndexRange inner = splitEvenly(f, tensorRanks(rank), tensorIndex(rank));
        std::vector<IndexRange> columns{inner};
        if (gated()) columns.push_back({f + inner.first, inner.count});
        Expert x;
        x.up.fuse = x.down.fuse = options.fuse;
        x.up.weight = &list.addMatrix(rank, seed, expert + "up.weight", c, width, deviation, pieces,
                                      Shard::ofColumns(c, width, columns));
        x.down.weight = &list.addMatrix(rank, seed, expert + "w2.weight", f, c, residualDeviation,
                                        {{expert + "w2.weight", 0, c, true}}, Shard::ofRows(f, c, inner));
        if (spec.biases) {
            x.up.bias =
                &list.addVector(rank, expert + "up.bias", width, 0.0, biases, Shard::ofColumns(1, width, columns));
            x.down.bias = &list.addVector(rank, expert + "w2.bias", c, 0.0);
        }
        for (Parameter* p : {x.up.weight, x.up.bias, x.down.weight, x.down.bias})
            if (p) p->expert = true;
        m_own.push_back(x);
    }
    Recorder& r = rank.recorder;
    for (std::int64_t e = m_firstExpert; e < m_firstExpert + own; ++e)
        m_tokenCounters.push_back(
            r.defineCounter(("tokens of expert " + std::to_string(e)).c_str(), CounterUnit::None, true));
    m_imbalance = r.defineCounter("expert imbalance", CounterUnit::None, true);
    m_auxiliary = r.defineCounter("load balance loss", CounterUnit::None, true);
    m_margin = r.defineCounter("router margin", CounterUnit::None, true);
}

Tensor MixtureOfExperts::indices(const RankContext& rank, const Shape& shape) const
{
    return Tensor::make(rank.allocator, shape, DType::I32, MemoryCategory::Activations);
}

// Probabilities, choices and gates.
void MixtureOfExperts::route(RankContext& rank, const Tensor& x, std::int64_t batch, Saved& s) const
{
    const Scope op(rank.recorder, SliceKind::Operator, "mixture.router");
    const std::int64_t n = x.rows();
    s.probabilities = rank.statistic({n, m_experts});
    rank.device.matmul(matrix(x), matrix(m_router.weight->compute), matrix(s.probabilities));
    rank.device.softmaxForward(s.probabilities, 1.0, false);
    s.choices = indices(rank, {n, m_topK});
    s.gates = rank.statistic({n, m_topK});
    const std::optional<ExpertSkew>& skew = rank.recorder.disturbance().expertSkew();
    const bool forced = m_options.routing == MoeRouting::Balanced || skew;
    if (forced) {
        // By the position in the sample, so that it does not matter where a token is worked on.
        const std::int64_t length = n / batch;
        const SequenceSplit split = SequenceSplit::of(rank, length * sizeOf(rank.contextGroup()));
        std::int32_t* choice = s.choices.as<std::int32_t>();
        for (std::int64_t t = 0; t < n; ++t, choice += m_topK) {
            const std::int64_t position = split.position(t % length);
            if (skew) skew->choose(position, m_experts, {choice, static_cast<std::size_t>(m_topK)});
            for (std::int64_t j = 0; !skew && j < m_topK; ++j)
                choice[j] = static_cast<std::int32_t>((position * m_topK + j) % m_experts);
        }
    }
    s.margin = RoutingOperators(rank.device).choose(s.probabilities, forced, s.choices, s.gates);
}

// The auxiliary loss and its gradient by a token's probability, from the choices of all ranks.
void MixtureOfExperts::balance(RankContext& rank, const std::vector<std::int64_t>& counts, Saved& s) const
{
    const Scope op(rank.recorder, SliceKind::Operator, "mixture.balance");
    // [0, E): tokens per expert; [E, 2E): sums of their probabilities.
    const Tensor sums = rank.statistic({2, m_experts});
    fillElements(sums, 0, m_experts,
                 [&](std::int64_t e) { return static_cast<double>(counts[static_cast<std::size_t>(e)]); });
    rank.device.columnSum(s.probabilities, sums.rowRange(1, 1), false);
    if (rank.groups && sizeOf(rank.groups->gradient.get()) > 1) rank.groups->gradient->allReduce(sums);
    const HostAccess sum(sums, HostAccess::Mode::Read); // a device is waited for once, not per expert
    double routed = 0, most = 0;
    for (std::int64_t e = 0; e < m_experts; ++e) {
        routed += sum.get(e);
        most = std::max(most, sum.get(e));
    }
    const double tokens = routed / static_cast<double>(m_topK), experts = static_cast<double>(m_experts);
    const auto slope = [&](std::int64_t e) { return kAuxiliaryLossWeight * experts * sum.get(e) / routed / tokens; };
    s.auxiliaryLoss = 0;
    for (std::int64_t e = 0; e < m_experts; ++e) s.auxiliaryLoss += slope(e) * sum.get(m_experts + e);
    s.expertTerm = rank.statistic({m_experts});
    fillElements(s.expertTerm, [&](std::int64_t e) { return slope(e) * m_options.microbatchShare; });
    if (rank.recorder.phase() == Phase::Recompute) return;
    const Instant now = rank.recorder.now();
    rank.recorder.counter(m_imbalance, now, most * experts / routed);
    rank.recorder.counter(m_auxiliary, now, s.auxiliaryLoss);
    if (m_options.routing == MoeRouting::Natural) rank.recorder.counter(m_margin, now, s.margin);
}

void MixtureOfExperts::report(RankContext& rank, const std::vector<std::int64_t>& tokens) const
{
    if (rank.recorder.phase() == Phase::Recompute) return;
    const Instant now = rank.recorder.now();
    for (std::size_t e = 0; e < m_tokenCounters.size(); ++e)
        rank.recorder.counter(m_tokenCounters[e], now, static_cast<double>(tokens[e]));
}

// Sorts the tokens' rows by expert, on the experts' ranks, with every expert's rows filled up to whole tiles.
void MixtureOfExperts::bringToExperts(RankContext& rank, const Tensor& x, const std::vector<std::int64_t>& counts,
                                      Saved& s) const
{
    const Scope op(rank.recorder, SliceKind::Operator, "mixture.dispatch");
    RoutingOperators routing(rank.device);
    Communicator* group = sizeOf(rank.expertGroup()) > 1 ? rank.expertGroup() : nullptr;
    const auto members = static_cast<std::size_t>(sizeOf(group)), own = m_own.size();
    const std::int64_t n = x.rows();

    // Rows of each own expert, from each member.
    std::vector<std::int64_t> incoming(members * own);
    s.sent.assign(members, 0);
    s.received.assign(members, 0);
    if (group) {
        const Tensor out = indices(rank, {m_experts}), in = indices(rank, {static_cast<std::int64_t>(incoming.size())});
        for (std::size_t e = 0; e < counts.size(); ++e)
            out.as<std::int32_t>()[e] = static_cast<std::int32_t>(counts[e]);
        const std::vector<std::int64_t> each(members, static_cast<std::int64_t>(own));
        group->allToAll(out, each, in, each);
        for (std::size_t i = 0; i < incoming.size(); ++i) incoming[i] = in.as<std::int32_t>()[i];
    } else {
        incoming = counts;
    }
    std::vector<std::int64_t> tokens(own, 0);
    for (std::size_t m = 0; m < members; ++m)
        for (std::size_t e = 0; e < own; ++e) {
            tokens[e] += incoming[m * own + e];
            s.received[m] += incoming[m * own + e];
            s.sent[m] += counts[m * own + e];
        }
    report(rank, tokens);
    s.firstRow.assign(1, 0);
    for (std::size_t e = 0; e < own; ++e) s.firstRow.push_back(s.firstRow.back() + tiled(tokens[e]));

    // Where each token's copies lie: without other members directly among the experts' rows, else in what is sent.
    std::vector<std::int64_t> next(counts.size(), 0);
    if (group)
        std::exclusive_scan(counts.begin(), counts.end(), next.begin(), std::int64_t{0});
    else
        next.assign(s.firstRow.begin(), s.firstRow.end() - 1);
    const std::int64_t places = group ? n * m_topK : s.firstRow.back();
    s.spots = indices(rank, {n, m_topK});
    const Tensor sources = indices(rank, {places});
    std::fill_n(sources.as<std::int32_t>(), places, -1);
    for (std::int64_t i = 0; i < n * m_topK; ++i) {
        std::int64_t& place = next[static_cast<std::size_t>(s.choices.as<std::int32_t>()[i])];
        s.spots.as<std::int32_t>()[i] = static_cast<std::int32_t>(place);
        sources.as<std::int32_t>()[place++] = static_cast<std::int32_t>(i / m_topK);
    }
    s.rows = rank.activation({s.firstRow.back(), m_hidden});
    if (!group) {
        routing.gatherRows(x, sources, s.rows);
        return;
    }
    const std::int64_t arrived = std::accumulate(s.received.begin(), s.received.end(), std::int64_t{0});
    const auto buffer = [&](std::int64_t rows) {
        return Tensor::make(rank.allocator, {rows, m_hidden}, rank.format.compute, MemoryCategory::CommBuffers);
    };
    const Tensor leaving = buffer(places), coming = buffer(arrived);
    routing.gatherRows(x, sources, leaving);
    group->allToAll(leaving, elementsOf(s.sent, m_hidden), coming, elementsOf(s.received, m_hidden));
    // What came lies by member, then by expert.
    s.arrival = indices(rank, {s.firstRow.back()});
    s.arrangement = indices(rank, {arrived});
    std::fill_n(s.arrival.as<std::int32_t>(), s.firstRow.back(), -1);
    std::vector<std::int64_t> place(s.firstRow.begin(), s.firstRow.end() - 1);
    std::int32_t row = 0;
    for (std::size_t m = 0; m < members; ++m)
        for (std::size_t e = 0; e < own; ++e)
            for (std::int64_t i = 0; i < incoming[m * own + e]; ++i, ++row) {
                s.arrival.as<std::int32_t>()[place[e]] = row;
                s.arrangement.as<std::int32_t>()[row] = static_cast<std::int32_t>(place[e]++);
            }
    routing.gatherRows(coming, s.arrival, s.rows);
}

// The results of this rank's experts; under tensor parallelism this rank's summands of them.
Tensor MixtureOfExperts::runExperts(RankContext& rank, Saved& s) const
{
    const Scope op(rank.recorder, SliceKind::Operator, "mixture.experts");
    const std::int64_t rows = s.rows.rows();
    Tensor out = rank.activation({rows, m_hidden});
    s.hidden = rank.activation({rows, gated() ? 2 * m_inner : m_inner});
    s.activated = rank.activation({rows, m_inner});
    forEachExpert(s, [&](const Expert& expert, std::int64_t first, std::int64_t count) {
        expert.up.forward(rank, s.rows.rowRange(first, count), s.hidden.rowRange(first, count));
    });
    if (gated())
        rank.device.swigluForward(s.hidden, s.activated);
    else
        rank.device.geluForward(s.hidden, s.activated);
    forEachExpert(s, [&](const Expert& expert, std::int64_t first, std::int64_t count) {
        Linear down = expert.down;
        if (tensorIndex(rank) > 0) down.bias = nullptr; // once in the sum
        down.forward(rank, s.activated.rowRange(first, count), out.rowRange(first, count));
    });
    return out;
}

Tensor MixtureOfExperts::forward(RankContext& rank, const Tensor& x, const Tensor& residual, std::int64_t batch,
                                 Saved& s) const
{
    s.input = x;
    const Tensor all = gatherRows(rank, x);
    route(rank, all, batch, s);
    std::vector<std::int64_t> counts(static_cast<std::size_t>(m_experts), 0);
    for (std::int64_t i = 0; i < s.choices.elements(); ++i)
        ++counts[static_cast<std::size_t>(s.choices.as<std::int32_t>()[i])];
    balance(rank, counts, s);
    bringToExperts(rank, all, counts, s);
    s.results = runExperts(rank, s);

    const Scope op(rank.recorder, SliceKind::Operator, "mixture.combine");
    RoutingOperators routing(rank.device);
    if (s.arrival.defined()) s.results = sendBack(rank, s.results, s);
    Tensor y = rank.activation(x.shape());
    if (tensorRanks(rank) == 1) {
        routing.combineRows(s.results, s.spots, s.gates, residual, y);
        return y;
    }
    if (rowsAreCut(rank)) {
        const Tensor partial =
            Tensor::make(rank.allocator, all.shape(), rank.format.compute, MemoryCategory::CommBuffers);
        routing.combineRows(s.results, s.spots, s.gates, {}, partial);
        rank.tensorGroup()->reduceScatter(partial, y);
    } else {
        routing.combineRows(s.results, s.spots, s.gates, {}, y);
        rank.tensorGroup()->allReduce(y);
    }
    rank.device.add(y, residual, y);
    return y;
}

// Rows of the experts, in their order, to the tokens that asked for them.
Tensor MixtureOfExperts::sendBack(RankContext& rank, const Tensor& rows, const Saved& s) const
{
    const Tensor leaving = Tensor::make(rank.allocator, {s.arrangement.elements(), m_hidden}, rank.format.compute,
                                        MemoryCategory::CommBuffers);
    RoutingOperators(rank.device).gatherRows(rows, s.arrangement, leaving);
    Tensor back = rank.activation({s.spots.elements(), m_hidden});
    rank.expertGroup()->allToAll(leaving, elementsOf(s.received, m_hidden), back, elementsOf(s.sent, m_hidden));
    return back;
}

// The gradient of the experts' results, on the experts' ranks, in the order of their rows; zeros where rows are filler.
Tensor MixtureOfExperts::gradientOfResults(RankContext& rank, const Tensor& dy, const Tensor& dGates,
                                           const Saved& s) const
{
    const Scope op(rank.recorder, SliceKind::Operator, "mixture.combine");
    RoutingOperators routing(rank.device);
    if (!s.arrival.defined()) {
        const Tensor d = rank.temporary(s.results.shape());
        rank.device.zero(d);
        routing.combineGradient(s.results, s.spots, s.gates, dy, d, dGates);
        return d;
    }
    const auto buffer = [&](std::int64_t rows) {
        return Tensor::make(rank.allocator, {rows, m_hidden}, rank.format.compute, MemoryCategory::CommBuffers);
    };
    const Tensor leaving = buffer(s.results.rows()), coming = buffer(s.arrangement.elements());
    routing.combineGradient(s.results, s.spots, s.gates, dy, leaving, dGates);
    rank.expertGroup()->allToAll(leaving, elementsOf(s.sent, m_hidden), coming, elementsOf(s.received, m_hidden));
    const Tensor d = rank.temporary({s.arrival.elements(), m_hidden});
    routing.gatherRows(coming, s.arrival, d);
    return d;
}

// From the gradient of the experts' results to that of their rows; adds the gradients of their weights.
Tensor MixtureOfExperts::runExpertsBackward(RankContext& rank, const Tensor& dResults, Saved& s) const
{
    const Scope op(rank.recorder, SliceKind::Operator, "mixture.experts");
    const Tensor dActivated = rank.temporary(s.activated.shape());
    forEachExpert(s, [&](const Expert& expert, std::int64_t first, std::int64_t count) {
        expert.down.backwardInput(rank, dResults.rowRange(first, count), dActivated.rowRange(first, count));
        expert.down.backwardWeight(rank, s.activated.rowRange(first, count), dResults.rowRange(first, count));
    });
    s.activated.reset();
    Tensor dHidden = dActivated;
    if (gated()) {
        dHidden = rank.temporary(s.hidden.shape());
        rank.device.swigluBackward(s.hidden, dActivated, dHidden);
    } else {
        if (!rank.inPlace) dHidden = rank.temporary(s.hidden.shape());
        rank.device.geluBackward(s.hidden, dActivated, dHidden);
    }
    s.hidden.reset();
    Tensor dRows = rank.temporary(s.rows.shape());
    forEachExpert(s, [&](const Expert& expert, std::int64_t first, std::int64_t count) {
        expert.up.backwardInput(rank, dHidden.rowRange(first, count), dRows.rowRange(first, count));
        expert.up.backwardWeight(rank, s.rows.rowRange(first, count), dHidden.rowRange(first, count));
    });
    s.rows.reset();
    return dRows;
}

Tensor MixtureOfExperts::backward(RankContext& rank, const Tensor& dy, Saved& s) const
{
    RoutingOperators routing(rank.device);
    const bool cut = rowsAreCut(rank), several = tensorRanks(rank) > 1;
    const Tensor dGates =
        Tensor::make(rank.allocator, s.gates.shape(), rank.format.master, MemoryCategory::Temporaries);
    const Tensor dResults = gradientOfResults(rank, gatherRows(rank, dy), dGates, s);
    // Each rank has seen its summands of the experts' results only.
    if (several) rank.tensorGroup()->allReduce(dGates);
    s.results.reset();
    Tensor up = runExpertsBackward(rank, dResults, s);

    const Shape full{s.spots.rows(), m_hidden};
    Tensor dx = cut ? Tensor::make(rank.allocator, full, rank.format.compute, MemoryCategory::CommBuffers)
                    : rank.temporary(full);
    {
        const Scope op(rank.recorder, SliceKind::Operator, "mixture.dispatch");
        if (s.arrival.defined()) up = sendBack(rank, up, s);
        routing.combineRows(up, s.spots, {}, {}, dx);
        up.reset();
    }
    const Scope op(rank.recorder, SliceKind::Operator, "mixture.router");
    routing.routerGradient(s.probabilities, s.choices, s.gates, dGates, s.expertTerm);
    Tensor dLogits = s.probabilities;
    if (rank.format.compute != rank.format.master) {
        dLogits = rank.temporary(s.probabilities.shape());
        rank.device.convert(s.probabilities, dLogits);
    }
    if (tensorIndex(rank) == 0) { // once in the sum
        MatmulOptions add;
        add.accumulate = true;
        rank.device.matmul(matrix(dLogits), matrix(m_router.weight->compute).transposed(), matrix(dx), add);
    }
    m_router.backwardWeight(rank, gatherRows(rank, s.input), dLogits);
    if (cut) {
        const Tensor held = rank.temporary(s.input.shape());
        rank.tensorGroup()->reduceScatter(dx, held);
        dx = held;
    } else if (several) {
        rank.tensorGroup()->allReduce(dx);
    }
    s = {};
    return dx;
}

} // namespace fourwalls::engine
