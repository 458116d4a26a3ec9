// SPDX-License-Identifier: Apache-2.0
// Random traces for the tests of the store: every kind of record, nested and overlapping slices of all lengths, the
// same for the same seed, handed to any sink.
#pragma once

#include "model/trace/trace_sink.h"

#include <QDir>
#include <QFileInfo>
#include <QString>

#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace fourwalls::test {

/// Where tests of the store make their folders: in memory if there is such a place, because a trace is brought to
/// the disk at several points, which a busy disk turns into seconds.
inline QString folderTemplate()
{
    const QFileInfo memory("/dev/shm");
    return (memory.isDir() && memory.isWritable() ? QString("/dev/shm") : QDir::tempPath()) + "/fourwalls-test-XXXXXX";
}

struct RandomTraceSize {
    int ranks = 2;
    int tracksPerRank = 3;
    int slicesPerTrack = 2000;
    int allocationsPerRank = 1500;
    int samplesPerCounter = 600;
    int steps = 5;
    bool pipelined = false;
};

class RandomTrace {
public:
    RandomTrace(std::uint64_t seed, RandomTraceSize size = {}) : m_random(seed), m_size(size) {}

    TraceHeader header() const
    {
        TraceHeader header;
        header.producer = "random";
        header.computeLabel = "measured";
        header.communicationLabel = "none";
        header.originUnixNs = 1'700'000'000'000'000'000;
        for (int r = 0; r < m_size.ranks; ++r)
            header.ranks.push_back({RankId(r), "device", "host", r, std::int64_t{1} << 34, 1});
        if (m_size.pipelined) {
            RunSpec spec;
            spec.model.architecture = TransformerSpec{2, 8, 2, 2, 16, 256, 16};
            spec.plan.pp = m_size.ranks;
            spec.cluster.device.memoryBytesPerSecond = 1e11;
            header.spec = spec;
        }
        return header;
    }

    TraceClosing closing() const
    {
        TraceClosing closing;
        closing.peakFlopsPerDevice = 5e12;
        closing.peakSource = "test";
        closing.memoryBytesPerSecond = 1e11;
        return closing;
    }

    /// Hands everything over through `producers` producers, records dealt among them at random.
    void write(TraceSink& sink, int producers = 1)
    {
        define(sink);
        std::vector<std::unique_ptr<TraceProducer>> ends;
        for (int i = 0; i < producers; ++i) ends.push_back(sink.openProducer());
        const auto any = [&]() -> TraceProducer& { return *ends[below(ends.size())]; };
        for (int r = 0; r < m_size.ranks; ++r) {
            const RankId rank(r);
            writeSteps(any(), rank);
            for (int t = 0; t < m_size.tracksPerRank; ++t)
                writeSlices(any, m_tracks[static_cast<std::size_t>(r * m_size.tracksPerRank + t)]);
            writeMemory(*ends[below(ends.size())], rank);
            writeCollectives(any(), rank);
        }
        writeCounters(any());
        for (int i = 0; i < 200; ++i) {
            any().flow({i % 2 ? "launch" : "message", anyTrack(), at(), anyTrack(), at()});
            any().event({static_cast<EventKind>(below(6)), i % 3 ? std::optional(RankId(0)) : std::nullopt, at(),
                         "event " + std::to_string(i)});
        }
        sink.audit({"lost_packets", AuditSeverity::Dropped, 3, "by the network"});
        sink.audit({"lost_packets", AuditSeverity::Dropped, 4, "by the network"});
    }

private:
    static constexpr std::int64_t kSpan = 50'000'000;

    std::size_t below(std::size_t n) { return m_random() % n; }
    std::int64_t between(std::int64_t low, std::int64_t high)
    {
        return low + static_cast<std::int64_t>(m_random() % static_cast<std::uint64_t>(high - low + 1));
    }
    Instant at() { return Instant{between(-1000, kSpan)}; }
    /// Log-uniform from 1 ns to most of the trace, now and then zero.
    Duration length(std::int64_t most)
    {
        if (below(50) == 0) return {};
        const double exponent = static_cast<double>(m_random() % 10000) / 10000.0 * std::log(static_cast<double>(most));
        return Duration{static_cast<std::int64_t>(std::exp(exponent))};
    }
    TrackId anyTrack() { return m_tracks[below(m_tracks.size())]; }

