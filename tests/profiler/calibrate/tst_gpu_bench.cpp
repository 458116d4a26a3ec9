// SPDX-License-Identifier: Apache-2.0
// Every measurement of calibrate --device cuda, carried out with the processor in the GPU's place.
#include <QTest>

#ifndef Q_MOC_RUN
#include "profiler/calibrate/gpu_bench.h"
#include "tests/profiler/engine/gpu/host_module.h"
#include "tests/support/test_program.h"

#include <algorithm>
#include <string>
#include <vector>
#endif

namespace tst_gpu_bench {

using namespace fourwalls;
using namespace fourwalls::calibrate;
using engine::gpu::testing::hostModule;
using engine::gpu::testing::HostModuleState;

class GpuBenchTest : public QObject {
    Q_OBJECT

private slots:
    void init();
    void cleanup();
    void everyWorkRuns();
    void burstsComeBeforeWhatHeatsTheGpu();
    void operandsAreNotInTheCache();
    void graphsAreReplayed();
    void collectivesOfSeveralGpus();
    void productsBesideOtherWork();
    void withoutNcclThereIsNoGroup();
    void tooLargeIsNotMeasured();
    void aGpuThatBreaksIsAnError();
};

HostModuleState& state()
{
    return HostModuleState::get();
}

void GpuBenchTest::init()
{
    state().cacheBytes = 1 << 16; // the pool of operands is four times as large
}

void GpuBenchTest::cleanup()
{
    state().cacheBytes = 50 << 20;
    state().devices = 1;
    state().hasNccl = true;
    QCOMPARE(state().bytesOn(0) + state().bytesOn(1) + state().bytesOn(2),
             std::int64_t{0}); // everything was given back
    QCOMPARE(state().openEnds, 0);
    QCOMPARE(state().graphs, std::int64_t{0});
}

void GpuBenchTest::everyWorkRuns()
{
    auto bench = openGpuBench(hostModule(), 1);
    QVERIFY2(bench.ok(), bench.ok() ? "" : bench.error().message().c_str());
    using enum GpuWork;
    std::vector<GpuMeasurement> all{{"", Product, {16, 8, 24}, 0.001},
                                    {"", InputGradient, {16, 8, 24}, 0.001},
                                    {"", WeightGradient, {8, 24, 16}, 0.001},
                                    {"", AttentionForward, {32, 2, 8}, 0.001},
                                    {"", AttentionBackward, {32, 2, 8}, 0.001},
                                    {"", Copy, {4096}, 0.001},
                                    {"", ToDevice, {4096}, 0.001},
                                    {"", FromDevice, {4096}, 0.001},
                                    {"", Launch, {1}, 0.001},
                                    {"", RoundTrip, {1}, 0.001},
                                    {"", GraphLaunch, {10}, 0.001}};
    for (const MemoryKernel& kernel : memoryKernels()) {
        all.push_back({"", kernel.work, {2 * kRowWidth * kernel.countedBytes}, 0.001}); // of the pool, some too large
        QCOMPARE(rowsOf(all.back()), std::int64_t{2});
    }
    for (const GpuMeasurement& what : all) {
        const auto times = (*bench)->measure(what);
        QVERIFY2(times.ok(), times.ok() ? "" : times.error().message().c_str());
        QVERIFY(times->seconds.size() >= 2);
        QVERIFY(std::all_of(times->seconds.begin(), times->seconds.end(), [](double s) { return s > 0 && s < 10; }));
        QCOMPARE(times->clockMhz, 0.0); // this GPU has no bus that NVML knows
    }
}

/// A burst behind ten seconds of work would have their clock, and the ratio of the two would say nothing. Each product
/// that lasts has its burst.
void GpuBenchTest::burstsComeBeforeWhatHeatsTheGpu()
{
    for (const int gpus : {1, 4}) {
        const std::vector<GpuMeasurement> all = gpuSchedule(gpus);
        const auto hot = std::find_if(all.begin(), all.end(), [](const GpuMeasurement& m) { return m.sustained(); });
        int pairs = 0;
        for (const GpuMeasurement& lasting : all) {
            if (!lasting.sustained() || lasting.work != GpuWork::Product || lasting.beside != Beside::Nothing) continue;
            ++pairs;
            QVERIFY(std::any_of(all.begin(), hot, [&](const GpuMeasurement& burst) {
                return burst.work == GpuWork::Product && burst.extents == lasting.extents;
            }));
        }
        QCOMPARE(pairs, 16);
    }
}

/// Calls of one kernel go through more memory than the caches have, also where one call needs little of it.
void GpuBenchTest::operandsAreNotInTheCache()
{
    auto bench = openGpuBench(hostModule(), 1);
    QVERIFY(bench.ok());
    const auto without = state().bytesOn(0);
    const double small = kRowWidth * 3 * 2;
    const auto times = (*bench)->measure({"", GpuWork::Add, {small}, 0.001});
    QVERIFY(times.ok() && !times->seconds.empty());
    QVERIFY(state().bytesOn(0) - without >= 4 * state().cacheBytes); // the pool stays
}

/// A graph of 10 is launched as often as it is timed, and its kernels are asked for once alone.
void GpuBenchTest::graphsAreReplayed()
{
    auto bench = openGpuBench(hostModule(), 1);
    QVERIFY(bench.ok());
    const auto before = state().graphLaunches;
    const auto times = (*bench)->measure({"", GpuWork::GraphLaunch, {10}, 0.001});
    QVERIFY(times.ok());
    QVERIFY(state().graphLaunches - before > static_cast<std::int64_t>(times->seconds.size()));
    QCOMPARE(state().graphs, std::int64_t{0}); // it is given back with the call
}

void GpuBenchTest::collectivesOfSeveralGpus()
{
    state().devices = 3;
    auto bench = openGpuBench(hostModule(), 3);
    QVERIFY(bench.ok());
    std::string why;
    QCOMPARE((*bench)->gpus(why), 3);
    QVERIFY(why.empty());
    for (const GpuWork work : {GpuWork::AllReduce, GpuWork::AllGather, GpuWork::ReduceScatter}) {
        const auto before = state().groupCalls;
        const auto times = (*bench)->measure({"", work, {6000}, 0.001});
        QVERIFY2(times.ok(), times.ok() ? "" : times.error().message().c_str());
        QVERIFY(times->seconds.size() >= 2);
        QVERIFY(state().groupCalls - before > 2); // all members came, with buffers that NCCL takes
    }
}

void GpuBenchTest::productsBesideOtherWork()
{
    state().devices = 2;
    auto bench = openGpuBench(hostModule(), 2);
    QVERIFY(bench.ok());
    const auto before = state().groupCalls;
    for (const Beside beside : {Beside::Copying, Beside::AllReduce}) {
        const auto times = (*bench)->measure({"", GpuWork::Product, {16, 8, 24}, 0.001, beside});
        QVERIFY2(times.ok(), times.ok() ? "" : times.error().message().c_str());
        QVERIFY(times->seconds.size() >= 2);
        QCOMPARE(state().groupCalls > before, beside == Beside::AllReduce);
    }
}

void GpuBenchTest::withoutNcclThereIsNoGroup()
{
    state().devices = 2;
    state().hasNccl = false;
    std::string why;
    {
        auto bench = openGpuBench(hostModule(), 2);
        QVERIFY(bench.ok());
        QCOMPARE((*bench)->gpus(why), 1);
        QCOMPARE(why, std::string("libnccl.so.2 is not found"));
    }
    state().hasNccl = true;
    state().names[1] = "another GPU";
    auto bench = openGpuBench(hostModule(), 2);
    state().names.clear();
    QVERIFY(bench.ok());
    QCOMPARE((*bench)->gpus(why), 1);
    QCOMPARE(why, std::string("GPU 1 is of another kind than GPU 0"));
}

void GpuBenchTest::tooLargeIsNotMeasured()
{
    auto bench = openGpuBench(hostModule(), 1);
    QVERIFY(bench.ok());
    const auto times = (*bench)->measure({"", GpuWork::Product, {65536, 65536, 65536}, 0.001});
    QVERIFY(times.ok() && times->seconds.empty());
}

void GpuBenchTest::aGpuThatBreaksIsAnError()
{
    auto bench = openGpuBench(hostModule(), 1);
    QVERIFY(bench.ok());
    state().failAfter = 5;
    const auto times = (*bench)->measure({"", GpuWork::Add, {6000}, 0.001});
    state().failAfter = -1;
    QVERIFY(!times.ok());
}

FOURWALLS_TEST(GpuBenchTest, QCoreApplication)

} // namespace tst_gpu_bench

#include "tst_gpu_bench.moc"
