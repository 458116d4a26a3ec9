// SPDX-License-Identifier: Apache-2.0
// Times of matrix products against sums done by hand: tiles, waves, ramps, memory, alignment, power, the slowest device.
#include <QTest>

#include "model/cost/device_rates.h"
#include "model/spec/run_spec.h"
#include "tests/support/test_program.h"

#include <array>

namespace tst_device_rates {

using namespace fourwalls;
using namespace fourwalls::cost;

class DeviceRatesTest : public QObject {
    Q_OBJECT

private slots:
    void wavesByHand();
    void memoryBound();
    void unalignedProducts();
    void powerLimit();
    void measuredUnderPowerLimit();
    void ratesByKindAndLength();
    void narrowFormats();
    void slowestOfMany();
    void busyNode();
    void missingFigures();
};

namespace {

/// 10 multiprocessors that multiply at 10 TFLOP/s together, no ramp, no kernel overhead.
DeviceRates simpleRates()
{
    DeviceRates rates;
    rates.peakFlops = rates.gemmFlops = rates.attentionPeak = rates.attentionGemmFlops = 1e13;
    rates.plainFlops = 1e12;
    rates.memoryBytes.fill(1e15);
    rates.streamBytes = 1e15;
    rates.multiprocessors = 10;
    return rates;
}

DeviceSpec device()
{
    DeviceSpec d;
    d.name = "device";
    d.family = "family";
    d.memoryBytesPerSecond = 1e12;
    d.peakFlops[Precision::Bf16] = 1e14;
    d.peakFlops[Precision::F32] = 1e13;
    return d;
}

} // namespace

void DeviceRatesTest::wavesByHand()
{
    DeviceRates rates = simpleRates();
    // 2560 x 1280 in tiles of 256 x 128: 10 x 10 tiles, ten whole waves over ten multiprocessors: no loss.
    const double flops = 2.0 * 2560 * 1280 * 1024;
    QVERIFY(qAbs(gemmSeconds(rates, 1, 2560, 1280, 1024) - flops / 1e13) < 1e-12);
    // One row of tiles more is one wave more.
    QVERIFY(qAbs(gemmSeconds(rates, 1, 2816, 1280, 1024) / (flops / 1e13) - 1.1) < 1e-9);
    // A product that fills one tile takes as long as ten.
    const double tile = 2.0 * 256 * 128 * 1024 / 1e12;
    const double small = 2.0 * 64 * 64 * 1024 / (0.6 * 1e12); // the smallest tile at its ratio
    QVERIFY(qAbs(gemmSeconds(rates, 1, 64, 64, 1024) - small) < 1e-12);
    QVERIFY(small < tile);
    // The ramp is paid per wave; the kernel once.
    rates.rampSeconds = 1e-3;
    rates.gemmKernelSeconds = 1;
    QVERIFY(qAbs(gemmSeconds(rates, 1, 2560, 1280, 1024) - (flops / 1e13 + 10e-3 + 1)) < 1e-9);
    QCOMPARE(gemmSeconds(rates, 1, 0, 1280, 1024), 0.0);
    // Without multiprocessors there are no tiles.
    rates.multiprocessors = 0;
    QVERIFY(qAbs(gemmSeconds(rates, 1, 100, 100, 100) - (2e6 / 1e13 + 1)) < 1e-12);
}

void DeviceRatesTest::memoryBound()
{
    DeviceRates rates = simpleRates();
    rates.streamBytes = 1e9;
    // Operands 2 x (1000 + 1000) and 2 x 1000 x 1000 written: 2,004,000 bytes at 1 GB/s.
    QVERIFY(qAbs(gemmSeconds(rates, 1, 1000, 1000, 1) - 2'004'000e-9) < 1e-9);
    // Gradients that are read and written in float move 8 bytes per element.
    QVERIFY(qAbs(gemmSeconds(rates, 1, 1000, 1000, 1, 8, 8) - 8'004'000e-9) < 1e-9);
}

void DeviceRatesTest::unalignedProducts()
{
    DeviceRates rates = simpleRates();
    const double aligned = gemmSeconds(rates, 10, 256, 128, 1024, 8, 2, true);
    // Attention whose heads do not begin on 16 bytes runs without tensor cores: a tenth of the rate here.
    QVERIFY(qAbs(gemmSeconds(rates, 10, 256, 128, 1024, 4, 2, true) / aligned - 10) < 1e-9);
    // A linear layer loses the share of its load width.
    QVERIFY(qAbs(gemmSeconds(rates, 10, 256, 128, 1024, 2) / aligned - 4) < 1e-9);
    // Single precision has no such requirement.
    rates.elementBytes = 4;
    QVERIFY(qAbs(gemmSeconds(rates, 10, 256, 128, 1024, 2, 2, true) / aligned - 1) < 1e-9);
}

void DeviceRatesTest::powerLimit()
{
    Calibration calibration;
    calibration.families["family"].gemmCeiling[Precision::Bf16] = 0.8;
    DeviceSpec limited = device();
    limited.powerWatts = 343;
    limited.fullPowerWatts = 1000;
    const auto full = deviceRates(device(), Precision::Bf16, {}, calibration);
    const auto less = deviceRates(limited, Precision::Bf16, {}, calibration);
    QVERIFY(full.ok() && less.ok());
    QCOMPARE(full->gemmFlops, 0.8e14);
    QVERIFY(qAbs(less->gemmFlops / full->gemmFlops - 0.7) < 1e-9); // the cube root of 0.343
    QCOMPARE(less->memoryBytes, full->memoryBytes);
    calibration.families["family"].powerExponent = 1; // as measured where the voltage falls no further
    const auto proportional = deviceRates(limited, Precision::Bf16, {}, calibration);
    QVERIFY(qAbs(proportional->gemmFlops / full->gemmFlops - 0.343) < 1e-9);
}

/// Products that a part reached under a limit of its power: FBGEMM's on an H100 of 500 W, which the exponent is from, and
/// its fp8 ones scaled by rows, which nothing is from: they reach nine tenths and more of those with one scale for a tensor
/// (pytorch issue 147971).
void DeviceRatesTest::measuredUnderPowerLimit()
{
    const Calibration calibration = *loadCalibration("published");
    const DeviceSpec held = loadCluster("h100-96gb")->device;
    QCOMPARE(held.powerWatts, 500.0);
    const std::array<std::array<double, 5>, 3> products{{{8192, 8192, 8192, 585.23, 1125.51},
                                                         {65'536, 8192, 7168, 575.12, 1082.75},
                                                         {65'536, 3584, 8192, 546.31, 1141.38}}};
    for (const auto& product : products) {
        const auto reached = [&](Precision precision) {
            const DeviceRates rates = *deviceRates(held, precision, {}, calibration);
            const double seconds = gemmSeconds(rates, 1, product[0], product[1], product[2]);
            return 2 * product[0] * product[1] * product[2] / seconds * 1e-12;
        };
        QVERIFY(qAbs(reached(Precision::Bf16) / product[3] - 1) < 0.06);
        const double byRows = product[4] / reached(Precision::Fp8);
        QVERIFY2(byRows > 0.88 && byRows < 1, qPrintable(QString::number(byRows)));
    }
}

void DeviceRatesTest::ratesByKindAndLength()
{
    Calibration calibration;
    FamilyCalibration& family = calibration.families["family"];
    family.gemmCeiling[Precision::Bf16] = 0.8;
    family.sustainedClock[Precision::Bf16] = 0.9;
    family.memoryFraction = 0.7;
    family.memoryFractions[MemoryClass::Norm] = 0.5;
    family.attention["kernel"] = {0.6, 0.4, 1000, 0, 0.5, {}};
    FrameworkPreset framework;
    framework.attentionKernel = "kernel";
    const DeviceRates rates = *deviceRates(device(), Precision::Bf16, framework, calibration);
    QCOMPARE(rates.gemmFlops, 0.72e14);
    QCOMPARE(memoryRate(rates, memoryClassOf("norm")), 0.5e12);
    QCOMPARE(memoryRate(rates, memoryClassOf("residual")), 0.7e12); // not measured by itself
    QVERIFY(memoryClassOf("norm.backward") == MemoryClass::NormBackward);
    QVERIFY(memoryClassOf("attention.softmax") == MemoryClass::Softmax);
    QVERIFY(memoryClassOf("moe.permute.backward") == MemoryClass::Layout);
    QVERIFY(memoryClassOf("attention.fused") == MemoryClass::Contiguous);
    // Half of the rate at 1000 keys, in the backward pass all of it; narrow heads half of that.
    QCOMPARE(attentionRate(rates, false, 1000, 128), 0.3e14);
    QCOMPARE(attentionRate(rates, true, 1000, 128), 0.4e14);
    QCOMPARE(attentionRate(rates, false, 1000, 64), 0.15e14);
    // A part that is held below its power was measured held.
    DeviceSpec limited = device();
    limited.powerWatts = 343;
    limited.fullPowerWatts = 1000;
    QVERIFY(qAbs(deviceRates(limited, Precision::Bf16, framework, calibration)->gemmFlops / (0.8e14 * 0.7) - 1) < 1e-9);
}

void DeviceRatesTest::narrowFormats()
{
    const Calibration calibration = *loadCalibration("published");
    const DeviceSpec b200 = loadCluster("dgx-b200")->device;
    const DeviceRates fp8 = *deviceRates(b200, Precision::Fp8, {}, calibration);
    const DeviceRates blocks = *deviceRates(b200, Precision::Mxfp8, {}, calibration);
    const DeviceRates fp4 = *deviceRates(b200, Precision::Fp4, {}, calibration);
    QCOMPARE(blocks.peakFlops, fp8.peakFlops);
    QVERIFY(blocks.castBytes > fp8.castBytes && fp4.castBytes < fp8.castBytes);
    QCOMPARE(fp4.peakFlops, *b200.peak(Precision::Fp4));
    QVERIFY(fp4.peakFlops > 1.9 * fp8.peakFlops);
    QCOMPARE(deviceRates(b200, Precision::Bf16, {}, calibration)->castBytes, 0.0);
    QVERIFY(!deviceRates(loadCluster("dgx-h100")->device, Precision::Fp4, {}, calibration).ok());
}

void DeviceRatesTest::slowestOfMany()
{
    QCOMPARE(slowestDevice(1, 0.1), 1.0);
    QCOMPARE(slowestDevice(1000, 0), 1.0);
    // Expected largest of 8 and of 1000 normal deviates: 1.42 and 3.24 (tables of order statistics).
    QVERIFY(qAbs(slowestDevice(8, 0.01) - 1.0142) < 3e-4);
    QVERIFY(qAbs(slowestDevice(1000, 0.01) - 1.0324) < 3e-4);
}

void DeviceRatesTest::busyNode()
{
    QCOMPARE(busyFactor(1, 8, 1.7), 1.0);
    QCOMPARE(busyFactor(8, 8, 1.7), 1.7);
    QCOMPARE(busyFactor(64, 8, 1.7), 1.7); // every node is full
    QVERIFY(qAbs(busyFactor(3, 8, 1.7) - 1.2) < 1e-12);
    QCOMPARE(busyFactor(4, 1, 1.7), 1.0); // a node of its own for each
}

void DeviceRatesTest::missingFigures()
{
    DeviceSpec d = device();
    d.memoryBytesPerSecond = 0;
    const auto noMemory = deviceRates(d, Precision::Bf16, {}, {});
    QVERIFY(!noMemory.ok());
    QVERIFY(noMemory.error().message().find("memory bandwidth") != std::string::npos);
    d = device();
    d.peakFlops.clear();
    const auto noPeak = deviceRates(d, Precision::Bf16, {}, {});
    QVERIFY(!noPeak.ok());
    QVERIFY(noPeak.error().message().find("bf16") != std::string::npos);
}

FOURWALLS_TEST(DeviceRatesTest, QCoreApplication)

} // namespace tst_device_rates

#include "tst_device_rates.moc"
