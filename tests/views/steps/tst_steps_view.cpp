// SPDX-License-Identifier: GPL-3.0-or-later
// The steps view offscreen: figures, curves, the shared selection, empty states. Any Qt warning fails.
#include "tests/views/memory/view_probe.h"
#include "views/plot/plot_card.h"
#include "views/steps/steps_plot.h"
#include "views/steps/steps_view.h"
#include "views/whatif/what_if.h"
#ifndef Q_MOC_RUN
#include "tests/support/test_program.h"
#include "tests/views/whatif/predicted_sample.h"
#endif

#include <QApplication>
#include <QSignalSpy>
#include <QTableView>

#include <cmath>
#include <limits>

namespace tst_steps_view {

using namespace fourwalls;
using namespace fourwalls::views;

class StepsViewTest : public QObject {
    Q_OBJECT

    using Probe = ViewProbe<StepsView>;

    static sample::TrainingShape many()
    {
        sample::TrainingShape shape;
        shape.layers = 2;
        shape.steps = 12;
        return shape;
    }

    static QString figure(const Probe& probe, int index)
    {
        QString text = probe.view->findChild<FigureStrip*>()->figures()[static_cast<std::size_t>(index)].value;
        return text.replace(QChar(0x202F), QLatin1Char(' '));
    }

private slots:
    void init() { failOnQtWarnings(); }

    void figuresAndSentence()
    {
        Probe probe(many());
        QVERIFY(probe.ready());
        // Two forward, two backward and one optimizer operator of 1 ms each.
        QCOMPARE(figure(probe, 0), QStringLiteral("5 ms"));
        QCOMPARE(figure(probe, 2), QStringLiteral("1.3"));
        QCOMPARE(probe.view->finding(),
                 QStringLiteral("loss falls from 2.4 to 1.3 in 12 steps \u00B7 11 of 12 steps measured (1 warm-up)"));
        QCOMPARE(probe.view->plot().seriesCount(), 4);
        QCOMPARE(probe.view->tableAsCsv().count(QLatin1Char('\n')), 13);
    }

    void thePredictedTimeIsALineOverTheSteps()
    {
        Probe probe(many());
        QVERIFY(probe.ready());
        WhatIf whatIf;
        whatIf.setRecorded(sample::smallSpec(), {});
        probe.view->setWhatIf(&whatIf);
        QVERIFY(!probe.view->plot().prediction());
        whatIf.setActive(true);
        QVERIFY(QTest::qWaitFor([&] { return !whatIf.isPredicting(); }, 10'000));
        const auto predicted = probe.view->plot().prediction();
        QVERIFY(predicted && std::abs(static_cast<double>(predicted->ns) - whatIf.step()->seconds * 1e9) <= 1);
        QVERIFY(probe.ready());
        probe.view->grab();
        whatIf.setActive(false);
        QVERIFY(!probe.view->plot().prediction());
    }

    void choosingAStepMovesTheSharedRange()
    {
        Probe probe(many());
        QVERIFY(probe.ready());
        emit probe.view->plot().stepClicked(StepIndex(4));
        QCOMPARE(probe.selection.step(), std::optional(StepIndex(4)));
        QCOMPARE(probe.selection.range().length(), Duration{5'000'000});
        QCOMPARE(probe.view->table().selectionModel()->selectedRows().size(), 1);
        QCOMPARE(probe.view->table().selectionModel()->selectedRows()[0].row(), 4);
        QSignalSpy asked(&probe.selection, &Selection::viewRequested);
        emit probe.view->plot().stepDoubleClicked(StepIndex(5));
        QCOMPARE(asked.size(), 1);
        QCOMPARE(probe.selection.step(), std::optional(StepIndex(5)));
    }

    void anotherViewsStepIsFollowed()
    {
        Probe probe(many());
        QVERIFY(probe.ready());
        probe.selection.setStep(StepIndex(7));
        QCOMPARE(probe.view->table().selectionModel()->selectedRows()[0].row(), 7);
        probe.selection.setStep(std::nullopt);
        QVERIFY(probe.view->table().selectionModel()->selectedRows().isEmpty());
    }

    void zoomingStaysOnTheSteps()
    {
        Probe probe(many());
        QVERIFY(probe.ready());
        StepsPlot& plot = probe.view->plot();
        const auto whole = plot.shownSteps();
        QCOMPARE(whole.first, -0.5);
        QCOMPARE(whole.second, 11.5);
        plot.zoomBy(2);
        const auto near = plot.shownSteps();
        QCOMPARE(near.second - near.first, 6.0);
        plot.panBy(100);
        QCOMPARE(plot.shownSteps().second, 11.5);
        plot.zoomBy(1e-6);
        QCOMPARE(plot.shownSteps(), whole);
        plot.zoomBy(1e6);
        QCOMPARE(plot.shownSteps().second - plot.shownSteps().first, 2.0);
        probe.view->fitAll();
        QCOMPARE(plot.shownSteps(), whole);
    }

    void thePointerNamesAStepInBothViews()
    {
        Probe probe(many());
        QVERIFY(probe.ready());
        StepsPlot& plot = probe.view->plot();
        QSignalSpy hovered(&plot, &StepsPlot::stepHovered);
        plot.grab();
        QWidget* canvas = plot.findChildren<QWidget*>().value(0);
        QVERIFY(canvas);
        const QPointF at(canvas->width() * 0.25, canvas->height() * 0.25);
        QMouseEvent move(QEvent::MouseMove, at, canvas->mapToGlobal(at), Qt::NoButton, Qt::NoButton, Qt::NoModifier);
        QApplication::sendEvent(canvas, &move);
        QCOMPARE(hovered.size(), 1);
        QVERIFY(probe.selection.cursor());
        probe.view->grab();
    }

    void aDivergedLossIsAGap()
    {
        auto table = std::make_shared<StepTable>();
        for (int i = 0; i < 6; ++i) {
            StepRow row;
            row.step = StepIndex(i);
            row.range = {Instant{i * 1000}, Instant{i * 1000 + 900}};
            row.loss = i == 2   ? std::numeric_limits<double>::infinity()
                       : i == 4 ? std::numeric_limits<double>::quiet_NaN()
                                : 3.0 - 0.1 * i;
            table->rows.push_back(row);
        }
        StepsPlot plot;
        plot.resize(700, 400);
        plot.show();
        plot.setTable(table);
        QCOMPARE(plot.seriesCount(), 2); // loss and step time: the others have no value at all
        plot.setHovered(StepIndex(2));
        QSignalSpy painted(&plot, &StepsPlot::painted);
        QVERIFY(painted.wait() || painted.size() > 0);
        QVERIFY(!plot.grab().isNull());
    }

    void withoutStepsItSaysWhy()
    {
        sample::TrainingShape shape;
        shape.steps = 0;
        Probe probe(shape);
        QVERIFY(probe.ready());
        QVERIFY(probe.view->emptyReason().contains(QStringLiteral("no training steps")));
        QVERIFY(probe.view->tableAsCsv().isEmpty());
        probe.view->grab();
    }

    void everySizeAndThemePaints()
    {
        Probe probe(many());
        QVERIFY(probe.ready());
        for (const QSize size : {QSize(1600, 900), QSize(900, 600), QSize(420, 300)}) {
            for (const bool dark : {true, false}) {
                setCurrentTheme(dark);
                probe.view->plot().applyTheme();
                probe.view->resize(size);
                QVERIFY(!probe.view->grab().isNull());
            }
        }
    }
};

FOURWALLS_TEST(StepsViewTest, QApplication)

} // namespace tst_steps_view

#include "tst_steps_view.moc"
