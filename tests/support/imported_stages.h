// SPDX-License-Identifier: Apache-2.0
// A pipeline of two stages as other tools record it, and the picture of any trace's pipeline, for tests.
#pragma once

#include "model/present/pipeline_questions.h"
#include "model/trace/in_memory_query.h"
#include "model/trace/in_memory_trace.h"

#include <cstdint>
#include <memory>

namespace fourwalls::sample {

/// Two stages without a specification and without phases: kernels of known direction, messages between the stages.
/// shorter: how much less the kernels of the second step take [ns].
inline std::shared_ptr<const InMemoryTraceData> importedTrace(bool directions = true, std::int64_t shorter = 0)
{
    TraceHeader header;
    header.source = TraceSource::Imported;
    for (int stage = 0; stage < 2; ++stage) header.ranks.push_back({RankId{stage}, "GPU", "host", stage, 0, 1});
    InMemoryTrace trace(header);
    const GroupId pair = trace.defineGroup({"pp", {RankId{0}, RankId{1}}, "nccl"});
    {
        const auto producer = trace.openProducer();
        for (int rank = 0; rank < 2; ++rank) {
            const TrackId kernels = trace.defineTrack({RankId{rank}, TrackKind::ComputeStream, "stream 7", 0});
            const TrackId messages = trace.defineTrack({RankId{rank}, TrackKind::CommStream, "stream 13", 1});
            const auto op = [&](Phase phase) {
                OpInfo info;
                info.name = phase == Phase::Forward ? "gemm" : "gemm backward";
                info.kind = SliceKind::Kernel;
                info.phase = directions ? phase : Phase::None;
                info.activity = Activity::Compute;
                return trace.defineOp(info);
            };
            for (int step = 0; step < 2; ++step) {
                const std::int64_t begin = 100'000 * step;
                const auto work = [&](Phase phase, std::int64_t at) {
                    const Duration length{4'000 - shorter * step};
                    producer->slice({kernels, op(phase), Instant{begin + at}, length, {}, {}});
                    producer->slice({kernels, op(phase), Instant{begin + at + 5'000}, length, {}, {}});
                };
                const auto send = [&](std::int64_t at) {
                    CollectiveRecord record;
                    record.track = messages;
                    record.start = record.lastArrival = Instant{begin + at};
                    record.end = Instant{begin + at + 100};
                    record.operation = CollectiveOp::Send;
                    record.group = pair;
                    record.payloadBytes = 1000;
                    producer->collective(record);
                };
                // Forwards of two micro-batches in a row, cut by the message in between; then both backwards.
                work(Phase::Forward, rank * 10'000);
                send(rank * 10'000 + 9'200);
                work(Phase::Forward, 10'000 + rank * 10'000);
                work(Phase::BackwardInput, 40'000 - rank * 10'000);
                send(40'000 - rank * 10'000 + 9'200);
                work(Phase::BackwardInput, 50'000 - rank * 10'000);
                StepRecord record;
                record.step = StepIndex{step};
                record.range = {Instant{begin}, Instant{begin + 80'000 + 1'000 * step}};
                producer->step(RankId{rank}, record);
            }
        }
    }
    return trace.finish({}).ok() ? trace.data() : nullptr;
}

inline PipelinePicture pictureOf(const std::shared_ptr<const InMemoryTraceData>& data,
                                 PipelineFacts* factsOut = nullptr)
{
    if (!data) return {};
    InMemoryTraceQuery trace(data);
    auto facts = askPipelineFacts(trace);
    if (!facts.ok() || !facts->job.median) return {};
    auto picture = askPipelinePicture(trace, *facts, 0, *facts->job.median);
    if (factsOut) *factsOut = *facts;
    return picture.ok() ? *picture : PipelinePicture{};
}

} // namespace fourwalls::sample
