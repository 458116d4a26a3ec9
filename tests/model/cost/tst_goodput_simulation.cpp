// SPDX-License-Identifier: Apache-2.0
// Simulated jobs: against the formulas where those hold, and where they do not.
#include <QtTest>

#include "model/cost/goodput_simulation.h"
#include "tests/support/test_program.h"

#include <cmath>

namespace tst_goodput_simulation {

using namespace fourwalls;
using namespace fourwalls::cost;

namespace {

GoodputInput largeJob()
{
    GoodputInput input;
    input.devices = 16'384;
    input.checkpointSeconds = 60;
    input.trainingSeconds = 30 * 86'400.0;
    return input;
}

} // namespace

class TestGoodputSimulation : public QObject {
    Q_OBJECT

private slots:
    void theMeanIsDalys()
    {
        GoodputSimulation simulation{largeJob()};
        const auto formula = computeGoodput(simulation.job);
        const auto simulated = simulateGoodput(simulation);
        QVERIFY(formula.ok() && simulated.ok());
        QVERIFY(std::abs(simulated->seconds.mean / formula->secondsToTrain - 1) < 0.005);
        QVERIFY(std::abs(simulated->interruptions.mean / formula->interruptions - 1) < 0.01);
        QVERIFY(std::abs(simulated->goodput.mean - formula->goodput) < 0.003);
        QVERIFY(std::abs(simulated->checkpointShare - formula->checkpointShare) < 0.001);
        const double sum = simulated->goodput.mean + simulated->checkpointShare + simulated->recoveryShare +
                           simulated->recomputationShare;
        QVERIFY(std::abs(sum - 1) < 1e-9);
    }

    /// Regular failures never leave the time for a long interval; the formula, which knows chance alone, allows it.
    void whatNeverEndsIsRefused()
    {
        GoodputSimulation simulation{largeJob()};
        simulation.failureShape = 10;
        simulation.jobs = 20;
        const auto best = simulatedBestInterval(simulation);
        QVERIFY(best.ok());
        QVERIFY(*best > 0 && *best < 11'140);
        simulation.job.checkpointIntervalSeconds = 17'500;
        QVERIFY(computeGoodput(simulation.job).ok());
        QCOMPARE(simulateGoodput(simulation).error().code, ErrorCode::InvalidArgument);
    }

    void failuresOfAPeriodArePoissons()
    {
        GoodputSimulation simulation{largeJob()};
        simulation.periodSeconds = 54 * 86'400.0;
        simulation.jobs = 4000;
        const auto simulated = simulateGoodput(simulation);
        QVERIFY(simulated.ok());
        const double mean = simulation.periodSeconds / (50'700 * 3600.0 / 16'384);
        QVERIFY(std::abs(simulated->interruptions.mean - mean) < 2);
        const double spread = 1.645 * std::sqrt(mean);
        QVERIFY(std::abs(simulated->interruptions.high - (mean + spread)) < 4);
        QVERIFY(std::abs(simulated->interruptions.low - (mean - spread)) < 4);
        QCOMPARE(simulated->seconds.low, simulation.periodSeconds);
    }

    void theBestIntervalIsDalysWhereFailuresAreConstant()
    {
        GoodputSimulation simulation{largeJob()};
        simulation.jobs = 100;
        const auto best = simulatedBestInterval(simulation);
        const auto formula = computeGoodput(simulation.job);
        QVERIFY(best.ok() && formula.ok());
        QVERIFY(*best / formula->dalySeconds > 0.75 && *best / formula->dalySeconds < 1.35); // the curve is flat there
        // Failures that come in clusters, soon after a restart, lose little work each.
        simulation.failureShape = 0.5;
        const auto young = simulateGoodput(simulation);
        QVERIFY(young.ok());
        QVERIFY(young->recomputationShare < simulateGoodput({largeJob()})->recomputationShare);
    }

    void failuresThatAreGiven()
    {
        GoodputInput job;
        job.deviceMtbfHours = 1;
        job.trainingSeconds = 1000;
        job.checkpointIntervalSeconds = 100;
        job.checkpointSeconds = 5;
        job.restartSeconds = 20;
        const auto none = goodputOfFailures(job, 0);
        QVERIFY(none.ok());
        QCOMPARE(none->low, 1000.0 / 1050);
        QCOMPARE(none->high, none->low);
        const auto some = goodputOfFailures(job, 12);
        QVERIFY(some.ok());
        QVERIFY(std::abs(some->middle - 1000.0 / (1050 + 240 + 600)) < 0.01);
        // The sum of twelve uniform numbers: a variance of one interval squared.
        QVERIFY(std::abs(some->low - 1000.0 / (1890 + 164.5)) < 0.01);
        QVERIFY(std::abs(some->high - 1000.0 / (1890 - 164.5)) < 0.01);
    }

    void refuses()
    {
        GoodputSimulation simulation{largeJob()};
        simulation.jobs = 0;
        QVERIFY(!simulateGoodput(simulation));
        simulation.jobs = 1;
        simulation.failureShape = 0;
        QVERIFY(!simulateGoodput(simulation));
        simulation.failureShape = 1;
        simulation.periodSeconds = -1;
        QVERIFY(!simulateGoodput(simulation));
        simulation.periodSeconds = 1e300;
        QVERIFY(!simulateGoodput(simulation));
        simulation.periodSeconds = 0;
        simulation.job.trainingSeconds = 0;
        QVERIFY(!simulateGoodput(simulation));
        QVERIFY(!goodputOfFailures(largeJob(), -1));
    }
};

FOURWALLS_TEST(TestGoodputSimulation, QCoreApplication)

} // namespace tst_goodput_simulation

#include "tst_goodput_simulation.moc"
