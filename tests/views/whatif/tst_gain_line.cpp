// SPDX-License-Identifier: GPL-3.0-or-later
// The line that says what something would gain: when it is there, its reasons, and that a finding, a change and the window
// say one number.
#include "tests/views/trace_probe.h" // Qt's headers first: the moc of Qt 6.4 cannot read <compare> as the first header

#ifndef Q_MOC_RUN
#include "model/diagnose/diagnosis.h"
#include "tests/model/trace/step_builder.h"
#include "tests/support/test_program.h"
#include "tests/views/shown_view.h"
#include "views/whatif/gain_line.h"
#include "views/words/format.h"
#endif

#include <QApplication>

namespace tst_gain_line {

using namespace fourwalls;
using namespace fourwalls::test;
using namespace fourwalls::sample;
using namespace fourwalls::views;
using Subject = replay::GainSubject;

TraceOpener openerOf(std::shared_ptr<const InMemoryTraceData> data)
{
    return [data](const QString&) -> Result<std::unique_ptr<TraceQuery>> {
        return std::unique_ptr<TraceQuery>(std::make_unique<InMemoryTraceQuery>(data));
    };
}

class GainLineTest : public QObject {
    Q_OBJECT

private slots:
    void init() { failOnQtWarnings(); }
    void isThereForWhatIsSelected();
    void saysWhyItCannotBeSaid();
    void theErrorIsOfSeveralSteps();
    void oneNumberForAll();
    void aCauseGainsNoMoreThanItTakes();
};

void GainLineTest::isThereForWhatIsSelected()
{
    TraceSession session(openerOf(std::make_shared<const InMemoryTraceData>(slowNeighbour().data())),
                         QStringLiteral("a"));
    Replayer replayer;
    replayer.setSession(&session);
    QWidget window;
    GainLine line(&window);
    line.setReplayer(&replayer);
    window.show();
    QVERIFY(!line.isVisible() && !line.isPending());
    line.ask(std::vector<Subject>{{Subject::Kind::Rank, {}, RankId{1}}});
    QVERIFY(line.isVisible() && line.isPending());
    QTRY_VERIFY(!line.isPending());
    QCOMPARE(
        QString(line.text()).replace(kThinSpace, QLatin1Char(' ')),
        QStringLiteral("What would this gain? rank 1 like the mean: step 15 % shorter, replayed (100 % measured) · "
                       "unchanged, this replay of step 0 is 0 % off"));
    line.ask(std::vector<Subject>());
    QVERIFY(!line.isVisible());
}

void GainLineTest::saysWhyItCannotBeSaid()
{
    const auto said = [](TraceSource source, const Subject& subject) {
        Builder b(1, headerOf(1, source));
        b.step(0, 0, 0, 10 * kMs);
        b.work(0, "gemm", Phase::Forward, 0, 10 * kMs);
        TraceSession session(openerOf(std::make_shared<const InMemoryTraceData>(b.finish().data())),
                             QStringLiteral("a"));
        Replayer replayer;
        replayer.setSession(&session);
        QWidget window;
        GainLine line(&window);
        line.setReplayer(&replayer);
        window.show();
        line.ask(std::vector<Subject>{subject});
        return QTest::qWaitFor([&] { return session.isOpen() && !line.isPending(); }) ? line.text() : QString();
    };
    const QString alone = said(TraceSource::Recorded, {Subject::Kind::Rank, {}, RankId{0}});
    QVERIFY2(alone.contains(QLatin1String("cannot be said: the trace has the work of one rank")), qPrintable(alone));
    const QString predicted = said(TraceSource::Predicted, {Subject::Kind::Kernel, "gemm", {}});
    QVERIFY2(predicted.contains(QLatin1String("It cannot be said: nothing of this trace was measured")),
             qPrintable(predicted));
}

void GainLineTest::theErrorIsOfSeveralSteps()
{
    // Between two kernels of 4 ms the program thinks for 2, 1 and 0 ms: each step is replayed with the median of the others.
    Builder b(1);
    std::int64_t at = 0;
    for (int step = 0; step < 3; ++step) {
        const std::int64_t gap = (2 - step) * kMs;
        b.step(0, step, at, at + 8 * kMs + gap);
        b.work(0, "first", Phase::Forward, at, at + 4 * kMs);
        b.work(0, "second", Phase::Forward, at + 4 * kMs + gap, at + 8 * kMs + gap);
        at += 8 * kMs + gap;
    }
    InMemoryTraceQuery trace = b.finish();
    TraceSession session(openerOf(std::make_shared<const InMemoryTraceData>(trace.data())), QStringLiteral("a"));
    Replayer replayer;
    replayer.setSession(&session);
    replayer.ask();
    QTRY_VERIFY(replayer.offers());
    const auto all = replay::Replay::of(trace, std::nullopt);
    QVERIFY(all.ok());
    QVERIFY(all->quality(replay::DelayRule::Class).meanError > 1);
    QCOMPARE(replayer.offers()->error, all->quality(replay::DelayRule::Class).meanError);
    QVERIFY(replayer.offers()->quality.meanError < 1e-9); // one step alone rests on itself
    const QString text = replayErrorText(replayer);
    QVERIFY2(text.startsWith(QLatin1String("of step 1; unchanged, this replay is ")), qPrintable(text));
    QVERIFY2(text.endsWith(QLatin1String("off, mean of 3 steps")), qPrintable(text));
    // What a finding's list says of the same trace.
    const auto found = diagnose::diagnose(trace);
    QVERIFY(found.ok() && found->replayError);
    QCOMPARE(*found->replayError, replayer.offers()->error);
}

void GainLineTest::oneNumberForAll()
{
    // A pipeline with bubbles: what its finding promises, what the change does to the step, and what the window says.
    const auto data = modelledTrace(specOf("pp=4 microbatches=4"), TraceSource::Recorded);
    QVERIFY(data);
    InMemoryTraceQuery trace(data);
    const auto found = diagnose::diagnose(trace);
    QVERIFY(found.ok());
    const diagnose::Finding* bubble = nullptr;
    for (const diagnose::Finding& each : found->findings)
        if (each.cause == diagnose::Cause::PipelineBubble) bubble = &each;
    QVERIFY(bubble && bubble->gain && bubble->gain->source == diagnose::GainSource::Replay);
    const auto replay = replay::Replay::of(trace, replay::StepChoiceRange{*found->step, *found->step});
    QVERIFY(replay.ok());
    const replay::ReplayChange changes[] = {*replay::parseChange("schedule=zb")};
    const auto outcome = replay->run(replay::DelayRule::Class, changes);
    QVERIFY(outcome.ok());
    const Duration gain = replay->quality(replay::DelayRule::Class).replayed - outcome->changed;
    QVERIFY(gain.ns > 0);
    QCOMPARE(bubble->gain->perStep, gain);
    TraceSession session(openerOf(data), QStringLiteral("a"));
    Replayer replayer;
    replayer.setSession(&session);
    QTRY_VERIFY(replayer.gain("schedule=zb"));
    QCOMPARE(replayer.gain("schedule=zb")->gain.gain(), gain);
    QCOMPARE(replayer.gain("schedule=zb")->gain.share(), bubble->gain->share);
}

/// A remedy may take other causes away, too: that is no gain of this one. Without steps all of the trace gets shorter.
void GainLineTest::aCauseGainsNoMoreThanItTakes()
{
    ReplayGain gain;
    gain.gain.unchanged = Duration{10 * kMs};
    gain.gain.changed = Duration{kMs};
    gain.gain.scaled = 1;
    const auto said = [&gain](std::optional<double> most) {
        return gainText(gain, most).replace(kThinSpace, QLatin1Char(' '));
    };
    QCOMPARE(said({}), QStringLiteral("step 90 % shorter, replayed (100 % scaled)"));
    QCOMPARE(said(0.9), QStringLiteral("step 90 % shorter, replayed (100 % scaled)"));
    QCOMPARE(said(0.3), QStringLiteral("all of its 30 %, and time of other causes besides"));
    gain.gain.wholeTrace = true;
    QCOMPARE(said({}), QStringLiteral("trace 90 % shorter, replayed (100 % scaled)"));
}

FOURWALLS_TEST(GainLineTest, QApplication)

} // namespace tst_gain_line

#include "tst_gain_line.moc"
