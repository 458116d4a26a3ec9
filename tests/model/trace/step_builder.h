// SPDX-License-Identifier: Apache-2.0
// Small traces of one step, for tests of what is worked out from a step.
#pragma once

#include "model/trace/in_memory_query.h"
#include "model/trace/in_memory_trace.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace fourwalls::test {

inline constexpr std::int64_t kMs = 1'000'000, kUs = 1'000;

inline TraceHeader headerOf(int ranks, TraceSource source = TraceSource::Recorded)
{
    TraceHeader header;
    header.source = source;
    for (int r = 0; r < ranks; ++r) {
        RankInfo info;
        info.rank = RankId{r};
        header.ranks.push_back(info);
    }
    return header;
}

/// A trace under construction: a stream of kernels and a stream of communication per rank.
struct Builder {
    InMemoryTrace trace;
    std::unique_ptr<TraceProducer> producer;
    GroupId world;

    explicit Builder(int ranks, const TraceHeader& header) : trace(header), producer(trace.openProducer())
    {
        ProcessGroupInfo group{"dp", {}, header.source == TraceSource::Predicted ? "modelled" : "local"};
        for (int r = 0; r < ranks; ++r) group.ranks.push_back(RankId{r});
        world = trace.defineGroup(group);
    }
    explicit Builder(int ranks) : Builder(ranks, headerOf(ranks)) {}

    TrackId kernels(int rank) { return trace.defineTrack({RankId{rank}, TrackKind::ComputeStream, "kernels", 0}); }
    TrackId wire(int rank) { return trace.defineTrack({RankId{rank}, TrackKind::CommStream, "communication", 1}); }

    void step(int rank, int index, std::int64_t begin, std::int64_t end, bool warmup = false)
    {
        StepRecord record;
        record.step = StepIndex{index};
        record.range = {Instant{begin}, Instant{end}};
        if (warmup) record.state = StepState::Warmup;
        producer->step(RankId{rank}, record);
    }

    void work(int rank, const std::string& name, Phase phase, std::int64_t start, std::int64_t end, double flops = 0,
              std::int64_t bytes = 0, std::optional<LayerIndex> layer = {})
    {
        OpInfo info;
        info.name = name;
        info.kind = SliceKind::Kernel;
        info.phase = phase;
        info.activity = Activity::Compute;
        info.flops = flops;
        info.bytes = bytes;
        info.layer = layer;
        producer->slice({kernels(rank), trace.defineOp(info), Instant{start}, Duration{end - start}, {}, {}});
    }

    void collective(int rank, std::int64_t start, std::int64_t last, std::int64_t end, std::int64_t sequence = 0,
                    CollectiveOp operation = CollectiveOp::AllReduce, std::optional<RankId> peer = {})
    {
        CollectiveRecord record;
        record.track = wire(rank);
        record.start = Instant{start};
        record.lastArrival = Instant{last};
        record.end = Instant{end};
        record.operation = operation;
        record.group = world;
        record.sequence = sequence;
        record.payloadBytes = 4000;
        record.wireBytes = 6000;
        record.peer = peer;
        record.algorithm = "ring";
        producer->collective(record);
    }

    void hop(int rank, int from, std::int64_t start, std::int64_t end, std::int64_t bytes)
    {
        OpInfo info;
        info.name = "hop from " + std::to_string(from);
        info.kind = SliceKind::Hop;
        info.bytes = bytes;
        producer->slice({wire(rank), trace.defineOp(info), Instant{start}, Duration{end - start}, {}, {}});
    }

    InMemoryTraceQuery finish(const TraceClosing& closing = {})
    {
        producer.reset();
        const Status finished = trace.finish(closing);
        Q_ASSERT(finished.ok());
        return InMemoryTraceQuery(trace.data());
    }
};

/// Two ranks, one step of 10 ms: rank 1 computes for 6 ms, rank 0 for 4 and waits; 2 ms of transfer; rank 0 updates
/// for 1 ms, rank 1 for 2.
inline InMemoryTraceQuery slowNeighbour()
{
    Builder b(2);
    for (const int rank : {0, 1}) b.step(rank, 0, 0, (rank == 0 ? 9 : 10) * kMs);
    b.work(0, "forward", Phase::Forward, 0, 4 * kMs);
    b.work(1, "forward", Phase::Forward, 0, 6 * kMs);
    b.collective(0, 4 * kMs, 6 * kMs, 8 * kMs);
    b.collective(1, 6 * kMs, 6 * kMs, 8 * kMs);
    b.work(0, "adam", Phase::Optimizer, 8 * kMs, 9 * kMs);
    b.work(1, "adam", Phase::Optimizer, 8 * kMs, 10 * kMs);
    return b.finish();
}

} // namespace fourwalls::test
