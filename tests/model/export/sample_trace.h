// SPDX-License-Identifier: Apache-2.0
// A small trace with one of everything, for the tests of the exporters.
#pragma once

#include "model/trace/in_memory_query.h"
#include "model/trace/in_memory_trace.h"

namespace fourwalls::test {

/// Two ranks on hosts "node-a" and "node-b"; steps 0 (warm-up, 0..1000 ns), 1 (1000..2000) and 2 (2000..3000).
class SampleTrace {
public:
    SampleTrace() : m_trace(makeHeader())
    {
        m_producer = m_trace.openProducer();
        const GroupId group = m_trace.defineGroup({"dp", {RankId{0}, RankId{1}}, "local"});
        const CounterId loss = m_trace.defineCounter({std::nullopt, "loss", CounterUnit::None});
        for (int r = 0; r < 2; ++r) {
            const TrackId operators = m_trace.defineTrack({RankId{r}, TrackKind::Operators, "operators", 0});
            const TrackId stream = m_trace.defineTrack({RankId{r}, TrackKind::CommStream, "communication", 1});
            allocate(r, 1, 0, 4000, MemoryCategory::Weights);
            for (int s = 0; s < 3; ++s) addStep(r, s, operators, stream, group);
        }
        for (int s = 0; s < 3; ++s) m_producer->counter({loss, Instant{(s + 1) * 1000 - 1}, 5.5 - s});
        m_producer->event({EventKind::Checkpoint, RankId{0}, Instant{1500}, "saved to /home/ada/run 7 on node-a"});
        m_trace.audit({"queue_full", AuditSeverity::Dropped, 2, "spool /tmp/spool"});
    }

    std::unique_ptr<InMemoryTraceQuery> finish()
    {
        m_producer.reset();
        TraceClosing closing;
        closing.peakFlopsPerDevice = 1e9;
        closing.peakSource = "datasheet";
        AllocatorSegment segment;
        segment.address = 4096;
        segment.bytes = 8192;
        segment.start = Instant{10};
        segment.end = Instant{900};
        segment.stream = 7;
        segment.small = true;
        closing.segments.push_back(segment);
        if (!m_trace.finish(closing).ok()) return nullptr;
        return std::make_unique<InMemoryTraceQuery>(m_trace.data());
    }

    InMemoryTrace& sink() { return m_trace; }
    TraceProducer& producer() { return *m_producer; }

    static TraceHeader makeHeader()
    {
        TraceHeader header;
        header.producer = "test";
        header.computeLabel = "measured";
        header.communicationLabel = "modelled";
        header.spec = RunSpec{};
        header.spec->model = *loadModel("gpt-tiny");
        header.spec->plan = *parsePlan("dp=2");
        header.spec->training.dataFile = "/home/ada/secret.txt";
        for (int r = 0; r < 2; ++r) {
            RankInfo rank;
            rank.rank = RankId{r};
            rank.host = r == 0 ? "node-a" : "node-b";
            rank.device = "CPU \"core\"";
            header.ranks.push_back(rank);
        }
        return header;
    }

private:
    void allocate(int rank, int id, std::int64_t at, std::int64_t bytes, MemoryCategory category)
    {
        m_producer->allocated(RankId{rank}, {AllocationId{id}, Instant{at}, bytes, 0, category, {}, {}});
    }

    void addStep(int rank, int index, TrackId operators, TrackId stream, GroupId group)
    {
        const std::int64_t begin = index * 1000;
        OpInfo forward;
        forward.name = "forward, \"fused\"";
        forward.kind = SliceKind::Phase;
        forward.phase = Phase::Forward;
        OpInfo product = forward;
        product.name = "linear";
        product.kind = SliceKind::Kernel;
        product.activity = Activity::Compute;
        product.layer = LayerIndex{2};
        product.flops = 100;
        product.bytes = 64;
        product.detail = "weights of /data/model.bin";
        OpInfo reduce;
        reduce.name = "all_reduce";
        reduce.kind = SliceKind::Collective;
        reduce.phase = Phase::GradientSync;
        reduce.activity = Activity::Transfer;
        slice(operators, forward, begin + 10, begin + 500, index);
        slice(operators, product, begin + 20, begin + 400, index);
        slice(stream, reduce, begin + 600, begin + 900, std::nullopt);
        CollectiveRecord collective;
        collective.track = stream;
        collective.start = Instant{begin + 600};
        collective.lastArrival = Instant{begin + 650};
        collective.end = Instant{begin + 900};
        collective.group = group;
        collective.sequence = index;
        collective.payloadBytes = 4000;
        collective.wireBytes = 4000;
        collective.algorithm = "ring";
        m_producer->collective(collective);
        m_producer->flow({"launch", operators, Instant{begin + 450}, stream, Instant{begin + 600}});
        allocate(rank, 10 + index, begin + 20, 700, MemoryCategory::Activations);
        m_producer->freed(RankId{rank}, AllocationId{10 + index}, Instant{begin + 950});
        StepRecord step;
        step.step = StepIndex{index};
        step.range = {Instant{begin}, Instant{begin + 1000}};
        step.loss = 5.5 - index;
        step.samples = 8;
        step.tokens = 1024;
        if (index == 0) step.state = StepState::Warmup;
        m_producer->step(RankId{rank}, step);
    }

    void slice(TrackId track, const OpInfo& info, std::int64_t begin, std::int64_t end, std::optional<int> microbatch)
    {
        SliceRecord record;
        record.track = track;
        record.op = m_trace.defineOp(info);
        record.start = Instant{begin};
        record.duration = Duration{end - begin};
        if (microbatch) record.microbatch = Microbatch{*microbatch};
        m_producer->slice(record);
    }

    InMemoryTrace m_trace;
    std::unique_ptr<TraceProducer> m_producer;
};

} // namespace fourwalls::test