    void define(TraceSink& sink)
    {
        for (int i = 0; i < 40; ++i) {
            OpInfo op;
            op.name = (i % 3 ? "matmul " : "norm ") + std::to_string(i / 2);
            op.kind = static_cast<SliceKind>(i % kSliceKindCount);
            op.phase = static_cast<Phase>(i % kPhaseCount);
            op.activity = static_cast<Activity>(i % kActivityCount);
            if (i % 4 == 0) op.layer = LayerIndex(i);
            op.flops = i * 1e6;
            op.bytes = i * 100'000;
            op.detail = i % 5 ? "" : "shape (8, 16)";
            m_ops.push_back(sink.defineOp(op));
        }
        // Tracks interleave the ranks: ids are not in the order of ranks.
        m_tracks.resize(static_cast<std::size_t>(m_size.ranks * m_size.tracksPerRank));
        for (int t = 0; t < m_size.tracksPerRank; ++t)
            for (int r = 0; r < m_size.ranks; ++r)
                m_tracks[static_cast<std::size_t>(r * m_size.tracksPerRank + t)] =
                    sink.defineTrack({RankId(r), static_cast<TrackKind>(t % 9), "track " + std::to_string(t), t});
        ProcessGroupInfo world{"world", {}, "local"};
        for (int r = 0; r < m_size.ranks; ++r) world.ranks.emplace_back(r);
        m_group = sink.defineGroup(world);
        m_counters = {sink.defineCounter({std::nullopt, "loss", CounterUnit::None}),
                      sink.defineCounter({RankId(0), "reserved_bytes", CounterUnit::Bytes})};
    }

    void writeSteps(TraceProducer& out, RankId rank)
    {
        for (int s = 0; s < m_size.steps; ++s) {
            StepRecord step;
            step.step = StepIndex(s);
            const std::int64_t each = kSpan / m_size.steps;
            step.range = {Instant{s * each + rank.value * 100}, Instant{(s + 1) * each - 5000}};
            if (s % 2) step.loss = 3.0 - s * 0.1;
            step.learningRate = 1e-3;
            step.samples = 8;
            step.tokens = 8 * 128;
            if (s == 0) step.state = StepState::Warmup;
            out.step(rank, step);
        }
    }

    template <class Any>
    void writeSlices(const Any& any, TrackId track)
    {
        std::int64_t now = 0;
        for (int i = 0; i < m_size.slicesPerTrack; ++i) {
            SliceRecord slice;
            slice.track = track;
            slice.op = m_ops[below(m_ops.size())];
            if (below(4) != 0) {
                slice.start = Instant{now};
                slice.duration = length(40'000);
                now += slice.duration.ns + between(0, 2 * kSpan / m_size.slicesPerTrack / 3);
            } else {
                slice.start = at();
                slice.duration = length(below(20) == 0 ? kSpan : 100'000);
            }
            if (below(3) == 0) slice.microbatch = Microbatch(static_cast<std::int32_t>(below(4)));
            if (below(3) == 0) slice.correlation = CorrelationId(between(-5, 1'000'000'000'000));
            any().slice(slice);
        }
    }

    void writeMemory(TraceProducer& out, RankId rank)
    {
        for (int i = 0; i < m_size.allocationsPerRank; ++i) {
            AllocationRecord record;
            record.id = AllocationId(i * 7 - 20);
            record.at = at();
            record.bytes = static_cast<std::int64_t>(below(1 << 20));
            record.address = static_cast<std::int64_t>(below(1U << 30));
            record.category = static_cast<MemoryCategory>(below(kMemoryCategoryCount));
            if (below(2)) record.op = m_ops[below(m_ops.size())];
            if (below(4) == 0) record.microbatch = Microbatch(1);
            out.allocated(rank, record);
            if (below(20) != 0) out.freed(rank, record.id, record.at + length(kSpan / 2));
        }
    }

    void writeCollectives(TraceProducer& out, RankId rank)
    {
        for (int i = 0; i < 150; ++i) {
            CollectiveRecord record;
            record.track = m_tracks[static_cast<std::size_t>(rank.value * m_size.tracksPerRank)];
            record.start = at();
            record.lastArrival = record.start + length(10'000);
            record.end = record.lastArrival + length(1'000'000);
            record.operation = static_cast<CollectiveOp>(i % 12);
            record.group = m_group;
            record.sequence = i;
            record.payloadBytes = 1000 + i;
            record.wireBytes = 2000 + i;
            if (i % 12 == 5) record.peer = RankId(0);
            record.algorithm = i % 2 ? "ring" : "tree";
            record.protocol = "simple";
            out.collective(record);
        }
    }

    void writeCounters(TraceProducer& out)
    {
        for (const CounterId counter : m_counters)
            for (int i = 0; i < m_size.samplesPerCounter; ++i)
                out.counter({counter, at(), static_cast<double>(below(1 << 20)) / 3});
    }

    std::mt19937_64 m_random;
    RandomTraceSize m_size;
    std::vector<OpId> m_ops;
    std::vector<TrackId> m_tracks;
    GroupId m_group;
    std::vector<CounterId> m_counters;
};

} // namespace fourwalls::test
