// SPDX-License-Identifier: Apache-2.0
// Call trees of a thread with frames, operators, launches and a stream, worked out by hand; both ends of a tree have the
// same sums.
#include "model/trace/call_tree.h"
#include "model/trace/in_memory_query.h"
#include "model/trace/in_memory_trace.h"
#include "model/trace/range_statistics.h"
#include "model/trace/range_summaries.h"
#include "tests/support/test_program.h"

#include <QtTest>

#include <array>
#include <map>
#include <random>
#include <vector>

namespace tst_call_tree {

using namespace fourwalls;

class CallTreeTest : public QObject {
    Q_OBJECT

private slots:
    /// One thread: main() 0-100 µs calls step() twice; each calls aten::mm, which launches a kernel that runs later.
    void init()
    {
        InMemoryTrace trace(TraceHeader{});
        const TrackId thread = trace.defineTrack({RankId{0}, TrackKind::CpuThread, "thread 7", 0});
        const TrackId frames = trace.defineTrack({RankId{0}, TrackKind::CpuThread, "thread 7 frames", 1});
        const TrackId stream = trace.defineTrack({RankId{0}, TrackKind::ComputeStream, "stream 7", 2});
        const auto op = [&](const char* name, SliceKind kind) {
            OpInfo info;
            info.name = name;
            info.kind = kind;
            return trace.defineOp(info);
        };
        const OpId main = op("t.py(1): main", SliceKind::Marker), step = op("t.py(9): step", SliceKind::Marker),
                   module = op("nn.Module: Linear_0", SliceKind::Layer), mm = op("aten::mm", SliceKind::Operator),
                   marked = op("iteration", SliceKind::Marker), launch = op("cudaLaunchKernel", SliceKind::HostCall),
                   kernel = op("gemm", SliceKind::Kernel);
        {
            const auto out = trace.openProducer();
            const auto put = [&](TrackId track, OpId what, std::int64_t from, std::int64_t to,
                                 std::optional<std::int64_t> correlation = {}) {
                SliceRecord slice;
                slice.track = track;
                slice.op = what;
                slice.start = Instant{from * 1000};
                slice.duration = Duration{(to - from) * 1000};
                if (correlation) slice.correlation = CorrelationId{*correlation};
                out->slice(slice);
            };
            put(frames, main, 0, 100);
            put(frames, step, 10, 40);
            put(frames, module, 12, 30);
            put(frames, step, 50, 90);
            put(thread, marked, 5, 45);
            put(thread, mm, 15, 25);
            put(thread, launch, 20, 24, 1);
            put(thread, mm, 60, 70);
            put(thread, launch, 65, 69, 2);
            put(stream, kernel, 30, 80, 1);   // 50 µs of the first step
            put(stream, kernel, 110, 140, 2); // 30 µs of the second one, behind the range
        }
        QVERIFY(trace.finish({}).ok());
        m_trace = std::make_unique<InMemoryTraceQuery>(trace.data());
        summarizeFinely(*m_trace, m_summaries);
    }

