// SPDX-License-Identifier: GPL-3.0-or-later
// The rows of the timeline in use: filter, order, heights, colours, the column of names, and the whole trace above. A Qt
// warning fails the test.
#include "tests/support/test_program.h"
#include "tests/views/timeline/timeline_bench.h"
#include "views/timeline/timeline_minimap.h"
#include "views/timeline/timeline_toolbar.h"

#include <QAction>
#include <QLineEdit>
#include <QMenu>
#include <QToolButton>
#include <QWheelEvent>

#include <set>

namespace tst_timeline_rows {

using namespace fourwalls;
using namespace fourwalls::views;

namespace {

QAction* action(Bench& bench, const char* name)
{
    for (QAction* each : bench.view->actions())
        if (each->objectName() == QLatin1String(name)) return each;
    return nullptr;
}

std::vector<int> tracksOf(const TimelineLayout& layout)
{
    std::vector<int> tracks;
    for (const TimelineRow& row : layout.rows)
        if (row.track) tracks.push_back(row.track->value);
    return tracks;
}

QColor colourAt(Bench& bench, const QPoint& at)
{
    return bench.canvas().grab().toImage().pixelColor(at);
}

} // namespace

class TimelineRowsTest : public QObject {
    Q_OBJECT

private slots:
    void init() { beginTimelineTest(); }
    void cleanup() { QCOMPARE(WatchedQuery::onGuiThread.load(), 0); }

    void wordsFilterRows()
    {
        Bench bench;
        SETTLE(bench);
        const auto all = tracksOf(bench.canvas().rows().layout());
        QTest::keyClicks(&bench.canvas().labels().filterEdit(), QStringLiteral("nccl"));
        QCOMPARE(tracksOf(bench.canvas().rows().layout()), (std::vector<int>{4, 10})); // stream 13 of both ranks
        SETTLE(bench);
        bench.canvas().labels().setFilter(QStringLiteral("rank 1 stream"));
        QCOMPARE(tracksOf(bench.canvas().rows().layout()), (std::vector<int>{9, 10, 11}));
        bench.canvas().labels().setFilter(QStringLiteral("/stream (7|20)/"));
        QCOMPARE(tracksOf(bench.canvas().rows().layout()), (std::vector<int>{3, 5, 9, 11}));
        // What cannot be read changes nothing.
        bench.canvas().labels().setFilter(QStringLiteral("/stream ("));
        QCOMPARE(tracksOf(bench.canvas().rows().layout()), (std::vector<int>{3, 5, 9, 11}));
        bench.canvas().labels().setFilter(QStringLiteral("no such row"));
        QVERIFY(tracksOf(bench.canvas().rows().layout()).empty());
        SETTLE(bench);
        QTest::keyClick(&bench.canvas().labels().filterEdit(), Qt::Key_Escape);
        QCOMPARE(tracksOf(bench.canvas().rows().layout()), all);
        QVERIFY(bench.canvas().labels().filter().isEmpty());
    }

    /// Presses, moves in two steps and releases, on the names of rows.
    static void dragLabel(Bench& bench, QPoint from, QPoint to)
    {
        QTest::mousePress(&bench.canvas(), Qt::LeftButton, {}, from);
        QTest::mouseMove(&bench.canvas(), (from + to) / 2);
        QTest::mouseMove(&bench.canvas(), to);
        QTest::mouseRelease(&bench.canvas(), Qt::LeftButton, {}, to);
    }

