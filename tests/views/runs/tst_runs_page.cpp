// SPDX-License-Identifier: GPL-3.0-or-later
// The page of many trainings: smoothing by hand, what is drawn, the catalogue with search and tags, and what is said of the
// learning rate.
#include "tests/support/test_program.h"
#include "tests/views/fail_on_warning.h"
#include "views/runs/run_coordinates.h"
#include "views/runs/run_table.h"
#include "views/runs/runs_page.h"

#include <QAbstractItemModelTester>
#include <QSignalSpy>
#include <QTableView>
#include <QtTest/QtTest>

#include <cmath>
#include <memory>

namespace tst_runs_page {

using namespace fourwalls;
using namespace fourwalls::views;
using compare::CurvePoint;

namespace {

/// 40 steps of a minute each, 1000 tokens a step; the loss falls from 5 to `last`.
ListedRun runOf(const std::string& name, std::int64_t width, double rate, double last)
{
    ListedRun run;
    run.file = name + ".fourwalls";
    compare::RunCurves& c = run.curves;
    c.name = name;
    c.model = "gpt-tiny-w" + std::to_string(width);
    c.width = width;
    c.batch = 8;
    c.learningRate = rate;
    c.precision = "f32";
    for (int i = 0; i < 40; ++i) {
        CurvePoint point;
        point.step = i;
        point.seconds = 60.0 * (i + 1);
        point.tokens = 1000.0 * (i + 1);
        point.loss = last + (5 - last) * std::exp(-0.5 * i);
        point.gradientNorm = 1;
        point.learningRate = rate;
        point.tokensPerSecond = 1000.0 / 60;
        c.points.push_back(point);
    }
    return run;
}

/// Two widths, three rates each; the best rate moves from 0.004 to 0.002. One run has a spike.
std::shared_ptr<RunList> sweepOf()
{
    auto list = std::make_shared<RunList>();
    list->runs = {runOf("a", 64, 0.002, 3.0),  runOf("b", 64, 0.004, 2.5),  runOf("c", 64, 0.008, 2.8),
                  runOf("d", 128, 0.002, 2.2), runOf("e", 128, 0.004, 2.4), runOf("f", 128, 0.008, 2.9)};
    list->runs[1].curves.spikes.push_back({20, 4.5, 2.5, "fault: bit flip", 7.0});
    list->runs[1].curves.tags = {"baseline"};
    list->leftOut = 2;
    return list;
}

} // namespace

class RunsPageTest : public QObject {
    Q_OBJECT

private slots:
    void init() { m_warnings = std::make_unique<tests::FailOnWarning>(); }
    void cleanup() { QCOMPARE(tests::FailOnWarning::take(), QString()); }

    void smoothingBeginsAtTheFirstValue()
    {
        const std::vector<std::optional<double>> values{4.0, std::nullopt, 2.0, 2.0};
        const auto smooth = smoothedValues(values, 0.5);
        QCOMPARE(*smooth[0], 4.0);
        QVERIFY(!smooth[1]);
        // (0.5 x 0.5 x 4 + 0.5 x 2) / (0.25 + 0.5), and so on.
        QVERIFY(std::abs(*smooth[2] - (0.25 * 4 + 0.5 * 2) / 0.75) < 1e-12);
        QVERIFY(std::abs(*smooth[3] - (0.125 * 4 + 0.25 * 2 + 0.5 * 2) / 0.875) < 1e-12);
        const auto raw = smoothedValues(values, 0);
        QCOMPARE(*raw[2], 2.0);
    }

