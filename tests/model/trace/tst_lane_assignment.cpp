// SPDX-License-Identifier: Apache-2.0
// Lanes of nested and overlapping slices.
#include <QTest> // first: moc stumbles over <compare> otherwise

#include "model/trace/lane_assignment.h"
#include "tests/support/test_program.h"

#include <algorithm>
#include <random>

namespace tst_lane_assignment {

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

/// What a LaneAssigner is to do, lane by lane.
class LaneRule {
public:
    int assign(Instant start, Duration duration)
    {
        const Instant end = start + duration;
        std::size_t lane = m_ends.size();
        while (lane > 0 && !(m_ends[lane - 1] > start && m_ends[lane - 1] >= end)) --lane;
        const std::size_t below = lane;
        while (lane < m_ends.size() && m_ends[lane] > start) ++lane;
        if (lane == LaneAssigner::kMostAssigned) return -1;
        if (lane != below) ++overlapping;
        if (lane == m_ends.size())
            m_ends.push_back(end);
        else
            m_ends[lane] = end;
        return static_cast<int>(lane);
    }

    int overlapping = 0;

private:
    std::vector<Instant> m_ends;
};

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
    void manyLanesAreThoseOfTheRule_data();
    void manyLanesAreThoseOfTheRule();
};

void LaneAssignmentTest::lanesAreBounded()
{
    LaneAssigner assigner;
    const auto most = static_cast<int>(LaneAssigner::kMostAssigned);
    for (int i = 0; i < most + 5; ++i)
        QCOMPARE(assigner.assign(Instant{i}, Duration{1'000'000 - 2 * i}), i < most ? i : -1);
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

void LaneAssignmentTest::manyLanesAreThoseOfTheRule_data()
{
    QTest::addColumn<int>("slices");
    QTest::addColumn<int>("open");  ///< at a time, about
    QTest::addColumn<int>("lanes"); ///< at least
    QTest::newRow("a few") << 5000 << 5 << 4;
    QTest::newRow("hundreds") << 5000 << 700 << 500;
    QTest::newRow("more than there can be") << 30'000 << 40'000 << static_cast<int>(LaneAssigner::kMostAssigned);
}

void LaneAssignmentTest::manyLanesAreThoseOfTheRule()
{
    QFETCH(int, slices);
    QFETCH(int, open);
    QFETCH(int, lanes);
    std::mt19937 random(7);
    LaneAssigner assigner;
    LaneRule rule;
    Instant start{0};
    std::int64_t longest = 0; // of the slices that begin at `start`
    int left = 0;
    for (int i = 0; i < slices; ++i) {
        const bool isLater = random() % 3 != 0;
        if (isLater) start.ns += 1 + random() % 3;
        // Most are open side by side; some hold others, some hold nothing, and now and then all come to an end.
        std::int64_t length = open + random() % (open / 2 + 1);
        if (random() % 8 == 0) length *= 3;
        if (random() % 4 == 0) length = random() % 4;
        if (random() % (4 * open) == 0) start.ns += 5 * open;
        if (!isLater) length = std::min(length, longest);
        longest = length;
        const int lane = rule.assign(start, Duration{length});
        QCOMPARE(assigner.assign(start, Duration{length}), lane);
        left += lane < 0;
    }
    QVERIFY2(assigner.count() >= lanes, qPrintable(QString::number(assigner.count())));
    QCOMPARE(assigner.overlapping(), rule.overlapping);
    QCOMPARE(left > 0, assigner.count() == static_cast<int>(LaneAssigner::kMostAssigned));
}

FOURWALLS_TEST(LaneAssignmentTest, QCoreApplication)

} // namespace tst_lane_assignment

#include "tst_lane_assignment.moc"
