// SPDX-License-Identifier: Apache-2.0
// Micro-benchmarks of this machine: every operator that the cost model looks for is there, with rates that a processor
// can have, and what was measured is what a grid gives back.
#include <QtTest>

#ifndef Q_MOC_RUN
#include "profiler/calibrate/busy_devices.h"
#include "profiler/calibrate/machine_calibration.h"
#include "profiler/calibrate/operator_benchmarks.h"
#include "tests/support/test_program.h"

#include <cmath>
#endif

namespace tst_machine_calibration {

using namespace fourwalls;
using namespace fourwalls::calibrate;

class MachineCalibrationTest : public QObject {
    Q_OBJECT

private slots:
    void everyOperatorIsMeasured();
    void onePrecisionIsMeasuredAlone();
    void passesAreAveraged();
    void busyDevicesAreComparedStretchByStretch();
};

void MachineCalibrationTest::everyOperatorIsMeasured()
{
    ClusterSpec base;
    base.devicesPerNode = 2;
    double done = 0;
    CalibrateOptions options = quickLook();
    options.secondsPerOperator = 1e-5;
    options.progress = [&done](double share) {
        QVERIFY(share >= done && share <= 1);
        done = share;
    };
    const auto measured = calibrateMachine(base, options);
    QVERIFY2(measured.ok(), measured.ok() ? "" : measured.error().message().c_str());
    QCOMPARE(done, 1.0);

    const ClusterSpec& cluster = measured->cluster;
    QCOMPARE(cluster.device.family, std::string("cpu"));
    QVERIFY(cluster.fabric == NodeFabric::Shared);
    QVERIFY(cluster.nodeLink.bytesPerSecond > 1e6 && cluster.nodeLink.latencySeconds > 0);
    QVERIFY(measured->calibration.busySlowdown >= 1 && measured->calibration.busySlowdown < 100);
    QVERIFY(measured->calibration.deviceSpread >= 0 && measured->calibration.deviceSpread <= 1);
    const double peak = cluster.device.peak(Precision::F32).value_or(0);
    QVERIFY(peak > 1e8 && peak < 1e13);

    const FamilyCalibration& family = measured->calibration.family("cpu");
    const OperatorRates& rates = family.operators.at(Precision::F32);
    for (const char* name : {"gemm",
                             "gemm.input_gradient",
                             "gemm.weight_gradient",
                             "gemm.weight_gradient.added",
                             "attention.fused",
                             "attention.fused.backward",
                             "attention.fused.whole",
                             "attention.fused.whole.backward",
                             "attention.scores",
                             "attention.values",
                             "attention.values.transposed",
                             "attention.softmax",
                             "attention.softmax.backward",
                             "attention.rotary",
                             "norm",
                             "norm.backward",
                             "norm.rms",
                             "norm.rms.backward",
                             "mlp.activation",
                             "mlp.activation.backward",
                             "mlp.activation.gated",
                             "mlp.activation.gated.backward",
                             "residual",
                             "residual.inside",
                             "copy",
                             "bias.gradient",
                             "embedding",
                             "embedding.weight_gradient",
                             "loss",
                             "loss.sharded",
                             "optimizer",
                             "optimizer.sgd"}) {
        const auto found = rates.find(name);
        QVERIFY2(found != rates.end(), name);
        const RateGrid& grid = found->second;
        std::size_t points = 1;
        for (const std::vector<double>& axis : grid.axes) points *= axis.size();
        QCOMPARE(grid.rates.size(), points);
        for (const double rate : grid.rates) QVERIFY2(std::isfinite(rate) && rate > 1e6 && rate < 1e14, name);
        // At the first point the grid gives what was measured there.
        std::vector<double> first;
        for (const std::vector<double>& axis : grid.axes) first.push_back(axis.front());
        QVERIFY(std::abs(grid.at(first) / grid.rates.front() - 1) < 1e-9);
    }
    // The report has every point that was timed.
    for (const MeasuredOperator& op : measured->operators)
        QVERIFY2(op.seconds > 0 && op.flops + op.bytes > 0 && !op.shape.empty(), op.name.c_str());
    QVERIFY(measured->operators.size() > rates.size());
}

void MachineCalibrationTest::onePrecisionIsMeasuredAlone()
{
    CalibrateOptions options = quickLook();
    options.secondsPerOperator = 1e-5;
    options.precision = Precision::F32;
    const auto measured = calibrateMachine(ClusterSpec{}, options);
    QVERIFY2(measured.ok(), measured.ok() ? "" : measured.error().message().c_str());
    const FamilyCalibration& family = measured->calibration.family("cpu");
    QCOMPARE(family.operators.size(), std::size_t{1});
    QVERIFY(family.operators.contains(Precision::F32));
    QVERIFY(!measured->cluster.device.peak(Precision::Bf16));
    QVERIFY(measured->cluster.device.memoryBytesPerSecond > 0);

    options.precision = Precision::Fp8;
    const auto refused = calibrateMachine(ClusterSpec{}, options);
    QVERIFY(!refused.ok());
    QVERIFY(refused.error().code == ErrorCode::Unsupported);
    QVERIFY2(refused.error().message().find("fp8") != std::string::npos, refused.error().message().c_str());
}

/// A product of 12 FLOP that took 6, 2 and 1 seconds: 3 seconds, so 4 FLOP/s, whatever the mean of the rates (6.67).
void MachineCalibrationTest::passesAreAveraged()
{
    std::vector<OperatorBenchmarks> passes;
    for (const double seconds : {6.0, 2.0, 1.0}) {
        OperatorBenchmarks& pass = passes.emplace_back();
        pass.rates["gemm"] = {{{64, 128}}, {12 / seconds, 120 / seconds}};
        pass.operators = {{"gemm", "64", seconds, 12, 0}, {"gemm", "128", seconds, 120, 0}};
    }
    const OperatorBenchmarks mean = meanOf(std::move(passes));
    QCOMPARE(mean.operators.size(), std::size_t{2});
    QCOMPARE(mean.operators[1].seconds, 3.0);
    const RateGrid& grid = mean.rates.at("gemm");
    QCOMPARE(grid.rates.size(), std::size_t{2});
    QCOMPARE(grid.rates[0], 4.0);
    QCOMPARE(grid.rates[1], 40.0);
}

/// Two threads that take 1.1 and 1.3 times what one alone took, on a machine that halves its speed meanwhile, and a
/// stretch in which both were interrupted.
void MachineCalibrationTest::busyDevicesAreComparedStretchByStretch()
{
    const std::vector<BusyStretch> stretches{{1, {1.1, 1.3}}, {2, {2.6, 2.2}}, {1, {9, 9}}};
    const BusyDevices busy = summaryOf(stretches);
    QVERIFY(qAbs(busy.slowdown - 1.2) < 1e-12);
    // sqrt(2 x 0.1^2) / 1.2, over 0.8 for two values; of the last one nothing.
    QVERIFY(qAbs(busy.spread - 2.0 / 3 * (0.141421356 / 1.2 / 0.8)) < 1e-8);
    QCOMPARE(summaryOf({{2, {1.0, 1.0}}}).slowdown, 1.0); // chance: more work does not make a core quicker
    QCOMPARE(measureBusyDevices(1, 1).slowdown, 1.0);
    QCOMPARE(measureBusyDevices(1, 1).spread, 0.0);
}

FOURWALLS_TEST(MachineCalibrationTest, QCoreApplication)

} // namespace tst_machine_calibration

#include "tst_machine_calibration.moc"
