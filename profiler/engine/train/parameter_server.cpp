// SPDX-License-Identifier: Apache-2.0
// See parameter_server.h.
#include "profiler/engine/train/parameter_server.h"

#include "profiler/engine/core/host_access.h"
#include "profiler/engine/nn/recommendation.h"
#include "profiler/engine/train/network.h"
#include "profiler/engine/train/safetensors.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace fourwalls::engine {

namespace {

// From element `from` on, of a tensor in the same rank's memory.
void copyStretch(const Tensor& source, std::int64_t from, const Tensor& to)
{
    const Tensor part = source.part(from, {to.elements()});
    const HostAccess values(part, HostAccess::Mode::Read);
    fillElements(to, [&](std::int64_t i) { return values.get(i); });
}

} // namespace

Result<std::unique_ptr<ParameterServerRank>> ParameterServerRank::create(RankContext& rank, const RunSpec& spec,
                                                                         const std::string& weightsDirectory)
{
    std::unique_ptr<ParameterServerRank> server(new ParameterServerRank(rank, spec));
    FOURWALLS_TRY(server->setUp(weightsDirectory));
    return server;
}

ParameterServerRank::ParameterServerRank(RankContext& rank, const RunSpec& spec)
    : m_rank(rank)
    , m_spec(spec)
    , m_index(rank.recorder.rank().value - spec.plan.worldSize())
    , m_sync(spec.plan.parameterServer == ParameterServer::Sync)
    , m_workers(static_cast<std::size_t>(spec.plan.worldSize()))
{
    Recorder& r = rank.recorder;
    m_staleness = r.defineCounter("staleness", CounterUnit::None, true);
    m_versionCounter = r.defineCounter("updates", CounterUnit::None, true);
}

Status ParameterServerRank::setUp(const std::string& weightsDirectory)
{
    RankContext alone = m_rank;
    alone.groups = nullptr;
    alone.describeOnly = weightsDirectory.empty();
    RunSpec described = m_spec;
    // From a file everything is read, tables included, and what belongs to other servers is dropped again.
    if (!alone.describeOnly) described.plan.parameterServer = ParameterServer::None;
    FOURWALLS_TRY_ASSIGN(const Network network, makeNetwork(alone, described));
    ParameterList& whole = network.chunks.front()->parameters();
    if (!alone.describeOnly) FOURWALLS_TRY(loadWeights(alone, weightsDirectory, whole));
    Network dense;
    if (alone.describeOnly || !m_spec.model.recommendation()) {
        dense = {};
    } else {
        RankContext describing = alone;
        describing.describeOnly = true;
        FOURWALLS_TRY_ASSIGN(dense, makeNetwork(describing, m_spec));
    }
    const ParameterList& list = dense.chunks.empty() ? whole : dense.chunks.front()->parameters();
    // What was read from the file; null: every parameter begins with its initial values.
    const auto loaded = [&](const std::string& name) -> const Parameter* {
        if (alone.describeOnly) return nullptr;
        for (const auto& candidate : whole.all())
            if (candidate->name == name) return candidate.get();
        return nullptr;
    };

    const ServerLayout layout(list, m_spec.plan.servers);
    const auto flat = [&](MemoryCategory category) {
        const Tensor t = Tensor::make(m_rank.allocator, {layout.share, 1}, m_rank.format.master, category);
        m_rank.device.zero(t);
        return t;
    };
    m_weights = flat(MemoryCategory::Weights);
    m_gradients = flat(MemoryCategory::Gradients);
    std::vector<ParameterPiece> pieces;
    RankContext describing = m_rank;
    describing.groups = nullptr;
    describing.describeOnly = true;
    for (const ServerLayout::Stretch& s : layout.stretchesOf(m_index)) {
        Parameter& p = m_shares.addVector(describing, s.parameter->name, s.count, 0.0);
        p.decays = s.parameter->decays;
        p.weight = p.compute = stretch(m_weights, s.place, s.count);
        p.gradient = stretch(m_gradients, s.place, s.count);
        if (const Parameter* const read = loaded(s.parameter->name))
            copyStretch(read->weight, s.first, p.weight);
        else
            fillElements(p.weight, [&](std::int64_t i) { return s.parameter->initial(s.first + i); });
        pieces.push_back({&p, 0, p.weight, {}, p.gradient, true, -1});
    }
    if (const RecommendationSpec* spec = m_spec.model.recommendation()) {
        const IndexRange rows = splitEvenly(spec->rowsPerTable, m_spec.plan.servers, m_index);
        for (std::int64_t t = 0; t < spec->tables; ++t) {
            Parameter& p = m_shares.addMatrix(describing, m_spec.training.seed, tableName(t), rows.count,
                                              spec->embeddingWidth, 0.0);
            const auto make = [&](MemoryCategory category) {
                return Tensor::make(m_rank.allocator, p.shape, m_rank.format.master, category);
            };
            p.weight = p.compute = make(MemoryCategory::Weights);
            p.gradient = make(MemoryCategory::Gradients);
            const std::int64_t before = rows.first * spec->embeddingWidth;
            if (const Parameter* const read = loaded(p.name))
                copyStretch(read->weight, before, p.weight);
            else
                fillElements(p.weight,
                             [&](std::int64_t i) { return tableEntry(*spec, m_spec.training.seed, t, before + i); });
            m_rank.device.zero(p.gradient);
            m_tables.push_back(&p);
            pieces.push_back({&p, 0, p.weight, {}, p.gradient, true, -1});
        }
    }
    TrainingSettings settings = m_spec.training;
    // Every worker's gradients are an update of their own: the rate falls as far over as many more of them.
    if (!m_sync) settings.steps *= m_spec.plan.worldSize();
    m_optimizer = std::make_unique<ParameterOptimizer>(m_rank, pieces, settings);
    for (Worker& worker : m_workers) worker.rowGradients.resize(m_tables.size());
    return {};
}

