// SPDX-License-Identifier: Apache-2.0
// The writer while recording: rows per second that it sustains without anybody waiting, what a row costs the
// producer and the writer, and how long finishing takes.
#include "model/store/trace_file.h"
#include "model/store/trace_writer.h"
#include "tests/support/load_pace.h"

#include <time.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

using namespace fourwalls;

namespace {

double threadCpuSeconds()
{
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

struct Outcome {
    double wallSeconds = 0, producerCpuSeconds = 0, writerCpuSeconds = 0, finishSeconds = 0, waitingSeconds = 0;
    std::int64_t rows = 0, dropped = 0;
};

/// Records `rows` rows at `rate` rows a second (0: as fast as possible) from one thread.
Outcome record(const std::string& path, std::int64_t rows, std::int64_t rate)
{
    using Clock = std::chrono::steady_clock;
    auto created = store::TraceWriter::create(path, TraceHeader{});
    if (!created.ok()) {
        std::fprintf(stderr, "%s\n", created.error().message().c_str());
        std::exit(1);
    }
    store::TraceWriter& writer = **created;
    std::vector<OpId> ops;
    for (int i = 0; i < 200; ++i)
        ops.push_back(writer.defineOp({"op " + std::to_string(i), SliceKind::Operator, Phase::Forward,
                                       Activity::Compute, LayerIndex(i % 12), 1e9, 1 << 20, ""}));
    std::vector<TrackId> tracks;
    for (int i = 0; i < 6; ++i)
        tracks.push_back(writer.defineTrack({RankId(0), TrackKind::Operators, "track " + std::to_string(i), i}));
    Outcome outcome;
    {
        const auto producer = writer.openProducer();
        const auto begin = Clock::now();
        const double cpu = threadCpuSeconds();
        const auto pace = rate > 0 ? std::optional<test::LoadPace>(static_cast<double>(rate)) : std::nullopt;
        std::int64_t buffer = 0;
        for (std::int64_t i = 0; i < rows; ++i) {
            const Instant at{i * 5000};
            if (i % 10 == 8) {
                AllocationRecord record;
                record.id = AllocationId(++buffer);
                record.at = at;
                record.bytes = 1 << 20;
                record.op = ops[static_cast<std::size_t>(i % 200)];
                producer->allocated(RankId(0), record);
            } else if (i % 10 == 9) {
                producer->freed(RankId(0), AllocationId(buffer), at);
            } else {
                producer->slice({tracks[static_cast<std::size_t>(i % 6)], ops[static_cast<std::size_t>(i % 200)], at,
                                 Duration{4000 + i % 997}, Microbatch(0), std::nullopt});
            }
            if (pace && i % 200 == 0) pace->waitUntilDue(i);
        }
        outcome.wallSeconds = std::chrono::duration<double>(Clock::now() - begin).count();
        outcome.producerCpuSeconds = threadCpuSeconds() - cpu;
    }
    const auto begin = Clock::now();
    if (const Status status = writer.finish({}); !status.ok()) {
        std::fprintf(stderr, "%s\n", status.error().message().c_str());
        std::exit(1);
    }
    outcome.finishSeconds = std::chrono::duration<double>(Clock::now() - begin).count();
    const SinkStatistics statistics = writer.statistics();
    outcome.writerCpuSeconds = statistics.writerCpu.seconds();
    outcome.waitingSeconds = statistics.waiting.seconds();
    outcome.rows = statistics.events;
    outcome.dropped = rows - statistics.events;
    return outcome;
}

void print(const char* what, const Outcome& o)
{
    const auto rows = static_cast<double>(o.rows);
    std::printf("%s: %.0f rows/s, dropped %lld, producers waited %.3f s, producer %.0f ns/row, writer %.0f ns/row "
                "(%.1f %% of a core), finished in %.2f s\n",
                what, rows / o.wallSeconds, static_cast<long long>(o.dropped), o.waitingSeconds,
                o.producerCpuSeconds / rows * 1e9, o.writerCpuSeconds / rows * 1e9,
                100 * o.writerCpuSeconds / o.wallSeconds, o.finishSeconds);
}

} // namespace

/// bench_store_writer [SECONDS]
int main(int argc, char** argv)
{
    const std::int64_t seconds = argc > 1 ? std::atoll(argv[1]) : 5;
    const std::string path = (std::filesystem::temp_directory_path() / "bench_store_writer.fourwalls").string();
    print("at 200 k rows/s (target: 200 k, none dropped)", record(path, seconds * 200'000, 200'000));
    print("as fast as possible", record(path, seconds * 1'000'000, 0));
    std::printf("bytes per slice %.1f\n", static_cast<double>(std::filesystem::file_size(path)) /
                                              static_cast<double>((*store::openTrace(path))->info().counts.slices));
    std::filesystem::remove(path);
    return 0;
}
