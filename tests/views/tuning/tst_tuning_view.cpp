// SPDX-License-Identifier: GPL-3.0-or-later
// The plan search as a plot: the cloud and its front, brushes, a click into the sliders.
#include <QtTest/QtTest>

#include "model/present/plan_cloud.h"
#include "model/trace/in_memory_trace.h"
#include "model/trace/job_time.h"
#include "tests/views/fail_on_warning.h"
#include "views/tuning/plan_lines.h"
#include "views/tuning/plan_scatter.h"
#include "views/tuning/tuning_view.h"
#include "views/whatif/plan_searcher.h"
#include "views/whatif/what_if.h"
#ifndef Q_MOC_RUN
#include "tests/support/test_program.h"
#include "tests/views/whatif/predicted_sample.h"
#endif

#include <QAbstractItemModelTester>
#include <QDoubleSpinBox>
#include <QLabel>
#include <QTableView>
#include <QUndoStack>

#include <cmath>

namespace tst_tuning_view {

using namespace fourwalls;
using namespace fourwalls::views;

class TestTuningView : public QObject {
    Q_OBJECT
private:
    std::unique_ptr<tests::FailOnWarning> m_warnings;

    static cost::SearchedPlan plan(int tp, double seconds, double bytes, bool feasible = true)
    {
        cost::SearchedPlan searched;
        searched.plan.tp = tp;
        searched.seconds = seconds;
        searched.peakBytes = bytes;
        searched.feasible = feasible;
        return searched;
    }

    /// A job of 12 s that failed twice: restarts of 1 s, two checkpoints of 0.5 s.
    static TraceOpener openerOfFailures(const RunSpec& spec)
    {
        constexpr std::int64_t kHalfSecond = 500'000'000;
        TraceHeader header = sample::predicted(spec)->info.header;
        header.source = TraceSource::Recorded;
        InMemoryTrace trace(header);
        const RankId rank = header.ranks.front().rank;
        const TrackId track = trace.defineTrack({rank, TrackKind::Phases, "phases", 0});
        auto producer = trace.openProducer();
        const auto step = [&](int index, int begin, int end) {
            StepRecord record;
            record.step = StepIndex{index};
            record.range = {Instant{begin * kHalfSecond}, Instant{end * kHalfSecond}};
            producer->step(rank, record);
        };
        const auto phase = [&](const char* name, SliceKind kind, Phase of, int begin, int end) {
            OpInfo info;
            info.name = name;
            info.kind = kind;
            info.phase = of;
            producer->slice({track,
                             trace.defineOp(info),
                             Instant{begin * kHalfSecond},
                             Duration{(end - begin) * kHalfSecond},
                             {},
                             {}});
        };
        step(0, 0, 6);
        phase("save checkpoint", SliceKind::Checkpoint, Phase::CheckpointSave, 6, 7);
        step(1, 7, 11);
        phase(kRestartName, SliceKind::Phase, Phase::Setup, 11, 13);
        step(2, 13, 17);
        phase("save checkpoint", SliceKind::Checkpoint, Phase::CheckpointSave, 17, 18);
        phase(kRestartName, SliceKind::Phase, Phase::Setup, 18, 20);
        step(3, 20, 24);
        producer.reset();
        if (!trace.finish({}).ok()) return {};
        return [data = trace.data()](const QString&) -> Result<std::unique_ptr<TraceQuery>> {
            return std::unique_ptr<TraceQuery>(std::make_unique<InMemoryTraceQuery>(data));
        };
    }

private slots:
    void init() { m_warnings = std::make_unique<tests::FailOnWarning>(); }
    void cleanup() { QCOMPARE(tests::FailOnWarning::take(), QString()); }

