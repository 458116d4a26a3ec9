// SPDX-License-Identifier: Apache-2.0
// Lanes of nested and overlapping slices.
#include <QTest> // first: moc stumbles over <compare> otherwise

#include "model/trace/lane_assignment.h"

#include <algorithm>
#include <random>

using namespace fourwalls;

namespace {

struct Bar {
    std::int64_t start, end;
};

/// The lanes of bars that are given in laneOrder.
QList<int> lanesOf(const std::vector<Bar>& bars)
{
    LaneAssigner assigner;
    QList<int> lanes;
    for (const Bar& bar : bars) lanes << assigner.assign(Instant{bar.start}, Duration{bar.end - bar.start});
    return lanes;
}

} // namespace

class LaneAssignmentTest : public QObject {
    Q_OBJECT

private slots:
    void nestingGoesDeeper();
    void neighboursShareALane();
    void overlapsGetSubLanes();
    void childrenOfAnOverlapLieBelowIt();
    void emptySlicesNest();
    void noLaneEverOverlaps();
    void lanesAreBounded();
};

void LaneAssignmentTest::lanesAreBounded()
{
    LaneAssigner assigner;
    const auto most = static_cast<int>(LaneAssigner::kMostLanes);
    for (int i = 0; i < most + 5; ++i) QCOMPARE(assigner.assign(Instant{i}, Duration{1'000'000 - 2 * i}), i < most ? i : -1);
    QCOMPARE(assigner.count(), most);
    QCOMPARE(assigner.overlapping(), 0);
    QCOMPARE(assigner.assign(Instant{2'000'000}, Duration{5}), 0);
}

void LaneAssignmentTest::nestingGoesDeeper()
{
    QCOMPARE(lanesOf({{0, 100}, {0, 50}, {10, 20}, {50, 100}, {60, 70}}), (QList<int>{0, 1, 2, 1, 2}));
}

void LaneAssignmentTest::neighboursShareALane()
{
    QCOMPARE(lanesOf({{0, 10}, {10, 20}, {25, 30}}), (QList<int>{0, 0, 0}));
}

void LaneAssignmentTest::overlapsGetSubLanes()
{
    // The second begins inside the first and ends after it; the third is free to return to lane 0.
    QCOMPARE(lanesOf({{0, 10}, {5, 15}, {10, 20}}), (QList<int>{0, 1, 0}));
}

void LaneAssignmentTest::childrenOfAnOverlapLieBelowIt()
{
    // [6,8) lies inside both, [12,14) only inside the second, which is on lane 1.
    QCOMPARE(lanesOf({{0, 10}, {5, 15}, {6, 8}, {12, 14}}), (QList<int>{0, 1, 2, 2}));
}

void LaneAssignmentTest::emptySlicesNest()
{
    QCOMPARE(lanesOf({{0, 10}, {0, 0}, {5, 5}, {10, 20}, {10, 10}}), (QList<int>{0, 1, 1, 0, 1}));
}

void LaneAssignmentTest::noLaneEverOverlaps()
{
    std::mt19937 random(7);
    std::vector<Bar> bars;
    for (int i = 0; i < 3000; ++i) {
        const std::int64_t start = random() % 10'000;
        bars.push_back({start, start + std::int64_t(random() % (i % 10 == 0 ? 2000 : 40))});
    }
    std::sort(bars.begin(), bars.end(), [](const Bar& a, const Bar& b) {
        return laneOrder(Instant{a.start}, Duration{a.end - a.start}, Instant{b.start}, Duration{b.end - b.start});
    });
    const QList<int> lanes = lanesOf(bars);
    for (std::size_t i = 0; i < bars.size(); ++i)
        for (std::size_t j = 0; j < i; ++j) {
            if (bars[j].end <= bars[i].start) continue;
            QVERIFY(lanes[qsizetype(i)] != lanes[qsizetype(j)]);
            const bool contains = bars[j].end >= bars[i].end;
            if (contains) QVERIFY(lanes[qsizetype(i)] > lanes[qsizetype(j)]);
        }
}

QTEST_GUILESS_MAIN(LaneAssignmentTest)
#include "tst_lane_assignment.moc"
