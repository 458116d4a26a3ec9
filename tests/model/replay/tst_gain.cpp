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
    void aNameIsAskedExactly();
    void aHiddenTransferGainsItsTime();
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

void GainTest::aNameIsAskedExactly()
{
    // Names within others, in another case, and with characters that mean something in changes.
    const char* const names[] = {"gemm",     "gemm_bias", "GEMM",      "sgemm*0.5", "gemm*0.5", "kernels:gemm*0.5",
                                 "\"gemm\"", "\"",        "a=b: 'c' ", ".*",        "*",        "plan=\"dp=2\""};
    Builder b(1);
    std::int64_t at = 0;
    for (std::size_t i = 0; i < std::size(names); ++i) {
        const auto length = static_cast<std::int64_t>(2 * (i + 1)) * kMs; // tells them apart
        b.work(0, names[i], Phase::Forward, at, at + length);
        at += length;
    }
    b.step(0, 0, 0, at);
    InMemoryTraceQuery trace = b.finish();
    const auto replay = Replay::of(trace, std::nullopt);
    QVERIFY(replay.ok());
    for (std::size_t i = 0; i < std::size(names); ++i) {
        const auto gain = gainOf(*replay, betterment({Kind::Kernel, names[i], {}}));
        QVERIFY2(gain.ok(), names[i]);
        QCOMPARE(gain->gain(), Duration{static_cast<std::int64_t>(i + 1) * kMs});
    }
    // A part of a name is a pattern, too: that of seven of them, in any case. Nobody is called so.
    QCOMPARE(gainOf(*replay, "kernels:Gemm*0.5")->gain(), Duration{(1 + 2 + 3 + 4 + 5 + 6 + 7) * kMs});
    const auto nobody = gainOf(*replay, "kernels:\"Gemm\"*0.5");
    QVERIFY(!nobody.ok());
    QVERIFY(nobody.error().what.find("is called \"Gemm\"") != std::string::npos);
}

/// Two ranks reduce gradients for 5 ms between two parts of their backward pass, in each of three steps; only the optimizer
/// needs them. Beside the second part they cost nothing. What is needed at once gains nothing, and never costs more.
void GainTest::aHiddenTransferGainsItsTime()
{
    for (const bool gradients : {true, false}) {
        Builder b(2);
        for (int step = 0; step < 3; ++step)
            for (int rank = 0; rank < 2; ++rank) {
                const std::int64_t at = 30 * step * kMs;
                b.step(rank, step, at, at + 30 * kMs);
                b.work(rank, "first part", Phase::BackwardInput, at, at + 10 * kMs);
                OpInfo reduced;
                reduced.name = "all_reduce";
                reduced.kind = SliceKind::Collective;
                reduced.phase = gradients ? Phase::GradientSync : Phase::BackwardInput;
                b.producer->slice(
                    {b.wire(rank), b.trace.defineOp(reduced), Instant{at + 10 * kMs}, Duration{5 * kMs}, {}, {}});
                b.collective(rank, at + 10 * kMs, at + 10 * kMs, at + 15 * kMs, step);
                b.work(rank, "second part", Phase::BackwardInput, at + 15 * kMs, at + 25 * kMs);
                b.work(rank, "adam", Phase::Optimizer, at + 25 * kMs, at + 30 * kMs);
            }
        InMemoryTraceQuery trace = b.finish();
        const auto replay = Replay::of(trace, std::nullopt);
        QVERIFY(replay.ok());
        const auto gain = gainOf(*replay, "hide:all_reduce");
        QVERIFY2(gain.ok(), gain.ok() ? "" : gain.error().message().c_str());
        QCOMPARE(gain->gain(), Duration{gradients ? 5 * kMs : 0});
    }
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
