// SPDX-License-Identifier: Apache-2.0
// "What would this gain": against times worked out by hand.
#include <QTest> // first: moc stumbles over <compare> otherwise

#include "model/replay/gain.h"
#include "tests/model/trace/step_builder.h"
#include "tests/support/test_program.h"

namespace tst_gain {

using namespace fourwalls;
using namespace fourwalls::replay;
using namespace fourwalls::test;
using Kind = GainSubject::Kind;

class GainTest : public QObject {
    Q_OBJECT

private slots:
    void aKernelALinkAndARank();
    void otherNamesAreCounted();
    void whatCannotBeSaidSaysWhy();
};

void GainTest::aKernelALinkAndARank()
{
    // Rank 1: forward 0..6, transfer 6..8, optimizer 8..10; rank 0: forward 0..4, optimizer 8..9.
    InMemoryTraceQuery trace = slowNeighbour();
    const auto replay = Replay::of(trace, std::nullopt);
    QVERIFY(replay.ok());
    const auto of = [&](const GainSubject& subject) { return *gainOf(*replay, betterment(subject)); };
    const ChangeGain kernel = of({Kind::Kernel, "forward", {}});
    QCOMPARE(kernel.unchanged, Duration{10 * kMs});
    QCOMPARE(kernel.gain(), Duration{3 * kMs});
    QCOMPARE(kernel.share(), 0.3);
    QVERIFY(kernel.scaled > 0 && std::abs(kernel.measured + kernel.scaled + kernel.modelled - 1) < 1e-9);
    QCOMPARE(of({Kind::Link, "dp", {}}).gain(), Duration{kMs});
    // Rank 1 takes the means of 4 and 6, and of 1 and 2.
    const ChangeGain rank = of({Kind::Rank, "", RankId{1}});
    QCOMPARE(rank.gain(), Duration{kMs + kMs / 2});
    QCOMPARE(rank.scaled, 0.0);
}

void GainTest::otherNamesAreCounted()
{
    Builder b(1);
    b.step(0, 0, 0, 10 * kMs);
    b.work(0, "gemm", Phase::Forward, 0, 4 * kMs);
    b.work(0, "gemm_bias", Phase::Forward, 4 * kMs, 8 * kMs);
    b.work(0, "norm", Phase::Forward, 8 * kMs, 10 * kMs);
    InMemoryTraceQuery trace = b.finish();
    const auto replay = Replay::of(trace, std::nullopt);
    QVERIFY(replay.ok());
    // A pattern is a part of a name: both are halved, and that is said.
    const auto gain = gainOf(*replay, "kernels:gemm*0.5");
    QVERIFY(gain.ok());
    QCOMPARE(gain->gain(), Duration{4 * kMs});
    QCOMPARE(gain->otherKernels, std::int64_t(1));
    QCOMPARE(gainOf(*replay, "kernels:gemm_bias*0.5")->otherKernels, std::int64_t(0));
    QCOMPARE(gainOf(*replay, "kernels:gem*0.5")->otherKernels, std::int64_t(0)); // nobody's whole name
}

void GainTest::whatCannotBeSaidSaysWhy()
{
    Builder b(1);
    b.step(0, 0, 0, 10 * kMs);
    b.work(0, "gemm", Phase::Forward, 0, 10 * kMs);
    InMemoryTraceQuery trace = b.finish();
    const auto replay = Replay::of(trace, std::nullopt);
    QVERIFY(replay.ok());
    for (const GainSubject& subject : {GainSubject{Kind::Kernel, "elsewhere", {}}, GainSubject{Kind::Link, "tp", {}},
                                       GainSubject{Kind::Rank, "", RankId{0}}}) {
        const auto gain = gainOf(*replay, betterment(subject));
        QVERIFY(!gain.ok());
        QVERIFY(!gain.error().what.empty());
    }
}

FOURWALLS_TEST(GainTest, QCoreApplication)

} // namespace tst_gain

#include "tst_gain.moc"
