// SPDX-License-Identifier: Apache-2.0
// What the model of failures takes from a recorded job, and what it says of it.
#include <QtTest>

#include "model/cost/recorded_goodput.h"
#include "tests/support/test_program.h"

#include <cmath>

namespace tst_recorded_goodput {

using namespace fourwalls;

namespace {

constexpr std::int64_t kMs = 1'000'000;

} // namespace

class TestRecordedGoodput : public QObject {
    Q_OBJECT

private slots:
    void theModelsInputsAreTheJobs()
    {
        JobTime time;
        time.range = {Instant{0}, Instant{100'000 * kMs}};
        time.training = Duration{60'000 * kMs};
        const auto set = [&](LostTime part, std::int64_t ms) {
            time.lost[static_cast<std::size_t>(part)] = Duration{ms * kMs};
        };
        set(LostTime::Detection, 4'000);
        set(LostTime::Restart, 5'000);
        set(LostTime::Loading, 1'000);
        set(LostTime::LostWork, 20'000);
        set(LostTime::Checkpoints, 8'000);
        set(LostTime::SlowSteps, 2'000);
        time.failures = 5;
        time.checkpoints = 16;
        time.keptSteps = 64;
        time.lostSteps = 18;
        time.stepsBetweenCheckpoints = 4;
        const auto found = cost::predictRecorded(time);
        QVERIFY(found.ok() && found->has_value());
        const cost::RecordedPrediction& predicted = **found;
        QCOMPARE(predicted.input.deviceMtbfHours * 3600, 20.0);
        QCOMPARE(predicted.input.restartSeconds, 2.0);
        QCOMPARE(predicted.input.checkpointSeconds, 0.5);
        QCOMPARE(predicted.input.checkpointIntervalSeconds, 62.0 / 16);
        // 16 checkpoints, 5 recoveries, and of five intervals half: a step is 62/64 s.
        const double expected = 60.0 / (62 + 8 + 10 + 5 * 0.5 * 62.0 / 16);
        QVERIFY(std::abs(predicted.goodput.mean - expected) < 0.005);
        QVERIFY(predicted.goodput.low < expected && expected < predicted.goodput.high);
        QCOMPARE(predicted.atItsFailures, 60.0 / (62 + 8 + 10 + 20.5 * 62 / 64));
        const double shares = predicted.goodput.mean + predicted.checkpointShare + predicted.recoveryShare +
                              predicted.recomputationShare + predicted.slowShare;
        QVERIFY(std::abs(shares - 1) < 1e-12);
        time.stepsBetweenCheckpoints = 0; // from the beginning each time
        QCOMPARE((*cost::predictRecorded(time))->input.checkpointIntervalSeconds, 62.0);
    }

    void whatWasNotRecordedHasNoCost()
    {
        JobTime time;
        time.range = {Instant{0}, Instant{12'000 * kMs}};
        QVERIFY(!cost::recordedCosts(time).jobMtbfSeconds && !cost::recordedCosts(time).restartSeconds);
        QVERIFY(!cost::recordedCosts(time).checkpointSeconds);
        time.checkpoints = 4;
        time.lost[static_cast<std::size_t>(LostTime::Checkpoints)] = Duration{2'000 * kMs};
        QCOMPARE(cost::recordedCosts(time).checkpointSeconds, std::optional(0.5));
        QVERIFY(!cost::recordedCosts(time).jobMtbfSeconds);
        time.failures = 3;
        time.lost[static_cast<std::size_t>(LostTime::Restart)] = Duration{3'000 * kMs};
        QCOMPARE(cost::recordedCosts(time).jobMtbfSeconds, std::optional(4.0));
        QCOMPARE(cost::recordedCosts(time).restartSeconds, std::optional(1.0));
    }

    void withoutFailuresThereIsNoRate()
    {
        JobTime time;
        time.range = {Instant{0}, Instant{100 * kMs}};
        time.training = Duration{100 * kMs};
        const auto found = cost::predictRecorded(time);
        QVERIFY(found.ok() && !found->has_value());
    }
};

FOURWALLS_TEST(TestRecordedGoodput, QCoreApplication)

} // namespace tst_recorded_goodput

#include "tst_recorded_goodput.moc"
