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
