// SPDX-License-Identifier: Apache-2.0
// The plans of a search: their front, the best that a brush lets through, and their limits.
#include <QtTest> // Qt's headers first: the moc of Qt 6.4 cannot read <compare> as the first header

#include "model/present/plan_cloud.h"
#include "tests/support/test_program.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace tst_plan_cloud {

using namespace fourwalls;

class PlanCloudTest : public QObject {
    Q_OBJECT

    static cost::SearchedPlan plan(int tp, double seconds, double bytes, bool feasible = true)
    {
        cost::SearchedPlan searched;
        searched.plan.tp = tp;
        searched.seconds = seconds;
        searched.peakBytes = bytes;
        searched.feasible = feasible;
        return searched;
    }

private slots:
    void theFrontIsWhatNothingBeats()
    {
        PlanCloud cloud;
        ParallelPlan base;
        base.overlap = false;
        cloud.reset(base);
        const std::vector<cost::SearchedPlan> first{plan(1, 4, 10), plan(2, 2, 30), plan(4, 3, 40)};
        const std::vector<cost::SearchedPlan> second{plan(8, 1, 50), plan(16, 0.5, 20, false), plan(32, 2, 25)};
        cloud.add(first);
        cloud.add(second);
        std::vector<int> front;
        for (const std::uint32_t index : cloud.front()) front.push_back(cloud.plan(index).tp);
        QCOMPARE(front, (std::vector<int>{8, 32, 1})); // 2 is beaten by 32, 4 by 2; 16 does not fit
        QVERIFY(!cloud.plan(0).overlap);
        QCOMPARE(cloud.best({}, 2), (std::vector<std::uint32_t>{3, 5})); // as quick as 1, and needs less
        PlanBrushes brushes;
        brushes[static_cast<std::size_t>(PlanAxis::Tensor)] = PlanBrush{1, 4};
        QCOMPARE(cloud.best(brushes, 9), (std::vector<std::uint32_t>{1, 2, 0}));
        QCOMPARE(cloud.sample(brushes, 100).size(), std::size_t{3});
        QCOMPARE(cloud.limits(PlanAxis::Tensor), (std::pair{1.0, 32.0}));
    }
};

FOURWALLS_TEST(PlanCloudTest, QCoreApplication)

} // namespace tst_plan_cloud

#include "tst_plan_cloud.moc"
