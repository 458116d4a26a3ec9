// SPDX-License-Identifier: Apache-2.0
// A made-up training run. Per rank: a step track, a phase track, operators nested about five deep, a compute stream
// of kernels, a communication stream and a copy stream; memory that climbs, peaks and falls within each step.
#include "model/store/synthetic_trace.h"

#include "model/store/trace_writer.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

namespace fourwalls::store {
namespace {

/// SplitMix64 (Steele et al. 2014): the same numbers on every machine.
class Random {
public:
    explicit Random(std::uint64_t seed) : m_state(seed) {}
    std::uint64_t next()
    {
        std::uint64_t z = m_state += 0x9e3779b97f4a7c15ULL;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
        return z ^ (z >> 31);
    }
    std::int64_t between(std::int64_t low, std::int64_t high)
    {
        return low + static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(high - low + 1));
    }
    bool chance(std::uint64_t in, std::uint64_t of) { return next() % of < in; }

private:
    std::uint64_t m_state;
};

constexpr int kLayers = 24;
constexpr std::array kOperators{"attention.query", "attention.scores",  "attention.output", "norm",
                                "feed_forward.up", "feed_forward.down", "residual",         "activation"};
/// Slices of one operator: itself, two nested calls, a host call in one of them, and two kernels.
constexpr std::int64_t kSlicesPerOperator = 6;
constexpr std::int64_t kSlicesPerLayer = 1 + kSlicesPerOperator * static_cast<std::int64_t>(kOperators.size());
/// Forward and backward of all layers; one collective and one copy per layer of the backward; step and two phases.
constexpr std::int64_t kSlicesPerStep = 2 * kLayers * kSlicesPerLayer + 2 * kLayers + 3;

struct Ops {
    OpId whole, step, phases[2], copy, allReduce;
    std::array<std::array<OpId, kLayers>, 2> layers;
    std::array<std::array<std::array<OpId, kOperators.size()>, kLayers>, 2> operators, calls, inner, hosts, kernels;
};

Ops defineOps(TraceSink& sink)
{
    Ops ops;
    const auto define = [&](const std::string& name, SliceKind kind, Phase phase, Activity activity,
                            std::optional<LayerIndex> layer = {}, double flops = 0, std::int64_t bytes = 0) {
        return sink.defineOp({name, kind, phase, activity, layer, flops, bytes, ""});
    };
    ops.whole = define("training", SliceKind::Marker, Phase::None, Activity::None);
    ops.step = define("step", SliceKind::Step, Phase::None, Activity::None);
    ops.copy = define("copy", SliceKind::Copy, Phase::None, Activity::Copy);
    ops.allReduce = define("all_reduce", SliceKind::Collective, Phase::GradientSync, Activity::Transfer);
    for (std::size_t p = 0; p < 2; ++p) {
        const Phase phase = p == 0 ? Phase::Forward : Phase::BackwardInput;
        ops.phases[p] = define(p == 0 ? "forward" : "backward", SliceKind::Phase, phase, Activity::None);
        for (std::size_t l = 0; l < kLayers; ++l) {
            const LayerIndex layer(static_cast<std::int32_t>(l));
            ops.layers[p][l] = define("layer", SliceKind::Layer, phase, Activity::None, layer);
            for (std::size_t o = 0; o < kOperators.size(); ++o) {
                const std::string name = kOperators[o];
                ops.operators[p][l][o] = define(name, SliceKind::Operator, phase, Activity::None, layer);
                ops.calls[p][l][o] = define(name + ".call", SliceKind::Operator, phase, Activity::None, layer);
                ops.inner[p][l][o] = define(name + ".dispatch", SliceKind::Operator, phase, Activity::None, layer);
                ops.hosts[p][l][o] = define("launch", SliceKind::HostCall, phase, Activity::Launch, layer);
                ops.kernels[p][l][o] = define(name + "_kernel", SliceKind::Kernel, phase, Activity::Compute, layer, 2e9,
                                              std::int64_t{40} << 20);
            }
        }
    }
    return ops;
}

class RankGenerator {
public:
    RankGenerator(TraceSink& sink, TraceProducer& producer, const Ops& ops, std::int32_t rank, std::uint64_t seed,
                  GroupId world, bool hasPeers)
        : m_producer(producer)
        , m_ops(ops)
        , m_rank(rank)
        , m_random(seed * 0x2545f4914f6cdd1dULL + static_cast<std::uint64_t>(rank))
        , m_world(world)
        , m_hasPeers(hasPeers)
    {
        const auto track = [&](TrackKind kind, const char* name, int order) {
            return sink.defineTrack({m_rank, kind, name, order});
        };
        m_whole = track(TrackKind::Markers, "job", 0);
        m_steps = track(TrackKind::Steps, "steps", 1);
        m_operators = track(TrackKind::Operators, "operators", 2);
        m_compute = track(TrackKind::ComputeStream, "stream 7", 3);
        m_comm = track(TrackKind::CommStream, "stream 13", 4);
        m_copy = track(TrackKind::CopyStream, "stream 21", 5);
        m_reserved = sink.defineCounter({m_rank, "reserved_bytes", CounterUnit::Bytes});
        m_power = sink.defineCounter({m_rank, "power", CounterUnit::Watt});
        allocateStatic();
    }

