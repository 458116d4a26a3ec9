// SPDX-License-Identifier: Apache-2.0
// Memory of a stage: the states of ZeRO's table 1, activations in flight against the schedules' own lists, the split of
// layers over stages.
#include <QTest>

#include "model/cost/stage_memory.h"
#include "model/spec/stage_split.h"
#include "tests/support/test_program.h"

#include <numeric>

namespace tst_stage_memory {

using namespace fourwalls;
using namespace fourwalls::cost;

class StageMemoryTest : public QObject {
    Q_OBJECT

private slots:
    void zeroTable_data();
    void zeroTable();
    void inFlight();
    void layersOverStages();
};

void StageMemoryTest::zeroTable_data()
{
    QTest::addColumn<double>("billions");
    QTest::addColumn<int>("replicas");
    QTest::addColumn<double>("one");
    QTest::addColumn<double>("two");
    QTest::addColumn<double>("three"); // GB under ZeRO 1, 2, 3: arXiv:1910.02054, table 1
    QTest::newRow("7.5B x 1") << 7.5 << 1 << 120.0 << 120.0 << 120.0;
    QTest::newRow("7.5B x 4") << 7.5 << 4 << 52.5 << 41.25 << 30.0;
    QTest::newRow("7.5B x 64") << 7.5 << 64 << 31.41 << 16.64 << 1.875;
    QTest::newRow("128B x 16") << 128.0 << 16 << 608.0 << 368.0 << 128.0;
    QTest::newRow("128B x 1024") << 128.0 << 1024 << 513.5 << 257.8 << 2.0;
    QTest::newRow("1T x 64") << 1000.0 << 64 << 4188.0 << 2219.0 << 250.0;
    QTest::newRow("1T x 1024") << 1000.0 << 1024 << 4012.0 << 2014.0 << 15.62;
}

void StageMemoryTest::zeroTable()
{
    QFETCH(double, billions);
    QFETCH(int, replicas);
    QFETCH(double, one);
    QFETCH(double, two);
    QFETCH(double, three);
    FrameworkPreset framework; // 2 bytes of weights, 2 of gradients, 12 of states
    StageContents contents;
    contents.parameters = billions * 1e9;
    contents.dense = groupsOf(replicas, replicas, {}, 8);
    ParallelPlan plan;
    const auto gigabytes = [&](int zero) {
        plan.zero = zero;
        const MemoryTerms m = stateMemory(contents, framework, plan, 2);
        return (m.weights + m.gradients + m.optimizer) * 1e-9;
    };
    QCOMPARE(gigabytes(0), 16 * billions);
    QVERIFY(qAbs(gigabytes(1) / one - 1) < 5e-4);
    QVERIFY(qAbs(gigabytes(2) / two - 1) < 5e-4);
    QVERIFY(qAbs(gigabytes(3) / three - 1) < 5e-4);
    plan.zero = 0;
    plan.offloadOptimizer = true;
    QCOMPARE(stateMemory(contents, framework, plan, 2).optimizer, 0.0);
}

void StageMemoryTest::inFlight()
{
    using enum PipelineSchedule;
    for (const PipelineSchedule schedule :
         {Naive, GPipe, OneFOneB, Interleaved, ZeroBubbleH1, ZeroBubble2p, ZeroBubbleV})
        for (const int stages : {2, 3, 4, 8})
            for (const int rounds : {1, 2, 5}) {
                PipelineShape shape{schedule, stages, 1, stages * rounds};
                if (schedule == Interleaved) shape.chunks = 3;
                if (schedule == ZeroBubbleV) shape.chunks = 2;
                const auto lists = pipelineActions(shape);
                QVERIFY(lists.ok());
                for (int stage = 0; stage < stages; ++stage) {
                    const int closed = mostInFlight(shape, stage);
                    const int listed = fourwalls::mostInFlight((*lists)[static_cast<std::size_t>(stage)]);
                    // The V shape holds less than its bound when there are as few micro-batches as stages.
                    if (schedule == ZeroBubbleV && rounds == 1)
                        QVERIFY(closed >= listed);
                    else
                        QCOMPARE(closed, listed);
                }
            }
}

void StageMemoryTest::layersOverStages()
{
    using Layers = std::vector<std::int64_t>;
    QCOMPARE(splitLayers(8, 4, StageSplit::Automatic), (Layers{2, 2, 2, 2}));
    QCOMPARE(splitLayers(22, 8, StageSplit::Automatic), (Layers{2, 3, 3, 3, 3, 3, 3, 2})); // 24 with the two ends
    QCOMPARE(splitLayers(6, 8, StageSplit::EndsCount), (Layers{0, 1, 1, 1, 1, 1, 1, 0}));
    QCOMPARE(splitLayers(10, 4, StageSplit::Layers), (Layers{3, 3, 2, 2}));
    for (std::int64_t layers = 1; layers < 40; ++layers)
        for (int positions = 1; positions <= layers; ++positions)
            for (const StageSplit split : {StageSplit::Layers, StageSplit::EndsCount, StageSplit::Automatic}) {
                const Layers result = splitLayers(layers, positions, split);
                QCOMPARE(std::accumulate(result.begin(), result.end(), std::int64_t{0}), layers);
                for (const std::int64_t count : result) QVERIFY(count >= 0);
            }
}

FOURWALLS_TEST(StageMemoryTest, QCoreApplication)

} // namespace tst_stage_memory

#include "tst_stage_memory.moc"
