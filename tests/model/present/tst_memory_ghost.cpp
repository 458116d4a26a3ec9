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
};

FOURWALLS_TEST(MemoryGhostTest, QCoreApplication)

} // namespace tst_memory_ghost

#include "tst_memory_ghost.moc"