    std::int64_t emitted() const { return m_emitted; }

    void step(std::int32_t index, std::int64_t lossSteps)
    {
        m_step = index;
        const std::int64_t begin = m_now;
        for (std::size_t phase = 0; phase < 2; ++phase) {
            const std::int64_t phaseBegin = m_now;
            for (std::size_t l = 0; l < kLayers; ++l) layer(phase, phase == 0 ? l : kLayers - 1 - l);
            m_now = std::max(m_now, m_streamFree);
            slice(m_steps, m_ops.phases[phase], phaseBegin, m_now - phaseBegin);
        }
        m_now = std::max(m_now, m_commFree) + 2000;
        slice(m_steps, m_ops.step, begin, m_now - begin);
        StepRecord record;
        record.step = StepIndex(index);
        record.range = {Instant{begin}, Instant{m_now}};
        record.loss = 2.0 + 9.0 / (1.0 + static_cast<double>(index) * 10.0 / static_cast<double>(lossSteps));
        record.learningRate = 3e-4;
        record.gradientNorm = 1.0;
        record.samples = 64;
        record.tokens = 64 * 2048;
        if (index == 0) record.state = StepState::Warmup;
        m_producer.step(m_rank, record);
        m_producer.counter({m_reserved, Instant{m_now}, 30e9 + static_cast<double>(m_random.between(0, 1 << 20))});
    }

    void finish() { slice(m_whole, m_ops.whole, 0, m_now); }

private:
    void slice(TrackId track, OpId op, std::int64_t start, std::int64_t duration)
    {
        m_producer.slice({track, op, Instant{start}, Duration{duration}, std::nullopt, std::nullopt});
        ++m_emitted;
    }

    void allocateStatic()
    {
        for (int i = 0; i < 3 * kLayers; ++i) {
            AllocationRecord record;
            record.id = AllocationId(m_nextBuffer++);
            record.bytes = std::int64_t{64} << 20;
            record.category = static_cast<MemoryCategory>(i % 3); // weights, gradients, optimizer state
            m_producer.allocated(m_rank, record);
        }
    }

    void allocate(OpId op, std::int64_t at, std::int64_t bytes, MemoryCategory category)
    {
        AllocationRecord record;
        record.id = AllocationId(m_nextBuffer++);
        record.at = Instant{at};
        record.bytes = bytes;
        record.category = category;
        record.op = op;
        m_producer.allocated(m_rank, record);
    }

    void layer(std::size_t phase, std::size_t l)
    {
        const std::int64_t begin = m_now;
        for (std::size_t o = 0; o < kOperators.size(); ++o) operation(phase, l, o);
        m_now += m_random.between(300, 900);
        slice(m_operators, m_ops.layers[phase][l], begin, m_now - begin);
        m_producer.counter({m_power, Instant{m_now}, 400.0 + static_cast<double>(m_random.between(0, 200))});
        // Activations are made by the forward pass and go in reverse order in the backward pass.
        if (phase == 0) {
            m_activations.push_back(m_nextBuffer);
            allocate(m_ops.operators[0][l][0], m_now, (std::int64_t{96} << 20) + m_random.between(0, 1 << 16) * 512,
                     MemoryCategory::Activations);
        } else {
            m_producer.freed(m_rank, AllocationId(m_activations.back()), Instant{m_now});
            m_activations.pop_back();
            communicate(l);
        }
    }

    void operation(std::size_t phase, std::size_t l, std::size_t o)
    {
        const std::int64_t begin = m_now;
        const std::int64_t call = begin + m_random.between(200, 800);
        const std::int64_t inner = call + m_random.between(200, 600);
        const std::int64_t host = inner + m_random.between(200, 600);
        const std::int64_t hostEnd = host + m_random.between(1500, 6000);
        const std::int64_t innerEnd = hostEnd + m_random.between(100, 400);
        std::int64_t callEnd = innerEnd + m_random.between(100, 400);
        // A few slices overlap their neighbour without nesting, as real profilers give them: 0.035 %.
        if (m_random.chance(21, 10000)) callEnd += 3000;
        const std::int64_t end = innerEnd + m_random.between(1000, 2500);
        slice(m_operators, m_ops.hosts[phase][l][o], host, hostEnd - host);
        slice(m_operators, m_ops.inner[phase][l][o], inner, innerEnd - inner);
        slice(m_operators, m_ops.calls[phase][l][o], call, callEnd - call);
        slice(m_operators, m_ops.operators[phase][l][o], begin, end - begin);
        for (int k = 0; k < 2; ++k) {
            // From 2 to 400 us, short ones far more often.
            const std::int64_t scale = m_random.between(1, 20);
            const std::int64_t duration = 2000 + scale * scale * m_random.between(200, 995);
            const std::int64_t start = std::max(m_streamFree, hostEnd + 500) + m_random.between(200, 1200);
            if (k == 0) {
                allocate(m_ops.operators[phase][l][o], start, std::int64_t{1} << m_random.between(16, 24),
                         MemoryCategory::Temporaries);
                m_producer.freed(m_rank, AllocationId(m_nextBuffer - 1), Instant{start + duration});
            }
            slice(m_compute, m_ops.kernels[phase][l][o], start, duration);
            m_streamFree = start + duration;
        }
        // The host may run ahead of the device, but not by more than a millisecond.
        m_now = std::max(end, m_streamFree - 1'000'000) + m_random.between(100, 500);
    }

