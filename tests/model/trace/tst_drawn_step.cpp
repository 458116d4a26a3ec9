// SPDX-License-Identifier: Apache-2.0
// The drawable form of a step: how intervals fold into passes, and how changes of categories become a curve.
#include <QtTest>

#include "model/trace/drawn_step.h"
#include "tests/support/test_program.h"

namespace tst_drawn_step {

using namespace fourwalls;

namespace {

DrawnInterval interval(std::int64_t from, std::int64_t until, Phase phase, int microbatch, int position = 0)
{
    DrawnInterval each;
    each.range = {Instant{from}, Instant{until}};
    each.phase = phase;
    each.microbatch = Microbatch{microbatch};
    each.position = position;
    return each;
}

DrawnInterval waiting(std::int64_t from, std::int64_t until, Activity activity)
{
    DrawnInterval each;
    each.range = {Instant{from}, Instant{until}};
    each.kind = SliceKind::Wait;
    each.activity = activity;
    return each;
}

/// "0-1 1-2 …": the passes of a lane by their intervals.
QByteArray passesOf(DrawnLane lane, bool splitsBackward)
{
    foldPasses(lane, splitsBackward);
    QByteArray text;
    for (const DrawnPass& pass : lane.passes)
        text += QByteArray::number(pass.first) + '-' + QByteArray::number(pass.last) + ' ';
    return text.trimmed();
}

} // namespace

class DrawnStepTest : public QObject {
    Q_OBJECT

private slots:
    void backwardsOfOneMicrobatchAreOnePass()
    {
        DrawnLane lane;
        lane.intervals = {interval(0, 10, Phase::Forward, 0),         interval(10, 20, Phase::Forward, 1),
                          interval(20, 25, Phase::Recompute, 0),      interval(25, 35, Phase::BackwardInput, 0),
                          interval(35, 45, Phase::BackwardWeight, 0), interval(45, 55, Phase::BackwardInput, 1),
                          interval(55, 65, Phase::BackwardWeight, 1)};
        QCOMPARE(passesOf(lane, false), QByteArray("0-1 1-2 2-5 5-7"));
        QCOMPARE(passesOf(lane, true), QByteArray("0-1 1-2 2-4 4-5 5-6 6-7"));
    }

    void anotherMicrobatchPositionOrWaitEndsAPass()
    {
        DrawnLane lane;
        lane.intervals = {interval(0, 10, Phase::BackwardInput, 0, 1), interval(10, 20, Phase::BackwardWeight, 0, 0),
                          interval(20, 30, Phase::BackwardInput, 1),   interval(30, 40, Phase::BackwardWeight, 2),
                          interval(40, 50, Phase::BackwardInput, 3),   waiting(50, 60, Activity::PipelineWait),
                          interval(60, 70, Phase::BackwardWeight, 3)};
        QCOMPARE(passesOf(lane, false), QByteArray("0-1 1-2 2-3 3-4 4-5 6-7"));
    }

    void onlyStandingStillForOthersIsIdle()
    {
        QVERIFY(isIdle(waiting(0, 1, Activity::PipelineWait)));
        QVERIFY(isIdle(waiting(0, 1, Activity::Synchronisation)));
        QVERIFY(!isIdle(waiting(0, 1, Activity::PipelineTransfer))); // a tensor is on its way
        QVERIFY(!isIdle(interval(0, 1, Phase::Forward, 0)));
        QVERIFY(isPass(interval(0, 1, Phase::Recompute, 0)) && !isPass(interval(0, 1, Phase::Optimizer, 0)));
    }

    void changesOfCategoriesAreOneCurve()
    {
        DrawnLane lane;
        lane.memory = {{Instant{0}, MemoryCategory::Weights, 100},    {Instant{5}, MemoryCategory::Activations, 7},
                       {Instant{5}, MemoryCategory::Temporaries, 3},  {Instant{9}, MemoryCategory::Temporaries, 0},
                       {Instant{9}, MemoryCategory::Activations, 12}, {Instant{9}, MemoryCategory::Activations, 11}};
        const std::vector<MemorySample> curve = memoryCurve(lane);
        QCOMPARE(curve.size(), std::size_t{3});
        const std::int64_t at[] = {0, 5, 9}, total[] = {100, 110, 111};
        for (std::size_t i = 0; i < curve.size(); ++i) {
            QCOMPARE(curve[i].at.ns, at[i]);
            QCOMPARE(curve[i].total(), total[i]);
        }
        QCOMPARE(memoryCurve({}).front().total(), std::int64_t{0});
    }

    void aStageThatIsNotThereIsTheLastOne()
    {
        DrawnStep step;
        QVERIFY(!step.laneOf(RankId{0}, 0));
        step.lanes.resize(2);
        step.lanes[1].stage = 1;
        const RankId any{5};
        QVERIFY(step.laneOf(any, 1) == &step.lanes[1]);
        QVERIFY(step.laneOf(any, 7) == &step.lanes[1]);
        QVERIFY(step.laneOf(any, -1) == &step.lanes[0]);
        // A step of ranks has each one's own lane, and stages for those that it lacks.
        step.byRank = true;
        step.lanes[0].stage = 1;
        step.lanes[0].rank = RankId{4};
        step.lanes[1].rank = RankId{9};
        QVERIFY(step.laneOf(RankId{9}, 0) == &step.lanes[1]);
        QVERIFY(step.laneOf(any, 1) == &step.lanes[0]);
        step.byRank = false;
        QVERIFY(step.laneOf(RankId{9}, 1) == &step.lanes[0]);
    }
};

FOURWALLS_TEST(DrawnStepTest, QCoreApplication)

} // namespace tst_drawn_step

#include "tst_drawn_step.moc"
