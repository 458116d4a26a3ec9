// SPDX-License-Identifier: Apache-2.0
// What a trace says costs its step, on steps worked out by hand.
#include <QTest> // first: moc stumbles over <compare> otherwise

#include "model/trace/trace_findings.h"
#include "tests/model/trace/step_builder.h"
#include "tests/support/test_program.h"

#include <algorithm>
#include <cmath>

namespace tst_trace_findings {

using namespace fourwalls;
using namespace fourwalls::test;

namespace {

const TraceFinding* found(const TraceFindings& findings, FindingKind kind)
{
    const auto at = std::find_if(findings.findings.begin(), findings.findings.end(),
                                 [kind](const TraceFinding& each) { return each.kind == kind; });
    return at == findings.findings.end() ? nullptr : &*at;
}

} // namespace

class TraceFindingsTest : public QObject {
    Q_OBJECT

private slots:
    void aBusyDeviceIsAnAnswer()
    {
        Builder b(1);
        b.step(0, 0, 0, 100 * kMs);
        b.work(0, "k", Phase::None, 0, 97 * kMs);
        InMemoryTraceQuery trace = b.finish();
        const auto findings = traceFindings(trace);
        QVERIFY(findings.ok());
        QVERIFY(findings->findings.empty());
        QVERIFY(std::abs(*findings->compute - 0.97) < 1e-9);
        QCOMPARE(findings->stepTime, Duration{100 * kMs});
    }

    /// Without the program on the processor nobody knows why the device is idle.
    void idleOfAnUnseenProgramIsNotExplained()
    {
        Builder b(1);
        b.step(0, 0, 0, 100 * kMs);
        b.work(0, "k", Phase::None, 0, 40 * kMs);
        InMemoryTraceQuery trace = b.finish();
        const auto findings = traceFindings(trace);
        QVERIFY(findings.ok());
        QVERIFY(!found(*findings, FindingKind::HostBound));
        QVERIFY(std::any_of(findings->abstained.begin(), findings->abstained.end(),
                            [](const FindingAbstention& each) { return each.kind == FindingKind::HostBound; }));
    }

    void smallKernelsByTheirShare()
    {
        Builder b(1);
        b.step(0, 0, 0, 1 * kMs);
        for (int i = 0; i < 10; ++i) b.work(0, "tiny", Phase::None, i * 20'000, i * 20'000 + 8'000);
        b.work(0, "large", Phase::None, 300'000, 1 * kMs);
        InMemoryTraceQuery trace = b.finish();
        const auto findings = traceFindings(trace);
        QVERIFY(findings.ok());
        const TraceFinding* small = found(*findings, FindingKind::SmallKernels);
        QVERIFY(small);
        QVERIFY(std::abs(small->share - 0.08) < 1e-9); // ten of 8 us in a step of 1 ms
        QCOMPARE(small->count, 10);
    }

    /// Ten samples a tenth of the trace apart: rank 0 at 1980 MHz for three of them, then at 1386 (0.7 of it) by its power
    /// limit for seven; rank 1 at 1980 throughout, the last samples idle.
    void loweredClocksByTheirSamples()
    {
        Builder b(2);
        for (const int rank : {0, 1}) {
            b.step(rank, 0, 0, 1000 * kMs);
            b.work(rank, "k", Phase::None, 0, 1000 * kMs);
            const CounterId clock = b.trace.defineCounter({RankId{rank}, "sm_clock", CounterUnit::Hertz});
            const CounterId reasons = b.trace.defineCounter({RankId{rank}, "throttle_reasons", CounterUnit::None});
            for (int i = 0; i <= 10; ++i) {
                const bool low = rank == 0 && i >= 3;
                const Instant at{std::min<std::int64_t>(i * 100 * kMs, 1000 * kMs - 1)};
                b.producer->counter({clock, at, low ? 1386e6 : 1980e6});
                b.producer->counter({reasons, at, low ? 0x4 + 0x20 : rank == 1 && i > 8 ? 0x1 : 0.0});
            }
        }
        InMemoryTraceQuery trace = b.finish();
        const auto findings = traceFindings(trace);
        QVERIFY(findings.ok());
        const TraceFinding* lowered = found(*findings, FindingKind::Throttling);
        QVERIFY(lowered);
        QVERIFY(std::abs(lowered->share - 0.35) < 1e-6);      // mean of 0.7 and 0
        QVERIFY(std::abs(lowered->gain - 0.35 * 0.3) < 1e-6); // what the full clock saves of it
        QVERIFY(std::abs(lowered->clock - 1386e6) < 1 && std::abs(lowered->fullClock - 1980e6) < 1);
        QCOMPARE(lowered->what, std::string("power cap, temperature (software)"));
        QCOMPARE(lowered->count, 22);
        QVERIFY(!lowered->step); // of the whole trace
        QCOMPARE(lowered->ranks, std::vector<RankId>{RankId{0}});
        QVERIFY(lowered->show.view == FindingView::Timeline && lowered->show.rank == RankId{0});
        QCOMPARE(lowered->show.range->begin.ns, 300 * kMs);
        QCOMPARE(lowered->show.range->end.ns, 1000 * kMs - 1);
    }

    /// A few percent of clock, an idle device's clock, or samples without clocks are no finding.
    void clocksThatCostLittleAreNone()
    {
        for (const bool withClock : {true, false}) {
            Builder b(1);
            b.step(0, 0, 0, 1000 * kMs);
            b.work(0, "k", Phase::None, 0, 1000 * kMs);
            const CounterId reasons = b.trace.defineCounter({RankId{0}, "throttle_reasons", CounterUnit::None});
            const CounterId clock = b.trace.defineCounter({RankId{0}, "sm_clock", CounterUnit::Hertz});
            for (int i = 0; i < 10; ++i) {
                b.producer->counter({reasons, Instant{i * 100 * kMs}, 0x4});
                if (withClock) b.producer->counter({clock, Instant{i * 100 * kMs}, i == 0 ? 1980e6 : 1930e6});
            }
            InMemoryTraceQuery trace = b.finish();
            const auto findings = traceFindings(trace);
            QVERIFY(findings.ok());
            QVERIFY(!found(*findings, FindingKind::Throttling));
        }
    }

    void noStepsSayNothing()
    {
        Builder b(1);
        b.work(0, "k", Phase::None, 5, 25);
        InMemoryTraceQuery trace = b.finish();
        const auto findings = traceFindings(trace);
        QVERIFY(findings.ok());
        QVERIFY(findings->findings.empty() && !findings->compute);
        QVERIFY(!findings->abstained.empty());
    }
};

FOURWALLS_TEST(TraceFindingsTest, QCoreApplication)

} // namespace tst_trace_findings

#include "tst_trace_findings.moc"
