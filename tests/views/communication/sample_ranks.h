// SPDX-License-Identifier: GPL-3.0-or-later
// Four ranks that train with a ring all-reduce, rank 2 slower than the others, for tests of the communication and
// performance views: every figure can be worked out by hand.
#pragma once

#include "tests/views/shown_view.h" // Qt's headers first: the moc of Qt 6.4 cannot read <compare> as the first header

#include "model/trace/in_memory_query.h"
#include "model/trace/in_memory_trace.h"

#include <memory>
#include <string>

namespace fourwalls::sample {

inline constexpr std::int64_t kMs = 1'000'000;
inline constexpr int kRanks = 4, kSteps = 3;

/// A step: forward (rank 2: 12 ms, the others 8), norm and gelu of 1 ms each, an all-reduce of 40 kB that takes 6 ms
/// from the last arrival, an optimizer of 2 ms. Nothing is recorded of hops.
inline std::shared_ptr<const InMemoryTraceData> ring(bool collectives = true, int steps = kSteps)
{
    TraceHeader header;
    header.producer = "sample";
    for (int rank = 0; rank < kRanks; ++rank) {
        RankInfo info;
        info.rank = RankId(rank);
        info.device = "sample device";
        header.ranks.push_back(info);
    }
    InMemoryTrace trace(header);
    ProcessGroupInfo group{"dp", {}, "local"};
    for (int rank = 0; rank < kRanks; ++rank) group.ranks.push_back(RankId(rank));
    const GroupId dp = trace.defineGroup(group);
    for (int rank = 0; rank < kRanks; ++rank) {
        const TrackId kernels = trace.defineTrack({RankId(rank), TrackKind::ComputeStream, "kernels", 0});
        const TrackId wire = trace.defineTrack({RankId(rank), TrackKind::CommStream, "communication", 1});
        const auto producer = trace.openProducer();
        const auto work = [&](const char* name, Phase phase, std::int64_t from, std::int64_t length, double flops,
                              std::int64_t bytes) {
            OpInfo info;
            info.name = name;
            info.kind = SliceKind::Kernel;
            info.phase = phase;
            info.activity = Activity::Compute;
            info.flops = flops;
            info.bytes = bytes;
            producer->slice({kernels, trace.defineOp(info), Instant{from}, Duration{length}, {}, {}});
        };
        for (int step = 0; step < steps; ++step) {
            const std::int64_t at = step * 40 * kMs, forward = (rank == 2 ? 12 : 8) * kMs;
            work(rank == 2 ? "slow product" : "product", Phase::Forward, at, forward, 8e6, 100'000);
            work("norm", Phase::Forward, at + forward, kMs, 1e3, 1'000'000);
            work("gelu", Phase::Forward, at + forward + kMs, kMs, 1e3, 800'000);
            const std::int64_t arrival = at + forward + 2 * kMs, last = at + 14 * kMs;
            if (collectives) {
                OpInfo info;
                info.name = "all_reduce";
                info.kind = SliceKind::Collective;
                info.activity = Activity::Transfer;
                producer->slice(
                    {wire, trace.defineOp(info), Instant{arrival}, Duration{last + 6 * kMs - arrival}, {}, {}});
                producer->collective({wire,
                                      Instant{arrival},
                                      Instant{last},
                                      Instant{last + 6 * kMs},
                                      CollectiveOp::AllReduce,
                                      dp,
                                      step,
                                      40'000,
                                      60'000,
                                      {},
                                      "ring",
                                      ""});
            }
            work("adam", Phase::Optimizer, at + 20 * kMs, 2 * kMs, 1e4, 500'000);
            StepRecord record;
            record.step = StepIndex(step);
            record.range = {Instant{at}, Instant{at + 22 * kMs}};
            if (step == 0) record.state = StepState::Warmup;
            record.samples = 4;
            producer->step(RankId(rank), record);
        }
    }
    TraceClosing closing;
    closing.peakFlopsPerDevice = 1e9;
    closing.peakSource = "matrix-product sweep";
    closing.memoryBytesPerSecond = 1e9;
    const Status status = trace.finish(closing);
    return status.ok() ? trace.data() : nullptr;
}

/// A view of that trace, or of another.
template <class V>
struct Shown : views::ShownView<V> {
    static constexpr QSize kSize{1200, 640};

    explicit Shown(std::shared_ptr<const InMemoryTraceData> data, QSize size = kSize)
        : Shown(
              [data](const QString&) -> Result<std::unique_ptr<TraceQuery>> {
                  return std::unique_ptr<TraceQuery>(std::make_unique<InMemoryTraceQuery>(data));
              },
              size)
    {}
    explicit Shown(views::TraceOpener opener, QSize size = kSize) : views::ShownView<V>(std::move(opener), size) {}
};

/// Without the thin spaces before units.
inline QString plain(QString text)
{
    return text.replace(QChar(0x202F), QLatin1Char(' '));
}

} // namespace fourwalls::sample
