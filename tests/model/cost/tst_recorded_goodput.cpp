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
        const auto input = cost::goodputInputOf(time);
        QVERIFY(input.has_value());
        QCOMPARE(input->deviceMtbfHours * 3600, 20.0);
        QCOMPARE(input->restartSeconds, 2.0);
        QCOMPARE(input->checkpointSeconds, 0.5);
        QCOMPARE(input->checkpointIntervalSeconds, (60.0 + 2 + 20) / 16);
        // Daly's equation 20, worked out here.
        const double m = 20, r = 2, d = 0.5, t = 82.0 / 16;
        const double perWork = m / t * std::exp(r / m) * (std::exp((t + d) / m) - 1);
        const auto predicted = cost::predictedGoodput(*input, time);
        QVERIFY(predicted.ok() && std::abs(*predicted - 60.0 / 62 / perWork) < 1e-12);
        time.checkpoints = 0; // from the beginning each time
        QCOMPARE(cost::goodputInputOf(time)->checkpointIntervalSeconds, 62.0);
    }

    void withoutFailuresThereIsNoRate()
    {
        JobTime time;
        time.range = {Instant{0}, Instant{100 * kMs}};
        time.training = Duration{100 * kMs};
        QVERIFY(!cost::goodputInputOf(time));
    }
};

FOURWALLS_TEST(TestRecordedGoodput, QCoreApplication)

} // namespace tst_recorded_goodput

#include "tst_recorded_goodput.moc"