std::int64_t ParameterServerRank::steps() const
{
    std::int64_t least = -1;
    for (const Worker& worker : m_workers)
        if (!worker.done && (least < 0 || worker.pushes < least)) least = worker.pushes;
    return least;
}

void ParameterServerRank::serve(const std::function<void(std::int64_t)>& beforeStep)
{
    std::vector<int> members(m_workers.size());
    std::iota(members.begin(), members.end(), 0);
    std::int64_t begun = 0;
    beforeStep(0);
    while (std::any_of(m_workers.begin(), m_workers.end(), [](const Worker& w) { return !w.done; })) {
        handle(m_rank.groups->world->awaitAny(members));
        for (; begun < steps(); beforeStep(++begun)) closeStep();
    }
}

void ParameterServerRank::closeStep()
{
    if (!m_step) return;
    m_step.reset();
    Recorder& r = m_rank.recorder;
    r.settle();
    StepRecord record;
    record.step = StepIndex{static_cast<std::int32_t>(m_closedSteps)};
    record.range = {m_stepStart, r.now()};
    if (m_closedSteps < r.firstMeasured(m_spec.training.steps)) record.state = StepState::Warmup;
    r.step(record);
    ++m_closedSteps;
}

void ParameterServerRank::handle(int worker)
{
    Communicator& world = *m_rank.groups->world;
    const Tensor header = buffer({1 + static_cast<std::int64_t>(m_tables.size())}, DType::I32);
    world.receive(header, worker);
    const auto kind = static_cast<ServerMessage>(header.as<std::int32_t>()[0]);
    if (kind == ServerMessage::Done) {
        Worker& w = m_workers[static_cast<std::size_t>(worker)];
        w.done = true;
        // Those who wait for this worker's gradients need not any more.
        std::vector<int> waiting;
        bool all = true;
        for (std::size_t i = 0; i < m_workers.size(); ++i) {
            if (m_workers[i].waiting) waiting.push_back(static_cast<int>(i));
            all = all && (m_workers[i].waiting || m_workers[i].done);
        }
        if (all && !waiting.empty()) update(waiting);
        return;
    }
    if (!m_step && m_closedSteps < m_spec.training.steps) {
        m_stepStart = m_rank.recorder.now();
        m_step = std::make_unique<Scope>(m_rank.recorder, SliceKind::Step, "step");
    }
    switch (kind) {
    case ServerMessage::PullWeights: return sendWeights(worker);
    case ServerMessage::PullRows: return sendRows(worker, header);
    case ServerMessage::PushRows: return takeRows(worker, header);
    case ServerMessage::PushGradients: return takeGradients(worker);
    case ServerMessage::Done: return;
    }
}

