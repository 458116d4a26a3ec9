// SPDX-License-Identifier: Apache-2.0
// The simulator on graphs that are worked out by hand.
#include <QtTest>

#include "model/graph/work_graph.h"
#include "tests/support/test_program.h"

#include <limits>

namespace tst_work_graph {

using namespace fourwalls;

class WorkGraphTest : public QObject {
    Q_OBJECT

private slots:
    void theLastPredecessorDecides();
    void timesMayBeNegative();
    void anyNumberIsATime();
    void aSecondRunForgetsTheFirst();
};

/// Two pieces of work begin at once, three wait for them, the last for all.
WorkGraph diamond()
{
    WorkGraph graph;
    const NodeIndex quick = graph.add(), slow = graph.add();
    const NodeIndex behindQuick = graph.add(quick), behindSlow = graph.add(slow), behindBoth = graph.add(quick, slow);
    graph.add();
    for (const NodeIndex each : {behindQuick, behindSlow, behindBoth}) graph.waitFor(each);
    return graph;
}

template <class Time>
std::vector<Time> endsOf(const WorkGraph& graph, const std::vector<Time>& times)
{
    std::vector<Time> end;
    simulateWork(graph, end, [&](std::size_t node) { return times[node]; });
    return end;
}

void WorkGraphTest::theLastPredecessorDecides()
{
    const WorkGraph graph = diamond();
    QCOMPARE(graph.nodes(), std::size_t(6));
    QCOMPARE(graph.edges(), std::size_t(7));
    QVERIFY(graph.before(0).empty());
    QCOMPARE(graph.before(5).size(), std::size_t(3));
    QCOMPARE(endsOf<std::int64_t>(graph, {3, 7, 10, 1, 5, 2}), (std::vector<std::int64_t>{3, 7, 13, 8, 12, 15}));
    // Without what took longest the next one decides.
    QCOMPARE(endsOf<std::int64_t>(graph, {3, 7, 0, 1, 5, 2}), (std::vector<std::int64_t>{3, 7, 3, 8, 12, 14}));
}

/// A recording may begin before its origin: what waits for others starts with them, not at 0.
void WorkGraphTest::timesMayBeNegative()
{
    WorkGraph graph;
    const NodeIndex early = graph.add();
    graph.add(early);
    QCOMPARE(endsOf<std::int64_t>(graph, {-50, 20}), (std::vector<std::int64_t>{-50, -30}));
}

void WorkGraphTest::anyNumberIsATime()
{
    const std::vector<double> end = endsOf<double>(diamond(), {0.25, 0.5, 1, 0.125, 0.0625, 2});
    QCOMPARE(end, (std::vector<double>{0.25, 0.5, 1.25, 0.625, 0.5625, 3.25}));
}

void WorkGraphTest::aSecondRunForgetsTheFirst()
{
    std::vector<int> end(100, 77);
    const WorkGraph graph = diamond();
    simulateWork(graph, end, [](std::size_t) { return 1; });
    QCOMPARE(end, (std::vector<int>{1, 1, 2, 2, 2, 3}));
    simulateWork(WorkGraph(), end, [](std::size_t) { return 1; });
    QVERIFY(end.empty());
}

FOURWALLS_TEST(WorkGraphTest, QCoreApplication)

} // namespace tst_work_graph

#include "tst_work_graph.moc"