    void aRowIsMovedByItsNameAndPulledByItsBorder()
    {
        Bench bench;
        SETTLE(bench);
        TimelineCanvas& canvas = bench.canvas();
        const int top = canvas.plotRect().top();
        const auto rowOf = [&](int id) { return *canvas.rows().layout().rowOf(TrackId{id}); };
        const auto before = tracksOf(canvas.rows().layout());
        const auto first = std::ranges::find(before, 3), second = std::ranges::find(before, 4);
        QVERIFY(first < second);
        // Stream 13 of rank 0 above stream 7.
        const TimelineRow moved = rowOf(4), target = rowOf(3);
        dragLabel(bench, {30, top + moved.top + 6}, {30, top + target.top + 1});
        const auto after = tracksOf(canvas.rows().layout());
        QVERIFY(std::ranges::find(after, 4) < std::ranges::find(after, 3));
        QVERIFY(std::ranges::find(after, 10) == after.end() ||
                std::ranges::find(after, 10) < std::ranges::find(after, 9)); // and in the other ranks
        SETTLE(bench);
        // A click moves nothing.
        QTest::mouseClick(&canvas, Qt::LeftButton, {}, {30, top + rowOf(3).top + 6});
        QCOMPARE(tracksOf(canvas.rows().layout()), after);
        // Its lower border makes it higher, a double click there as high as before.
        const TimelineRow low = rowOf(3);
        dragLabel(bench, {30, top + low.bottom() - 1}, {30, top + low.bottom() + 29});
        QVERIFY2(rowOf(3).height > low.height + 15,
                 qPrintable(QStringLiteral("%1 was %2").arg(rowOf(3).height).arg(low.height)));
        QTest::mouseDClick(&canvas, Qt::LeftButton, {}, {30, top + rowOf(3).bottom() - 1});
        QCOMPARE(rowOf(3).height, low.height);
        action(bench, "timeline.usualRows")->trigger();
        QCOMPARE(tracksOf(canvas.rows().layout()), before);
        SETTLE(bench);
    }

    void theRowOfTheSelectedSliceIsMovedByKeys()
    {
        Bench bench;
        SETTLE(bench);
        const auto before = tracksOf(bench.canvas().rows().layout());
        SliceView slice;
        slice.track = TrackId{4};
        bench.selection.setSlice(SelectedSlice{slice, nullptr});
        action(bench, "timeline.rowUp")->trigger();
        const auto after = tracksOf(bench.canvas().rows().layout());
        QVERIFY(std::ranges::find(after, 4) - after.begin() < std::ranges::find(before, 4) - before.begin());
        action(bench, "timeline.rowDown")->trigger();
        QCOMPARE(tracksOf(bench.canvas().rows().layout()), before);
        const int height = bench.canvas().rows().layout().rowOf(TrackId{4})->height;
        action(bench, "timeline.higherRow")->trigger();
        QVERIFY(bench.canvas().rows().layout().rowOf(TrackId{4})->height > height);
        action(bench, "timeline.lowerRow")->trigger();
        QCOMPARE(bench.canvas().rows().layout().rowOf(TrackId{4})->height, height);
        bench.selection.setSlice(std::nullopt);
        SETTLE(bench);
    }

    void whatIsGoneToIsNeverFilteredOut()
    {
        Bench bench;
        SETTLE(bench);
        bench.canvas().labels().setFilter(QStringLiteral("nccl"));
        bench.canvas().rows().revealTrack(TrackId{3});
        QVERIFY(bench.canvas().labels().filter().isEmpty());
        QVERIFY(!bench.canvas().laneRect(TrackId{3}, 0).isNull());
        bench.canvas().labels().setFilter(QStringLiteral("nccl"));
        action(bench, "timeline.showHidden")->trigger();
        QVERIFY(bench.canvas().labels().filter().isEmpty());
    }

    void streamsAreOrderedAndBack()
    {
        Bench bench;
        SETTLE(bench);
        const auto byRank = tracksOf(bench.canvas().rows().layout());
        action(bench, "timeline.byStream")->trigger();
        QCOMPARE(tracksOf(bench.canvas().rows().layout()), (std::vector<int>{0, 6, 1, 7, 2, 8, 3, 9, 4, 10, 5, 11}));
        SETTLE(bench);
        QVERIFY(!bench.view->grab().isNull());
        // A click on a row's name folds no rank here.
        QTest::mouseClick(&bench.canvas(), Qt::LeftButton, {}, QPoint(40, bench.canvas().plotRect().top() + 8));
        QVERIFY(bench.canvas().rows().arrangement().collapsed.empty());
        action(bench, "timeline.byStream")->trigger();
        QCOMPARE(tracksOf(bench.canvas().rows().layout()), byRank);
    }

