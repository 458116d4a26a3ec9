// SPDX-License-Identifier: Apache-2.0
// Every measurement of calibrate --device cuda, carried out with the processor in the GPU's place.
#include <QTest>

#ifndef Q_MOC_RUN
#include "profiler/calibrate/gpu_bench.h"
#include "tests/profiler/engine/gpu/host_module.h"
#include "tests/support/test_program.h"

#include <algorithm>
#endif

namespace tst_gpu_bench {

using namespace fourwalls;
using namespace fourwalls::calibrate;

class GpuBenchTest : public QObject {
    Q_OBJECT

private slots:
    void everyWorkRuns();
    void tooLargeIsNotMeasured();
    void aGpuThatBreaksIsAnError();
};

void GpuBenchTest::everyWorkRuns()
{
    auto bench = openGpuBench(engine::gpu::testing::hostModule());
    QVERIFY2(bench.ok(), bench.ok() ? "" : bench.error().message().c_str());
    using enum GpuWork;
    for (const GpuMeasurement& what : {GpuMeasurement{"", Product, {16, 8, 24}, 0.001},
                                       {"", InputGradient, {16, 8, 24}, 0.001},
                                       {"", WeightGradient, {8, 24, 16}, 0.001},
                                       {"", AttentionForward, {32, 2, 8}, 0.001},
                                       {"", AttentionBackward, {32, 2, 8}, 0.001},
                                       {"", Add, {6000}, 0.001},
                                       {"", Copy, {4096}, 0.001},
                                       {"", ToDevice, {4096}, 0.001},
                                       {"", FromDevice, {4096}, 0.001},
                                       {"", Launch, {1}, 0.001}}) {
        const auto times = (*bench)->measure(what);
        QVERIFY2(times.ok(), times.ok() ? "" : times.error().message().c_str());
        QVERIFY(times->seconds.size() >= 2);
        QVERIFY(std::all_of(times->seconds.begin(), times->seconds.end(), [](double s) { return s > 0 && s < 10; }));
        QCOMPARE(times->clockMhz, 0.0); // this GPU has no bus that NVML knows
    }
}

void GpuBenchTest::tooLargeIsNotMeasured()
{
    auto bench = openGpuBench(engine::gpu::testing::hostModule());
    QVERIFY(bench.ok());
    const auto times = (*bench)->measure({"", GpuWork::Product, {65536, 65536, 65536}, 0.001});
    QVERIFY(times.ok() && times->seconds.empty());
}

void GpuBenchTest::aGpuThatBreaksIsAnError()
{
    auto bench = openGpuBench(engine::gpu::testing::hostModule());
    QVERIFY(bench.ok());
    auto& state = engine::gpu::testing::HostModuleState::get();
    state.failAfter = 5;
    const auto times = (*bench)->measure({"", GpuWork::Add, {6000}, 0.001});
    state.failAfter = -1;
    QVERIFY(!times.ok());
}

FOURWALLS_TEST(GpuBenchTest, QCoreApplication)

} // namespace tst_gpu_bench

#include "tst_gpu_bench.moc"
