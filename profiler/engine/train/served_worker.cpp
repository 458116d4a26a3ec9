// SPDX-License-Identifier: Apache-2.0
// See served_worker.h.
#include "profiler/engine/train/served_worker.h"

#include "profiler/engine/train/optimizer.h"
#include "profiler/engine/train/safetensors.h"

#include <algorithm>
#include <cmath>

namespace fourwalls::engine {

Result<std::unique_ptr<ServedWorker>> ServedWorker::create(RankContext& rank, const RunSpec& spec)
{
    RankContext describing = rank;
    describing.groups = nullptr;
    describing.describeOnly = true;
    auto network = makeNetwork(describing, spec);
    if (!network) return network.error();
    return std::unique_ptr<ServedWorker>(new ServedWorker(rank, spec, std::move(*network)));
}

ServedWorker::ServedWorker(RankContext& rank, const RunSpec& spec, Network network)
    : m_rank(rank)
    , m_alone(rank)
    , m_spec(spec)
    , m_network(std::move(network))
    , m_recommendation(dynamic_cast<Recommendation*>(m_network.chunks.front().get()))
    , m_layout(parameters(), spec.plan.servers)
    , m_versions(static_cast<std::size_t>(spec.plan.servers), 0.0)
    , m_steps(rank.recorder, spec.training, "samples")
{
    m_alone.groups = nullptr;
    const auto flat = [&](MemoryCategory category) {
        return Tensor::make(rank.allocator, {m_layout.elements, 1}, rank.format.master, category);
    };
    m_weights = flat(MemoryCategory::Weights);
    m_gradients = flat(MemoryCategory::Gradients);
    rank.device.zero(m_gradients); // what lies between the parameters stays zero
    for (const ServerLayout::Entry& entry : m_layout.entries) {
        Parameter& p = *entry.parameter;
        p.weight = m_weights.rowRange(entry.first, p.shape.elements()).reshaped(p.shape);
        p.gradient = m_gradients.rowRange(entry.first, p.shape.elements()).reshaped(p.shape);
        p.compute = p.weight;
        if (p.computeType != rank.format.master)
            p.compute = Tensor::make(rank.allocator, p.shape, p.computeType, MemoryCategory::Weights);
    }
    m_staleness = rank.recorder.defineCounter("staleness", CounterUnit::None, true);
}

Tensor ServedWorker::numbers(std::int64_t count, DType type) const
{
    return Tensor::make(m_rank.allocator, {count}, type, MemoryCategory::CommBuffers);
}

void ServedWorker::say(int index, ServerMessage kind, const std::vector<std::int64_t>& rows)
{
    const std::int64_t tables = m_recommendation ? m_recommendation->spec().tables : 0;
    const Tensor header = numbers(1 + tables, DType::I32);
    std::fill_n(header.as<std::int32_t>(), header.elements(), 0);
    header.as<std::int32_t>()[0] = static_cast<std::int32_t>(kind);
    for (std::size_t t = 0; t < rows.size(); ++t) header.as<std::int32_t>()[t + 1] = static_cast<std::int32_t>(rows[t]);
    m_rank.groups->world->send(header, server(index));
}

void ServedWorker::pullWeights()
{
    const Scope scope(m_rank.recorder, SliceKind::Phase, "pull weights", Phase::GradientSync);
    Communicator& world = *m_rank.groups->world;
    for (int s = 0; s < m_spec.plan.servers; ++s) say(s, ServerMessage::PullWeights);
    const Tensor version = numbers(1, DType::F64);
    for (int s = 0; s < m_spec.plan.servers; ++s) {
        world.receive(m_weights.rowRange(s * m_layout.share, m_layout.share), server(s));
        world.receive(version, server(s));
        m_versions[static_cast<std::size_t>(s)] = version.as<double>()[0];
    }
    for (const auto& p : parameters().all())
        if (p->roundedCopy().defined()) m_rank.device.convert(p->weight, p->roundedCopy());
}

// The rows that the batch asks for, each once; the batch's numbers then count within them.
ServedWorker::FetchedRows ServedWorker::chooseRows(Batch& batch) const
{
    const RecommendationSpec& spec = m_recommendation->spec();
    const int servers = m_spec.plan.servers;
    FetchedRows rows;
    rows.perServer.assign(static_cast<std::size_t>(servers),
                          std::vector<std::int64_t>(static_cast<std::size_t>(spec.tables), 0));
    const std::int64_t width = batch.rows.columns();
    for (std::int64_t t = 0; t < spec.tables; ++t) {
        std::vector<std::int32_t> ids;
        const auto forEach = [&](auto f) {
            for (std::int64_t i = 0; i < batch.samples; ++i)
                for (std::int64_t l = 0; l < spec.lookupsPerTable; ++l)
                    f(batch.rows.as<std::int32_t>()[i * width + t * spec.lookupsPerTable + l]);
        };
        forEach([&](std::int32_t& id) { ids.push_back(id); });
        std::sort(ids.begin(), ids.end());
        ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
        forEach([&](std::int32_t& id) {
            id = static_cast<std::int32_t>(std::lower_bound(ids.begin(), ids.end(), id) - ids.begin());
        });
        for (int s = 0; s < servers; ++s) {
            const IndexRange range = splitEvenly(spec.rowsPerTable, servers, s);
            const auto from = std::lower_bound(ids.begin(), ids.end(), range.first),
                       to = std::lower_bound(ids.begin(), ids.end(), range.first + range.count);
            rows.perServer[static_cast<std::size_t>(s)][static_cast<std::size_t>(t)] = to - from;
        }
        rows.ids.push_back(std::move(ids));
    }
    return rows;
}

std::vector<Tensor> ServedWorker::pullRows(const FetchedRows& rows)
{
    const Scope scope(m_rank.recorder, SliceKind::Phase, "pull rows", Phase::GradientSync);
    Communicator& world = *m_rank.groups->world;
    const std::int64_t width = m_recommendation->spec().embeddingWidth;
    std::vector<Tensor> tables;
    for (const auto& ids : rows.ids)
        tables.push_back(Tensor::make(m_rank.allocator, {static_cast<std::int64_t>(ids.size()), width},
                                      m_rank.format.master, MemoryCategory::Weights));
    // Row numbers ascend and servers hold stretches: what a server has of a table lies together.
    std::vector<std::vector<std::int64_t>> begins;
    std::vector<std::int64_t> next(rows.ids.size(), 0), totals;
    for (std::size_t s = 0; s < rows.perServer.size(); ++s) {
        begins.push_back(next);
        std::int64_t total = 0;
        for (std::size_t t = 0; t < next.size(); ++t) {
            total += rows.perServer[s][t];
            next[t] += rows.perServer[s][t];
        }
        totals.push_back(total);
        say(static_cast<int>(s), ServerMessage::PullRows, rows.perServer[s]);
        const Tensor ids = numbers(total, DType::I32);
        std::int32_t* to = ids.as<std::int32_t>();
        for (std::size_t t = 0; t < next.size(); ++t)
            to = std::copy_n(rows.ids[t].begin() + begins[s][t], rows.perServer[s][t], to);
        world.send(ids, server(static_cast<int>(s)));
    }
    for (std::size_t s = 0; s < rows.perServer.size(); ++s) {
        const Tensor arrived =
            Tensor::make(m_rank.allocator, {totals[s], width}, m_rank.format.master, MemoryCategory::CommBuffers);
        world.receive(arrived, server(static_cast<int>(s)));
        std::int64_t row = 0;
        for (std::size_t t = 0; t < next.size(); ++t) {
            const std::int64_t count = rows.perServer[s][t];
            if (count > 0) m_rank.device.convert(arrived.rowRange(row, count), tables[t].rowRange(begins[s][t], count));
            row += count;
        }
    }
    return tables;
}

void ServedWorker::pushRows(const FetchedRows& rows, const std::vector<Tensor>& gradients)
{
    const Scope scope(m_rank.recorder, SliceKind::Phase, "push rows", Phase::GradientSync);
    const std::int64_t width = m_recommendation->spec().embeddingWidth;
    for (const Tensor& gradient : gradients) m_rowSquares += m_rank.device.sumOfSquares(gradient);
    std::vector<std::int64_t> next(rows.ids.size(), 0);
    for (std::size_t s = 0; s < rows.perServer.size(); ++s) {
        std::int64_t total = 0, row = 0;
        for (const std::int64_t count : rows.perServer[s]) total += count;
        const Tensor leaving =
            Tensor::make(m_rank.allocator, {total, width}, m_rank.format.master, MemoryCategory::CommBuffers);
        for (std::size_t t = 0; t < next.size(); ++t) {
            const std::int64_t count = rows.perServer[s][t];
            if (count > 0) m_rank.device.convert(gradients[t].rowRange(next[t], count), leaving.rowRange(row, count));
            next[t] += count;
            row += count;
        }
        say(static_cast<int>(s), ServerMessage::PushRows, rows.perServer[s]);
        m_rank.groups->world->send(leaving, server(static_cast<int>(s)));
    }
}

// Returns the mean loss of the micro-batch.
double ServedWorker::trainMicrobatch(std::int64_t step, int microbatch, double scale)
{
    const ParallelPlan& plan = m_spec.plan;
    Recorder& r = m_rank.recorder;
    TrainingModel& model = *m_network.chunks.front();
    const std::int64_t batch = m_spec.training.batch, micro = batch / plan.dp / plan.microbatches;
    Batch samples;
    {
        const Scope scope(r, SliceKind::DataLoading, "data loading", Phase::DataLoading);
        samples = m_network.data->batch(m_alone, step, batch,
                                        (microbatch * plan.dp + m_rank.recorder.rank().value) * micro, micro);
    }
    FetchedRows rows;
    if (m_recommendation) {
        rows = chooseRows(samples);
        m_recommendation->bringRows(pullRows(rows));
    }
    std::unique_ptr<ForwardState> state;
    {
        const Scope scope(r, SliceKind::Phase, "forward", Phase::Forward);
        state = model.forward(m_alone, samples, {});
    }
    double loss = 0;
    {
        const Scope scope(r, SliceKind::Phase, "loss", Phase::Forward);
        loss = model.loss(m_alone, samples, *state, scale);
    }
    {
        const Scope scope(r, SliceKind::Phase, "backward", Phase::BackwardInput);
        model.backward(m_alone, samples, *state, {});
    }
    if (m_recommendation) pushRows(rows, m_recommendation->takeRowGradients());
    return loss;
}

void ServedWorker::pushGradients(StepProgress& progress)
{
    const Scope scope(m_rank.recorder, SliceKind::Phase, "push gradients", Phase::GradientSync);
    Communicator& world = *m_rank.groups->world;
    for (const auto& p : parameters().all())
        if (p->gradientEmpty) m_rank.device.zero(p->gradient);
    const Tensor facts = numbers(3, DType::F64), answer = numbers(4, DType::F64);
    const double squares = m_rank.device.sumOfSquares(m_gradients) + m_rowSquares;
    for (int s = 0; s < m_spec.plan.servers; ++s) {
        facts.as<double>()[0] = progress.loss;
        facts.as<double>()[1] = squares;
        facts.as<double>()[2] = m_versions[static_cast<std::size_t>(s)];
        say(s, ServerMessage::PushGradients);
        world.send(facts, server(s));
        world.send(m_gradients.rowRange(s * m_layout.share, m_layout.share), server(s));
    }
    for (int s = 0; s < m_spec.plan.servers; ++s) {
        world.receive(answer, server(s));
        progress.staleness = std::max(progress.staleness, answer.as<double>()[2]);
    }
    progress.loss = answer.as<double>()[0];
    progress.gradientNorm = answer.as<double>()[1];
    for (const auto& p : parameters().all()) p->gradientEmpty = true;
}

StepProgress ServedWorker::step(std::int64_t index)
{
    Recorder& r = m_rank.recorder;
    const ParallelPlan& plan = m_spec.plan;
    StepProgress progress;
    progress.step = index;
    progress.steps = m_spec.training.steps;
    progress.warmup = r.isWarmup(index, m_spec.training.steps);
    progress.learningRate = learningRateAt(m_spec.training, index);
    const Instant start = r.now();
    r.endRest(start);
    {
        const Scope step(r, SliceKind::Step, "step");
        pullWeights();
        m_rowSquares = 0;
        // Synchronous servers add up the workers' gradients; asynchronous ones take each for itself.
        const bool sync = plan.parameterServer == ParameterServer::Sync;
        const double scale = 1.0 / (plan.microbatches * (sync ? plan.dp : 1));
        for (int m = 0; m < plan.microbatches; ++m) {
            r.setMicrobatch(Microbatch{m});
            progress.loss += trainMicrobatch(index, m, scale) / plan.microbatches;
        }
        r.setMicrobatch(std::nullopt);
        pushGradients(progress);
    }
    r.settle();
    const Instant end = r.now();
    progress.duration = end - start;
    progress.end = end;
    r.counter(m_staleness, Instant{end.ns - 1}, progress.staleness);
    m_steps.record(progress, start, end);
    return progress;
}

Status ServedWorker::save(const std::string& directory)
{
    pullWeights();
    RunSpec whole = m_spec; // with tables of its own
    whole.plan.parameterServer = ParameterServer::None;
    FOURWALLS_TRY_ASSIGN(const Network network, makeNetwork(m_alone, whole));
    std::vector<Tensor> tables;
    if (m_recommendation) {
        const RecommendationSpec& spec = m_recommendation->spec();
        FetchedRows all;
        for (std::int64_t t = 0; t < spec.tables; ++t) {
            all.ids.emplace_back(static_cast<std::size_t>(spec.rowsPerTable));
            for (std::size_t i = 0; i < all.ids.back().size(); ++i) all.ids.back()[i] = static_cast<std::int32_t>(i);
        }
        for (int s = 0; s < m_spec.plan.servers; ++s)
            all.perServer.emplace_back(static_cast<std::size_t>(spec.tables),
                                       splitEvenly(spec.rowsPerTable, m_spec.plan.servers, s).count);
        tables = pullRows(all);
    }
    for (const auto& p : network.chunks.front()->parameters().all()) {
        for (std::size_t t = 0; t < tables.size(); ++t)
            if (p->name == tableName(static_cast<std::int64_t>(t))) m_rank.device.convert(tables[t], p->weight);
        for (const auto& own : parameters().all())
            if (p->name == own->name) m_rank.device.convert(own->weight, p->weight);
    }
    return saveWeights(directory, network.chunks.front()->parameters());
}

void ServedWorker::finish()
{
    for (int s = 0; s < m_spec.plan.servers; ++s) say(s, ServerMessage::Done);
}

} // namespace fourwalls::engine