    void operatorsWithTheirDevice()
    {
        const CallTree tree = treeOf(CallTreeBy::Operator, {0, 100});
        QVERIFY(tree.hasDevice);
        const auto nodes = byPath(tree);
        QCOMPARE(nodes.size(), std::size_t{5});
        check(nodes, "iteration/aten::mm", 1, 10, 6, 50, 0);
        check(nodes, "iteration/aten::mm/cudaLaunchKernel", 1, 4, 4, 50, 50);
        check(nodes, "iteration", 1, 40, 30, 50, 0);
        check(nodes, "aten::mm", 1, 10, 6, 30, 0);
        check(nodes, "aten::mm/cudaLaunchKernel", 1, 4, 4, 30, 30);
        QCOMPARE(tree.nodes[0].deviceTotal.ns, 80'000);
        QCOMPARE(tree.nodes[0].total.ns, 50'000);
    }

    void framesModulesAndRanges()
    {
        auto nodes = byPath(treeOf(CallTreeBy::Frame, {0, 100}));
        check(nodes, "t.py(1): main", 1, 100, 30, 80, 0);
        check(nodes, "t.py(1): main/t.py(9): step", 2, 70, 52, 80, 30);
        check(nodes, "t.py(1): main/t.py(9): step/nn.Module: Linear_0", 1, 18, 18, 50, 50);
        nodes = byPath(treeOf(CallTreeBy::Module, {0, 100}));
        QCOMPARE(nodes.size(), std::size_t{1});
        check(nodes, "nn.Module: Linear_0", 1, 18, 18, 50, 50);
        nodes = byPath(treeOf(CallTreeBy::Range, {0, 100}));
        QCOMPARE(nodes.size(), std::size_t{1});
        check(nodes, "iteration", 1, 40, 40, 50, 50);
    }

    void aRangeCutsHostsAndKeepsLaunchedWorkWhole()
    {
        const auto nodes = byPath(treeOf(CallTreeBy::Operator, {22, 68}));
        check(nodes, "iteration", 1, 23, 20, 0, 0); // its launch began before
        check(nodes, "aten::mm", 1, 8, 5, 30, 0);
        check(nodes, "aten::mm/cudaLaunchKernel", 1, 3, 3, 30, 30);
    }

    void fromTheOtherEnd()
    {
        const CallTree top = treeOf(CallTreeBy::Frame, {0, 100}), bottom = bottomUp(top);
        const auto nodes = byPath(bottom);
        check(nodes, "t.py(9): step", 2, 52, 52, 30, 30);
        check(nodes, "t.py(9): step/t.py(1): main", 2, 52, 0, 30, 0);
        check(nodes, "nn.Module: Linear_0/t.py(9): step/t.py(1): main", 1, 18, 0, 50, 0);
        QCOMPARE(bottom.nodes[0].total.ns, top.nodes[0].total.ns);
        QCOMPARE(bottom.nodes[0].deviceTotal.ns, top.nodes[0].deviceTotal.ns);
        // What a name has by itself is what the statistics of the range say.
        const CallTree operators = bottomUp(treeOf(CallTreeBy::Operator, {11, 66}));
        const std::vector<TrackId> thread{TrackId{0}};
        const auto statistics = rangeStatistics(*m_trace, thread, range(11, 66));
        QVERIFY(statistics.ok());
        std::map<std::string, std::int64_t> own;
        for (const CallNode& node : operators.nodes)
            if (&node != &operators.nodes[0] && node.parent == 0) own[node.name] = node.self.ns;
        for (const RangeRow& row : groupRange(*statistics, m_trace->tracks(), RangeGrouping::Name))
            QCOMPARE(own[row.text], row.self.ns);
    }

    /// Two steps with a layer forward and backward in each, on a thread; the profiler's span on a track of its own.
    void stepsAreOneNodeAndPhasesAreTwo()
    {
        InMemoryTrace trace(TraceHeader{});
        const TrackId thread = trace.defineTrack({RankId{0}, TrackKind::CpuThread, "thread 7", 0});
        const TrackId profiler = trace.defineTrack({RankId{0}, TrackKind::Other, "profiler", 1});
        const auto op = [&](const char* name, SliceKind kind, Phase phase = Phase::None) {
            OpInfo info;
            info.name = name;
            info.kind = kind;
            info.phase = phase;
            return trace.defineOp(info);
        };
        const OpId steps[] = {op("ProfilerStep#15", SliceKind::Step), op("ProfilerStep#16", SliceKind::Step)};
        const OpId layer[] = {op("layer", SliceKind::Layer, Phase::Forward),
                              op("layer", SliceKind::Layer, Phase::BackwardInput)};
        const OpId span = op("PyTorch Profiler (0)", SliceKind::Marker);
        {
            const auto out = trace.openProducer();
            const auto put = [&](TrackId track, OpId what, std::int64_t from, std::int64_t to) {
                SliceRecord slice;
                slice.track = track;
                slice.op = what;
                slice.start = Instant{from * 1000};
                slice.duration = Duration{(to - from) * 1000};
                out->slice(slice);
            };
            put(profiler, span, 0, 100);
            for (int i = 0; i < 2; ++i) {
                put(thread, steps[i], 50 * i, 50 * i + 40);
                put(thread, layer[0], 50 * i + 1, 50 * i + 11);
                put(thread, layer[1], 50 * i + 12, 50 * i + 32);
            }
        }
        QVERIFY(trace.finish({}).ok());
        InMemoryTraceQuery query(trace.data());
        RangeSummaries summaries;
        summarizeFinely(query, summaries);
        for (const bool summed : {false, true}) {
            const std::vector<TrackId> all{thread, profiler};
            const auto tree = callTree(query, all, range(0, 100), CallTreeBy::Operator, summed ? &summaries : nullptr);
            QVERIFY(tree.ok());
            const auto nodes = byPath(*tree);
            QCOMPARE(nodes.size(), std::size_t{3});
            check(nodes, "ProfilerStep", 2, 80, 20, 0, 0);
            check(nodes, "ProfilerStep/layer (1)", 2, 20, 20, 0, 0);
            check(nodes, "ProfilerStep/layer (2)", 2, 40, 40, 0, 0);
            QCOMPARE(tree->nodes[0].total.ns, 80'000);
            // From the other end, too, a name's phases are apart.
            const auto bottom = byPath(bottomUp(*tree));
            check(bottom, "layer (1)", 2, 20, 20, 0, 0);
            check(bottom, "layer (2)/ProfilerStep", 2, 40, 0, 0, 0);
        }
    }

    /// Threads with frames, launches and streams, whose arrows say until when the work of a range runs.
    void randomTreesFromSummaries()
    {
        std::mt19937_64 random(3);
        const auto below = [&](std::int64_t most) {
            return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most));
        };
        InMemoryTrace trace(TraceHeader{});
        constexpr int kNames = 6;
        std::vector<OpId> ops[3];
        for (int i = 0; i < kNames; ++i) {
            OpInfo info;
            info.name = "call" + std::to_string(i / 2); // two of each name
            info.kind = i % 3 == 0 ? SliceKind::Marker : i % 3 == 1 ? SliceKind::Layer : SliceKind::Operator;
            ops[0].push_back(trace.defineOp(info));
            info.name = "frame" + std::to_string(i);
            info.kind = i % 2 == 0 ? SliceKind::Layer : SliceKind::Marker;
            ops[1].push_back(trace.defineOp(info));
            info.name = "kernel" + std::to_string(i);
            info.kind = SliceKind::Kernel;
            ops[2].push_back(trace.defineOp(info));
        }
        for (int rank = 0; rank < 2; ++rank) {
            const TrackId thread = trace.defineTrack({RankId{rank}, TrackKind::CpuThread, "thread 1", 0}),
                          frames = trace.defineTrack({RankId{rank}, TrackKind::CpuThread, "thread 1 frames", 1}),
                          stream = trace.defineTrack({RankId{rank}, TrackKind::ComputeStream, "stream 7", 2});
            const auto out = trace.openProducer();
            const auto put = [&](TrackId track, OpId op, std::int64_t from, std::int64_t to, std::int64_t id) {
                SliceRecord slice;
                slice.track = track;
                slice.op = op;
                slice.start = Instant{from};
                slice.duration = Duration{to - from};
                if (id > 0) slice.correlation = CorrelationId{id};
                out->slice(slice);
            };
            std::int64_t free = 0, launches = 0;
            for (std::int64_t now = 0; now < 60'000;) {
                const std::int64_t length = 20 + below(200);
                const auto any = [&](int kind) { return ops[kind][static_cast<std::size_t>(below(kNames))]; };
                put(thread, any(0), now, now + length, 0);
                if (below(2) == 0) put(frames, any(1), now - below(5), now + length / 2, 0);
                if (below(3) == 0) put(frames, any(1), now + 1, now + length / 3, 0);
                for (std::int64_t at = now; at + 8 < now + length; at += 1 + below(40)) {
                    put(thread, any(0), at, at + 4, ++launches);
                    const std::int64_t start = std::max(free, at + 4);
                    free = start + 1 + below(30);
                    put(stream, any(2), start, free, launches);
                    out->flow({"launch", thread, Instant{at}, stream, Instant{start}});
                    at += 4;
                }
                now += length + below(30);
            }
        }
        QVERIFY(trace.finish({}).ok());
        InMemoryTraceQuery query(trace.data());
        RangeSummaries summaries;
        summarizeFinely(query, summaries);
        std::vector<TrackId> tracks;
        for (const TrackView& track : query.tracks()) tracks.push_back(track.id);
        for (int i = 0; i < 200; ++i) {
            const std::int64_t from = below(62'000) - 100, to = from + 1 + below(i % 2 == 0 ? 500 : 60'000);
            const TimeRange range{Instant{from}, Instant{to}};
            const auto by = static_cast<CallTreeBy>(i / 2 % kCallTreeByCount);
            const auto rows = callTree(query, tracks, range, by),
                       summed = callTree(query, tracks, range, by, &summaries);
            QVERIFY(rows.ok() && summed.ok());
            QVERIFY(i > 0 || rows->hasDevice);
            const auto expected = byPath(*rows), found = byPath(*summed);
            QCOMPARE(found.size(), expected.size());
            for (const auto& [path, node] : expected) {
                const auto at = found.find(path);
                QVERIFY2(at != found.end(), path.c_str());
                QVERIFY2(sumsOf(node) == sumsOf(at->second), path.c_str());
            }
            QVERIFY(sumsOf(rows->nodes[0]) == sumsOf(summed->nodes[0]));
        }
    }

    void whatMakesNoTree()
    {
        const std::vector<TrackId> all{TrackId{0}, TrackId{1}, TrackId{2}}, stream{TrackId{2}}, unknown{TrackId{3}};
        const auto flat = callTree(*m_trace, stream, range(0, 100), CallTreeBy::Operator);
        QVERIFY(flat.ok() && flat->nodes.size() == 1); // devices make no nodes
        QCOMPARE(callTree(*m_trace, unknown, range(0, 100), CallTreeBy::Operator).error().code, ErrorCode::NotFound);
        QCOMPARE(callTree(*m_trace, all, {}, CallTreeBy::Operator).error().code, ErrorCode::InvalidArgument);
        std::stop_source stop;
        stop.request_stop();
        QCOMPARE(callTree(*m_trace, all, range(0, 100), CallTreeBy::Operator, nullptr, stop.get_token()).error().code,
                 ErrorCode::Cancelled);
    }

private:
    /// Blocks of a few slices.
    static void summarizeFinely(TraceQuery& trace, RangeSummaries& summaries)
    {
        SummaryLimits limits;
        limits.blocks = limits.treeBlocks = {1, 0};
        if (!summarize(trace, summaries, {}, limits).ok()) qFatal("no summaries");
    }

    static std::array<std::int64_t, 5> sumsOf(const CallNode& node)
    {
        return {node.count, node.total.ns, node.self.ns, node.deviceTotal.ns, node.deviceSelf.ns};
    }

    static TimeRange range(std::int64_t from, std::int64_t to) { return {Instant{from * 1000}, Instant{to * 1000}}; }

    CallTree treeOf(CallTreeBy by, std::pair<std::int64_t, std::int64_t> microseconds)
    {
        std::vector<TrackId> all;
        for (const TrackView& track : m_trace->tracks()) all.push_back(track.id);
        const TimeRange asked = range(microseconds.first, microseconds.second);
        auto tree = callTree(*m_trace, all, asked, by), summed = callTree(*m_trace, all, asked, by, &m_summaries);
        if (!tree.ok() || !summed.ok()) qFatal("no tree");
        const auto nodes = byPath(*tree), others = byPath(*summed);
        const bool same = std::equal(nodes.begin(), nodes.end(), others.begin(), others.end(), [](auto& a, auto& b) {
            return a.first == b.first && sumsOf(a.second) == sumsOf(b.second);
        });
        if (!same) qFatal("the summaries' tree is another one");
        return std::move(*tree);
    }

    static std::map<std::string, CallNode> byPath(const CallTree& tree)
    {
        std::map<std::string, CallNode> nodes;
        for (std::size_t i = 1; i < tree.nodes.size(); ++i) {
            std::string path = partOf(tree.nodes[i]);
            for (std::size_t at = tree.nodes[i].parent; at != 0; at = tree.nodes[at].parent)
                path = partOf(tree.nodes[at]) + "/" + path;
            nodes[path] = tree.nodes[i];
        }
        return nodes;
    }

    /// "layer (2)": with the number of its phase.
    static std::string partOf(const CallNode& node)
    {
        const auto phase = static_cast<int>(node.phase);
        return phase == 0 ? node.name : node.name + " (" + std::to_string(phase) + ")";
    }

    /// Times in microseconds.
    static void check(const std::map<std::string, CallNode>& nodes, const std::string& path, std::int64_t count,
                      std::int64_t total, std::int64_t self, std::int64_t device, std::int64_t deviceSelf)
    {
        const auto found = nodes.find(path);
        QVERIFY2(found != nodes.end(), path.c_str());
        const CallNode& node = found->second;
        const std::array<std::int64_t, 5> is{node.count, node.total.ns, node.self.ns, node.deviceTotal.ns,
                                             node.deviceSelf.ns},
            shall{count, total * 1000, self * 1000, device * 1000, deviceSelf * 1000};
        QVERIFY2(is == shall, path.c_str());
    }

    std::unique_ptr<InMemoryTraceQuery> m_trace;
    RangeSummaries m_summaries;
};

FOURWALLS_TEST(CallTreeTest, QCoreApplication)

} // namespace tst_call_tree

#include "tst_call_tree.moc"
