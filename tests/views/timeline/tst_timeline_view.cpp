// SPDX-License-Identifier: GPL-3.0-or-later
// The timeline view as a person uses it, offscreen, on a trace in memory. A Qt warning fails the test.
#include "tests/views/timeline/sample_trace.h"
#include "views/timeline/details_panel.h"
#include "views/timeline/memory_strip.h"
#include "views/timeline/prediction_strip.h"
#include "views/timeline/timeline_canvas.h"
#include "views/timeline/timeline_toolbar.h"
#include "views/timeline/timeline_view.h"

#include <QAction>
#include <QComboBox>
#include <QLineEdit>
#include <QSignalSpy>
#include <QThread>
#include <QToolButton>
#include <QWheelEvent>
#include <QtTest>

#include <atomic>
#include <set>

using namespace fourwalls;
using namespace fourwalls::views;

namespace {

/// Counts questions on the GUI thread (there must be none) and can hold answers back.
class WatchedQuery : public InMemoryTraceQuery {
public:
    WatchedQuery(std::shared_ptr<const InMemoryTraceData> data, QThread* gui) : InMemoryTraceQuery(data), m_all(data), m_gui(gui) {}

    Result<std::unique_ptr<TraceQuery>> reopen() const override
    {
        return std::unique_ptr<TraceQuery>(new WatchedQuery(m_all, m_gui));
    }
    Result<SliceWindow> slices(const SliceQuery& query, std::stop_token stop) override
    {
        if (QThread::currentThread() == m_gui) ++onGuiThread;
        ++asked;
        largestTrackCount = std::max(largestTrackCount.load(), static_cast<int>(query.tracks.size()));
        held.wait(true);
        if (failing) return Error{ErrorCode::Io, "disk gone", "trace", "plug it in"};
        return InMemoryTraceQuery::slices(query, stop);
    }
    Result<std::vector<RankActivity>> rankActivity(std::span<const RankId> ranks, TimeRange range, int pixels) override
    {
        if (QThread::currentThread() == m_gui) ++onGuiThread;
        return InMemoryTraceQuery::rankActivity(ranks, range, pixels);
    }

    static inline std::atomic<int> onGuiThread = 0, asked = 0, largestTrackCount = 0;
    static inline std::atomic<bool> held = false, failing = false;

private:
    std::shared_ptr<const InMemoryTraceData> m_all;
    QThread* m_gui;
};

/// One open trace in a shown view.
struct Bench {
    std::shared_ptr<const InMemoryTraceData> data;
    Selection selection;
    std::unique_ptr<TraceSession> session;
    std::unique_ptr<TimelineView> view;

    explicit Bench(const sample::Shape& shape = {})
    {
        data = sample::sampleTrace(shape)->data();
        view = std::make_unique<TimelineView>();
        view->resize(1200, 800);
        session = std::make_unique<TraceSession>(
            [held = data, gui = QThread::currentThread()](const QString&) -> Result<std::unique_ptr<TraceQuery>> {
                return std::unique_ptr<TraceQuery>(new WatchedQuery(held, gui));
            },
            QStringLiteral("sample"));
        QObject::connect(session.get(), &TraceSession::opened, &selection, [this] { selection.reset(session->info().range); });
        view->setTrace(session.get(), &selection);
        view->show();
    }
    ~Bench()
    {
        view->setTrace(nullptr, nullptr);
    }

    TimelineCanvas& canvas() { return view->canvas(); }
    bool settled() { return view->showsFinalData() && session->pending() == 0; }

    /// The middle of the visible part of a slice of the track at `at`, if it is drawn.
    QPoint pointOf(TrackId track, int lane, Instant at)
    {
        const QRect row = canvas().laneRect(track, lane);
        const TimeRange range = canvas().range();
        const double share = static_cast<double>((at - range.begin).ns) / static_cast<double>(range.length().ns);
        return {row.left() + static_cast<int>(share * row.width()), row.center().y()};
    }
};

constexpr std::int64_t kMs = 1'000'000;

} // namespace