    void rowsGrowAndShrink()
    {
        Bench bench;
        SETTLE(bench);
        const auto height = [&] { return bench.canvas().rows().arrangement().heightPercent; };
        for (int i = 0; i < 30; ++i) action(bench, "timeline.higherRows")->trigger();
        QCOMPARE(height(), kHighestRowsPercent);
        SETTLE(bench);
        for (int i = 0; i < 60; ++i) action(bench, "timeline.lowerRows")->trigger();
        QCOMPARE(height(), kLowestRowsPercent);
        SETTLE(bench);
        QVERIFY(!bench.view->grab().isNull());
    }

    void coloursFollowTheChoice()
    {
        Bench bench;
        SETTLE(bench);
        // A slice of each of two phases, in the row of phases.
        const QPoint forward = bench.pointOf(TrackId{1}, 0, Instant{35 * kMs}) + QPoint(0, 5),
                     backward = bench.pointOf(TrackId{1}, 0, Instant{75 * kMs}) + QPoint(0, 5);
        const QColor work = colourAt(bench, forward);
        QVERIFY(work != colourAt(bench, backward));
        action(bench, "timeline.colourByKind")->trigger();
        QCOMPARE(colourAt(bench, forward), colourAt(bench, backward));
        QVERIFY(action(bench, "timeline.colourByKind")->isChecked());
        QVERIFY(!action(bench, "timeline.colourByWork")->isChecked());
        action(bench, "timeline.colourByName")->trigger();
        QVERIFY(colourAt(bench, forward) != colourAt(bench, backward));
        action(bench, "timeline.colourByStream")->trigger();
        const QColor stream = colourAt(bench, forward);
        QCOMPARE(stream, colourAt(bench, backward));
        QCOMPARE(stream, colourAt(bench, bench.pointOf(TrackId{7}, 0, Instant{35 * kMs}) + QPoint(0, 5))); // rank 1's
        action(bench, "timeline.colourByWork")->trigger();
        QCOMPARE(colourAt(bench, forward), work);
        SETTLE(bench);
    }

