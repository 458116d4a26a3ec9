// SPDX-License-Identifier: Apache-2.0
// A predicted memory curve over recorded steps: it begins with each of them and keeps the peak.
#include <QtTest> // Qt's headers first: the moc of Qt 6.4 cannot read <compare> as the first header

#include "model/present/memory_ghost.h"
#include "model/trace/in_memory_query.h"
#include "model/trace/metrics.h"
#include "tests/support/small_spec.h"
#include "tests/support/test_program.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

namespace tst_memory_ghost {

using namespace fourwalls;

class MemoryGhostTest : public QObject {
    Q_OBJECT

private slots:
    void ghostsBeginWithTheirSteps()
    {
        const RunSpec spec = sample::smallSpec();
        const auto data = sample::predicted(spec);
        InMemoryTraceQuery query(data);
        const Duration step = *computeMetrics(query)->stepTime;
        const std::vector<StepSpan> steps{
            {{Instant{1'000}, Instant{1'000} + step}, StepIndex(0), StepState::Measured},
            {{Instant{5'000} + step, Instant{5'000} + step + step}, StepIndex(1), StepState::Measured}};
        const DrawnStep predicted = cost::predictStep(spec)->drawn;
        const std::vector<MemorySample> ghost = ghostOf(predicted, RankId{0}, 1, steps, 100'000);
        QVERIFY(!ghost.empty());
        QCOMPARE(ghost.front().at, Instant{1'000});
        QVERIFY(std::is_sorted(ghost.begin(), ghost.end(), [](const auto& a, const auto& b) { return a.at < b.at; }));
        std::int64_t highest = 0;
        for (const MemorySample& sample : ghost) highest = std::max(highest, sample.total());
        // The trace rounds every buffer to bytes, the curve their sum.
        QVERIFY(std::abs(highest - predictedPeak(*data, RankId{0}, 1)->peakBytes) <= 16);
        // A picture of few samples keeps the peak.
        std::int64_t thin = 0;
        for (const MemorySample& sample : ghostOf(predicted, RankId{0}, 1, steps, 40))
            thin = std::max(thin, sample.total());
        QCOMPARE(thin, highest);
        QCOMPARE(predictedRank(*data, RankId{0}, 7)->pipelineStage, 1); // of the last stage there is
    }

    /// A long run has a level while all of it is in sight, and curves where one looks closer.
    void aLongRunHasCurvesWhereOneLooks()
    {
        const auto predicted = std::make_shared<const DrawnStep>(cost::predictStep(sample::smallSpec())->drawn);
        const std::int64_t length = predicted->lanes.front().step.length().ns;
        std::vector<StepSpan> steps;
        for (int i = 0; i < 1000; ++i)
            steps.push_back({{Instant{i * length}, Instant{(i + 1) * length}}, StepIndex(i), StepState::Measured});
        const TimeRange whole{Instant{0}, Instant{1000 * length}};
        const TimeRange close{Instant{500 * length}, Instant{502 * length}};
        GhostCurve curve;
        QVERIFY(!curve.isOutOfSight(steps, close, close)); // there is none
        const auto level = curve.over(steps, predicted, RankId{0}, 0, whole, whole);
        QVERIFY(level);
        QCOMPARE(level->size(), std::size_t{2});
        QCOMPARE(level->front().total(), level->back().total());
        QVERIFY(!curve.over(steps, predicted, RankId{0}, 0, whole, whole)); // as before
        QVERIFY(!curve.isOutOfSight(steps, whole, whole));
        QVERIFY(curve.isOutOfSight(steps, close, close));
        curve.forget();
        const auto curves = curve.over(steps, predicted, RankId{0}, 0, close, whole);
        QVERIFY(curves && curves->size() > 10);
        QVERIFY(!curve.isOutOfSight(steps, close, close));
        QVERIFY(curve.isOutOfSight(steps, whole, whole));
        const auto none = curve.over(steps, nullptr, RankId{0}, 0, close, whole);
        QVERIFY(none && none->empty());
    }
};

FOURWALLS_TEST(MemoryGhostTest, QCoreApplication)

} // namespace tst_memory_ghost

#include "tst_memory_ghost.moc"
