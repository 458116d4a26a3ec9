// SPDX-License-Identifier: Apache-2.0
// Programs that launch work and do not wait for it, small enough to be worked out by hand: a full queue, steps that end
// while their work still runs, work that begins before the work in front of it is done.
#include <QTest> // first: moc stumbles over <compare> otherwise

#include "model/replay/launch_queue.h"
#include "model/replay/replay.h"
#include "tests/model/trace/step_builder.h"
#include "tests/support/test_program.h"

#include <algorithm>

namespace tst_host_rules {

using namespace fourwalls;
using namespace fourwalls::replay;
using namespace fourwalls::test;

/// A program with a thread and a stream. Times in microseconds.
struct Program {
    Builder builder{1};
    std::int64_t launches = 0;

    void launch(double begin, double end, double started, double done)
    {
        const TrackId thread = builder.trace.defineTrack({RankId{0}, TrackKind::CpuThread, "thread 1", 2});
        OpInfo call;
        call.name = "cudaLaunchKernel";
        call.kind = SliceKind::HostCall;
        OpInfo kernel;
        kernel.name = "gemm";
        kernel.kind = SliceKind::Kernel;
        kernel.activity = Activity::Compute;
        const CorrelationId id{launches++};
        builder.producer->slice({thread, builder.trace.defineOp(call), at(begin), at(end) - at(begin), {}, id});
        builder.producer->slice(
            {builder.kernels(0), builder.trace.defineOp(kernel), at(started), at(done) - at(started), {}, id});
    }
    static Instant at(double us) { return Instant{static_cast<std::int64_t>(us * kUs + 0.5)}; }
    static std::int64_t ns(double us) { return at(us).ns; }
    Replay replay()
    {
        InMemoryTraceQuery trace = builder.finish();
        auto made = Replay::of(trace, {});
        if (!made.ok()) qFatal("%s", made.error().message().c_str());
        return std::move(*made);
    }
};

/// 40 kernels of 10 us behind a queue of 16. A launch takes 0.1 us, or until the kernel 16 before it is done: launch i
/// returns at (i + 1) / 10, from the sixteenth on at 10 (i - 15).
void fillQueue(Program& program)
{
    double now = 0;
    for (int i = 0; i < 40; ++i) {
        const double returned = i < 16 ? now + 0.1 : 10.0 * (i - 15);
        program.launch(now, returned, 10.0 * i, 10.0 * (i + 1));
        now = returned;
    }
    program.builder.step(0, 0, 0, Program::ns(now)); // 240 us
}

double after(const Replay& replay, const char* change)
{
    const std::vector<ReplayChange> changes{*parseChange(change)};
    const auto outcome = replay.run(DelayRule::Class, changes);
    return outcome.ok() ? outcome->changed.seconds() * 1e6 : -1;
}

class HostRulesTest : public QObject {
    Q_OBJECT

private slots:
    void aFullQueueWaitsForItsDevice();
    void quickLaunchesHaveNoQueue();
    void launchesThatWaitForSomethingElseAreNoQueue();
    void aGraphEndsWithItsDevice();
    void workThatBeginsEarlyStillTakesItsTime();
    void noStepIsShorterThanItsStream();
    void nothingLeftIsNoAnswer();
};

void HostRulesTest::aFullQueueWaitsForItsDevice()
{
    Program program;
    fillQueue(program);
    const Replay replay = program.replay();
    const ReplayQuality quality = replay.quality(DelayRule::Class);
    QCOMPARE(quality.recorded.ns, std::int64_t(240'000));
    QCOMPARE(quality.replayed, quality.recorded);
    QCOMPARE(quality.negativeDelays, std::int64_t(0));
    QVERIFY(std::any_of(quality.notes.begin(), quality.notes.end(),
                        [](const Sentence& note) { return note.inWords().find("full queue") != std::string::npos; }));
    // The program has 1.6 us of work of its own: what it waited for shrinks and grows with the kernels.
    QCOMPARE(after(replay, "kernels:*0.5"), 120.0);
    QCOMPARE(after(replay, "kernels:*2"), 480.0);
    QCOMPARE(after(replay, "host:*0.5"), 240.0);
    // Kernels of 0.05 us: the first sixteen are done when their launches are, at 1.6 us; the last launch waits for the
    // eighth behind them.
    QCOMPARE(after(replay, "kernels:*0.005"), 2.0);
}

void HostRulesTest::quickLaunchesHaveNoQueue()
{
    std::vector<QueuedWork> work;
    for (int i = 0; i < 200; ++i)
        work.push_back({Program::at(10.0 * (i + 1)), TimeRange{Program::at(0.1 * i), Program::at(0.1 * i + 0.1)}});
    QVERIFY(!launchQueue(work));
}

void HostRulesTest::launchesThatWaitForSomethingElseAreNoQueue()
{
    // Every tenth launch takes 8 us (a library is loaded), whatever is in flight.
    std::vector<QueuedWork> work;
    double now = 0;
    for (int i = 0; i < 200; ++i) {
        const double length = i % 10 == 9 ? 8 : 0.1;
        work.push_back({Program::at(10.0 * (i + 1)), TimeRange{Program::at(now), Program::at(now + length)}});
        now += length;
    }
    QVERIFY(!launchQueue(work));
}

void HostRulesTest::aGraphEndsWithItsDevice()
{
    // Two steps of 20 us, in each of which a program launches four kernels of 4 us, one every 5 us.
    Program program;
    for (int step : {0, 1}) {
        for (int i = 0; i < 4; ++i) {
            const double begin = 20.0 * step + 5 * i;
            program.launch(begin, begin + 1, begin, begin + 4);
        }
        program.builder.step(0, step, Program::ns(20.0 * step), Program::ns(20.0 * (step + 1)));
    }
    const Replay replay = program.replay();
    QCOMPARE(replay.quality(DelayRule::Class).replayed.ns, std::int64_t(20'000));
    QCOMPARE(after(replay, "launches=graph"), 16.0);
    QCOMPARE(after(replay, "host:*0"), 16.0); // the same by another word
}

void HostRulesTest::workThatBeginsEarlyStillTakesItsTime()
{
    // Three kernels from 0 to 30 us, the second of which began 2 us before the first was done.
    Program program;
    program.launch(0, 0.5, 0, 10);
    program.launch(0.5, 1, 8, 20);
    program.launch(1, 1.5, 20, 30);
    program.builder.step(0, 0, 0, Program::ns(30));
    const Replay replay = program.replay();
    QCOMPARE(after(replay, "launches=graph"), 30.0);
}

void HostRulesTest::noStepIsShorterThanItsStream()
{
    // The program ends its steps by the wall clock and never waits; kernels fill 18 of 20 us.
    Program program;
    for (int i = 0; i < 2; ++i) {
        program.launch(20.0 * i, 20.0 * i + 1, 20.0 * i, 20.0 * i + 18);
        program.builder.step(0, i, Program::ns(20.0 * i), Program::ns(20.0 * (i + 1)));
    }
    const Replay replay = program.replay();
    const std::vector<ReplayChange> changes{*parseChange("kernels:*2")};
    const auto outcome = replay.run(DelayRule::Class, changes);
    QVERIFY(outcome.ok());
    QCOMPARE(outcome->changed.ns, std::int64_t(36'000));
    QVERIFY(std::any_of(outcome->assumed.begin(), outcome->assumed.end(), [](const Sentence& sentence) {
        return sentence.inWords().find("busiest stream") != std::string::npos;
    }));
}

void HostRulesTest::nothingLeftIsNoAnswer()
{
    Builder b(1);
    b.step(0, 0, 0, 10 * kMs);
    b.work(0, "gemm", Phase::Forward, 0, 10 * kMs);
    InMemoryTraceQuery trace = b.finish();
    const auto replay = Replay::of(trace, {});
    QVERIFY(replay.ok());
    const std::vector<ReplayChange> changes{*parseChange("kernels:*0")};
    const auto outcome = replay->run(DelayRule::Class, changes);
    QVERIFY(!outcome.ok());
    QVERIFY2(outcome.error().message().find("take all work away") != std::string::npos,
             outcome.error().message().c_str());
}

FOURWALLS_TEST(HostRulesTest, QCoreApplication)

} // namespace tst_host_rules

#include "tst_host_rules.moc"
