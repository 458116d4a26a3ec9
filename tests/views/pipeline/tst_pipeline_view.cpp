// SPDX-License-Identifier: GPL-3.0-or-later
// The view of a pipeline offscreen, driven as a person would: what it says is what `metrics` says, its passes are found on
// the timeline, their order is changed by hand. Any Qt warning fails.
#include <QtTest>

#include "model/present/predicted_lanes.h"
#include "tests/support/imported_stages.h"
#include "tests/support/test_program.h"
#include "tests/views/fail_on_warning.h"
#include "tests/views/trace_probe.h"
#include "views/pipeline/ideal_bars.h"
#include "views/pipeline/order_controls.h"
#include "views/pipeline/pipeline_view.h"
#include "views/plot/plot_card.h"
#include "views/plot/plot_table.h"
#include "views/whatif/knob_row.h"
#include "views/whatif/replayer.h"

#include <QAction>
#include <QComboBox>
#include <QSignalSpy>
#include <QSpinBox>
#include <QTableView>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

namespace tst_pipeline_view {

using namespace fourwalls;
using namespace fourwalls::views;
using namespace fourwalls::sample;

namespace {

QString plain(QString text)
{
    return text.replace(QChar(0x202F), QLatin1Char(' '));
}

} // namespace

class PipelineViewTest : public QObject {
    Q_OBJECT

    using Probe = TraceProbe<PipelineView>;

    static double exact(PipelineView& view, int row, int column)
    {
        return view.table().model()->index(row, column).data(kExactRole).toDouble();
    }
    static constexpr int kBubbleColumn = 6;

private slots:
    void init() { m_warnings = std::make_unique<tests::FailOnWarning>(); }
    void cleanup()
    {
        QCOMPARE(tests::FailOnWarning::take(), QString());
        m_warnings.reset();
    }

    /// Two stages are two ranks, not all between them.
    void pipelinesAreNamedByTheirRanks()
    {
        Probe probe(modelledTrace(specOf("dp=2 pp=2 microbatches=4"), TraceSource::Recorded));
        QVERIFY(probe.ready());
        QStringList named;
        for (const QComboBox* box : probe.view->findChildren<QComboBox*>())
            for (int i = 0; i < box->count(); ++i)
                if (box->itemText(i).startsWith(QStringLiteral("ranks"))) named << box->itemText(i);
        QVERIFY(!named.isEmpty());
        static const QRegularExpression kTwo(QStringLiteral("^ranks \\d+, \\d+$"));
        for (const QString& each : named) QVERIFY2(kTwo.match(each).hasMatch(), qPrintable(each));
    }

    void theViewSaysWhatMetricsSay()
    {
        const auto data = modelledTrace(specOf("pp=4 microbatches=8 dp=2"), TraceSource::Recorded);
        QVERIFY(data);
        InMemoryTraceQuery trace(data);
        const auto metrics = computeMetrics(trace);
        QVERIFY(metrics.ok());
        Probe probe(data);
        QVERIFY(probe.ready());
        PipelineView& view = *probe.view;
        QVERIFY(view.finding().contains(formatPercent(*metrics->bubbleFraction)));
        QVERIFY(plain(view.finding()).contains(QStringLiteral("ideal 1F1B 27.3 %")));
        QCOMPARE(view.table().model()->rowCount(), 4);
        for (int stage = 0; stage < 4; ++stage)
            QVERIFY(std::abs(exact(view, stage, kBubbleColumn) -
                             metrics->bubbleByStage[static_cast<std::size_t>(stage)]) < 1e-12);
        QVERIFY(std::abs(view.bars().bars().front().fraction - *metrics->bubbleFraction) < 1e-12);
        QCOMPARE(view.table().model()->index(0, 8).data().toString(), QStringLiteral("4 of 4"));
        QVERIFY(view.inferredNote().isEmpty());
        QVERIFY(view.tableAsCsv().startsWith(QStringLiteral("stage,rank,busy")));
        // Beside it, as predicted: the same model, so the same step.
        QVERIFY(view.predictedPlot().picture() && view.predictedPlot().isVisible());
        QCOMPARE(view.predictedPlot().picture()->lanes.size(), std::size_t{4});
    }

