// SPDX-License-Identifier: GPL-3.0-or-later
// What a person does in the timeline view, offscreen, on a trace in memory: pointer, wheel, keys, search. A Qt warning
// fails the test.
#include "tests/support/test_program.h"
#include "tests/views/layout_problems.h"
#include "tests/views/timeline/timeline_bench.h"
#include "views/timeline/timeline_toolbar.h"

#include <QAction>
#include <QLineEdit>
#include <QToolButton>
#include <QWheelEvent>

namespace tst_timeline_use {

using namespace fourwalls;
using namespace fourwalls::views;

class TimelineUseTest : public QObject {
    Q_OBJECT

private slots:
    void init() { beginTimelineTest(); }
    void cleanup() { QCOMPARE(WatchedQuery::onGuiThread.load(), 0); }

    void wheelZoomsAboutThePointer()
    {
        Bench bench;
        SETTLE(bench);
        TimelineCanvas& canvas = bench.canvas();
        const TimeRange before = canvas.range();
        const QPointF at(canvas.plotRect().left() + 400, 200);
        const Instant under = canvas.hitAt(at).at;
        const auto wheel = [&](int angle, Qt::KeyboardModifiers modifiers) {
            QWheelEvent event(at, canvas.mapToGlobal(at), QPoint(), QPoint(0, angle), Qt::NoButton, modifiers,
                              Qt::NoScrollPhase, false);
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
        QVERIFY(WatchedQuery::asked <= asked + 3); // at most what is asked ahead
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
        bench.canvas().setArrows({});
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
        QCOMPARE(bench.selection.slice()->slice.id, found.back().id); // around the end
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
        // In small steps: what lies under the pointer stays under it from the press on.
        for (int x = 3; x < 200; x += 3) QTest::mouseMove(&canvas, from + QPoint(x, 0));
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
        QTest::keyClick(&canvas, Qt::Key_F, Qt::ShiftModifier);
        QCOMPARE(canvas.range(), whole);
        SETTLE(bench);
        QTest::keyClick(&canvas, Qt::Key_W);
        QTest::keyClick(&canvas, Qt::Key_F); // all slices: the workers say where they begin and end
        QTRY_VERIFY(canvas.range().length().ns > whole.length().ns * 9 / 10);
        QVERIFY(canvas.range().begin >= whole.begin && canvas.range().end <= whole.end);
        SETTLE(bench);
        for (const auto* action : bench.view->viewActions()) {
            QVERIFY(action->objectName().startsWith(QStringLiteral("timeline.")));
            QVERIFY(!action->text().isEmpty());
        }
    }

    void notesAreFlagsAndCanBeWalked()
    {
        Bench bench;
        SETTLE(bench);
        const QImage without = bench.view->grab().toImage();
        bench.view->setNotes({{{Instant{150 * kMs}, Instant{160 * kMs}}, QStringLiteral("why so late?")},
                              {{Instant{20 * kMs}, Instant{20 * kMs}}, QStringLiteral("begins here")},
                              {{Instant{290 * kMs}, Instant{299 * kMs}}, QStringLiteral("the end")}});
        QVERIFY(bench.view->grab().toImage() != without);
        QCOMPARE(bench.canvas().axis().notes().front().text, QStringLiteral("begins here")); // by time
        // At the beginning, where a number of the axis stands, and a mark with its digit.
        std::vector<TimelineNote> notes = bench.canvas().axis().notes();
        notes.push_back({{Instant{0}, Instant{1}}, QStringLiteral("m"), 7});
        bench.view->setNotes(notes);
        const QStringList problems = tests::cutTexts(*bench.view).filter(QStringLiteral("over each other"));
        QVERIFY2(problems.isEmpty(), qPrintable(problems.join(QLatin1Char('|'))));
        // A second mark, closer than its flag is wide: its digit would lie over the first's.
        notes.push_back({{Instant{kMs}, Instant{kMs + 1}}, QStringLiteral("m"), 8});
        // And a note at the place of another one, which says so.
        notes.push_back({{Instant{150 * kMs}, Instant{155 * kMs}}, QStringLiteral("so late, too")});
        bench.view->setNotes(notes);
        QStringList digits;
        for (const tests::PaintedText& each : tests::paintedTexts(*bench.view))
            if (each.text == "7" || each.text == "8" || each.text.endsWith("+1")) digits << each.text;
        QCOMPARE(digits, (QStringList{QStringLiteral("7"), QStringLiteral("why so late? +1")}));
        notes.resize(notes.size() - 3);
        bench.view->setNotes(notes);
        bench.selection.setRange({Instant{0}, Instant{50 * kMs}});
        const auto shows = [&](std::int64_t ms) { return bench.selection.range().contains(Instant{ms * kMs}); };
        QTest::keyClick(&bench.canvas(), Qt::Key_J);
        QVERIFY(shows(155) && !shows(20));
        QTest::keyClick(&bench.canvas(), Qt::Key_J);
        QVERIFY(shows(295));
        QTest::keyClick(&bench.canvas(), Qt::Key_J); // around the end
        QVERIFY(shows(20));
        QTest::keyClick(&bench.canvas(), Qt::Key_J, Qt::ShiftModifier);
        QVERIFY(shows(295));
        QTest::keyClick(&bench.canvas(), Qt::Key_J, Qt::ShiftModifier);
        QVERIFY(shows(155));
        SETTLE(bench);
    }

    /// The legend explains the colours that slices have, and no others.
    void theLegendHasTheColoursThatAreThere()
    {
        Bench bench;
        SETTLE(bench);
        QStringList names = bench.legend();
        for (const char* there : {"forward", "backward, weight", "optimizer", "communication", "copy, data", "waiting"})
            QVERIFY2(names.contains(QLatin1String(there)), qPrintable(names.join(QLatin1Char('|'))));
        for (const char* absent : {"attention", "matrix product", "CPU operator"})
            QVERIFY2(!names.contains(QLatin1String(absent)), qPrintable(names.join(QLatin1Char('|'))));
        bench.view->findChild<QAction*>(QStringLiteral("timeline.colourByPhase"))->trigger();
        names = bench.legend();
        QVERIFY2(names.contains(QStringLiteral("gradient synchronisation")) &&
                     !names.contains(QStringLiteral("evaluation")),
                 qPrintable(names.join(QLatin1Char('|'))));
    }

    /// What ▼ on the axis are: the legend has the kinds that the trace has, the pointer says the rest.
    void eventsHaveALegend()
    {
        Bench bench;
        SETTLE(bench);
        const QStringList names = bench.legend();
        QVERIFY2(names.contains(QStringLiteral("loss spike")), qPrintable(names.join(QLatin1Char('|'))));
        QVERIFY(!names.contains(QStringLiteral("fault")));
        // Eight events at one place: six are told, and that there are more.
        std::vector<EventRecord> events;
        for (int i = 0; i < 8; ++i)
            events.push_back({EventKind::Fault, RankId{i}, Instant{150 * kMs}, "text " + std::to_string(i)});
        bench.canvas().setEvents(std::move(events));
        const QRect plot = bench.canvas().plotRect();
        const TimeRange range = bench.canvas().range();
        const double share = static_cast<double>((Instant{150 * kMs} - range.begin).ns) / range.length().ns;
        const QPoint at(plot.left() + static_cast<int>(share * plot.width()), plot.top() - 4);
        QTest::mouseMove(&bench.canvas(), at);
        QStringList said;
        for (const tests::PaintedText& each : tests::paintedTexts(*bench.view)) said << each.text;
        const QString all = said.join(QLatin1Char('|'));
        QVERIFY2(all.contains(QStringLiteral("text 5")) && !all.contains(QStringLiteral("text 6")), qPrintable(all));
        QVERIFY2(all.contains(QStringLiteral("and 2 more")), qPrintable(all));
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
        QTest::keyClick(&bench.canvas(), Qt::Key_Left); // nothing before the first
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

    void whatIsChosenElsewhereScrollsIntoView()
    {
        Bench bench({6, 1, 4, 24});
        bench.view->resize(1200, 420);
        SETTLE(bench);
        TimelineCanvas& canvas = bench.canvas();
        const TrackId far{4 * 6 + 4}; // the collectives of rank 4
        QVERIFY(canvas.laneRect(far, 0).isNull());
        const auto sliceOn = [&](TrackId track) {
            const auto lanes =
                InMemoryTraceQuery(bench.data).slices({{track}, {Instant{0}, Instant{100 * kMs}}, 1 << 16}, {})->lanes;
            return SelectedSlice{lanes.front().exact.front(), nullptr};
        };
        const auto isSeen = [&](const TimelineCanvas& on, TrackId track) {
            const QRect lane = on.laneRect(track, 0);
            return !lane.isNull() && on.plotRect().contains(lane);
        };
        bench.selection.setSlice(sliceOn(far));
        QVERIFY(isSeen(canvas, far));
        // It stays in view when the view becomes lower, until somebody scrolls.
        bench.view->resize(1200, 360);
        QVERIFY(isSeen(canvas, far));
        canvas.rows().scrollBy(-10'000);
        QVERIFY(!isSeen(canvas, far));
        bench.view->resize(1200, 420);
        QVERIFY(!isSeen(canvas, far));
        // A rank that another view chose.
        bench.selection.setRank(RankId{3});
        const auto& rows = canvas.rows().layout().rows;
        const auto third = std::ranges::find(rows, RankId{3}, &TimelineRow::rank);
        const QPoint name(40, canvas.plotRect().top() + 2);
        QCOMPARE(canvas.hitAt(name).row, &*third);
        // A click on a bar does not move the rows under the pointer.
        canvas.rows().scrollBy(third->height / 2);
        const TrackId near{3 * 6 + 1};
        const QRect before = canvas.laneRect(near, 0);
        SETTLE(bench);
        QTest::mouseClick(&canvas, Qt::LeftButton, {}, bench.pointOf(near, 0, Instant{20 * kMs}));
        QVERIFY(bench.selection.slice().has_value());
        QCOMPARE(canvas.laneRect(near, 0).top(), before.top());
        SETTLE(bench);

        // What was chosen before the view was opened is in view when it opens.
        bench.selection.setSlice(sliceOn(far));
        TimelineView late;
        late.resize(1200, 420);
        late.setTrace(bench.session.get(), &bench.selection);
        late.show();
        QTRY_VERIFY(late.showsFinalData());
        QVERIFY(isSeen(late.canvas(), far));
        late.setTrace(nullptr, nullptr);
    }

    void aTraceOpensFittedUnlessARangeWasGiven()
    {
        Bench bench({2, 3, 8, 160, 200}); // three steps of 100 ms, an instant 200 ms later
        SETTLE(bench);
        QCOMPARE(bench.selection.whole().end.ns, 500 * kMs);
        QVERIFY(bench.selection.range().end.ns < 310 * kMs && bench.selection.range().end.ns > 298 * kMs);
        QCOMPARE(bench.canvas().range(), bench.selection.range());
        const TimeRange given{Instant{250 * kMs}, Instant{480 * kMs}};
        bench.selection.setRange(given);
        TimelineView again;
        again.resize(800, 500);
        again.setTrace(bench.session.get(), &bench.selection);
        again.show();
        QTRY_VERIFY(again.showsFinalData() && bench.session->pending() == 0);
        QCOMPARE(bench.selection.range(), given);
        again.setTrace(nullptr, nullptr);
        // Where little is empty the whole trace stays.
        Bench full({2, 3, 8, 160, 5});
        SETTLE(full);
        QCOMPARE(full.selection.range(), full.selection.whole());
    }

    void namesOfScrolledRowsEndBelowPinnedOnes()
    {
        Bench bench;
        bench.view->resize(1200, 420);
        bench.selection.setRange({Instant{0}, Instant{100 * kMs}});
        SETTLE(bench);
        TimelineCanvas& canvas = bench.canvas();
        TimelineArrangement arrangement = canvas.rows().arrangement();
        arrangement.pinned = {TrackId{10}};
        canvas.rows().setArrangement(arrangement);
        bench.selection.setRange({Instant{0}, Instant{100 * kMs}});
        SETTLE(bench);
        const auto pinned = [&] {
            canvas.grab();
            const QImage& image = canvas.renderer().image();
            return image.copy(0, 0, image.width(), canvas.rows().layout().pinnedHeight);
        };
        const QImage before = pinned();
        // Half a row, and every other part of one.
        for (int lines = 0; lines < 60; lines += 3) {
            canvas.rows().scrollBy(3);
            SETTLE(bench);
            QVERIFY2(pinned() == before, qPrintable(QStringLiteral("scrolled by %1").arg(lines + 3)));
        }
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
        QCOMPARE(bench.canvas().rows().arrangement().collapsed.size(), std::size_t{63});
        // A click on a rank's name opens it.
        const auto& rows = bench.canvas().rows().layout().rows;
        const auto second = std::find_if(
            rows.begin(), rows.end(), [](const TimelineRow& row) { return row.kind == TimelineRow::Kind::Activity; });
        const QPoint label(40, bench.canvas().plotRect().top() + second->top + second->height / 2);
        QTest::mouseClick(&bench.canvas(), Qt::LeftButton, {}, label);
        QCOMPARE(bench.canvas().rows().arrangement().collapsed.size(), std::size_t{62});
        SETTLE(bench);
    }

    void pinnedAndHiddenTracks()
    {
        Bench bench;
        SETTLE(bench);
        TimelineArrangement arrangement = bench.canvas().rows().arrangement();
        arrangement.pinned = {TrackId{9}};
        arrangement.hidden = {TrackId{3}};
        bench.canvas().rows().setArrangement(arrangement);
        SETTLE(bench);
        QCOMPARE(bench.canvas().rows().layout().pinned.size(), std::size_t{1});
        QVERIFY(bench.canvas().laneRect(TrackId{3}, 0).isNull());
        QCOMPARE(bench.canvas().laneRect(TrackId{9}, 0).top(), bench.canvas().plotRect().top() + TimelineRow::kPadding);
        bench.canvas().rows().revealTrack(TrackId{3});
        QVERIFY(!bench.canvas().laneRect(TrackId{3}, 0).isNull());
        SETTLE(bench);
    }
};

FOURWALLS_TEST(TimelineUseTest, QApplication)

} // namespace tst_timeline_use

#include "tst_timeline_use.moc"
