// SPDX-License-Identifier: Apache-2.0
// How fast steps are replayed: replay [FILE]. Without a file a graph of a million nodes is made: 256 ranks that compute and
// meet in groups of eight. Prints nodes, edges, the time to sort it, and of 50 passes over it the median and the slowest; of
// FILE also what reading and building it took.
#include "model/replay/replay.h"
#include "model/replay/graph_builder.h"
#include "model/store/trace_file.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

using namespace fourwalls;
using namespace fourwalls::replay;

namespace {

double milliseconds(std::chrono::steady_clock::time_point since)
{
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - since).count();
}

/// Each rank works, and after every eighth piece meets the other seven of its group.
GraphBuilder millionNodes()
{
    constexpr int kRanks = 256, kPieces = 3200, kGroup = 8;
    GraphBuilder builder(Instant{0});
    builder.addStep({StepIndex{0}, false, {}, {}, 0, 0});
    std::vector<NodeIndex> last(kRanks);
    for (NodeIndex& node : last) node = builder.source(Instant{0}, 0);
    std::vector<std::int64_t> now(kRanks, 0);
    for (int piece = 0; piece < kPieces; ++piece) {
        for (int rank = 0; rank < kRanks; ++rank) {
            const std::int64_t length = 5'000 + (piece * 7919 + rank * 104'729) % 3'000;
            const auto at = static_cast<std::size_t>(rank);
            const NodeIndex node =
                builder.work(Instant{now[at]}, Instant{now[at] + length}, {NodeRole::Work, kNone, 0, 1});
            builder.edge(last[at], node);
            last[at] = node;
            now[at] += length;
        }
        if (piece % kGroup != kGroup - 1) continue;
        for (int first = 0; first < kRanks; first += kGroup) {
            const NodeIndex met = builder.meeting(0);
            std::int64_t arrived = 0;
            for (int rank = first; rank < first + kGroup; ++rank) {
                builder.edge(last[static_cast<std::size_t>(rank)], met);
                arrived = std::max(arrived, now[static_cast<std::size_t>(rank)]);
            }
            for (int rank = first; rank < first + kGroup; ++rank) {
                const auto at = static_cast<std::size_t>(rank);
                now[at] = arrived + 20'000;
                last[at] = builder.moving(Instant{now[at]}, {NodeRole::Moving, kNone, 0, 0});
                builder.edge(met, last[at]);
            }
        }
    }
    return builder;
}

void measure(const ReplayGraph& graph, NodeTimes times)
{
    std::vector<double> took;
    std::vector<std::int64_t> end;
    std::int64_t sum = 0;
    for (int i = 0; i < 50; ++i) {
        times.duration[static_cast<std::size_t>(i) % graph.nodes()] += 1;
        const auto begin = std::chrono::steady_clock::now();
        simulate(graph, times, end);
        took.push_back(milliseconds(begin));
        sum += end.back();
    }
    std::sort(took.begin(), took.end());
    std::printf("nodes %zu, edges %zu, a pass %.2f ms (slowest of 50: %.2f ms), check %lld\n", graph.nodes(),
                graph.work.edges(), took[took.size() / 2], took.back(), static_cast<long long>(sum));
}

} // namespace

int main(int count, char** words)
{
    if (count < 2) {
        const GraphBuilder builder = millionNodes();
        const auto begin = std::chrono::steady_clock::now();
        const auto graph = builder.finish(true, [](std::uint32_t) { return std::string(); });
        std::printf("sorted in %.0f ms\n", milliseconds(begin));
        measure(*graph, timesOf(*graph, DelayRule::None));
        return 0;
    }
    const auto trace = store::openTrace(words[1], {});
    if (!trace.ok()) {
        std::fprintf(stderr, "%s\n", trace.error().message().c_str());
        return 1;
    }
    const auto begin = std::chrono::steady_clock::now();
    const auto replay = Replay::of(**trace, {});
    if (!replay.ok()) {
        std::fprintf(stderr, "%s\n", replay.error().message().c_str());
        return 1;
    }
    std::printf("read and built in %.0f ms\n", milliseconds(begin));
    measure(replay->graph(DelayRule::Class), timesOf(replay->graph(DelayRule::Class), DelayRule::Class));
    return 0;
}