#define SETTLE(bench) QTRY_VERIFY((bench).settled())

class TimelineViewTest : public QObject {
    Q_OBJECT

private slots:
    void init()
    {
        WatchedQuery::held = false;
        WatchedQuery::failing = false;
        // The offscreen platform has no size hints to pass on and says so.
        QTest::failOnWarning(QRegularExpression(QStringLiteral("^(?!This plugin does not support propagateSizeHints)")));
    }

    void cleanup() { QCOMPARE(WatchedQuery::onGuiThread.load(), 0); }

    void thePredictedStepLiesBelowTheRecordedOnes()
    {
        Bench bench;
        SETTLE(bench);
        QVERIFY(bench.canvas().predictionRect().isEmpty());
        const int rows = bench.canvas().plotRect().height();
        // Steps of 100 ms, predicted with 120: cut where the next one begins, but not the last.
        auto step = std::make_shared<cost::PredictedStep>();
        step->step.seconds = 0.12;
        cost::SimulatedStage stage;
        stage.intervals = {{0.00, 0.04, 0, 3, cost::SimulatedPart::Forward, -1},
                           {0.04, 0.05, -1, -1, cost::SimulatedPart::PipelineWait, -1},
                           {0.05, 0.12, 0, 3, cost::SimulatedPart::BackwardInput, -1}};
        step->step.stages = {stage};
        bench.canvas().setPrediction(step, 0, QStringLiteral(" \u00b7 guessed"));
        const PredictionStrip& strip = bench.canvas().prediction();
        QVERIFY(strip.isShown());
        QVERIFY(!bench.canvas().predictionRect().isEmpty());
        QVERIFY(bench.canvas().plotRect().height() < rows);
        QVERIFY(!bench.canvas().predictionRect().intersects(bench.canvas().plotRect()));
        QVERIFY(!bench.canvas().predictionRect().intersects(bench.canvas().stripRect()));
        SETTLE(bench);
        const auto at = [](double ms) { return Instant{} + Duration{std::llround(ms * 1e6)}; };
        QCOMPARE(strip.barAt(at(110))->part, cost::SimulatedPart::Forward);
        QCOMPARE(strip.barAt(at(110))->range.begin, at(100));
        QCOMPARE(strip.barAt(at(145))->part, cost::SimulatedPart::PipelineWait);
        const auto cut = strip.barAt(at(199));
        QVERIFY(cut && cut->cut);
        QCOMPARE(cut->range.end, at(200));
        QVERIFY(strip.barAt(at(310)) && !strip.barAt(at(310))->cut); // beyond the last recorded step
        QVERIFY(!strip.barAt(at(325)));
        QVERIFY(std::abs(*strip.difference() - (120.0 / 99 - 1)) < 1e-6); // a step is recorded as 99 ms
        const QStringList lines = strip.readout(at(110));
        QVERIFY2(lines.join(QLatin1Char(' ')).contains(QStringLiteral("micro-batch 3")), qPrintable(lines.join(QLatin1Char(' '))));
        QVERIFY(lines.front().contains(QStringLiteral("guessed")));
        const QImage picture = bench.canvas().grab().toImage();
        const QRect drawn = bench.canvas().predictionRect();
        std::set<QRgb> colours;
        for (int x = drawn.left(); x < drawn.right(); x += 3) colours.insert(picture.pixel(x, drawn.top() + 20));
        QVERIFY(colours.size() > 3);
        bench.canvas().setPrediction(nullptr, 0, {});
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
        TraceSession session([data = empty.data()](const QString&) -> Result<std::unique_ptr<TraceQuery>> {
            return std::unique_ptr<TraceQuery>(new InMemoryTraceQuery(data));
        }, QStringLiteral("empty"));
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
        TraceSession session([](const QString&) -> Result<std::unique_ptr<TraceQuery>> {
            return Error{ErrorCode::Format, "not a trace", "x.fourwalls", "open another"};
        }, QStringLiteral("x"));
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

    void wheelZoomsAboutThePointer()
    {
        Bench bench;
        SETTLE(bench);
        TimelineCanvas& canvas = bench.canvas();
        const TimeRange before = canvas.range();
        const QPointF at(canvas.plotRect().left() + 400, 200);
        const Instant under = canvas.hitAt(at).at;
        const auto wheel = [&](int angle, Qt::KeyboardModifiers modifiers) {
            QWheelEvent event(at, canvas.mapToGlobal(at), QPoint(), QPoint(0, angle), Qt::NoButton, modifiers, Qt::NoScrollPhase, false);
            QApplication::sendEvent(&canvas, &event);
        };
        for (int notch = 0; notch < 8; ++notch) wheel(120, Qt::NoModifier);
        QVERIFY(qAbs((canvas.hitAt(at).at - under).ns) <= 2);
        QVERIFY(canvas.range().length().ns < before.length().ns / 3);
        QCOMPARE(bench.selection.range(), canvas.range());
        // Shift moves instead.
        const TimeRange near = canvas.range();
        wheel(-120, Qt::ShiftModifier);
        QVERIFY(canvas.range().begin > near.begin);
        QVERIFY(qAbs((canvas.range().length() - near.length()).ns) <= 1);
        wheel(120, Qt::ShiftModifier);
        for (int notch = 0; notch < 8; ++notch) wheel(-120, Qt::NoModifier);
        QCOMPARE(canvas.range(), before);
        SETTLE(bench);
    }

    void staleDataIsDrawnInTheRightPlaceAtOnce()
    {
        Bench bench;
        SETTLE(bench);
        WatchedQuery::held = true;      // from now on nothing arrives
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

    void panningBackAsksNothingNew()
    {
        Bench bench;
        SETTLE(bench);
        bench.selection.setRange({Instant{100 * kMs}, Instant{150 * kMs}});
        SETTLE(bench);
        bench.canvas().pan(0.3);
        SETTLE(bench);
        const int asked = WatchedQuery::asked;
        bench.canvas().pan(-0.3);
        bench.view->grab();
        QVERIFY(bench.view->showsFinalData());
        SETTLE(bench);
        QVERIFY(WatchedQuery::asked <= asked + 3);      // at most what is asked ahead
    }

    void clickSelectsAndDoubleClickZooms()
    {
        Bench bench;
        SETTLE(bench);
        TimelineCanvas& canvas = bench.canvas();
        const QPoint at = bench.pointOf(TrackId{1}, 0, Instant{20 * kMs});
        QTest::mouseClick(&canvas, Qt::LeftButton, {}, at);
        QVERIFY(bench.selection.slice().has_value());
        QCOMPARE(bench.selection.slice()->op->name, std::string("forward"));
        SETTLE(bench);
        QVERIFY(bench.view->details().facts().has_value());
        QCOMPARE(bench.view->details().facts()->title, QStringLiteral("forward"));
        QVERIFY(bench.view->details().accessibleDescription().contains(QStringLiteral("forward")));

        QTest::mouseDClick(&canvas, Qt::LeftButton, {}, at);
        const TimeRange range = bench.selection.range();
        QVERIFY(range.begin.ns < 500'000 && range.end.ns > 40 * kMs);
        QVERIFY(range.length().ns < 60 * kMs);
        SETTLE(bench);
        // A click beside everything clears.
        QTest::mouseClick(&canvas, Qt::LeftButton, {}, QPoint(canvas.plotRect().left() + 5, canvas.height() - 3));
        QVERIFY(!bench.selection.slice().has_value());
        QVERIFY(!bench.view->details().facts().has_value());
    }

    void collectivesShowTheirDetailsAndArrows()
    {
        Bench bench;
        SETTLE(bench);
        bench.selection.setRange({Instant{44 * kMs}, Instant{60 * kMs}});
        SETTLE(bench);
        const QPoint at = bench.pointOf(TrackId{4}, 0, Instant{48 * kMs});
        QTest::mouseClick(&bench.canvas(), Qt::LeftButton, {}, at);
        QVERIFY(bench.selection.slice().has_value());
        SETTLE(bench);
        const QString text = bench.view->details().facts()->asText();
        QVERIFY2(text.contains(QStringLiteral("payload: 256")), qPrintable(text));
        const QImage with = bench.view->grab().toImage();
        bench.canvas().setFlows({});
        QVERIFY(with != bench.view->grab().toImage());
    }

    void searchDimsAndJumps()
    {
        Bench bench;
        SETTLE(bench);
        auto* field = bench.view->findChild<QLineEdit*>(QStringLiteral("timeline.search"));
        QVERIFY(field);
        const QImage before = bench.canvas().renderer().image().copy();
        QTest::keyClicks(field, QStringLiteral("softmax"));
        QTRY_VERIFY(bench.view->source().matches());
        SETTLE(bench);
        const auto& found = bench.view->source().matches()->slices;
        QVERIFY(!found.empty());
        QVERIFY(bench.canvas().renderer().image() != before);
        QTest::keyClick(field, Qt::Key_Return);
        QCOMPARE(bench.selection.slice()->slice.id, found[0].id);
        QTest::keyClick(field, Qt::Key_Return);
        QCOMPARE(bench.selection.slice()->slice.id, found[1].id);
        QTest::keyClick(field, Qt::Key_Return, Qt::ShiftModifier);
        QCOMPARE(bench.selection.slice()->slice.id, found[0].id);
        QTest::keyClick(field, Qt::Key_Return, Qt::ShiftModifier);
        QCOMPARE(bench.selection.slice()->slice.id, found.back().id);       // around the end
        QVERIFY(bench.view->tableAsCsv().startsWith(QStringLiteral("start_ns")));
        QCOMPARE(bench.view->tableAsCsv().count(QLatin1Char('\n')), static_cast<qsizetype>(found.size()) + 1);
        QTest::keyClick(field, Qt::Key_Escape);
        QVERIFY(!bench.view->source().matches());
        SETTLE(bench);
    }

    void regularExpressionsFilterAndReportErrors()
    {
        Bench bench;
        SETTLE(bench);
        auto* field = bench.view->findChild<QLineEdit*>(QStringLiteral("timeline.search"));
        auto* regular = bench.view->findChild<QToolButton*>(QStringLiteral("timeline.search.regular"));
        auto* hide = bench.view->findChild<QToolButton*>(QStringLiteral("timeline.search.hide"));
        regular->click();
        field->setText(QStringLiteral("^(soft|layer_)"));
        QTRY_VERIFY(bench.view->source().matches());
        for (const auto& slice : bench.view->source().matches()->slices) {
            const std::string name = bench.view->source().op(slice.op)->name;
            QVERIFY(name.starts_with("soft") || name.starts_with("layer_"));
        }
        SETTLE(bench);
        const auto all = bench.canvas().renderer().barCount();
        hide->click();
        SETTLE(bench);
        QVERIFY(bench.canvas().renderer().barCount() < all);
        field->setText(QStringLiteral("("));
        QTRY_VERIFY(!bench.view->source().filterError().isEmpty());
        SETTLE(bench);
    }

    void draggingPansAndCtrlDraggingMeasures()
    {
        Bench bench;
        SETTLE(bench);
        TimelineCanvas& canvas = bench.canvas();
        bench.selection.setRange({Instant{100 * kMs}, Instant{200 * kMs}});
        SETTLE(bench);
        const TimeRange before = canvas.range();
        const QPoint from(canvas.plotRect().left() + 300, 150), to = from + QPoint(200, 0);
        QTest::mousePress(&canvas, Qt::LeftButton, {}, from);
        QTest::mouseMove(&canvas, from + QPoint(60, 0));
        QTest::mouseMove(&canvas, to);
        QTest::mouseRelease(&canvas, Qt::LeftButton, {}, to);
        const double expected = 200.0 * static_cast<double>(before.length().ns) / canvas.plotRect().width();
        QVERIFY(qAbs(static_cast<double>((before.begin - canvas.range().begin).ns) - expected) < expected * 0.02);
        QVERIFY(!bench.selection.slice());

        const QPoint start = bench.pointOf(TrackId{3}, 0, canvas.range().begin + Duration{10 * kMs});
        QTest::mousePress(&canvas, Qt::LeftButton, Qt::ControlModifier, start);
        QTest::mouseMove(&canvas, start + QPoint(100, 0));
        QTest::mouseRelease(&canvas, Qt::LeftButton, Qt::ControlModifier, start + QPoint(100, 0));
        QVERIFY(bench.selection.measured().has_value());
        const double length = 100.0 * static_cast<double>(canvas.range().length().ns) / canvas.plotRect().width();
        QVERIFY(qAbs(static_cast<double>(bench.selection.measured()->length().ns) - length) < 3000);
        SETTLE(bench);
        bench.view->grab();
        // F shows the measured range, Escape forgets it.
        QTest::keyClick(&canvas, Qt::Key_F);
        QCOMPARE(canvas.range(), *bench.selection.measured());
        QTest::keyClick(&canvas, Qt::Key_Escape);
        QVERIFY(!bench.selection.measured());
    }

    void keysMoveTheView()
    {
        Bench bench;
        SETTLE(bench);
        TimelineCanvas& canvas = bench.canvas();
        const TimeRange whole = canvas.range();
        QTest::keyClick(&canvas, Qt::Key_W);
        QVERIFY(canvas.range().length() < whole.length());
        const TimeRange near = canvas.range();
        QTest::keyClick(&canvas, Qt::Key_D);
        QVERIFY(canvas.range().begin > near.begin);
        QTest::keyClick(&canvas, Qt::Key_A);
        QCOMPARE(canvas.range(), near);
        QTest::keyClick(&canvas, Qt::Key_S);
        QCOMPARE(canvas.range(), whole);
        QTest::keyClick(&canvas, Qt::Key_W);
        QTest::keyClick(&canvas, Qt::Key_F);
        QCOMPARE(canvas.range(), whole);
        SETTLE(bench);
        for (const auto* action : bench.view->viewActions()) {
            QVERIFY(action->objectName().startsWith(QStringLiteral("timeline.")));
            QVERIFY(!action->text().isEmpty());
        }
    }

    void arrowKeysGoToNeighbours()
    {
        Bench bench;
        SETTLE(bench);
        QTest::mouseClick(&bench.canvas(), Qt::LeftButton, {}, bench.pointOf(TrackId{1}, 0, Instant{20 * kMs}));
        QCOMPARE(bench.selection.slice()->op->name, std::string("forward"));
        SETTLE(bench);
        QTest::keyClick(&bench.canvas(), Qt::Key_Right);
        QTRY_COMPARE(bench.selection.slice()->op->name, std::string("backward"));
        QTest::keyClick(&bench.canvas(), Qt::Key_Left);
        QTRY_COMPARE(bench.selection.slice()->op->name, std::string("forward"));
        SETTLE(bench);
        QTest::keyClick(&bench.canvas(), Qt::Key_Left);     // nothing before the first
        SETTLE(bench);
        QCOMPARE(bench.selection.slice()->op->name, std::string("forward"));
    }

    void followsTheSharedSelection()
    {
        Bench bench;
        SETTLE(bench);
        const TimeRange range{Instant{110 * kMs}, Instant{130 * kMs}};
        bench.selection.setRange(range);
        bench.selection.setCursor(Instant{120 * kMs});
        QCOMPARE(bench.canvas().range(), range);
        SETTLE(bench);
        const QImage with = bench.view->grab().toImage();
        bench.selection.setCursor(std::nullopt);
        QVERIFY(with != bench.view->grab().toImage());
    }

    void stepPickerShowsTheStep()
    {
        Bench bench;
        SETTLE(bench);
        emit bench.view->toolbar().stepChosen(StepIndex{1});
        const TimeRange range = bench.canvas().range();
        QVERIFY(range.begin.ns < 100 * kMs && range.begin.ns > 95 * kMs);
        QVERIFY(range.end.ns > 199 * kMs && range.end.ns < 204 * kMs);
        QCOMPARE(bench.selection.step(), std::optional(StepIndex{1}));
        SETTLE(bench);
        emit bench.view->toolbar().stepChosen(std::nullopt);
        QCOMPARE(bench.canvas().range(), bench.selection.whole());
        SETTLE(bench);
    }

    void collapsedRanksAreOneQuestionAndNoTracks()
    {
        WatchedQuery::largestTrackCount = 0;
        Bench bench({64, 1, 2, 8});
        SETTLE(bench);
        // 64 ranks of six tracks: only the first rank is open.
        QVERIFY(WatchedQuery::largestTrackCount <= 6);
        QCOMPARE(bench.canvas().arrangement().collapsed.size(), std::size_t{63});
        // A click on a rank's name opens it.
        const auto& rows = bench.canvas().layout().rows;
        const auto second = std::find_if(rows.begin(), rows.end(), [](const TimelineRow& row) { return row.kind == TimelineRow::Kind::Activity; });
        const QPoint label(40, bench.canvas().plotRect().top() + second->top + second->height / 2);
        QTest::mouseClick(&bench.canvas(), Qt::LeftButton, {}, label);
        QCOMPARE(bench.canvas().arrangement().collapsed.size(), std::size_t{62});
        SETTLE(bench);
    }

    void pinnedAndHiddenTracks()
    {
        Bench bench;
        SETTLE(bench);
        TimelineArrangement arrangement = bench.canvas().arrangement();
        arrangement.pinned = {TrackId{9}};
        arrangement.hidden = {TrackId{3}};
        bench.canvas().setArrangement(arrangement);
        SETTLE(bench);
        QCOMPARE(bench.canvas().layout().pinned.size(), std::size_t{1});
        QVERIFY(bench.canvas().laneRect(TrackId{3}, 0).isNull());
        QCOMPARE(bench.canvas().laneRect(TrackId{9}, 0).top(), bench.canvas().plotRect().top() + TimelineRow::kPadding);
        bench.canvas().revealTrack(TrackId{3});
        QVERIFY(!bench.canvas().laneRect(TrackId{3}, 0).isNull());
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
            for (int y = 0; y < image.height(); ++y) count += image.pixel(static_cast<int>(share * image.width()), y) == activations;
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
        bench.selection.setRank(RankId{77});        // no such rank
        SETTLE(bench);
        QVERIFY(!bench.canvas().memory().hasMemory());
        QVERIFY(bench.canvas().stripRect().isNull());
    }

    void eventsAreMarkedOnTheAxis()
    {
        Bench bench;
        SETTLE(bench);
        bench.selection.setRange({Instant{100 * kMs}, Instant{200 * kMs}});     // the event lies in the middle
        SETTLE(bench);
        const QRect plot = bench.canvas().plotRect();
        const QImage image = bench.canvas().grab().toImage();
        QCOMPARE(image.pixelColor(plot.left() + plot.width() / 2, plot.top() - 5), currentTheme().warning);
        bench.canvas().setEvents({});
        QVERIFY(bench.canvas().grab().toImage().pixelColor(plot.left() + plot.width() / 2, plot.top() - 5) != currentTheme().warning);
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

QTEST_MAIN(TimelineViewTest)
#include "tst_timeline_view.moc"
