// SPDX-License-Identifier: Apache-2.0
// Goodput: the formulas at published points, the sums, and refusals.
#include <QtTest>

#include "model/cost/goodput.h"
#include "tests/support/test_program.h"

#include <cmath>
#include <limits>
#include <random>

namespace tst_goodput {

using namespace fourwalls;
using namespace fourwalls::cost;

class GoodputTest : public QObject {
    Q_OBJECT

private slots:
    void intervals();
    void llama3();
    void dalyIsTheBestInterval_data();
    void dalyIsTheBestInterval();
    void sharesAddUp();
    void monthlyAvailability();
    void againstChance();
    void refuses_data();
    void refuses();
};

void GoodputTest::intervals()
{
    QCOMPARE(youngInterval(50, 10'000), 1000.0);
    // Daly: sqrt(2 d M) (1 + sqrt(d/2M)/3 + (d/2M)/9) - d.
    QVERIFY(std::abs(dalyInterval(50, 10'000) - (1000 * (1 + 0.05 / 3 + 0.0025 / 9) - 50)) < 1e-9);
    QCOMPARE(dalyInterval(100, 40), 40.0);
}

/// Llama 3: 419 unexpected stops in 54 days on 16,384 devices are 3.1 h between two of them.
void GoodputTest::llama3()
{
    GoodputInput input;
    input.devices = 16'384;
    input.checkpointSeconds = 30;
    input.restartSeconds = 600;
    input.trainingSeconds = 54 * 86'400 * 0.9;
    const auto goodput = computeGoodput(input);
    QVERIFY(goodput.ok());
    QVERIFY(std::abs(goodput->jobMtbfSeconds / 3600 - 3.1) < 0.05);
    QVERIFY(goodput->goodput > 0.85 && goodput->goodput < 0.95); // the source: above 90 %
}

void GoodputTest::dalyIsTheBestInterval_data()
{
    QTest::addColumn<double>("devices");
    QTest::addColumn<double>("checkpoint");
    QTest::newRow("small job") << 8.0 << 10.0;
    QTest::newRow("thousand") << 1024.0 << 60.0;
    QTest::newRow("sixteen thousand") << 16'384.0 << 120.0;
}

void GoodputTest::dalyIsTheBestInterval()
{
    QFETCH(double, devices);
    QFETCH(double, checkpoint);
    GoodputInput input;
    input.devices = devices;
    input.checkpointSeconds = checkpoint;
    input.trainingSeconds = 1e6;
    const auto best = computeGoodput(input);
    QVERIFY(best.ok());
    for (const double factor : {0.5, 0.8, 1.25, 2.0}) {
        input.checkpointIntervalSeconds = best->intervalSeconds * factor;
        QVERIFY(computeGoodput(input)->secondsToTrain > best->secondsToTrain);
    }
}

void GoodputTest::sharesAddUp()
{
    std::mt19937 random(3);
    std::uniform_real_distribution<double> exponent(0, 4);
    for (int i = 0; i < 200; ++i) {
        GoodputInput input;
        input.devices = std::floor(std::pow(10, exponent(random)));
        input.deviceMtbfHours = std::pow(10, 1 + exponent(random));
        input.checkpointSeconds = std::pow(10, exponent(random) - 1) - 0.1;
        input.restartSeconds = std::pow(10, exponent(random) - 1) - 0.1;
        input.trainingSeconds = 1e6;
        const auto goodput = computeGoodput(input);
        if (!goodput.ok()) {
            QCOMPARE(QString::fromStdString(goodput.error().where), QString("mtbf-hours"));
            continue;
        }
        QVERIFY(std::isfinite(goodput->secondsToTrain));
        QVERIFY(goodput->goodput > 0 && goodput->goodput <= 1);
        QVERIFY(std::abs(goodput->goodput + goodput->checkpointShare + goodput->recoveryShare +
                         goodput->recomputationShare - 1) < 1e-9);
        // A more reliable device never makes it longer.
        input.deviceMtbfHours *= 2;
        QVERIFY(computeGoodput(input)->secondsToTrain <= goodput->secondsToTrain);
    }
}

void GoodputTest::monthlyAvailability()
{
    QVERIFY(std::abs(interruptionProbability(0.999, 1000) - 0.632) < 0.001);
    QCOMPARE(interruptionProbability(1, 1e6), 0.0);
    QCOMPARE(interruptionProbability(0, 1), 1.0);
}

/// The closed form against 2000 trainings in which failures fall by chance.
void GoodputTest::againstChance()
{
    GoodputInput input;
    input.devices = 1000;
    input.deviceMtbfHours = 2000; // of the job: 2 h
    input.checkpointSeconds = 60;
    input.restartSeconds = 300;
    input.trainingSeconds = 100'000;
    const auto goodput = computeGoodput(input);
    QVERIFY(goodput.ok());
    std::mt19937 random(11);
    std::exponential_distribution<double> failure(1 / goodput->jobMtbfSeconds);
    const double segments = std::round(input.trainingSeconds / goodput->intervalSeconds);
    const double segment = input.trainingSeconds / segments;
    double sum = 0;
    constexpr int kRuns = 2000;
    for (int run = 0; run < kRuns; ++run) {
        for (int done = 0; done < int(segments);) {
            const double next = failure(random);
            if (next >= segment + input.checkpointSeconds) {
                sum += segment + input.checkpointSeconds;
                ++done;
                continue;
            }
            sum += next;
            double restart = failure(random);
            while (restart < input.restartSeconds) { // the restart itself fails
                sum += restart;
                restart = failure(random);
            }
            sum += input.restartSeconds;
        }
    }
    QVERIFY2(std::abs(sum / kRuns / goodput->secondsToTrain - 1) < 0.01,
             qPrintable(QString("%1 %2").arg(sum / kRuns).arg(goodput->secondsToTrain)));
}

void GoodputTest::refuses_data()
{
    QTest::addColumn<double>("devices");
    QTest::addColumn<double>("mtbf");
    QTest::addColumn<double>("checkpoint");
    QTest::addColumn<double>("restart");
    QTest::addColumn<QString>("field");
    const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
    QTest::newRow("no devices") << 0.0 << 1.0 << 1.0 << 1.0 << "devices";
    QTest::newRow("infinite devices") << inf << 1.0 << 1.0 << 1.0 << "devices";
    QTest::newRow("no mtbf") << 1.0 << 0.0 << 1.0 << 1.0 << "mtbf-hours";
    QTest::newRow("negative checkpoint") << 1.0 << 1.0 << -1.0 << 1.0 << "checkpoint-seconds";
    QTest::newRow("no number") << 1.0 << 1.0 << 1.0 << nan << "restart-seconds";
    QTest::newRow("never ends") << 1e6 << 1.0 << 1.0 << 3600.0 << "mtbf-hours";
}

void GoodputTest::refuses()
{
    QFETCH(double, devices);
    QFETCH(double, mtbf);
    QFETCH(double, checkpoint);
    QFETCH(double, restart);
    QFETCH(QString, field);
    GoodputInput input;
    input.devices = devices;
    input.deviceMtbfHours = mtbf;
    input.checkpointSeconds = checkpoint;
    input.restartSeconds = restart;
    const auto goodput = computeGoodput(input);
    QVERIFY(!goodput.ok());
    QCOMPARE(QString::fromStdString(goodput.error().where), field);
}

FOURWALLS_TEST(GoodputTest, QCoreApplication)

} // namespace tst_goodput

#include "tst_goodput.moc"
