// SPDX-License-Identifier: Apache-2.0
// The graph of a pipeline: what waits for what. That its times are right, tst_schedule_simulation shows with a clock of
// its own.
#include <QtTest>

#include "model/graph/pipeline_graph.h"
#include "tests/support/pipeline_rows.h"
#include "tests/support/test_program.h"

#include <set>

namespace tst_pipeline_graph {

using namespace fourwalls;

class PipelineGraphTest : public QObject {
    Q_OBJECT

private slots:
    void nodesStandBehindWhatTheyWaitFor_data();
    void nodesStandBehindWhatTheyWaitFor();
    void messagesQueue();
    void aBlockedSenderStandsStill();
    void oneStageSendsNothing();
    void refusesWhatIsNoPipeline();
};

void PipelineGraphTest::nodesStandBehindWhatTheyWaitFor_data()
{
    test::addPipelineRows({{1, 1}, {2, 4}, {4, 8}, {5, 20}, {3, 3}});
}

/// Every pass of the lists is there, behind the one before it, behind the message that brings what it needs.
void PipelineGraphTest::nodesStandBehindWhatTheyWaitFor()
{
    const PipelineShape shape = test::pipelineOfRow();
    const auto lists = *pipelineActions(shape);
    for (const bool blocking : {false, true}) {
        const PipelineGraph graph = *pipelineGraph(shape, blocking);
        QCOMPARE(graph.timeOf.size(), graph.work.nodes());
        for (NodeIndex node = 0; node < graph.work.nodes(); ++node) {
            QVERIFY(graph.timeOf[node] < PipelineGraph::times(shape));
            for (const NodeIndex before : graph.work.before(node)) QVERIFY(before < node);
        }
        const auto waits = [&](NodeIndex node, NodeIndex before) {
            const auto all = graph.work.before(node);
            return std::find(all.begin(), all.end(), before) != all.end();
        };
        // Who made a message, and what it is.
        std::map<NodeIndex, PipelineTransfer> made;
        std::set<NodeIndex> seen{PipelineGraph::kBegin};
        for (int stage = 0; stage < shape.stages; ++stage) {
            const auto passes = graph.of(stage);
            const auto& list = lists[static_cast<std::size_t>(stage)];
            QCOMPARE(passes.size(), list.size());
            NodeIndex last = PipelineGraph::kBegin;
            for (std::size_t i = 0; i < list.size(); ++i) {
                QVERIFY(seen.insert(passes[i].node).second);
                QVERIFY(waits(passes[i].node, last));
                QCOMPARE(passes[i].position, shape.positionOf(stage, list[i].chunk));
                QCOMPARE(passes[i].microbatch, list[i].microbatch);
                QCOMPARE(passes[i].pass, list[i].pass);
                const auto gives = shape.gives(stage, list[i]);
                QCOMPARE(passes[i].sent != kNoNode, gives && !gives->isLocal());
                last = passes[i].node;
                if (passes[i].sent == kNoNode) continue;
                QVERIFY(seen.insert(passes[i].sent).second);
                QVERIFY(waits(passes[i].sent, passes[i].node));
                made[passes[i].sent] = *gives;
                if (blocking) last = passes[i].sent;
            }
            QCOMPARE(graph.lastOf(stage), last);
        }
        QCOMPARE(seen.size(), graph.work.nodes());
        for (int stage = 0; stage < shape.stages; ++stage)
            for (std::size_t i = 0; i < graph.of(stage).size(); ++i) {
                const PipelineGraph::Pass& pass = graph.of(stage)[i];
                const auto needs = shape.needs(stage, lists[static_cast<std::size_t>(stage)][i]);
                QCOMPARE(pass.received != kNoNode, needs && !needs->isLocal());
                if (pass.received == kNoNode) continue;
                QVERIFY(waits(pass.node, pass.received));
                const PipelineTransfer& message = made.at(pass.received);
                QCOMPARE(message.tensor, needs->tensor);
                QCOMPARE(message.microbatch, needs->microbatch);
                QCOMPARE(message.fromPosition, needs->fromPosition);
                QCOMPARE(message.toPosition, needs->toPosition);
            }
    }
}

/// When the passes and messages of stage 0 end in a GPipe of two stages and three micro-batches: passes take 1, messages 3.
std::vector<std::int64_t> endsOfStage0(bool blocking)
{
    const PipelineShape shape{PipelineSchedule::GPipe, 2, 1, 3};
    const PipelineGraph graph = *pipelineGraph(shape, blocking);
    std::vector<std::int64_t> times(PipelineGraph::times(shape), 1), end, of;
    times[PipelineGraph::timeOfBegin()] = 0;
    times[PipelineGraph::timeOfMessage(0)] = 3;
    simulateWork(graph.work, end, [&](std::size_t node) { return times[graph.timeOf[node]]; });
    for (const PipelineGraph::Pass& pass : graph.of(0)) {
        of.push_back(end[pass.node]);
        if (pass.sent != kNoNode) of.push_back(end[pass.sent]);
    }
    return of;
}

void PipelineGraphTest::messagesQueue()
{
    // Forwards end at 1, 2, 3; their messages wait for each other and end at 4, 7, 10. Stage 1 computes its forwards
    // until 5, 8, 11 and its backwards until 12, 13, 14, whose messages end at 15, 18, 21.
    QCOMPARE(endsOfStage0(false), (std::vector<std::int64_t>{1, 4, 2, 7, 3, 10, 16, 19, 22}));
}

void PipelineGraphTest::aBlockedSenderStandsStill()
{
    // Each forward waits until the message before it is over: 4, 8, 12. Stage 1: forwards until 5, 9, 13, backwards until
    // 14, 18, 22, as it stands still for its messages, which end at 17, 21, 25.
    QCOMPARE(endsOfStage0(true), (std::vector<std::int64_t>{1, 4, 5, 8, 9, 12, 18, 22, 26}));
}

void PipelineGraphTest::oneStageSendsNothing()
{
    const PipelineGraph graph = *pipelineGraph({PipelineSchedule::Interleaved, 1, 3, 4}, true);
    QCOMPARE(graph.work.nodes(), std::size_t(1 + 2 * 3 * 4));
    QCOMPARE(graph.work.edges(), std::size_t(2 * 3 * 4));
}

void PipelineGraphTest::refusesWhatIsNoPipeline()
{
    const auto graph = pipelineGraph({PipelineSchedule::Interleaved, 4, 2, 6}, false);
    QVERIFY(!graph.ok());
    QCOMPARE(QString::fromStdString(graph.error().where), QString("microbatches"));
}

FOURWALLS_TEST(PipelineGraphTest, QCoreApplication)

} // namespace tst_pipeline_graph

#include "tst_pipeline_graph.moc"