    void communicate(std::size_t l)
    {
        const std::int64_t start = std::max(m_now, m_commFree) + m_random.between(500, 3000);
        const std::int64_t wait = m_hasPeers ? m_random.between(0, 60'000) : 0;
        const std::int64_t duration = wait + m_random.between(150'000, 400'000);
        slice(m_comm, m_ops.allReduce, start, duration);
        m_commFree = start + duration;
        slice(m_copy, m_ops.copy, start, m_random.between(5000, 40'000));
        CollectiveRecord record;
        record.track = m_comm;
        record.start = Instant{start};
        record.lastArrival = Instant{start + wait};
        record.end = Instant{start + duration};
        record.group = m_world;
        record.sequence = std::int64_t{m_step} * kLayers + static_cast<std::int64_t>(l);
        record.payloadBytes = std::int64_t{64} << 20;
        record.wireBytes = std::int64_t{112} << 20;
        record.algorithm = "ring";
        m_producer.collective(record);
    }

    TraceProducer& m_producer;
    const Ops& m_ops;
    RankId m_rank;
    Random m_random;
    GroupId m_world;
    bool m_hasPeers;
    TrackId m_whole, m_steps, m_operators, m_compute, m_comm, m_copy;
    CounterId m_reserved, m_power;
    std::int64_t m_now = 1000, m_streamFree = 0, m_commFree = 0, m_nextBuffer = 1, m_emitted = 0;
    std::int32_t m_step = 0;
    std::vector<std::int64_t> m_activations;
};

} // namespace

Status generateSynthetic(const SyntheticOptions& options, const std::string& path,
                         const std::function<void(double)>& progress, std::stop_token stop)
{
    if (options.slices < 1) return Error{ErrorCode::InvalidArgument, "less than one slice", "--slices", ""};
    if (options.ranks < 1 || options.ranks > 100'000)
        return Error{ErrorCode::InvalidArgument, "the number of ranks is not in 1..100000", "--ranks", ""};
    TraceHeader header;
    header.source = TraceSource::Synthetic;
    header.producer = "fourwalls " FOURWALLS_VERSION " bench generate";
    header.computeLabel = "synthetic";
    header.communicationLabel = "synthetic";
    ProcessGroupInfo world{"world", {}, "modelled"};
    for (int rank = 0; rank < options.ranks; ++rank) {
        header.ranks.push_back({RankId(rank), "synthetic accelerator", "host" + std::to_string(rank / 8), 0,
                                std::int64_t{80} * 1'000'000'000, 1});
        world.ranks.emplace_back(rank);
    }
    WriterOptions writerOptions;
    writerOptions.finishStop = stop;
    if (progress) writerOptions.finishProgress = [&](double done) { progress(0.3 + 0.7 * done); };
    FOURWALLS_TRY_ASSIGN(const std::unique_ptr<TraceWriter> writer, TraceWriter::create(path, header, writerOptions));
    const Ops ops = defineOps(*writer);
    const GroupId group = writer->defineGroup(world);
    const std::int64_t perRank = (options.slices + options.ranks - 1) / options.ranks;
    const auto steps =
        static_cast<std::int32_t>(std::max<std::int64_t>(1, (perRank + kSlicesPerStep / 2) / kSlicesPerStep));
    {
        const std::unique_ptr<TraceProducer> producer = writer->openProducer();
        std::vector<std::unique_ptr<RankGenerator>> ranks;
        for (int rank = 0; rank < options.ranks; ++rank)
            ranks.push_back(
                std::make_unique<RankGenerator>(*writer, *producer, ops, rank, options.seed, group, options.ranks > 1));
        for (std::int32_t step = 0; step < steps; ++step) {
            for (const auto& rank : ranks) {
                if (stop.stop_requested()) return Error{ErrorCode::Cancelled, "cancelled", path, {}};
                rank->step(step, steps);
            }
            if (progress) progress(0.3 * static_cast<double>(step + 1) / steps);
        }
        for (const auto& rank : ranks) rank->finish();
    }
    TraceClosing closing;
    closing.peakFlopsPerDevice = 1e15;
    closing.peakSource = "synthetic";
    closing.memoryBytesPerSecond = 3e12;
    return writer->finish(closing);
}

} // namespace fourwalls::store