void ParameterServerRank::sendWeights(int worker)
{
    const Scope scope(m_rank.recorder, SliceKind::Phase, "send weights", Phase::GradientSync);
    const Tensor version = buffer({1}, DType::F64);
    version.as<double>()[0] = static_cast<double>(m_version);
    m_rank.groups->world->send(m_weights, worker);
    m_rank.groups->world->send(version, worker);
}

void ParameterServerRank::sendRows(int worker, const Tensor& header)
{
    const Scope scope(m_rank.recorder, SliceKind::Phase, "send rows", Phase::GradientSync);
    const RecommendationSpec& spec = *m_spec.model.recommendation();
    const std::int64_t firstRow = splitEvenly(spec.rowsPerTable, m_spec.plan.servers, m_index).first;
    const std::int32_t* counts = header.as<std::int32_t>() + 1;
    const std::int64_t total = std::accumulate(counts, counts + m_tables.size(), std::int64_t{0});
    const Tensor ids = buffer({total, 1}, DType::I32);
    m_rank.groups->world->receive(ids, worker);
    const Tensor rows = buffer({total, spec.embeddingWidth}, m_rank.format.master);
    Worker& w = m_workers[static_cast<std::size_t>(worker)];
    w.ids.clear();
    std::int64_t row = 0;
    for (std::size_t t = 0; t < m_tables.size(); ++t) {
        w.ids.push_back(ids.rowRange(row, counts[t]));
        if (counts[t] > 0)
            m_rank.device.embeddingForward(w.ids.back(), m_tables[t]->weight, {}, rows.rowRange(row, counts[t]),
                                           firstRow);
        row += counts[t];
    }
    m_rank.groups->world->send(rows, worker);
}

void ParameterServerRank::takeRows(int worker, const Tensor& header)
{
    const Scope scope(m_rank.recorder, SliceKind::Phase, "take rows", Phase::GradientSync);
    const std::int32_t* counts = header.as<std::int32_t>() + 1;
    const std::int64_t total = std::accumulate(counts, counts + m_tables.size(), std::int64_t{0});
    const Tensor gradients = buffer({total, m_spec.model.recommendation()->embeddingWidth}, m_rank.format.master);
    m_rank.groups->world->receive(gradients, worker);
    Worker& w = m_workers[static_cast<std::size_t>(worker)];
    std::int64_t row = 0;
    for (std::size_t t = 0; t < m_tables.size(); ++t) {
        if (counts[t] > 0) w.rowGradients[t].emplace_back(w.ids[t], gradients.rowRange(row, counts[t]));
        row += counts[t];
    }
}

