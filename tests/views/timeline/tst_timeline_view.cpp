// SPDX-License-Identifier: GPL-3.0-or-later
// What the timeline view shows, offscreen, on a trace in memory. A Qt warning fails the test.
#include "tests/support/test_program.h"
#include "tests/views/timeline/timeline_bench.h"
#include "views/timeline/memory_strip.h"
#include "views/timeline/prediction_strip.h"

#include <QAction>
#include <QSignalSpy>

#include <set>

namespace tst_timeline_view {

using namespace fourwalls;
using namespace fourwalls::views;

class TimelineViewTest : public QObject {
    Q_OBJECT

private slots:
    void init() { beginTimelineTest(); }
    void cleanup() { QCOMPARE(WatchedQuery::onGuiThread.load(), 0); }

    void thePredictedStepLiesBelowTheRecordedOnes()
    {
        Bench bench;
        SETTLE(bench);
        QVERIFY(bench.canvas().predictionRect().isEmpty());
        const int rows = bench.canvas().plotRect().height();
        // Steps of 100 ms, predicted with 120: cut where the next one begins, but not the last.
        auto step = std::make_shared<DrawnStep>();
        step->length = Duration::fromMilliseconds(120);
        const auto interval = [](int from, int until, SliceKind kind, Phase phase, Activity activity) {
            DrawnInterval each;
            each.range = {Instant{} + Duration::fromMilliseconds(from), Instant{} + Duration::fromMilliseconds(until)};
            if (phase != Phase::None) each.microbatch = Microbatch{3};
            each.kind = kind;
            each.phase = phase;
            each.activity = activity;
            return each;
        };
        step->lanes.resize(1);
        step->lanes.front().intervals = {interval(0, 40, SliceKind::Phase, Phase::Forward, Activity::Compute),
                                         interval(40, 50, SliceKind::Wait, Phase::None, Activity::PipelineWait),
                                         interval(50, 120, SliceKind::Phase, Phase::BackwardInput, Activity::Compute)};
        bench.canvas().setPrediction(
            {step, RankId{0}, 0, QStringLiteral("predicted"), QStringLiteral(" \u00b7 guessed")});
        const PredictionStrip& strip = bench.canvas().prediction();
        QVERIFY(strip.isShown());
        QVERIFY(!bench.canvas().predictionRect().isEmpty());
        QVERIFY(bench.canvas().plotRect().height() < rows);
        QVERIFY(!bench.canvas().predictionRect().intersects(bench.canvas().plotRect()));
        QVERIFY(!bench.canvas().predictionRect().intersects(bench.canvas().stripRect()));
        SETTLE(bench);
        const auto at = [](double ms) { return Instant{} + Duration{std::llround(ms * 1e6)}; };
        QCOMPARE(strip.barAt(at(110))->work.phase, Phase::Forward);
        QCOMPARE(strip.barAt(at(110))->range.begin, at(100));
        QCOMPARE(strip.barAt(at(145))->work.activity, Activity::PipelineWait);
        const auto cut = strip.barAt(at(199));
        QVERIFY(cut && cut->cut);
        QCOMPARE(cut->range.end, at(200));
        QVERIFY(strip.barAt(at(310)) && !strip.barAt(at(310))->cut); // beyond the last recorded step
        QVERIFY(!strip.barAt(at(325)));
        bench.canvas().setStepTime(std::nullopt);
        QVERIFY(!strip.difference());                     // not before the job's step time is known
        bench.canvas().setStepTime(Duration{80'000'000}); // the job's, not this rank's 99 ms
        QVERIFY(std::abs(*strip.difference() - (120.0 / 80 - 1)) < 1e-6);
        const QStringList lines = strip.readout(at(110));
        QVERIFY2(lines.join(QLatin1Char(' ')).contains(QStringLiteral("micro-batch 3")),
                 qPrintable(lines.join(QLatin1Char(' '))));
        QVERIFY(lines.front().contains(QStringLiteral("guessed")));
        const QImage picture = bench.canvas().grab().toImage();
        const QRect drawn = bench.canvas().predictionRect();
        std::set<QRgb> colours;
        for (int x = drawn.left(); x < drawn.right(); x += 3) colours.insert(picture.pixel(x, drawn.top() + 20));
        QVERIFY(colours.size() > 3);
        bench.canvas().setPrediction({});
        QVERIFY(bench.canvas().predictionRect().isEmpty());
        QCOMPARE(bench.canvas().plotRect().height(), rows);
    }