    /// The measured passes in another order: as the cost model orders its own passes, from which they were "measured".
    void theOrderIsChangedByHand()
    {
        Probe probe(modelledTrace(specOf("pp=4 microbatches=8"), TraceSource::Recorded));
        QVERIFY(probe.ready());
        PipelineView& view = *probe.view;
        OrderControls& order = view.order();
        QVERIFY2(order.blocked().isEmpty(), qPrintable(order.blocked()));
        Replayer& replayer = probe.whatIf.replayer();
        const auto choose = [&](PipelineSchedule schedule) {
            order.schedule().setCurrentIndex(order.schedule().findData(static_cast<int>(schedule)));
            emit order.schedule().activated(order.schedule().currentIndex());
            return QTest::qWaitFor([&] { return !replayer.isBusy() && probe.ready(); }, 20'000);
        };
        const double before = view.recordedPlot().picture()->bubble().value_or(0);
        QVERIFY(choose(PipelineSchedule::GPipe));
        QCOMPARE(replayer.changes(), std::vector<std::string>{"schedule=gpipe"});
        const auto gpipe = view.predictedPlot().picture();
        QVERIFY(gpipe && view.predictedPlot().isVisible());
        const PipelinePicture modelled =
            predictedPicture(cost::predictStep(specOf("pp=4 microbatches=8 schedule=gpipe"))->drawn);
        QCOMPARE(gpipe->lanes.size(), std::size_t{4});
        for (std::size_t i = 0; i < 4; ++i) {
            QCOMPARE(gpipe->lanes[i].mostInFlight, 8);
            QCOMPARE(gpipe->lanes[i].passes.size(), modelled.lanes[i].passes.size());
            for (std::size_t k = 0; k < gpipe->lanes[i].passes.size(); ++k) {
                const StagePass &a = gpipe->lanes[i].passes[k], &b = modelled.lanes[i].passes[k];
                QVERIFY(isForward(a) == isForward(b) && a.microbatch == b.microbatch);
            }
        }
        QVERIFY2(std::abs(*gpipe->bubble() - *modelled.bubble()) < 0.02,
                 qPrintable(QString("%1 %2").arg(*gpipe->bubble()).arg(*modelled.bubble())));
        // Weight gradients apart, and less of a bubble.
        QVERIFY(choose(PipelineSchedule::ZeroBubbleH1));
        const auto zb = view.predictedPlot().picture();
        QVERIFY(std::any_of(zb->lanes[0].passes.begin(), zb->lanes[0].passes.end(),
                            [](const StagePass& pass) { return pass.phase == Phase::BackwardWeight; }));
        QVERIFY(*zb->bubble() < before && *zb->bubble() < *gpipe->bubble());
        // Chunks say that passes are interleaved, and the recorded schedule takes all of it back.
        order.chunks().setValue(2);
        QCOMPARE(replayer.changes(), std::vector<std::string>{"vpp=2"});
        QCOMPARE(order.schedule().currentData().toInt(), static_cast<int>(PipelineSchedule::Interleaved));
        emit order.slider().valueChosen(16);
        QCOMPARE(replayer.changes(), (std::vector<std::string>{"microbatches=16", "vpp=2"}));
        QVERIFY(QTest::qWaitFor([&] { return !replayer.isBusy() && probe.ready(); }, 20'000));
        const auto interleaved = view.predictedPlot().picture();
        QCOMPARE(interleaved->chunks, 2);
        QCOMPARE(interleaved->microbatches, 16);
        order.microbatches().setValue(8);
        QVERIFY(choose(PipelineSchedule::OneFOneB));
        QVERIFY(replayer.changes().empty() && !probe.whatIf.showsReplay());
    }

    void whatCannotBeOrderedSaysWhy()
    {
        Probe probe(modelledTrace(specOf("pp=1 microbatches=2"), TraceSource::Recorded));
        QVERIFY(probe.ready());
        const OrderControls& order = probe.view->order();
        QVERIFY2(order.blocked().contains(QStringLiteral("no pipeline stages")), qPrintable(order.blocked()));
        QComboBox* schedule = probe.view->order().findChild<QComboBox*>();
        QVERIFY(!schedule->isEnabled());
        QCOMPARE(schedule->toolTip(), order.blocked());
        QVERIFY(!probe.view->order().slider().isEnabled());
        QCOMPARE(probe.view->order().microbatches().toolTip(), order.blocked());
    }

    void aWhatIfTakesTheGhostsPlace()
    {
        Probe probe(modelledTrace(specOf("pp=4 microbatches=8"), TraceSource::Recorded));
        QVERIFY(probe.ready());
        const QString own = probe.view->tableAsCsv();
        RunSpec spec = *probe.whatIf.recorded();
        spec.plan.pp = 2;
        spec.plan.dp = 2;
        probe.whatIf.propose(spec);
        QVERIFY(QTest::qWaitFor(
            [&] {
                const auto& ghost = probe.view->predictedPlot().picture();
                return ghost && ghost->lanes.size() == 2;
            },
            20'000));
        QVERIFY(probe.ready());
        QVERIFY(probe.view->tableAsCsv() != own);
        probe.whatIf.setActive(false); // back to the prediction of what was recorded
        QVERIFY(QTest::qWaitFor([&] { return probe.view->predictedPlot().picture()->lanes.size() == 4; }, 20'000));
        QCOMPARE(probe.view->tableAsCsv(), own);
    }

    /// The picture of many passes is made beside the window, which says that it is not all there yet.
    void aLongPipelinesGhostComesLater()
    {
        Probe probe(modelledTrace(specOf("pp=4 microbatches=8"), TraceSource::Recorded));
        QVERIFY(probe.ready());
        RunSpec spec = *probe.whatIf.recorded();
        spec.plan.pp = 2;
        spec.plan.microbatches = 16384;
        spec.training.batch = 16384;
        probe.whatIf.propose(spec);
        const auto ghost = [&] { return probe.view->predictedPlot().picture(); };
        const bool came = QTest::qWaitFor([&] { return ghost() && ghost()->microbatches == 16384; }, 30'000);
        QVERIFY(came);
        QVERIFY(probe.ready());
        QCOMPARE(ghost()->lanes.size(), std::size_t{2});
        QVERIFY(ghost()->lanes[0].passes.size() >= 2 * 16384);
        // Taken back while it may still be made, it does not come after all.
        spec.plan.microbatches = 8192;
        probe.whatIf.propose(spec);
        probe.whatIf.setActive(false);
        QVERIFY(QTest::qWaitFor([&] { return probe.view->showsFinalData(); }, 30'000));
        QCOMPARE(ghost()->microbatches, 8);
    }

    void aPassIsHoveredClickedAndFoundOnTheTimeline()
    {
        Probe probe(modelledTrace(specOf("pp=4 microbatches=8"), TraceSource::Recorded));
        QVERIFY(probe.ready());
        PipelinePlot& plot = probe.view->recordedPlot();
        const PassPlace place{2, 3};
        const QPoint at = plot.boxOf(place).center().toPoint();
        QCOMPARE(plot.placeAt(at), place);
        QSignalSpy hovered(&plot, &PipelinePlot::microbatchHovered);
        QMouseEvent move(QEvent::MouseMove, QPointF(at), plot.mapToGlobal(QPointF(at)), Qt::NoButton, Qt::NoButton, {});
        QApplication::sendEvent(&plot, &move);
        QCOMPARE(hovered.count(), 1);
        plot.grab();
        QTest::mouseClick(&plot, Qt::LeftButton, {}, at);
        QCOMPARE(plot.selected(), place);
        const StagePass& pass = *plot.pass(place);
        QVERIFY(probe.selection.slice() && probe.selection.slice()->slice.id == pass.slice->id);
        QCOMPARE(probe.selection.rank(), plot.picture()->lanes[2].rank);
        QSignalSpy requested(&probe.selection, &Selection::viewRequested);
        for (QAction* action : probe.view->viewActions())
            if (action->objectName() == QLatin1String("pipeline.timeline")) action->trigger();
        QCOMPARE(requested.count(), 1);
        QCOMPARE(requested.front().front().toString(), QStringLiteral("timeline"));
        QVERIFY(probe.selection.range().begin <= pass.range.begin && probe.selection.range().end >= pass.range.end);
        // Without a mouse: the next pass, then the next stage.
        for (const char* name : {"pipeline.nextPass", "pipeline.nextStage"})
            for (QAction* action : probe.view->viewActions())
                if (action->objectName() == QLatin1String(name)) action->trigger();
        QCOMPARE(plot.selected(), (PassPlace{3, 4}));
    }

    void theWheelZoomsAndOtherViewsFollow()
    {
        Probe probe(modelledTrace(specOf("pp=2 microbatches=4"), TraceSource::Recorded));
        QVERIFY(probe.ready());
        PipelinePlot& plot = probe.view->recordedPlot();
        const TimeRange whole = plot.camera().range();
        const QPointF at = plot.plotRect().center();
        QWheelEvent event(at, plot.mapToGlobal(at), {}, {0, 240}, Qt::NoButton, {}, Qt::NoScrollPhase, false);
        QApplication::sendEvent(&plot, &event);
        QVERIFY(plot.camera().range().length() < whole.length());
        QCOMPARE(probe.selection.range(), plot.camera().range());
        QCOMPARE(probe.view->predictedPlot().camera().range(), plot.camera().range());
        probe.view->fitAll();
        QCOMPARE(plot.camera().range(), whole);
    }

    void anImportSaysWhatWasInferredAndStepsCanBeChosen()
    {
        Probe probe(importedTrace());
        QVERIFY(probe.ready());
        QVERIFY(probe.view->inferredNote().contains(QStringLiteral("inferred: passes")));
        QVERIFY(probe.view->inferredNote().contains(QStringLiteral("stages")));
        QVERIFY(!probe.view->predictedPlot().isVisible());
        QCOMPARE(*probe.view->shownStep(), StepIndex{0}); // of two steps the lower middle
        probe.selection.setStep(StepIndex{1});
        QVERIFY(probe.ready());
        QTRY_COMPARE(*probe.view->shownStep(), StepIndex{1});
        probe.selection.setStep(StepIndex{0});
        QTRY_COMPARE(*probe.view->shownStep(), StepIndex{0});
        probe.selection.setStep(std::nullopt);
        probe.selection.setRange({Instant{110'000}, Instant{170'000}}); // the timeline went on to the next step
        QTRY_COMPARE(*probe.view->shownStep(), StepIndex{1});
    }

    /// The title and the card below give the figure of the step that is shown; that of the median one has its name.
    void theTitleAgreesWithTheCard()
    {
        const auto data = importedTrace(true, 1'000);
        PipelineFacts facts;
        pictureOf(data, &facts);
        const QString mean = formatPercent(*facts.metrics.bubbleFraction);
        Probe probe(data);
        QVERIFY(probe.ready());
        const auto own = [&] { return formatPercent(probe.view->bars().bars().front().fraction); };
        const JobStep median = *typicalStep(*InMemoryTraceQuery(data).jobSteps());
        const StepIndex other{1 - median.step.value};
        QCOMPARE(*probe.view->shownStep(), median.step);
        QCOMPARE(own(), mean);
        const auto steps = InMemoryTraceQuery(data).jobSteps();
        for (const JobStep& step : *steps)
            if (step.step == other) probe.selection.setRange(step.range); // the timeline went there
        QTRY_COMPARE(*probe.view->shownStep(), other);
        QVERIFY(probe.ready());
        QVERIFY(own() != mean);
        QVERIFY2(probe.view->finding().startsWith(QStringLiteral("bubble %1 of").arg(own())),
                 qPrintable(probe.view->finding()));
        QVERIFY2(probe.view->finding().contains(QStringLiteral("median step ") + mean),
                 qPrintable(probe.view->finding()));
        probe.selection.setStep(other);
        QVERIFY(probe.ready());
        QTRY_COMPARE(*probe.view->shownStep(), other);
        QVERIFY2(probe.view->finding().startsWith(QStringLiteral("bubble %1 of").arg(own())),
                 qPrintable(probe.view->finding()));
        QVERIFY(!probe.view->finding().contains(QStringLiteral("median")));
    }

    void nothingToSeeIsExplained()
    {
        Probe none(importedTrace(false)); // nothing says what is forward
        QVERIFY(none.ready());
        QVERIFY(none.view->emptyReason().contains(QStringLiteral("forward")));
        none.view->grab();

        Probe single(modelledTrace(specOf("dp=4 microbatches=2"), TraceSource::Recorded));
        QVERIFY(single.ready());
        QVERIFY(single.view->finding().contains(QStringLiteral("pp=1")));
        QCOMPARE(single.view->recordedPlot().picture()->lanes.size(), std::size_t{1});
        QVERIFY(!single.view->bars().isVisible());
    }

    void languagesAndThemesSwitch()
    {
        Probe probe(modelledTrace(specOf("pp=2 microbatches=4 schedule=zb"), TraceSource::Recorded));
        QVERIFY(probe.ready());
        const QImage light = probe.view->grab().toImage();
        setCurrentTheme(true);
        QEvent palette(QEvent::PaletteChange);
        QApplication::sendEvent(probe.view.get(), &palette);
        QApplication::sendEvent(&probe.view->recordedPlot(), &palette);
        QVERIFY(probe.ready());
        QVERIFY(probe.view->grab().toImage() != light);
        setCurrentTheme(false);
        QEvent language(QEvent::LanguageChange);
        QApplication::sendEvent(probe.view.get(), &language);
        QVERIFY(probe.ready());
    }

private:
    std::unique_ptr<tests::FailOnWarning> m_warnings;
};

FOURWALLS_TEST(PipelineViewTest, QApplication)

} // namespace tst_pipeline_view

#include "tst_pipeline_view.moc"
