// SPDX-License-Identifier: Apache-2.0
// Statistics and call trees of ranges of a trace file, over all tracks: from rows, and from the summaries of blocks. Prints
// what making these costs, then the time for shares of the whole range and for random ranges. Every answer from the
// summaries is compared with the one from rows.
#include "model/store/trace_file.h"
#include "model/trace/call_tree.h"
#include "model/trace/range_statistics.h"
#include "model/trace/range_summaries.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>
#include <string>
#include <string_view>
#include <vector>

using namespace fourwalls;

namespace {

constexpr int kRandomRanges = 60;

/// Since its begin: of the wall clock, or what the process had of the processors, for machines that do other things, too.
class StopWatch {
public:
    static inline bool ofProcessors = false;
    double milliseconds() const
    {
        if (ofProcessors) return 1000.0 * static_cast<double>(std::clock() - m_processors) / CLOCKS_PER_SEC;
        return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - m_begin).count();
    }

private:
    std::chrono::steady_clock::time_point m_begin = std::chrono::steady_clock::now();
    std::clock_t m_processors = std::clock();
};

[[noreturn]] void fail(const std::string& why)
{
    std::fprintf(stderr, "%s\n", why.c_str());
    std::exit(1);
}

class Bench {
public:
    Bench(TraceQuery& trace, const RangeSummaries& summaries) : m_trace(trace), m_summaries(summaries)
    {
        for (const TrackView& track : trace.tracks()) m_tracks.push_back(track.id);
    }

    /// The table by name, and the time of both.
    std::vector<RangeRow> table(TimeRange range, bool summarized, double& statisticsMs, double& rowsMs)
    {
        const StopWatch watch;
        const auto found = rangeStatistics(m_trace, m_tracks, range, summarized ? &m_summaries : nullptr);
        if (!found.ok()) fail(found.error().message());
        statisticsMs = watch.milliseconds();
        const StopWatch second;
        std::vector<RangeRow> rows = groupRange(*found, m_trace.tracks(), RangeGrouping::Name);
        rowsMs = second.milliseconds();
        m_slices = found->count;
        return rows;
    }

    CallTree tree(TimeRange range, bool summarized, double& ms)
    {
        const StopWatch watch;
        auto found = callTree(m_trace, m_tracks, range, CallTreeBy::Operator, summarized ? &m_summaries : nullptr);
        if (!found.ok()) fail(found.error().message());
        ms = watch.milliseconds();
        return std::move(*found);
    }

    std::int64_t slices() const { return m_slices; }

private:
    TraceQuery& m_trace;
    const RangeSummaries& m_summaries;
    std::vector<TrackId> m_tracks;
    std::int64_t m_slices = 0;
};

void compare(const std::vector<RangeRow>& a, const std::vector<RangeRow>& b)
{
    const bool same = std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const RangeRow& x, const RangeRow& y) {
        return x.text == y.text && x.count == y.count && x.total == y.total && x.self == y.self &&
               x.spread.shortest == y.spread.shortest && x.spread.median == y.spread.median &&
               x.spread.percentile99 == y.spread.percentile99 && x.spread.longest == y.spread.longest &&
               x.spread.bars == y.spread.bars;
    });
    if (!same) fail("the summaries and the rows disagree");
}

void compare(const CallTree& a, const CallTree& b)
{
    if (a.nodes.size() != b.nodes.size() || a.nodes[0].total != b.nodes[0].total ||
        a.nodes[0].deviceTotal != b.nodes[0].deviceTotal)
        fail("the call trees disagree");
}

} // namespace

int main(int argc, char** argv)
{
    const std::string_view option = argc == 3 ? argv[2] : "";
    const bool checks = option == "--check";
    StopWatch::ofProcessors = option == "--cpu";
    if (argc < 2 || argc > 3 || (argc == 3 && !checks && !StopWatch::ofProcessors)) {
        std::fprintf(stderr,
                     "bench_range_statistics FILE.fourwalls [--check | --cpu] (see fourwalls-cli bench generate)\n");
        return 2;
    }
    const auto trace = store::openTrace(argv[1]);
    if (!trace.ok()) fail(trace.error().message());
    RangeSummaries summaries;
    const StopWatch watch;
    if (const Status made = summarize(**trace, summaries); !made.ok()) fail(made.error().message());
    std::printf("summaries: %.0f ms, %.1f MB\n", watch.milliseconds(), static_cast<double>(summaries.bytes()) * 1e-6);
    Bench bench(**trace, summaries);
    const TimeRange all{(*trace)->info().range.begin, (*trace)->info().range.end + Duration{1}};
    std::printf("%8s %10s | %8s %8s %8s %8s | %8s %8s\n", "range", "slices", "rows", "by name", "summed", "by name",
                "tree", "summed");
    for (std::int64_t part = 1; part <= 65536; part *= 4) {
        const Instant begin = all.begin + Duration{all.length().ns / 3 / part * (part - 1)};
        const TimeRange range{begin, begin + Duration{all.length().ns / part + 1}};
        double rows = 0, rowsTable = 0, summed = 0, summedTable = 0, tree = 0, summedTree = 0;
        const auto expected = bench.table(range, false, rows, rowsTable);
        for (int i = 0; i < 3; ++i) compare(expected, bench.table(range, true, summed, summedTable));
        const CallTree right = bench.tree(range, false, tree);
        for (int i = 0; i < 3; ++i) compare(right, bench.tree(range, true, summedTree));
        std::printf("%8s %10lld | %8.1f %8.1f %8.1f %8.1f | %8.1f %8.1f\n", ("1/" + std::to_string(part)).c_str(),
                    static_cast<long long>(bench.slices()), rows, rowsTable, summed, summedTable, tree, summedTree);
    }
    std::mt19937_64 random(1);
    std::vector<double> times, trees;
    for (int i = 0; i < kRandomRanges; ++i) {
        const auto at = [&] {
            return all.begin +
                   Duration{static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(all.length().ns))};
        };
        const Instant a = at(), b = at();
        const TimeRange range{std::min(a, b), std::max(a, b) + Duration{1}};
        double statistics = 0, table = 0, tree = 0;
        const auto rows = bench.table(range, true, statistics, table);
        const CallTree found = bench.tree(range, true, tree);
        times.push_back(statistics + table);
        trees.push_back(tree);
        if (!checks) continue;
        compare(bench.table(range, false, statistics, table), rows);
        compare(bench.tree(range, false, tree), found);
    }
    std::sort(times.begin(), times.end());
    std::sort(trees.begin(), trees.end());
    std::printf("%d random ranges: statistics with table %.1f ms (median), %.1f ms (worst); call tree %.1f, %.1f ms\n",
                kRandomRanges, times[times.size() / 2], times.back(), trees[trees.size() / 2], trees.back());
    return 0;
}