    void saysWhyItIsEmpty()
    {
        TimelineView view;
        view.resize(800, 600);
        QVERIFY(view.emptyReason().contains(QStringLiteral("No trace is open")));
        QVERIFY(view.showsFinalData());
        view.grab();

        InMemoryTrace empty{TraceHeader{}};
        QVERIFY(empty.finish({}).ok());
        Selection selection;
        TraceSession session(
            [data = empty.data()](const QString&) -> Result<std::unique_ptr<TraceQuery>> {
                return std::unique_ptr<TraceQuery>(new InMemoryTraceQuery(data));
            },
            QStringLiteral("empty"));
        view.setTrace(&session, &selection);
        QTRY_VERIFY(session.isOpen());
        QTRY_VERIFY(view.emptyReason().contains(QStringLiteral("no slices")));
        view.grab();
        QTRY_VERIFY(view.showsFinalData());
        view.setTrace(nullptr, nullptr);
    }

    void saysWhyOpeningFailed()
    {
        TimelineView view;
        Selection selection;
        TraceSession session(
            [](const QString&) -> Result<std::unique_ptr<TraceQuery>> {
                return Error{ErrorCode::Format, "not a trace", "x.fourwalls", "open another"};
            },
            QStringLiteral("x"));
        view.setTrace(&session, &selection);
        QTRY_VERIFY(view.emptyReason().contains(QStringLiteral("not a trace")));
        view.setTrace(nullptr, nullptr);
    }

    void paintsFinalDataOnceOpened()
    {
        Bench bench;
        QSignalSpy final(bench.view.get(), &View::finalDataPainted);
        QSignalSpy frames(bench.view.get(), &View::framePainted);
        SETTLE(bench);
        QCOMPARE(final.count(), 1);
        QCOMPARE(frames.last().at(1).value<FrameQuality>(), FrameQuality::Full);
        QCOMPARE(frames.last().at(0).value<TimeRange>(), bench.selection.range());
        QVERIFY(bench.canvas().renderer().barCount() > 500);
        QVERIFY(bench.canvas().renderer().nameCount() > 10);
        QVERIFY(bench.view->emptyReason().isEmpty());
    }

    void isNotFinalWhileAnswersAreOut()
    {
        WatchedQuery::held = true;
        Bench bench;
        QTRY_VERIFY(bench.session->isOpen());
        QTRY_VERIFY(bench.canvas().quality() == FrameQuality::Blank && WatchedQuery::asked > 0);
        bench.view->grab();
        QVERIFY(!bench.view->showsFinalData());
        WatchedQuery::held = false;
        WatchedQuery::held.notify_all();
        SETTLE(bench);
    }

    void staleDataIsDrawnInTheRightPlaceAtOnce()
    {
        Bench bench;
        SETTLE(bench);
        WatchedQuery::held = true; // from now on nothing arrives
        const TimeRange near{Instant{20 * kMs}, Instant{170 * kMs}};
        bench.selection.setRange(near);
        QSignalSpy frames(bench.view.get(), &View::framePainted);
        bench.view->grab();
        QVERIFY(frames.count() > 0);
        QCOMPARE(frames.last().at(0).value<TimeRange>(), near);
        QCOMPARE(frames.last().at(1).value<FrameQuality>(), FrameQuality::Coarse);
        // The step that starts at 100 ms is drawn from there on already.
        const QRect steps = bench.canvas().laneRect(TrackId{0}, 0);
        const QImage image = bench.canvas().renderer().image();
        const int x = static_cast<int>(steps.width() * 80.0 / 150.0);
        const int y = steps.center().y() - bench.canvas().plotRect().top();
        QVERIFY(image.pixel(x + 3, y) == currentTheme().structure.rgb());
        QVERIFY(image.pixel(x - 3, y) != currentTheme().structure.rgb());
        WatchedQuery::held = false;
        WatchedQuery::held.notify_all();
        SETTLE(bench);
    }

    void readingErrorsAreShownAndTriedAgain()
    {
        Bench bench;
        SETTLE(bench);
        WatchedQuery::failing = true;
        bench.selection.setRange({Instant{100 * kMs}, Instant{101 * kMs}});
        QTRY_VERIFY(bench.view->source().error().contains(QStringLiteral("disk gone")));
        bench.view->grab();
        WatchedQuery::failing = false;
        bench.selection.setRange({Instant{100 * kMs}, Instant{102 * kMs}});
        SETTLE(bench);
        QVERIFY(bench.view->source().error().isEmpty());
    }