    void theColumnOfNamesIsDragged()
    {
        Bench bench;
        SETTLE(bench);
        TimelineCanvas& canvas = bench.canvas();
        const int before = canvas.labels().width();
        const QPoint edge(before, canvas.height() / 2);
        QTest::mousePress(&canvas, Qt::LeftButton, {}, edge);
        QMouseEvent move(QEvent::MouseMove, QPointF(before + 90, edge.y()),
                         QPointF(canvas.mapToGlobal(QPoint(before + 90, edge.y()))), Qt::NoButton, Qt::LeftButton,
                         Qt::NoModifier);
        QApplication::sendEvent(&canvas, &move);
        QTest::mouseRelease(&canvas, Qt::LeftButton, {}, edge + QPoint(90, 0));
        QCOMPARE(canvas.labels().width(), before + 90);
        QCOMPARE(canvas.plotRect().left(), before + 90);
        QCOMPARE(bench.view->minimap().plotRect().left(), before + 90); // still above its time
        QCOMPARE(bench.view->minimap().plotRect().width(), canvas.plotRect().width());
        canvas.labels().setWidth(1);
        QVERIFY(canvas.labels().width() >= 96);
        canvas.labels().setWidth(100'000);
        QVERIFY(canvas.labels().width() <= canvas.width() / 2);
        SETTLE(bench);
    }

    void theWholeTraceIsAboveTheRows()
    {
        Bench bench;
        SETTLE(bench);
        TimelineMinimap& map = bench.view->minimap();
        const QRect plot = map.plotRect();
        QVERIFY(std::abs(map.windowRect().width() - plot.width()) < 2); // everything is shown
        // It has the colours of what ran.
        const QImage image = map.grab().toImage();
        std::set<QRgb> colours;
        for (int x = plot.left(); x < plot.right(); x += 3) colours.insert(image.pixel(x, plot.bottom() - 4));
        QVERIFY(colours.size() > 1);
        const TimeRange whole = bench.selection.whole();
        const auto part = [&](double from, double to) {
            return TimeRange{
                whole.begin + Duration{static_cast<std::int64_t>(from * static_cast<double>(whole.length().ns))},
                whole.begin + Duration{static_cast<std::int64_t>(to * static_cast<double>(whole.length().ns))}};
        };
        bench.selection.setRange(part(0.4, 0.5));
        QVERIFY(std::abs(map.windowRect().left() - (plot.left() + 0.4 * plot.width())) < 2);
        const auto drag = [&](double from, double to) {
            const QPoint a(plot.left() + static_cast<int>(from * plot.width()), plot.center().y()),
                b(plot.left() + static_cast<int>(to * plot.width()), plot.center().y());
            QTest::mousePress(&map, Qt::LeftButton, {}, a);
            QMouseEvent move(QEvent::MouseMove, b, map.mapToGlobal(QPointF(b)), Qt::NoButton, Qt::LeftButton,
                             Qt::NoModifier);
            QApplication::sendEvent(&map, &move);
            QTest::mouseRelease(&map, Qt::LeftButton, {}, b);
        };
        const auto about = [&](TimeRange expected) {
            const double slack = 0.01 * static_cast<double>(whole.length().ns);
            const TimeRange now = bench.selection.range();
            return std::abs(static_cast<double>((now.begin - expected.begin).ns)) < slack &&
                   std::abs(static_cast<double>((now.end - expected.end).ns)) < slack;
        };
        drag(0.45, 0.65); // the part itself
        QVERIFY(about(part(0.6, 0.7)));
        drag(0.7, 0.9); // its end
        QVERIFY(about(part(0.6, 0.9)));
        drag(0.6, 0.75); // its begin
        QVERIFY(about(part(0.75, 0.9)));
        drag(0.1, 0.3); // another part
        QVERIFY(about(part(0.1, 0.3)));
        drag(0.6, 0.6); // a click goes there
        QVERIFY(about(part(0.5, 0.7)));
        QWheelEvent wheel(QPointF(plot.left() + 0.6 * plot.width(), plot.center().y()), map.mapToGlobal(QPointF()), {},
                          QPoint(0, 480), Qt::NoButton, Qt::NoModifier, Qt::NoScrollPhase, false);
        QApplication::sendEvent(&map, &wheel);
        QVERIFY(about(part(0.55, 0.65)));
        QCOMPARE(bench.canvas().range(), bench.selection.range());
        action(bench, "timeline.minimap")->trigger();
        QVERIFY(!map.isVisible());
        action(bench, "timeline.minimap")->trigger();
        QVERIFY(map.isVisible());
        SETTLE(bench);
    }

    void theMenuOfRowsNamesThem()
    {
        Bench bench;
        SETTLE(bench);
        const auto* button = bench.view->toolbar().findChild<QToolButton*>(QStringLiteral("timeline.rowsMenu"));
        QVERIFY(button && button->menu());
        QVERIFY(button->menu()->actions().size() > 12);
        for (const QAction* each : button->menu()->actions()) QVERIFY(each->isSeparator() || !each->text().isEmpty());
        action(bench, "timeline.filterRows")->trigger();
        QTRY_VERIFY(bench.canvas().labels().filterEdit().hasFocus());
    }
};

FOURWALLS_TEST(TimelineRowsTest, QApplication)

} // namespace tst_timeline_rows

#include "tst_timeline_rows.moc"