    void curvesOverStepsTokensAndHours()
    {
        const auto list = sweepOf();
        const auto colours = colourRuns(*list);
        QCOMPARE(colours[0], colours[2]); // a colour is a width
        QVERIFY(colours[0] != colours[3]);
        RunChoice choice;
        choice.shown.assign(6, true);
        choice.chosen.assign(6, false);
        std::vector<SpikePlace> spikes;
        for (const auto& [axis, end] : {std::pair(RunAxis::Steps, 39.0), std::pair(RunAxis::Tokens, 40'000.0),
                                        std::pair(RunAxis::Hours, 40.0 / 60)}) {
            choice.axis = axis;
            const XyContent drawn = drawnCurves(*list, colours, choice, spikes);
            QCOMPARE(drawn.lines.size(), std::size_t{6});
            QVERIFY(std::abs(drawn.lines[0].points.back().first - end) < 1e-9);
            QCOMPARE(drawn.points.size(), std::size_t{1});
            QCOMPARE(drawn.points[0].y, 4.5);
            QCOMPARE(spikes[0].run, std::size_t{1});
        }
        // Smoothed, the raw curves stay behind; other figures have no spikes; what search left out is not drawn.
        choice.smoothing = 0.9;
        QCOMPARE(drawnCurves(*list, colours, choice, spikes).lines.size(), std::size_t{12});
        choice.smoothing = 0;
        choice.figure = RunFigure::GradientNorm;
        choice.shown[3] = false;
        const XyContent norms = drawnCurves(*list, colours, choice, spikes);
        QCOMPARE(norms.lines.size(), std::size_t{5});
        QVERIFY(norms.points.empty() && spikes.empty());
        choice.figure = RunFigure::LossScale;
        QVERIFY(drawnCurves(*list, colours, choice, spikes).lines.empty());
        // A chosen run stands out: it comes last and is the only one in full ink.
        choice.figure = RunFigure::Loss;
        choice.chosen[0] = true;
        const XyContent one = drawnCurves(*list, colours, choice, spikes);
        QCOMPARE(one.lines.back().pen.color().alpha(), 255);
        QVERIFY(one.lines.front().pen.color().alpha() < 128);
        QVERIFY(one.points.empty());
    }

    void oneLineOfRatesForEachWidth()
    {
        auto list = sweepOf();
        std::vector<bool> shown(6, true);
        auto lines = rateLines(*list, shown);
        QCOMPARE(lines.size(), std::size_t{2});
        QCOMPARE(*lines[0].width, std::int64_t{64});
        QCOMPARE(lines[0].places[lines[0].best].rate, 0.004);
        QVERIFY(!lines[0].atEdge());
        QCOMPARE(lines[1].places[lines[1].best].rate, 0.002);
        QVERIFY(lines[1].atEdge());
        QCOMPARE(drawnRates(lines, colourRuns(*list)).points.size(), std::size_t{6});
        // A run that diverged has no place on a line, and one rate is no line.
        list->runs[0].curves.spikes.push_back({39, std::nullopt, 3, {}, {}});
        shown[1] = false;
        lines = rateLines(*list, shown);
        QCOMPARE(lines.size(), std::size_t{1});
        QCOMPARE(*lines[0].width, std::int64_t{128});
    }

    void parallelCoordinatesOfWhatDiffers()
    {
        auto list = sweepOf();
        const std::vector<bool> shown(6, true);
        const auto axes = runCoordinates(*list, shown);
        QCOMPARE(axes.size(), std::size_t{3}); // the batch is one for all
        QVERIFY(axes[0].setting == RunSetting::LearningRate && axes[1].setting == RunSetting::Width &&
                axes[2].setting == RunSetting::Loss);
        QVERIFY(axes[0].log && !axes[1].log);
        QVERIFY(std::abs(*axes[0].places[1] - 0.5) < 1e-9); // 0.004 lies in the middle of 0.002 and 0.008
        QCOMPARE(*axes[1].places[3], 1.0);
        QVERIFY(*axes[2].places[3] < 1e-9);
        // One setting that differs is what the curve of rates shows; a run that diverged has no line.
        QVERIFY(runCoordinates(*list, {true, true, true, false, false, false}).empty());
        list->runs[0].curves.spikes.push_back({39, std::nullopt, 3, {}, {}});
        const auto fewer = runCoordinates(*list, shown);
        QVERIFY(!fewer[0].places[0] && fewer[0].places[1]);

        RunCoordinatePlot plot;
        plot.resize(600, 300);
        plot.setCoordinates(axes, std::vector<bool>(6, false));
        plot.show();
        const QPointF a = *plot.pointOf(3, 0), b = *plot.pointOf(3, 1);
        QCOMPARE(plot.runAt(a + 0.37 * (b - a)), 3);
        QCOMPARE(plot.runAt(QPointF(1, 1)), -1);
        const QSignalSpy chosen(&plot, &RunCoordinatePlot::runChosen);
        QTest::mouseClick(&plot, Qt::LeftButton, {}, (a + 0.37 * (b - a)).toPoint());
        QCOMPARE(chosen.count(), 1);
        QCOMPARE(chosen[0][0].toInt(), 3);
    }

    void theCatalogueFindsSortsAndTags()
    {
        RunsPage page;
        page.resize(1400, 800);
        page.show();
        QVERIFY(page.isReady());
        page.setReading(QStringLiteral("folder"));
        QVERIFY(!page.isReady());
        page.setRuns(QStringLiteral("folder"), sweepOf());
        QVERIFY(page.isReady());
        const QAbstractItemModel& rows = *page.table().model();
        const QAbstractItemModelTester tester(page.table().model(),
                                              QAbstractItemModelTester::FailureReportingMode::Fatal);
        QCOMPARE(rows.rowCount(), 6);
        QCOMPARE(rows.index(0, RunTable::Name).data().toString(), QStringLiteral("d")); // the least loss
        QCOMPARE(page.lossPlot().content().lines.size(), std::size_t{6});
        QCOMPARE(page.rateSentence(),
                 QStringLiteral("the best rate stays within one step of the grid: 0.002 to 0.004"));
        auto moving = sweepOf();
        moving->runs[2] = runOf("c", 64, 0.008, 2.0);
        page.setRuns(QStringLiteral("folder"), moving);
        QCOMPARE(page.rateSentence(), QStringLiteral("best rate: 0.008 at width 64, 0.002 at width 128"));
        moving = sweepOf();
        moving->runs[3] = runOf("d", 128, 0.002, 2.6);
        page.setRuns(QStringLiteral("folder"), moving);
        QCOMPARE(page.rateSentence(), QStringLiteral("the best rate is 0.004 at all widths"));
        page.setRuns(QStringLiteral("folder"), sweepOf());

        page.setSearch(QStringLiteral("BASE w64"));
        QCOMPARE(rows.rowCount(), 1);
        QCOMPARE(page.lossPlot().content().lines.size(), std::size_t{1});
        QVERIFY(page.rateSentence().isEmpty());
        page.setSearch(QString());

        const QSignalSpy tagged(&page, &RunsPage::tagsChanged);
        const QModelIndex tags = rows.index(0, RunTable::Tags);
        QVERIFY(page.table().model()->setData(tags, QStringLiteral(" keep, best ,keep,")));
        QCOMPARE(tagged.count(), 1);
        QCOMPARE(tagged[0][0].toString(), QStringLiteral("d.fourwalls"));
        QCOMPARE(tagged[0][1].toStringList(), (QStringList{QStringLiteral("keep"), QStringLiteral("best")}));
        QVERIFY(!page.table().model()->setData(rows.index(0, RunTable::Loss), 1.0));
        page.setSearch(QStringLiteral("best"));
        QCOMPARE(rows.rowCount(), 1);
        page.setSearch(QString());

        // A chosen run stands out; a double click opens it.
        page.table().selectRow(0);
        QVERIFY(page.lossPlot().content().lines.front().pen.color().alpha() < 128);
        const QSignalSpy opened(&page, &RunsPage::openRequested);
        emit page.table().doubleClicked(rows.index(0, RunTable::Name));
        QCOMPARE(opened.count(), 1);
        QCOMPARE(opened[0][0].toString(), QStringLiteral("d.fourwalls"));
        QVERIFY(page.tableAsCsv().contains(QStringLiteral("gpt-tiny-w128")));
    }

    void controlsChangeThePlots()
    {
        RunsPage page;
        page.resize(1400, 800);
        page.show();
        page.setRuns(QStringLiteral("folder"), sweepOf());
        page.setAxis(RunAxis::Hours);
        QVERIFY(std::abs(page.lossPlot().content().lines[0].points.back().first - 40.0 / 60) < 1e-9);
        page.setSmoothing(0.9);
        QCOMPARE(page.lossPlot().content().lines.size(), std::size_t{12});
        page.setFigure(RunFigure::LearningRate);
        QCOMPARE(page.otherPlot().content().lines[0].points[0].second, 0.002);
        page.setFigure(RunFigure::LossScale); // nobody says it
        page.setProblem({ErrorCode::NotFound, "gone", "folder", "another"});
        QVERIFY(!page.runs());
        page.setRuns(QStringLiteral("empty"), std::make_shared<RunList>());
        QVERIFY(page.isReady());
    }

private:
    std::unique_ptr<tests::FailOnWarning> m_warnings;
};

FOURWALLS_TEST(RunsPageTest, QApplication)

} // namespace tst_runs_page

#include "tst_runs_page.moc"