void ParameterServerRank::takeGradients(int worker)
{
    const Tensor facts = buffer({3}, DType::F64), gradient = buffer(m_weights.shape(), m_rank.format.master);
    {
        const Scope scope(m_rank.recorder, SliceKind::Phase, "take gradients", Phase::GradientSync);
        m_rank.groups->world->receive(facts, worker);
        m_rank.groups->world->receive(gradient, worker);
    }
    Worker& w = m_workers[static_cast<std::size_t>(worker)];
    w.loss = facts.as<double>()[0];
    w.squares = facts.as<double>()[1];
    w.version = facts.as<double>()[2];
    w.gradient = gradient;
    w.waiting = true;
    ++w.pushes;
    if (!m_sync) return update({worker});
    std::vector<int> waiting;
    for (std::size_t i = 0; i < m_workers.size(); ++i) {
        if (!m_workers[i].waiting && !m_workers[i].done) return;
        if (m_workers[i].waiting) waiting.push_back(static_cast<int>(i));
    }
    update(waiting);
}

// The norm of the gradients that are about to be applied, over all servers.
double ParameterServerRank::normOf(const std::vector<int>& workers)
{
    if (!m_sync) return std::sqrt(m_workers[static_cast<std::size_t>(workers.front())].squares);
    const Scope op(m_rank.recorder, SliceKind::Operator, "gradient norm");
    Communicator& world = *m_rank.groups->world;
    const int first = m_spec.plan.worldSize(), servers = m_spec.plan.servers;
    const Tensor squares = buffer({1}, DType::F64);
    squares.as<double>()[0] = m_optimizer->gradientSquares(m_rank);
    if (m_index > 0) {
        world.send(squares, first);
        world.receive(squares, first);
    } else if (servers > 1) {
        double sum = squares.as<double>()[0];
        for (int s = 1; s < servers; ++s) {
            world.receive(squares, first + s);
            sum += squares.as<double>()[0];
        }
        squares.as<double>()[0] = sum;
        for (int s = 1; s < servers; ++s) world.send(squares, first + s);
    }
    return std::sqrt(squares.as<double>()[0]);
}

void ParameterServerRank::update(const std::vector<int>& workers)
{
    Recorder& r = m_rank.recorder;
    const Scope phase(r, SliceKind::Phase, "optimizer", Phase::Optimizer);
    const std::int64_t firstRow =
        m_tables.empty() ? 0
                         : splitEvenly(m_spec.model.recommendation()->rowsPerTable, m_spec.plan.servers, m_index).first;
    for (Parameter* table : m_tables) m_rank.device.zero(table->gradient);
    double loss = 0, staleness = 0;
    for (std::size_t i = 0; i < workers.size(); ++i) {
        Worker& w = m_workers[static_cast<std::size_t>(workers[i])];
        if (i == 0)
            m_rank.device.convert(w.gradient, m_gradients);
        else
            m_rank.device.add(m_gradients, w.gradient, m_gradients);
        w.gradient.reset();
        for (std::size_t t = 0; t < m_tables.size(); ++t) {
            for (const auto& [ids, gradients] : w.rowGradients[t])
                m_rank.device.embeddingBackward(ids, gradients, m_tables[t]->gradient, {}, firstRow);
            w.rowGradients[t].clear();
        }
        loss += w.loss / static_cast<double>(workers.size());
        staleness = std::max(staleness, static_cast<double>(m_version) - w.version);
    }
    for (const auto& p : m_shares.all()) p->gradientEmpty = false;
    const double norm = normOf(workers);
    {
        const Scope op(r, SliceKind::Operator, "update");
        m_optimizer->update(m_rank, norm, m_version);
    }
    ++m_version;
    m_stalenessSum += staleness;
    r.counter(m_staleness, r.now(), staleness);
    r.counter(m_versionCounter, r.now(), static_cast<double>(m_version));
    const Tensor answer = buffer({4}, DType::F64);
    answer.as<double>()[0] = loss;
    answer.as<double>()[1] = norm;
    answer.as<double>()[2] = staleness;
    answer.as<double>()[3] = static_cast<double>(m_version);
    for (const int worker : workers) {
        m_workers[static_cast<std::size_t>(worker)].waiting = false;
        m_rank.groups->world->send(answer, worker);
    }
}

} // namespace fourwalls::engine
