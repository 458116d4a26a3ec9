// SPDX-License-Identifier: Apache-2.0
// The graph and its one pass on a step small enough to be worked out by hand: two ranks compute, meet in an all-reduce and
// end the step.
#include <QTest> // first: moc stumbles over <compare> otherwise

#include "model/replay/graph_builder.h"
#include "model/replay/replay_times.h"
#include "tests/support/test_program.h"

namespace tst_replay_graph {

using namespace fourwalls;
using namespace fourwalls::replay;

std::string describe(std::uint32_t piece)
{
    return "piece " + std::to_string(piece);
}

/// Rank 0 computes from 0 to 10, rank 1 from 2 to 30; the all-reduce moves from 30 to 34 (rank 1: to 35); rank 0 starts its
/// optimizer at 36 and ends at 40.
struct Sample {
    GraphBuilder builder{Instant{1000}};
    NodeIndex slow = kNone, fast = kNone, optimizer = kNone;

    Sample()
    {
        GraphStep step;
        step.step = StepIndex{7};
        step.last = 40;
        builder.addStep(step);
        const auto at = [](std::int64_t ns) { return Instant{1000 + ns}; };
        const NodeIndex source = builder.source(at(0), 0);
        fast = builder.work(at(0), at(10), {NodeRole::Work, 0, 0, 1});
        slow = builder.work(at(2), at(30), {NodeRole::Work, 1, 0, 2});
        builder.edge(source, fast);
        builder.edge(source, slow);
        const NodeIndex met = builder.meeting(0);
        NodeIndex ends[2];
        for (const int rank : {0, 1}) {
            const NodeIndex before = rank == 0 ? fast : slow;
            const NodeIndex arrival =
                builder.work(at(rank == 0 ? 10 : 30), at(rank == 0 ? 10 : 30), {NodeRole::Arrival, 2, 0, 3});
            ends[rank] = builder.moving(at(34 + rank), {NodeRole::Moving, 2, 0, 0});
            builder.edge(before, arrival);
            builder.edge(arrival, met);
            builder.edge(met, ends[rank]);
        }
        optimizer = builder.work(at(36), at(40), {NodeRole::Work, 3, 0, 4});
        builder.edge(ends[0], optimizer);
    }
};

std::int64_t lengthOf(const ReplayGraph& graph, const NodeTimes& times)
{
    std::vector<std::int64_t> end;
    simulate(graph, times, end);
    return stepLengths(graph, times.duration, end).front();
}

/// The node of a piece with a role.
std::size_t nodeOf(const ReplayGraph& graph, std::uint32_t piece, NodeRole role)
{
    for (std::size_t node = 0; node < graph.nodes(); ++node)
        if (graph.piece[node] == piece && graph.role[node] == role) return node;
    return graph.nodes();
}

class ReplayGraphTest : public QObject {
    Q_OBJECT

private slots:
    void ownDelaysGiveTheRecordedStep();
    void waitingIsNoDuration();
    void withoutDelays();
    void aFasterRankMovesTheStep();
    void pathAndSlack();
    void delaysOfAClassComeFromOtherSteps();
    void contradictedEdgesAreCounted();
    void cyclesAreNamed();
    void edgesThatExplainWaitsCanBeLeftOut();
};

void ReplayGraphTest::ownDelaysGiveTheRecordedStep()
{
    const ReplayGraph graph = *Sample().builder.finish(true, describe);
    QCOMPARE(lengthOf(graph, timesOf(graph, DelayRule::Own)), std::int64_t(40));
    QCOMPARE(graph.negativeDelays, std::int64_t(0));
    for (std::size_t node = 0; node < graph.nodes(); ++node)
        for (const NodeIndex before : graph.before(static_cast<NodeIndex>(node))) QVERIFY(before < node);
}

void ReplayGraphTest::waitingIsNoDuration()
{
    const ReplayGraph graph = *Sample().builder.finish(true, describe);
    // Rank 0 spent 24 ns in the all-reduce and rank 1 spent 5, of which 4 and 5 were moving.
    std::vector<std::int64_t> moving;
    for (std::size_t node = 0; node < graph.nodes(); ++node)
        if (graph.role[node] == NodeRole::Moving) moving.push_back(graph.duration[node]);
    std::sort(moving.begin(), moving.end());
    QCOMPARE(moving, (std::vector<std::int64_t>{4, 5}));
    QCOMPARE(graph.delay[nodeOf(graph, 3, NodeRole::Work)], std::int64_t(2));
}

void ReplayGraphTest::withoutDelays()
{
    const ReplayGraph graph = *Sample().builder.finish(true, describe);
    // 28 of the slow rank, 4 moving, 4 of the optimizer.
    QCOMPARE(lengthOf(graph, timesOf(graph, DelayRule::None)), std::int64_t(36));
}

void ReplayGraphTest::aFasterRankMovesTheStep()
{
    const ReplayGraph graph = *Sample().builder.finish(true, describe);
    NodeTimes times = timesOf(graph, DelayRule::Own);
    times.duration[nodeOf(graph, 1, NodeRole::Work)] = 18;
    QCOMPARE(lengthOf(graph, times), std::int64_t(30));
    times.duration[nodeOf(graph, 1, NodeRole::Work)] = 0; // now the other rank is waited for
    QCOMPARE(lengthOf(graph, times), std::int64_t(20));
}

void ReplayGraphTest::pathAndSlack()
{
    const ReplayGraph graph = *Sample().builder.finish(true, describe);
    const NodeTimes times = timesOf(graph, DelayRule::Own);
    std::vector<std::uint32_t> pieces;
    for (const NodeIndex node : criticalNodes(graph, graph.recordedEnd, 0)) pieces.push_back(graph.piece[node]);
    QCOMPARE(pieces, (std::vector<std::uint32_t>{3, 2, kNone, 2, 1}));
    const std::vector<std::int64_t> slack = slackOf(graph, times, graph.recordedEnd);
    QCOMPARE(slack[nodeOf(graph, 0, NodeRole::Work)], std::int64_t(20));
    QCOMPARE(slack[nodeOf(graph, 1, NodeRole::Work)], std::int64_t(0));
}

/// Steps of one rank, one after the other: a wait of so many ns, then 10 ns of work.
ReplayGraph stepsWithDelays(const std::vector<std::int64_t>& delays)
{
    GraphBuilder builder(Instant{0});
    std::int64_t now = 0;
    for (std::uint32_t i = 0; i < delays.size(); ++i) {
        builder.addStep({StepIndex{static_cast<int>(i)}, false, {}, {}, now, 0});
        const NodeIndex source = builder.source(Instant{now}, i);
        const NodeIndex first = builder.work(Instant{now}, Instant{now + 5}, {NodeRole::Work, 0, i, 1});
        const NodeIndex work =
            builder.work(Instant{now + 5 + delays[i]}, Instant{now + 15 + delays[i]}, {NodeRole::Work, 1, i, 2});
        builder.edge(source, first);
        builder.edge(first, work);
        now += 1000;
    }
    return *builder.finish(true, describe);
}

void ReplayGraphTest::delaysOfAClassComeFromOtherSteps()
{
    const ReplayGraph graph = stepsWithDelays({100, 2, 4, 6});
    std::vector<std::int64_t> end;
    const NodeTimes times = timesOf(graph, DelayRule::Class);
    simulate(graph, times, end);
    // The median of the other three: 4, 6, 6 and 4.
    QCOMPARE(stepLengths(graph, times.duration, end), (std::vector<std::int64_t>{19, 21, 21, 19}));
    const ReplayGraph one = stepsWithDelays({50});
    QCOMPARE(lengthOf(one, timesOf(one, DelayRule::Class)), std::int64_t(65));
}

void ReplayGraphTest::contradictedEdgesAreCounted()
{
    GraphBuilder builder(Instant{0});
    builder.addStep({StepIndex{0}, false, {}, {}, 0, 0});
    const NodeIndex source = builder.source(Instant{0}, 0);
    const NodeIndex early = builder.work(Instant{0}, Instant{5'000}, {NodeRole::Work, 0, 0, 1});
    const NodeIndex late = builder.work(Instant{20'000}, Instant{30'000}, {NodeRole::Work, 1, 0, 2});
    builder.edge(source, late);
    builder.edge(late, early); // ended long before
    const ReplayGraph graph = *builder.finish(true, describe);
    QCOMPARE(graph.negativeDelays, std::int64_t(1));
    QCOMPARE(graph.delay[nodeOf(graph, 0, NodeRole::Work)], std::int64_t(-30'000));
}

void ReplayGraphTest::cyclesAreNamed()
{
    Sample sample;
    sample.builder.edge(sample.optimizer, sample.slow);
    const auto graph = sample.builder.finish(true, describe);
    QVERIFY(!graph.ok());
    QVERIFY2(graph.error().what.find("piece ") != std::string::npos, graph.error().what.c_str());
    QVERIFY(graph.error().what.find("waits for") != std::string::npos);
}

void ReplayGraphTest::edgesThatExplainWaitsCanBeLeftOut()
{
    Sample sample;
    sample.builder.edge(sample.fast, sample.slow, EdgeOrigin::Waiting); // contradicted: slow began before
    QCOMPARE(sample.builder.finish(true, describe)->derivedEdges, std::int64_t(1));
    const ReplayGraph without = *sample.builder.finish(false, describe);
    QCOMPARE(without.derivedEdges, std::int64_t(0));
    QCOMPARE(lengthOf(without, timesOf(without, DelayRule::Own)), std::int64_t(40));
}

FOURWALLS_TEST(ReplayGraphTest, QCoreApplication)

} // namespace tst_replay_graph

#include "tst_replay_graph.moc"