    void aSearchFillsThePlotAndAClickLoadsTheSliders()
    {
        const RunSpec spec = sample::smallSpec();
        TraceSession session(sample::opener(spec), QStringLiteral("sample"));
        Selection selection;
        WhatIf whatIf;
        TuningView view;
        view.resize(1100, 700);
        view.show();
        QVERIFY(QTest::qWaitFor([&] { return session.isOpen(); }));
        selection.reset(session.info().range);
        whatIf.setTrace(session.info());
        view.setWhatIf(&whatIf);
        view.setTrace(&session, &selection);
        QVERIFY(QTest::qWaitFor([&] { return view.showsFinalData(); }, 20'000));
        QVERIFY(view.cloud().points().size() > 100);
        QVERIFY(!view.cloud().front().empty());
        QVERIFY(view.table().model()->rowCount() > 0);
        QVERIFY(!view.tableAsCsv().isEmpty());
        QAbstractItemModelTester tester(view.table().model(), QAbstractItemModelTester::FailureReportingMode::QtTest);

        // At any width names are whole: they wrap where they do not fit.
        for (const int width : {1172, 1100, 1500}) {
            view.resize(width, 700);
            view.grab();
            const QTableView& table = view.table();
            for (int row = 0; row < std::min(12, table.model()->rowCount()); ++row) {
                const QString name = table.model()->index(row, 0).data().toString();
                const QRect cell(0, 0, table.columnWidth(0) - 8, 1000);
                const QRect needed = table.fontMetrics().boundingRect(cell, Qt::TextWordWrap, name);
                QVERIFY2(needed.height() <= table.rowHeight(row) && needed.width() <= cell.width(), qPrintable(name));
            }
        }
        view.resize(1100, 700);

        view.scatter().grab(); // a click meets what was painted
        const std::uint32_t fastest = view.cloud().front().front();
        const QPointF place = view.scatter().placeOf(fastest);
        QCOMPARE(view.scatter().pointAt(place), std::optional(fastest));
        QTest::mouseClick(&view.scatter(), Qt::LeftButton, {}, place.toPoint());
        QVERIFY(whatIf.isActive());
        QCOMPARE(whatIf.history()->count(), 1);
        QCOMPARE(whatIf.spec()->plan.worldSize(), 8);
        QCOMPARE(whatIf.spec()->training.batch, spec.training.batch);
        QVERIFY(QTest::qWaitFor([&] { return !whatIf.isPredicting(); }, 10'000));
        QVERIFY(whatIf.prediction());
        whatIf.history()->undo();
        QVERIFY(whatIf.isAsRecorded());

        // A brush on the tensor-parallel axis: the table keeps only what passes.
        PlanLines& lines = view.lines();
        lines.grab();
        const auto x = static_cast<int>(lines.xOf(PlanAxis::Tensor));
        const auto low = static_cast<int>(lines.yOf(PlanAxis::Tensor, 1));
        QTest::mousePress(&lines, Qt::LeftButton, {}, {x, low});
        QMouseEvent move(QEvent::MouseMove, QPointF(x, low - 8), lines.mapToGlobal(QPointF(x, low - 8)), Qt::NoButton,
                         Qt::LeftButton, {});
        QCoreApplication::sendEvent(&lines, &move);
        QTest::mouseRelease(&lines, Qt::LeftButton, {}, {x, low - 8});
        QVERIFY(lines.brushes()[static_cast<std::size_t>(PlanAxis::Tensor)]);
        QVERIFY(view.table().model()->rowCount() > 0);
        for (int row = 0; row < view.table().model()->rowCount(); ++row)
            QVERIFY(!view.table().model()->index(row, 0).data().toString().contains(QStringLiteral("tp")));
        view.fitAll();
        QCOMPARE(lines.brushes(), PlanBrushes{});
    }

    void linesShareStrokesWherePlansAreTheSame()
    {
        using Ink = PlanStroke::Ink;
        const std::vector<std::vector<QPointF>> places{
            {{0, 1}, {10, 2}, {20, 3}}, {{0, 1}, {10, 2}, {20, 4}}, {{0, 1}, {10, 2}, {20, 4}}};
        std::vector<Ink> inks{Ink::Best, Ink::Fits, Ink::Fits};
        const auto said = [&] {
            QStringList texts;
            for (const PlanStroke& each : planStrokes(places, inks))
                texts << QStringLiteral("%1,%2-%3,%4 %5x%6")
                             .arg(each.line.x1())
                             .arg(each.line.y1())
                             .arg(each.line.x2())
                             .arg(each.line.y2())
                             .arg(static_cast<int>(each.ink))
                             .arg(each.plans);
            return texts.join(QStringLiteral("; "));
        };
        QCOMPARE(said(), QStringLiteral("0,1-10,2 1x2; 10,2-20,4 1x2; 0,1-10,2 2x1; 10,2-20,3 2x1"));
        inks[2] = Ink::TooLarge;
        QCOMPARE(planStrokes(places, inks).size(), std::size_t{6});
        QVERIFY(planStrokes({}, {}).empty());
    }

    void manyLinesAreDrawnBesideTheWindow()
    {
        // No two plans are alike on any axis but two: lines of 9 pieces each.
        std::vector<cost::SearchedPlan> plans;
        for (int i = 0; i < 2000; ++i) {
            cost::SearchedPlan each = plan(1 + i % 13, 1 + i % 997, 1e9 + i * 1e6, i % 3 != 0);
            each.plan.pp = 1 + i % 17;
            each.plan.dp = 1 + i % 211;
            each.plan.cp = 1 + i % 19;
            each.plan.ep = 1 + i % 23;
            each.plan.vpp = 1 + i % 29;
            each.plan.microbatches = 1 + i % 499;
            each.plan.zero = i % 4;
            plans.push_back(each);
        }
        PlanCloud cloud, few;
        cloud.reset({});
        few.reset({});
        few.add(std::span(plans).first(20));
        PlanLines lines;
        lines.resize(900, 260);
        lines.show();
        lines.setCloud(&few);
        lines.grab();
        QVERIFY(lines.isComplete()); // few are there at once
        QCOMPARE(lines.axes().size(), std::size_t{10});
        const QImage ofFew = lines.grab().toImage();

        cloud.add(plans);
        lines.setCloud(&cloud);
        QVERIFY(!lines.isComplete());
        lines.grab();
        QVERIFY(!lines.isComplete()); // no repaint draws them
        // More points come while they are drawn: these lines are shown, then the new ones.
        lines.refresh();
        QVERIFY(QTest::qWaitFor([&] { return lines.isComplete(); }, 20'000));
        const QImage ofMany = lines.grab().toImage();
        QVERIFY(ofMany != ofFew);
        QVERIFY(lines.isComplete());

        // Of another widget the same picture; another size begins anew.
        PlanLines again;
        again.resize(900, 260);
        again.show();
        again.setCloud(&cloud);
        QVERIFY(QTest::qWaitFor([&] { return again.isComplete(); }, 20'000));
        QCOMPARE(again.grab().toImage(), ofMany);
        again.resize(800, 260);
        QVERIFY(!again.isComplete());
        QVERIFY(QTest::qWaitFor([&] { return again.isComplete(); }, 20'000));
    }

    void aFailedSearchIsNotTheEnd()
    {
        RunSpec broken = sample::smallSpec();
        broken.training.batch = 0; // nothing can be searched for it
        TraceSession session(sample::opener(sample::smallSpec()), QStringLiteral("sample"));
        Selection selection;
        WhatIf whatIf;
        TuningView view;
        view.resize(1100, 700);
        view.show();
        QVERIFY(QTest::qWaitFor([&] { return session.isOpen(); }));
        selection.reset(session.info().range);
        whatIf.setTrace(session.info());
        whatIf.setRecorded(broken, {});
        view.setWhatIf(&whatIf);
        view.setTrace(&session, &selection);
        QVERIFY(QTest::qWaitFor([&] { return !view.emptyReason().isEmpty(); }, 20'000));
        whatIf.setRecorded(sample::smallSpec(), {});
        QVERIFY(QTest::qWaitFor([&] { return view.emptyReason().isEmpty() && view.cloud().points().size() > 100; },
                                20'000));
    }

    void anAbandonedSearchSaysNothingMore()
    {
        PlanSearcher searcher;
        QSignalSpy found(&searcher, &PlanSearcher::found), finished(&searcher, &PlanSearcher::finished),
            failed(&searcher, &PlanSearcher::failed);
        searcher.start(
            {sample::smallSpec("dp=2 tp=2 pp=2 microbatches=4", 4096), nullptr, 4096, cost::SearchObjective::Time, 0});
        QVERIFY(searcher.isRunning());
        QVERIFY(QTest::qWaitFor([&] { return found.count() > 0; }, 20'000));
        searcher.abandon();
        QVERIFY(!searcher.isRunning());
        const auto before = found.count();
        finished.clear(); // a quick machine may have come to the end of the first one
        searcher.start({sample::smallSpec(), nullptr, 2, cost::SearchObjective::Time, 50});
        QVERIFY(QTest::qWaitFor([&] { return finished.count() == 1; }, 20'000));
        QVERIFY(found.count() > before);
        QCOMPARE(failed.count(), 0);
    }

    /// The calculator begins with what the job recorded and says so, until somebody types something else.
    void goodputBeginsWithWhatWasRecorded()
    {
        const RunSpec spec = sample::smallSpec();
        TraceSession session(openerOfFailures(spec), QStringLiteral("sample"));
        Selection selection;
        WhatIf whatIf;
        TuningView view;
        view.resize(1100, 700);
        view.show();
        QVERIFY(QTest::qWaitFor([&] { return session.isOpen(); }));
        selection.reset(session.info().range);
        whatIf.setTrace(session.info());
        view.setWhatIf(&whatIf);
        view.setTrace(&session, &selection);
        QVERIFY(QTest::qWaitFor([&] { return view.showsFinalData(); }, 20'000));
        const QList<QDoubleSpinBox*> boxes = view.findChildren<QDoubleSpinBox*>();
        QCOMPARE(boxes.size(), 3);
        const auto note = [&view] {
            for (const QLabel* label : view.findChildren<QLabel*>())
                if (label->text().startsWith(QStringLiteral("as this job recorded"))) return label->text();
            return QString();
        };
        QVERIFY(QTest::qWaitFor([&] { return !note().isEmpty(); }, 20'000));
        const auto devices = static_cast<double>(session.info().header.ranks.size());
        // Two failures in 12 s; a checkpoint took 0.5 s, and a restart 1 s.
        QVERIFY(std::abs(boxes[0]->value() * 3600 - 6 * devices) < 1e-4);
        QCOMPARE(boxes[1]->value(), 0.5);
        QCOMPARE(boxes[2]->value(), 1.0);
        QVERIFY2(boxes[1]->text().startsWith(QStringLiteral("0.5")), qPrintable(boxes[1]->text()));
        QCOMPARE(note(), QStringLiteral("as this job recorded: failures, checkpoint, restart"));
        boxes[1]->setValue(60);
        QCOMPARE(note(), QStringLiteral("as this job recorded: failures, restart"));
        QVERIFY2(boxes[1]->text().startsWith(QStringLiteral("60")), qPrintable(boxes[1]->text()));
        // A trace of no job begins with usual values.
        TraceSession other(sample::opener(spec), QStringLiteral("sample"));
        QVERIFY(QTest::qWaitFor([&] { return other.isOpen(); }));
        view.setTrace(&other, &selection);
        QCOMPARE(boxes[2]->value(), 900.0);
        QCOMPARE(note(), QString());
    }

    void withoutASpecificationItSaysWhy()
    {
        TuningView view;
        QVERIFY(!view.emptyReason().isEmpty());
    }
};

FOURWALLS_TEST(TestTuningView, QApplication)

} // namespace tst_tuning_view

#include "tst_tuning_view.moc"