    void survivesLosingItsTrace()
    {
        Bench bench;
        QTRY_VERIFY(bench.session->isOpen());
        bench.view->setTrace(nullptr, nullptr);
        bench.view->grab();
        QVERIFY(!bench.view->emptyReason().isEmpty());
        QTest::keyClick(&bench.canvas(), Qt::Key_W);
        QTest::keyClick(&bench.canvas(), Qt::Key_F);
        QTest::keyClick(&bench.canvas(), Qt::Key_Right);
        QTest::mouseClick(&bench.canvas(), Qt::LeftButton, {}, QPoint(300, 100));
        bench.view->setTrace(bench.session.get(), &bench.selection);
        SETTLE(bench);
    }

    void memoryLiesBelowTheRowsOnTheSameAxis()
    {
        Bench bench;
        SETTLE(bench);
        TimelineCanvas& canvas = bench.canvas();
        QVERIFY(canvas.memory().hasMemory());
        const QRect strip = canvas.stripRect();
        QVERIFY(strip.height() > 90);
        QCOMPARE(strip.left(), canvas.plotRect().left());
        QCOMPARE(strip.width(), canvas.plotRect().width());
        // Weights and three layers' activations after 10 ms of a step; the weights alone at its end.
        QVERIFY(canvas.memory().readout(Instant{10 * kMs})[0].startsWith(QStringLiteral("11")));
        QVERIFY(canvas.memory().readout(Instant{99 * kMs})[0].startsWith(QStringLiteral("8")));
        // The curve stands where the time is: high in the middle of the step, low at its end.
        bench.selection.setRange({Instant{0}, Instant{100 * kMs}});
        SETTLE(bench);
        const QImage image = canvas.memory().image();
        const QRgb activations = colourOf(currentTheme(), MemoryCategory::Activations).rgb();
        const auto rows = [&](double share) {
            int count = 0;
            for (int y = 0; y < image.height(); ++y)
                count += image.pixel(static_cast<int>(share * image.width()), y) == activations;
            return count;
        };
        QVERIFY(rows(0.40) > image.height() / 6);
        QVERIFY(rows(0.10) > 0 && rows(0.10) < rows(0.40));
        QCOMPARE(rows(0.90), 0);
        QTest::mouseMove(&canvas, strip.center());
        bench.view->grab();
        // It can be put away.
        for (auto* action : bench.view->viewActions())
            if (action->objectName() == QLatin1String("timeline.memory")) action->trigger();
        QVERIFY(canvas.stripRect().isNull());
        SETTLE(bench);
    }

    void memoryFollowsTheRank()
    {
        Bench bench({3, 1, 4, 8});
        SETTLE(bench);
        bench.selection.setRank(RankId{2});
        SETTLE(bench);
        QVERIFY(bench.canvas().memory().hasMemory());
        QVERIFY(!bench.canvas().memory().readout(Instant{10 * kMs}).isEmpty());
        bench.selection.setRank(RankId{77}); // no such rank
        SETTLE(bench);
        QVERIFY(!bench.canvas().memory().hasMemory());
        QVERIFY(bench.canvas().stripRect().isNull());
    }

    void eventsAreMarkedOnTheAxis()
    {
        Bench bench;
        SETTLE(bench);
        bench.selection.setRange({Instant{100 * kMs}, Instant{200 * kMs}}); // the event lies in the middle
        SETTLE(bench);
        const QRect plot = bench.canvas().plotRect();
        const QImage image = bench.canvas().grab().toImage();
        QCOMPARE(image.pixelColor(plot.left() + plot.width() / 2, plot.top() - 5), currentTheme().warning);
        bench.canvas().setEvents({});
        QVERIFY(bench.canvas().grab().toImage().pixelColor(plot.left() + plot.width() / 2, plot.top() - 5) !=
                currentTheme().warning);
    }

    void bothThemesPaint()
    {
        Bench bench;
        SETTLE(bench);
        setCurrentTheme(false);
        bench.view->setPalette(paletteOf(currentTheme()));
        SETTLE(bench);
        const QImage light = bench.view->grab().toImage();
        setCurrentTheme(true);
        bench.view->setPalette(paletteOf(currentTheme()));
        SETTLE(bench);
        QVERIFY(light != bench.view->grab().toImage());
        setCurrentTheme(false);
    }
};

FOURWALLS_TEST(TimelineViewTest, QApplication)

} // namespace tst_timeline_view

#include "tst_timeline_view.moc"
