// SPDX-License-Identifier: GPL-3.0-or-later
// A small training run for the timeline's tests: every figure is made up here and known to the tests.
#pragma once

#ifndef Q_MOC_RUN // moc of Qt 6.4 does not parse <concepts>
#include "model/trace/in_memory_query.h"
#include "model/trace/in_memory_trace.h"
#endif

#include <cmath>
#include <memory>
#include <string>
#include <vector>

namespace fourwalls::sample {

/// Per rank: steps, phases, nested operators, one compute stream, one stream of collectives with waiting, one of copies.
/// Memory of every rank: 8 GB of weights throughout, and 1 GB of activations per layer and step, made in the forward
/// pass and given back in the backward pass in reverse.
/// Steps are 100 ms each: forward 0-40, backward 42-82, optimizer 84-98; kernelsPerPhase kernels fill each phase.
struct Shape {
    int ranks = 2;
    int steps = 3;
    int layers = 8;
    int kernelsPerPhase = 160;
    int idleMs = 0; ///< so long after the last step an instant ends the trace
};

inline std::unique_ptr<InMemoryTrace> sampleTrace(const Shape& shape)
{
    TraceHeader header;
    header.source = TraceSource::Synthetic;
    for (int rank = 0; rank < shape.ranks; ++rank) {
        RankInfo info;
        info.rank = RankId{rank};
        info.device = "NVIDIA H100 80GB HBM3";
        info.host = "node0";
        info.memoryBytes = 24'000'000'000;
        header.ranks.push_back(info);
    }
    auto trace = std::make_unique<InMemoryTrace>(header);
    // Whole microseconds, so that neighbours touch exactly.
    const auto ms = [](double value) { return Duration{std::llround(value * 1e3) * 1000}; };
    const GroupId group = trace->defineGroup({"dp", {RankId{0}, RankId{1}}, "nccl"});
    auto producer = trace->openProducer();
    for (int rank = 0; rank < shape.ranks; ++rank) {
        const auto track = [&](TrackKind kind, const char* name, int order) {
            return trace->defineTrack({RankId{rank}, kind, name, order});
        };
        const TrackId steps = track(TrackKind::Steps, "steps", 0);
        const TrackId phases = track(TrackKind::Phases, "forward/backward", 1);
        const TrackId operators = track(TrackKind::Operators, "operators", 2);
        const TrackId compute = track(TrackKind::ComputeStream, "stream 7 compute", 3);
        const TrackId comm = track(TrackKind::CommStream, "stream 13 NCCL", 4);
        const TrackId copies = track(TrackKind::CopyStream, "stream 20 copy", 5);

        const auto op = [&](const std::string& name, SliceKind kind, Phase phase, Activity activity,
                            std::optional<LayerIndex> layer = {}, double flops = 0, std::int64_t bytes = 0) {
            OpInfo info;
            info.name = name;
            info.kind = kind;
            info.phase = phase;
            info.activity = activity;
            info.layer = layer;
            info.flops = flops;
            info.bytes = bytes;
            if (kind == SliceKind::Kernel) info.detail = "m=4096 n=4096 k=1024";
            return trace->defineOp(info);
        };
        const auto slice = [&](TrackId on, OpId what, double start, double length, std::optional<Microbatch> mb = {}) {
            producer->slice({on, what, Instant{ms(start).ns}, ms(start + length) - ms(start), mb, {}});
        };
        std::int64_t buffer = 0;
        producer->allocated(RankId{rank},
                            {AllocationId{buffer++}, Instant{0}, 8'000'000'000, 0, MemoryCategory::Weights, {}, {}});
        for (int step = 0; step < shape.steps; ++step) {
            const double t = step * 100.0;
            for (int layer = 0; layer < shape.layers; ++layer) {
                const AllocationId id{buffer++};
                producer->allocated(
                    RankId{rank},
                    {id, Instant{ms(t + 1 + layer * 4).ns}, 1'000'000'000, 0, MemoryCategory::Activations, {}, {}});
                producer->freed(RankId{rank}, id, Instant{ms(t + 78 - layer * 4).ns});
            }
            slice(steps,
                  op(std::string("ProfilerStep ").append(std::to_string(step)), SliceKind::Step, Phase::None,
                     Activity::None),
                  t, 99);
            struct Part {
                const char* name;
                Phase phase;
                double from, to;
            };
            const Part parts[] = {{"forward", Phase::Forward, 0.5, 40},
                                  {"backward", Phase::BackwardInput, 42, 82},
                                  {"optimizer", Phase::Optimizer, 84, 98}};
            for (const auto& part : parts) {
                slice(phases, op(part.name, SliceKind::Phase, part.phase, Activity::None), t + part.from,
                      part.to - part.from, Microbatch{step % 2});
                const double layerLength = (part.to - part.from) / shape.layers;
                for (int layer = 0; layer < shape.layers; ++layer) {
                    const double at = t + part.from + layer * layerLength;
                    slice(operators, op("layer", SliceKind::Layer, part.phase, Activity::None, LayerIndex{layer}), at,
                          layerLength * 0.97);
                    const char* names[] = {"attention", "mlp"};
                    for (int half = 0; half < 2; ++half)
                        slice(operators,
                              op(names[half], SliceKind::Operator, part.phase, Activity::None, LayerIndex{layer}),
                              at + layerLength * (0.02 + 0.48 * half), layerLength * 0.44);
                }
                const double kernelLength = (part.to - part.from) / shape.kernelsPerPhase;
                const char* kernels[] = {"ampere_sgemm_128x64", "softmax_warp_forward", "vectorized_elementwise_kernel",
                                         "layer_norm"};
                for (int kernel = 0; kernel < shape.kernelsPerPhase; ++kernel) {
                    const int layer = kernel * shape.layers / shape.kernelsPerPhase;
                    Phase phase = part.phase;
                    if (phase == Phase::BackwardInput && kernel % 3 == 1) phase = Phase::BackwardWeight;
                    if (phase == Phase::BackwardInput && kernel % 17 == 0) phase = Phase::Recompute;
                    const double share = 0.35 + 0.6 * ((kernel * 7 + rank * 3) % 10) / 10.0;
                    slice(compute,
                          op(kernels[(kernel * 5 + kernel / 3) % 4], SliceKind::Kernel, phase, Activity::Compute,
                             LayerIndex{layer}, 3.4e9, 12 << 20),
                          t + part.from + kernel * kernelLength, kernelLength * share, Microbatch{step % 2});
                }
            }
            for (int n = 0; n < 6; ++n) {
                const double at = t + 46 + n * 6 + rank * 0.4;
                const double wait = 0.9 - 0.3 * rank < 0.1 ? 0.1 : 0.9 - 0.3 * rank;
                slice(comm, op("wait for peers", SliceKind::Wait, Phase::None, Activity::CollectiveWait), at, wait);
                slice(comm,
                      op("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL", SliceKind::Collective, Phase::GradientSync,
                         Activity::Transfer),
                      at + wait, 3.2);
                CollectiveRecord record;
                record.track = comm;
                record.start = Instant{ms(at + wait).ns};
                record.lastArrival = record.start + ms(0.2);
                record.end = Instant{ms(at + wait + 3.2).ns};
                record.operation = CollectiveOp::ReduceScatter;
                record.group = group;
                record.sequence = step * 6 + n;
                record.payloadBytes = 256'000'000;
                record.wireBytes = 192'000'000;
                record.algorithm = "ring";
                record.protocol = "LL";
                producer->collective(record);
                slice(copies, op("Memcpy HtoD", SliceKind::Copy, Phase::None, Activity::Copy), t + 3 + n * 15, 0.7);
                if (rank + 1 < shape.ranks) {
                    // Same track of the next rank: six tracks a rank, defined in order.
                    producer->flow({"message", comm, Instant{ms(at + wait + 3.2).ns}, TrackId{comm.value + 6},
                                    Instant{ms(at + wait + 3.6).ns}});
                }
            }
            StepRecord record;
            record.step = StepIndex{step};
            record.range = {Instant{ms(t).ns}, Instant{ms(t + 99).ns}};
            producer->step(RankId{rank}, record);
        }
    }
    producer->event({EventKind::LossSpike, {}, Instant{ms(150).ns}, "loss 9.1 after 3.2"});
    if (shape.idleMs > 0)
        producer->event({EventKind::LossSpike, {}, Instant{ms(100.0 * shape.steps + shape.idleMs).ns}, "the end"});
    producer.reset();
    TraceClosing closing;
    closing.peakFlopsPerDevice = 989e12;
    (void)trace->finish(closing);
    return trace;
}

} // namespace fourwalls::sample
