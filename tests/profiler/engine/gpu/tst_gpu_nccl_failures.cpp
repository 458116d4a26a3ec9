// SPDX-License-Identifier: Apache-2.0
// Runs with NCCL that fail: a GPU or a connection that breaks at any moment, a rank that gives up while the others wait for
// it on their GPUs. Everybody ends, the cause is told, and what was recorded until then is there.
#include <QtTest> // first: moc stumbles over <compare> otherwise

#include "model/trace/in_memory_query.h"
#include "model/trace/in_memory_trace.h"
#include "tests/profiler/engine/gpu/nccl_fixture.h"
#include "tests/profiler/engine/gpu/training_fixture.h"
#include "tests/support/test_program.h"

#include <algorithm>
#include <cstdint>
#include <string>

namespace tst_gpu_nccl_failures {

using namespace fourwalls;
using namespace fourwalls::engine;
using namespace fourwalls::engine::testing;

namespace {

constexpr TimeRange kAlways{Instant{-kLargestTimeNs}, Instant{kLargestTimeNs}};

} // namespace

class GpuNcclFailures : public QObject, private NcclRanks {
    Q_OBJECT

private slots:
    void init() { reset(); }
    void cleanup() { checkTheEnd(); }

    // A GPU that breaks at any moment, a connection that does: everybody ends, and the cause is told.
    void endsTogether_data()
    {
        QTest::addColumn<QByteArray>("plan");
        for (const char* plan : {"dp=2 zero=3", "dp=2 tp=2 sp=1", "pp=2 microbatches=2", "cp=2"})
            QTest::newRow(plan) << QByteArray(plan);
    }
    void endsTogether()
    {
        QFETCH(QByteArray, plan);
        const RunSpec spec = specOf(Net::Decoder, plan.constData(), 2);
        choose(false, spec.plan.worldSize());
        QVERIFY(train(spec, DeviceKind::Cuda, nullptr, {}, withNccl()).ok());
        const std::int64_t calls = state().groupCalls;
        QVERIFY(calls > 3);
        for (std::int64_t at = 0; at < calls; at += std::max<std::int64_t>(1, calls / 12)) {
            state().groupCalls = 0;
            state().breakGroupAt = at;
            const auto broken = train(spec, DeviceKind::Cuda, nullptr, {}, withNccl());
            QVERIFY2(!broken.ok(), qPrintable(QString::number(at)));
            QVERIFY2(broken.error().what.find("the connection broke") != std::string::npos,
                     broken.error().what.c_str());
        }
        state().breakGroupAt = -1;
        for (int after = 5; after < 900; after += 60) {
            state().failAfter = after;
            const auto broken = train(spec, DeviceKind::Cuda, nullptr, {}, withNccl());
            QVERIFY2(!broken.ok(), qPrintable(QString::number(after)));
            QVERIFY2(broken.error().what.find("illegal memory access") != std::string::npos,
                     broken.error().what.c_str());
        }
    }

    // A rank that gives up by itself, while the others wait for it on their GPUs.
    void aRankThatFails()
    {
        choose(false, 3);
        const Status status = runWorld(3, [](RankContext& rank) {
            Communicator& group = *rank.groups->world;
            const Tensor t = filled(rank, 4, DType::F32, [](std::int64_t) { return 1.0; });
            group.allReduce(t);
            if (group.index() == 1) throw EngineError(ErrorCode::Internal, "no more", "here", "");
            CommRequest started = group.startAllReduce(t);
            group.allReduce(t);
            started.wait();
            expect("never", t, [](std::int64_t) { return 0.0; });
        });
        QVERIFY(!status.ok());
        QCOMPARE(status.error().what, std::string("no more"));
        QVERIFY2(status.error().where.starts_with("rank 1"), status.error().where.c_str());
    }

    // Memory that is given back waits for all of the GPU's work, which waits for a rank that is gone.
    void aRankThatFailsWhileMemoryIsGivenBack()
    {
        choose(false, 2);
        const Status status = runWorld(2, [](RankContext& rank) {
            Communicator& group = *rank.groups->world;
            if (group.index() == 1) throw EngineError(ErrorCode::Internal, "no more", "here", "");
            const Tensor t = filled(rank, 4, DType::F32, [](std::int64_t) { return 1.0; });
            const CommRequest started = group.startAllReduce(t);
            Tensor::make(rank.allocator, {1 << 20}, DType::F32, MemoryCategory::Other).reset();
            rank.allocator.trim();
            throw EngineError(ErrorCode::Internal, "it was given back", "here", "");
        });
        QVERIFY(!status.ok());
        QCOMPARE(status.error().what, std::string("no more"));
    }

    // What is recorded up to a failure is there, with the arrivals that are known.
    void recordsUntilItFails()
    {
        choose(false, 2);
        RunSpec spec = specOf(Net::Decoder, "dp=2", 3);
        spec.training.device = DeviceKind::Cuda;
        QVERIFY(resolve(spec).ok());
        QVERIFY(train(spec, DeviceKind::Cuda, nullptr, {}, withNccl()).ok());
        state().breakGroupAt = state().groupCalls * 2 / 3; // in the last step
        state().groupCalls = 0;
        const ClockOrigin origin = ClockOrigin::now();
        InMemoryTrace trace(describeRun(spec, origin));
        QVERIFY(!train(spec, DeviceKind::Cuda, &trace, origin, withNccl()).ok());
        QVERIFY(trace.finish({}).ok());
        InMemoryTraceQuery query(trace.data());
        QVERIFY(!query.collectives(std::nullopt, kAlways, 1000)->empty());
    }
};

FOURWALLS_TEST(GpuNcclFailures, QCoreApplication)

} // namespace tst_gpu_nccl_failures

#include "tst_gpu_nccl_failures.moc"
