// SPDX-License-Identifier: Apache-2.0
// The GPU of a rank with NCCL is its own: its memory is taken before there are collectives and never beside one, as much
// as is free; and every rank needs one of the same kind.
#include <QtTest> // first: moc stumbles over <compare> otherwise

#include "tests/profiler/engine/gpu/nccl_fixture.h"
#include "tests/profiler/engine/gpu/training_fixture.h"
#include "tests/support/test_program.h"

#include <cstdint>
#include <string>
#include <utility>

namespace tst_gpu_nccl_memory {

using namespace fourwalls;
using namespace fourwalls::engine;
using namespace fourwalls::engine::testing;

class GpuNcclMemory : public QObject, private NcclRanks {
    Q_OBJECT

private slots:
    void init() { reset(); }
    void cleanup() { checkTheEnd(); }

    // Taking memory waits for the GPU, whose collective may wait for this very rank: it is all taken before there are any.
    void memoryIsTakenAtTheBegin_data()
    {
        QTest::addColumn<QByteArray>("plan");
        for (const char* plan : {"dp=2", "dp=2 zero=3", "tp=2 sp=1", "cp=2", "pp=2 microbatches=4"})
            QTest::newRow(plan) << QByteArray(plan);
    }
    void memoryIsTakenAtTheBegin()
    {
        QFETCH(QByteArray, plan);
        choose(false, 2);
        state().besideGroups = state().segments = 0;
        const RunSpec spec = specOf(Net::Decoder, plan.constData(), 3);
        QVERIFY(train(spec, DeviceKind::Cuda, nullptr, {}, withNccl()).ok());
        QCOMPARE(state().segments, std::int64_t{2}); // one of each GPU
        QCOMPARE(state().besideGroups, std::int64_t{0});
    }

    // Pinned memory beyond what was taken at the start, memory that is given back, and the first call of a library: each
    // waits for the rank's collectives before it calls the driver.
    void nothingIsTakenBesideACollective()
    {
        choose(false, 2);
        state().besideGroups = 0;
        const Status status = runWorld(2, [&](RankContext& rank) {
            Communicator& group = *rank.groups->world;
            const auto tensor = [&](const Shape& shape, DType type) {
                return Tensor::make(rank.allocator, shape, type, MemoryCategory::Other);
            };
            const Tensor sum = filled(rank, 4, DType::F32, [](std::int64_t) { return 1.0; });
            CommRequest first = group.startAllReduce(sum);
            tensor({40 << 20}, DType::I32).reset(); // 160 MiB
            rank.allocator.trim();
            first.wait();
            CommRequest second = group.startAllReduce(sum);
            const Tensor a = tensor({4, 4}, DType::F32), b = tensor({4, 4}, DType::F32), c = tensor({4, 4}, DType::F32);
            rank.device.zero(a);
            rank.device.zero(b);
            rank.device.matmul(matrix(a), matrix(b), matrix(c));
            second.wait();
            expect("sum", sum, [](std::int64_t) { return 4.0; });
        });
        QVERIFY2(status.ok(), status.ok() ? "" : status.error().message().c_str());
        QCOMPARE(state().besideGroups, std::int64_t{0});
    }

    // A rank takes what is free, and says what it lacks when it lacks it.
    void aGpuThatIsNotFree()
    {
        choose(false, 2);
        const std::int64_t free = 600 << 20; // of which the libraries may want 512
        void* const others = state().take(1, state().capacity - free, gpu::MemoryPlace::Device);
        const auto withTensorOf = [](std::int64_t mebibytes) {
            return runWorld(2, [mebibytes](RankContext& rank) {
                Tensor::make(rank.allocator, {mebibytes << 18}, DType::F32, MemoryCategory::Other);
                rank.groups->world->barrier();
            });
        };
        const Status fits = withTensorOf(80), doesNot = withTensorOf(100);
        state().give(others);
        QVERIFY2(fits.ok(), fits.ok() ? "" : fits.error().message().c_str());
        QVERIFY(!doesNot.ok());
        QVERIFY2(doesNot.error().what.starts_with("out of memory: 105"), doesNot.error().what.c_str());
        QVERIFY2(doesNot.error().where.starts_with("rank 1"), doesNot.error().where.c_str());
    }

    void everyRankHasAGpuForItself()
    {
        choose(false, 4);
        const RunSpec spec = specOf(Net::Decoder, "dp=4", 3);
        QCOMPARE(refusal(spec, withNccl()), std::string());
        state().devices = 2;
        QCOMPARE(refusal(spec, withNccl()),
                 std::string("the plan has 4 ranks, and NCCL wants a GPU for each: there are 2"));
        state().devices = 1;
        QCOMPARE(refusal(specOf(Net::Clicks, "dp=1 ps=sync servers=1", 3), withNccl()),
                 std::string("the plan has 2 ranks, and NCCL wants a GPU for each: there is 1"));
        QCOMPARE(refusal(spec), std::string()); // sharing it
        state().devices = 4;
        state().names[3] = "another one";
        QCOMPARE(
            refusal(spec, withNccl()),
            std::string("GPU 3 (another one) and GPU 0 (the processor as a GPU) differ, and a trace knows one kind"));
        state().names.clear();
        state().hasNccl = false;
        QCOMPARE(refusal(spec, withNccl()), std::string("libnccl.so.2 is not found"));
        QCOMPARE(refusal(spec), std::string());
        state().hasNccl = true;
        RunSpec cpu = spec;
        QVERIFY(resolve(cpu).ok());
        QCOMPARE(checkRunnable(cpu, withNccl()).error().what, std::string("NCCL is for GPUs"));

        // A GPU's memory is its rank's alone, but for what NCCL takes.
        const std::int64_t capacity = std::exchange(state().capacity, 8ll << 30);
        WorldOptions shared, apart;
        shared.plan = apart.plan = spec.plan;
        useGpu(shared, false, false);
        useGpu(apart, false, true);
        state().capacity = capacity;
        QVERIFY(apart.memoryLimit < 8ll << 30 && apart.memoryLimit > 3 * shared.memoryLimit);
    }
};

FOURWALLS_TEST(GpuNcclMemory, QCoreApplication)

} // namespace tst_gpu_nccl_memory

#include "tst_gpu_nccl_memory.moc"
