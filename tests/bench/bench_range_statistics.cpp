// SPDX-License-Identifier: Apache-2.0
// Statistics of ranges of a trace file. Prints the time for shares of the whole
// range, cold and warm, over all tracks.
#include "model/store/trace_file.h"
#include "model/trace/range_statistics.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

using namespace fourwalls;

namespace {

double since(std::chrono::steady_clock::time_point begin)
{
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

[[noreturn]] void fail(const Error& error)
{
    std::fprintf(stderr, "%s\n", error.message().c_str());
    std::exit(1);
}

} // namespace

int main(int argc, char** argv)
{
    if (argc != 2) {
        std::fprintf(stderr, "bench_range_statistics FILE.fourwalls (see fourwalls-cli bench generate)\n");
        return 2;
    }
    const auto trace = store::openTrace(argv[1]);
    if (!trace.ok()) fail(trace.error());
    const TimeRange all{(*trace)->info().range.begin, (*trace)->info().range.end + Duration{1}};
    std::vector<TrackId> tracks;
    for (const TrackView& track : (*trace)->tracks()) tracks.push_back(track.id);
    std::printf("%12s %12s %10s %10s %10s %10s\n", "range", "slices", "first ms", "all ms", "again ms", "rows ms");
    for (std::int64_t part = 1; part <= 65536; part *= 4) {
        const Instant begin = all.begin + Duration{all.length().ns / 3 / part * (part - 1)};
        const TimeRange range{begin, begin + Duration{all.length().ns / part + 1}};
        double first = -1, times[2] = {};
        std::int64_t slices = 0;
        double grouping = 0;
        for (double& time : times) {
            const auto start = std::chrono::steady_clock::now();
            const auto found = rangeStatistics(**trace, tracks, range, [&](const RangeStatistics&) {
                if (first < 0) first = since(start);
            });
            if (!found.ok()) fail(found.error());
            time = since(start);
            slices = found->count;
            const auto begun = std::chrono::steady_clock::now();
            const auto rows = groupRange(*found, (*trace)->tracks(), RangeGrouping::Name);
            grouping = since(begun);
        }
        std::printf("%12s %12lld %10.1f %10.1f %10.1f %10.1f\n", ("1/" + std::to_string(part)).c_str(),
                    static_cast<long long>(slices), first < 0 ? times[0] : first, times[0], times[1], grouping);
    }
    return 0;
}
