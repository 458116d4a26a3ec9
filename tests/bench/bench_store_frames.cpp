// SPDX-License-Identifier: Apache-2.0
// The store at scale: makes a synthetic trace (or takes one), then prints bytes per slice, the cost of opening, and
// of windows at several zooms, cold-connection and warm, against the design's numbers.
#include "model/store/synthetic_trace.h"
#include "model/store/trace_file.h"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

using namespace fourwalls;

namespace {

double since(std::chrono::steady_clock::time_point begin)
{
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

/// Processor time of this thread [ms]: what a frame costs, whatever else the machine does.
double cpuMs()
{
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

/// A field of /proc/self/status in MB.
double memoryMb(const std::string& field)
{
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.rfind(field, 0) == 0) return std::atof(line.c_str() + field.size() + 1) / 1000;
    return 0;
}

[[noreturn]] void fail(const Error& error)
{
    std::fprintf(stderr, "%s\n", error.message().c_str());
    std::exit(1);
}

/// The tracks that fill about 30 lanes of a screen.
std::vector<TrackId> screenTracks(const TraceQuery& trace)
{
    std::vector<TrackId> tracks;
    int lanes = 0;
    for (const TrackView& track : trace.tracks()) {
        if (lanes >= 30) break;
        tracks.push_back(track.id);
        lanes += track.lanes;
    }
    return tracks;
}

void frames(TraceQuery& trace)
{
    const TimeRange all = trace.info().range;
    const std::vector<TrackId> tracks = screenTracks(trace);
    std::printf("%12s %8s %8s %10s %10s %10s %10s %10s\n", "zoom", "exact", "bins", "first ms", "median ms", "worst ms",
                "cpu median", "cpu worst");
    for (std::int64_t zoom = 1; all.length().ns / zoom > 10'000; zoom *= 4) {
        const Duration length{all.length().ns / zoom};
        std::vector<double> times, cpuTimes;
        std::size_t exact = 0, bins = 0;
        for (int i = 0; i < 15; ++i) {
            const Instant begin = all.begin + Duration{(all.length().ns - length.ns) / 16 * i};
            const auto start = std::chrono::steady_clock::now();
            const double cpuStart = cpuMs();
            const auto window = trace.slices({tracks, {begin, begin + length}, 1600});
            times.push_back(since(start));
            cpuTimes.push_back(cpuMs() - cpuStart);
            if (!window.ok()) fail(window.error());
            for (const LaneSlices& lane : window->lanes) {
                exact += lane.exact.size();
                bins += lane.bins.size();
            }
        }
        const double first = times.front();
        std::sort(times.begin(), times.end());
        std::sort(cpuTimes.begin(), cpuTimes.end());
        std::printf("%12lld %8zu %8zu %10.2f %10.2f %10.2f %10.2f %10.2f\n", static_cast<long long>(zoom), exact / 15,
                    bins / 15, first, times[times.size() / 2], times.back(), cpuTimes[cpuTimes.size() / 2],
                    cpuTimes.back());
    }
}

} // namespace

/// bench_store_frames [SLICES [RANKS]] or bench_store_frames FILE
int main(int argc, char** argv)
{
    std::string path = argc > 1 ? argv[1] : "1000000";
    bool remove = false;
    if (path.find_first_not_of("0123456789") == std::string::npos) {
        store::SyntheticOptions options;
        options.slices = std::atoll(path.c_str());
        options.ranks = argc > 2 ? std::atoi(argv[2]) : 8;
        path = (std::filesystem::temp_directory_path() / "bench_store_frames.fourwalls").string();
        const auto start = std::chrono::steady_clock::now();
        if (const Status status = store::generateSynthetic(options, path); !status.ok()) fail(status.error());
        std::printf("generated in %.1f s, peak resident %.0f MB (target: well under 1000 at 100 M)\n",
                    since(start) / 1000, memoryMb("VmHWM:"));
        remove = argc <= 3;
    }
    const auto start = std::chrono::steady_clock::now();
    const double cpuStart = cpuMs();
    auto trace = store::openTrace(path);
    if (!trace.ok()) fail(trace.error());
    const double opened = since(start), openedCpu = cpuMs() - cpuStart;
    TraceQuery& query = **trace;
    const auto first = query.slices({screenTracks(query), query.info().range, 1600});
    if (!first.ok()) fail(first.error());
    const double firstCpu = cpuMs() - cpuStart;
    std::printf("slices %lld, bytes per slice %.1f (measured on the prototype: 34.5)\n",
                static_cast<long long>(query.info().counts.slices),
                static_cast<double>(std::filesystem::file_size(path)) /
                    static_cast<double>(query.info().counts.slices));
    std::printf("open %.2f ms, open and first window %.2f ms (target: 35); processor time %.2f and %.2f ms\n", opened,
                since(start), openedCpu, firstCpu);
    frames(query);

    std::vector<RankId> ranks;
    for (const RankInfo& rank : query.info().header.ranks) ranks.push_back(rank.rank);
    auto begin = std::chrono::steady_clock::now();
    const auto activity = query.rankActivity(ranks, query.info().range, 1600);
    std::printf("rank activity, %zu ranks: %.2f ms\n", ranks.size(), since(begin));
    begin = std::chrono::steady_clock::now();
    const auto memory = query.memory(ranks[0], query.info().range, 1600);
    std::printf("memory of one rank, %zu samples: %.2f ms\n", memory.ok() ? memory->samples.size() : 0, since(begin));
    begin = std::chrono::steady_clock::now();
    const auto alive =
        query.aliveAt(ranks[0], query.info().range.begin + Duration{query.info().range.length().ns / 2}, 100);
    std::printf("alive in the middle, %lld buffers: %.2f ms\n",
                static_cast<long long>(alive.ok() ? alive->totalCount : 0), since(begin));
    begin = std::chrono::steady_clock::now();
    const auto hits = query.search({"norm_kernel", false, query.info().range, {}, 1000});
    std::printf("search, %zu hits: %.2f ms\n", hits.ok() ? hits->slices.size() : 0, since(begin));
    std::printf("resident now %.0f MB\n", memoryMb("VmRSS:"));
    if (remove) std::filesystem::remove(path);
    return 0;
}
