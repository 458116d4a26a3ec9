// SPDX-License-Identifier: GPL-3.0-or-later
// A dragged area and what the panel says of it, offscreen: which tracks it takes, its sums against those of the engine, the
// copy, what a click does, the call tree and the flame graph. A Qt warning fails the test.
#include "model/trace/range_summaries.h"
#include "tests/support/test_program.h"
#include "tests/views/timeline/timeline_bench.h"
#include "views/plot/plot_table.h"
#include "views/timeline/area_panel.h"
#include "views/timeline/call_tree_model.h"
#include "views/timeline/call_tree_panel.h"
#include "views/timeline/details_panel.h"
#include "views/timeline/flame_graph.h"
#include "views/timeline/timeline_toolbar.h"

#include <QAbstractItemModelTester>
#include <QSignalSpy>
#include <QTableView>
#include <QTreeView>

#include <cmath>
#include <map>

namespace tst_timeline_area {

using namespace fourwalls;
using namespace fourwalls::views;

class TimelineAreaTest : public QObject {
    Q_OBJECT

    static void drag(TimelineCanvas& canvas, QPoint from, QPoint to)
    {
        QTest::mousePress(&canvas, Qt::LeftButton, Qt::ControlModifier, from);
        QTest::mouseMove(&canvas, (from + to) / 2);
        QTest::mouseMove(&canvas, to);
        QTest::mouseRelease(&canvas, Qt::LeftButton, Qt::ControlModifier, to);
    }

    static bool filled(Bench& bench)
    {
        return QTest::qWaitFor([&] { return bench.view->area().statistics() && bench.settled(); });
    }

private slots:
    void init() { beginTimelineTest(); }
    void cleanup() { QCOMPARE(WatchedQuery::onGuiThread.load(), 0); }

    /// The trace is summarized by itself after the first answer, and the area's figures then stay the same.
    void summariesComeByThemselves()
    {
        Bench bench;
        SETTLE(bench);
        InMemoryTraceQuery query(bench.data);
        const auto ofAll = [&] {
            for (const TrackView& track : query.tracks())
                if (!bench.session->summaries()->of(track.info.rank)) return false;
            return true;
        };
        constexpr int kLongestMs = 120'000; // where ten others want the processor
        QTRY_VERIFY_WITH_TIMEOUT(ofAll(), kLongestMs);
        TimelineCanvas& canvas = bench.canvas();
        drag(canvas, bench.pointOf(TrackId{3}, 0, Instant{60 * kMs}), bench.pointOf(TrackId{4}, 0, Instant{120 * kMs}));
        QVERIFY(filled(bench));
        const auto expected = rangeStatistics(query, bench.view->area().area()->tracks, *bench.selection.measured());
        QVERIFY(expected.ok());
        QCOMPARE(bench.view->area().model().rowCount(),
                 static_cast<int>(groupRange(*expected, query.tracks(), RangeGrouping::Name).size()));
    }

    void takesTheRowsThatItTouches()
    {
        Bench bench;
        SETTLE(bench);
        TimelineCanvas& canvas = bench.canvas();
        const QPoint from = bench.pointOf(TrackId{3}, 0, Instant{60 * kMs}),
                     to = bench.pointOf(TrackId{4}, 0, Instant{120 * kMs});
        drag(canvas, from, to);
        QVERIFY(filled(bench));
        QCOMPARE(bench.view->area().area()->tracks, (std::vector<TrackId>{TrackId{3}, TrackId{4}}));
        QVERIFY(!bench.view->area().isHidden());
        // The sums are those of the engine.
        InMemoryTraceQuery query(bench.data);
        const auto expected = rangeStatistics(query, bench.view->area().area()->tracks, *bench.selection.measured());
        QVERIFY(expected.ok());
        const AreaModel& model = bench.view->area().model();
        const std::vector<RangeRow> rows = groupRange(*expected, query.tracks(), RangeGrouping::Name);
        QCOMPARE(model.rowCount(), static_cast<int>(rows.size()));
        for (int row = 0; row < model.rowCount(); ++row) {
            const RangeRow& right = rows[static_cast<std::size_t>(row)];
            QCOMPARE(model.index(row, AreaModel::Count).data(kExactRole).toLongLong(), right.count);
            QCOMPARE(model.index(row, AreaModel::Self).data(kExactRole).toLongLong(), right.self.ns);
            QCOMPARE(model.index(row, AreaModel::Percentile99).data(kExactRole).toLongLong(),
                     right.spread.percentile99.ns);
        }
        bench.view->grab();
        // Along the axis: all rows. Escape forgets it.
        const int x = canvas.plotRect().left();
        QTest::mousePress(&canvas, Qt::LeftButton, {}, QPoint(x + 100, 10));
        QTest::mouseMove(&canvas, QPoint(x + 200, 12));
        QTest::mouseRelease(&canvas, Qt::LeftButton, {}, QPoint(x + 200, 12));
        QVERIFY(filled(bench));
        QCOMPARE(bench.view->area().area()->tracks, canvas.rows().shownTracks());
        QTest::keyClick(&canvas, Qt::Key_Escape);
        QVERIFY(!bench.selection.measured() && bench.view->area().isHidden());
        QVERIFY(!bench.view->area().area());
    }

    /// A step contains what it is made of: shares are of one kind, and add up to one within each.
    void sharesAreWithinAKind()
    {
        Bench bench;
        SETTLE(bench);
        QTest::keyClick(&bench.canvas(), Qt::Key_R);
        QVERIFY(filled(bench));
        const AreaModel& model = bench.view->area().model();
        std::map<SliceKind, double> sums;
        std::map<SliceKind, std::int64_t> own;
        const auto kindOf = [&](int row) {
            return model.table().ops.at(model.table().rows[static_cast<std::size_t>(row)].op)->kind;
        };
        for (int row = 0; row < model.rowCount(); ++row)
            own[kindOf(row)] += model.table().rows[static_cast<std::size_t>(row)].self.ns;
        for (int row = 0; row < model.rowCount(); ++row) {
            const double share = model.index(row, AreaModel::Share).data(kExactRole).toDouble();
            const auto self = static_cast<double>(model.table().rows[static_cast<std::size_t>(row)].self.ns);
            QVERIFY(std::abs(share - self / static_cast<double>(own[kindOf(row)])) < 1e-12);
            sums[kindOf(row)] += share;
        }
        QVERIFY(sums.size() > 4);
        for (const auto& [kind, sum] : sums) QVERIFY(std::abs(sum - 1) < 1e-9);
        // What is copied is of all that is selected, as on the command line.
        double copied = 0;
        const QStringList lines = model.tsv().split(u'\n', Qt::SkipEmptyParts).mid(1);
        for (const QString& line : lines) copied += line.split(u'\t')[AreaModel::Share].toDouble();
        QVERIFY(std::abs(copied - 1) < 1e-4);
    }

    void namesHaveRoomInASmallWindow()
    {
        Bench bench;
        bench.view->resize(690, 430); // what a window of 800 x 500 leaves
        SETTLE(bench);
        QVERIFY(!bench.view->details().isHidden());
        QTest::keyClick(&bench.canvas(), Qt::Key_R);
        QVERIFY(filled(bench));
        const auto* table = bench.view->area().findChild<QTableView*>();
        QVERIFY(table);
        QVERIFY2(table->columnWidth(AreaModel::Name) >= 140,
                 qPrintable(QString::number(table->columnWidth(AreaModel::Name))));
        QVERIFY(bench.view->details().isHidden()); // nothing is selected: only what colours mean
        QTest::mouseClick(&bench.canvas(), Qt::LeftButton, {}, bench.pointOf(TrackId{1}, 0, Instant{20 * kMs}));
        QVERIFY(bench.selection.slice() && !bench.view->details().isHidden());
        QTest::keyClick(&bench.canvas(), Qt::Key_Escape);
        QVERIFY(!bench.view->details().isHidden());
        SETTLE(bench);
    }

    void theHeadOfARankIsTheRank()
    {
        Bench bench;
        SETTLE(bench);
        const QPoint head = bench.pointOf(TrackId{0}, 0, Instant{50 * kMs}); // the steps lie on the head's row
        drag(bench.canvas(), head, head + QPoint(80, 0));
        QVERIFY(filled(bench));
        for (const TrackView& track : bench.canvas().rows().tracks()) {
            const auto& tracks = bench.view->area().area()->tracks;
            const bool taken = std::find(tracks.begin(), tracks.end(), track.id) != tracks.end();
            QCOMPARE(taken, track.info.rank == RankId{0} && track.slices > 0);
        }
    }

    void groupingsAndTheCopy()
    {
        Bench bench;
        SETTLE(bench);
        QTest::keyClick(&bench.canvas(), Qt::Key_R);
        QVERIFY(filled(bench));
        AreaPanel& area = bench.view->area();
        QAbstractItemModelTester tester(const_cast<AreaModel*>(&area.model()));
        QCOMPARE(*bench.selection.measured(), bench.canvas().range());
        const std::int64_t slices = area.statistics()->count;
        for (int i = 0; i < kRangeGroupingCount; ++i) {
            area.setGrouping(static_cast<RangeGrouping>(i));
            QTRY_COMPARE(static_cast<int>(area.model().table().grouping), i);
            SETTLE(bench);
            qlonglong count = 0;
            for (int row = 0; row < area.model().rowCount(); ++row) {
                count += area.model().index(row, AreaModel::Count).data(kExactRole).toLongLong();
                QVERIFY(!area.model().index(row, AreaModel::Name).data().toString().isEmpty());
            }
            QCOMPARE(count, slices);
            const QStringList lines = area.tsv().split(QLatin1Char('\n'), Qt::SkipEmptyParts);
            QCOMPARE(lines.size(), area.model().rowCount() + 1);
            for (const QString& line : lines) QCOMPARE(line.count(QLatin1Char('\t')), 8);
            bench.view->grab();
        }
        QVERIFY(area.tsv().startsWith(QStringLiteral("phase\tcount\ttotal_ns")));
    }

    void aNameIsFoundAndEverythingLikeIt()
    {
        Bench bench;
        SETTLE(bench);
        bench.selection.setRange({Instant{100 * kMs}, Instant{150 * kMs}});
        SETTLE(bench);
        QTest::keyClick(&bench.canvas(), Qt::Key_R);
        QVERIFY(filled(bench));
        AreaPanel& area = bench.view->area();
        const std::vector<RangeRow>& shown = area.model().table().rows;
        const auto softmax = std::find_if(shown.begin(), shown.end(),
                                          [](const RangeRow& row) { return row.text == "softmax_warp_forward"; });
        QVERIFY(softmax != shown.end());
        const std::int64_t here = softmax->count;
        const QString name = QString::fromStdString(softmax->text);
        area.markName(name);
        const QModelIndex first = area.table().currentIndex();
        QVERIFY(first.isValid());
        area.table().scrollTo(first);
        QTest::mouseClick(area.table().viewport(), Qt::LeftButton, {}, area.table().visualRect(first).center());
        QCOMPARE(bench.view->toolbar().filter().text, name);
        QTRY_VERIFY(bench.view->source().matches());
        emit area.likeThisAsked(name);
        QVERIFY(filled(bench));
        const auto& rows = area.model().table().rows;
        const auto all = std::find_if(rows.begin(), rows.end(),
                                      [&](const RangeRow& row) { return QString::fromStdString(row.text) == name; });
        QVERIFY(all != rows.end() && all->count > here);
        QVERIFY(area.table().currentIndex().isValid());
    }

    void whatOtherViewsMeasureIsOfAllRows()
    {
        Bench bench;
        SETTLE(bench);
        bench.selection.setMeasured(TimeRange{Instant{10 * kMs}, Instant{20 * kMs}});
        QVERIFY(filled(bench));
        QCOMPARE(bench.view->area().area()->tracks, bench.canvas().rows().shownTracks());
        bench.selection.setMeasured(std::nullopt);
        QVERIFY(bench.view->area().isHidden());
    }

    void anErrorIsSaid()
    {
        Bench bench;
        SETTLE(bench);
        WatchedQuery::failing = true;
        bench.selection.setMeasured(TimeRange{Instant{10 * kMs}, Instant{20 * kMs}});
        QTRY_VERIFY(bench.session->pending() == 0);
        WatchedQuery::failing = false;
        QVERIFY(bench.view->area().isComplete() && !bench.view->area().statistics());
        QVERIFY(bench.view->area().table().accessibleDescription().contains(QStringLiteral("disk gone")));
    }

    void callTreeAndFlameGraph()
    {
        Bench bench;
        SETTLE(bench);
        QTest::keyClick(&bench.canvas(), Qt::Key_R);
        QVERIFY(filled(bench));
        AreaPanel& area = bench.view->area();
        area.setPage(AreaPanel::Page::CallTree);
        QTRY_VERIFY(area.callTree().tree() && bench.settled());
        const QAbstractItemModel* model = area.callTree().view().model();
        QAbstractItemModelTester tester(const_cast<QAbstractItemModel*>(model));
        QVERIFY(model->rowCount() > 0 && model->hasChildren(model->index(0, 0)));
        const CallTree& tree = *area.callTree().tree();
        // Children are within their parents, and own times add up to the whole.
        std::int64_t own = 0;
        for (std::size_t i = 1; i < tree.nodes.size(); ++i) {
            own += tree.nodes[i].self.ns;
            if (tree.nodes[i].parent != 0) QVERIFY(tree.nodes[i].total <= tree.nodes[tree.nodes[i].parent].total);
        }
        QCOMPARE(own, tree.nodes[0].total.ns);
        QVERIFY(area.tsv().startsWith(QStringLiteral("depth\tname")));
        area.setPage(AreaPanel::Page::FlameGraph);
        SETTLE(bench);
        FlameGraph& flame = area.callTree().flame();
        bench.view->grab();
        const QSignalSpy clicked(&flame, &FlameGraph::nodeClicked);
        QTest::mouseClick(flame.viewport(), Qt::LeftButton, {}, QPoint(20, 10));
        QCOMPARE(clicked.size(), 1);
        QVERIFY(flame.root() != 0);
        QTest::keyClick(&flame, Qt::Key_Home);
        QCOMPARE(flame.root(), 0U);
        QTest::keyClick(&flame, Qt::Key_Down);
        QVERIFY(flame.root() != 0);
        QTest::keyClick(&flame, Qt::Key_Up);
        QCOMPARE(flame.root(), 0U);
    }

    void barsOfAFlameGraph()
    {
        CallTree tree;
        tree.nodes.resize(5);
        const auto node = [&](std::size_t index, const char* name, std::uint32_t parent, std::int64_t total) {
            tree.nodes[index].name = name;
            tree.nodes[index].parent = parent;
            tree.nodes[index].total = Duration{total};
        };
        node(0, "", 0, 100);
        node(1, "small", 0, 20);
        node(2, "large", 0, 80);
        node(3, "inner", 2, 40);
        node(4, "tiny", 2, 1);
        const std::vector<FlameBar> bars = flameBars(tree, 0, FlameMeasure::Host, 0.02);
        QCOMPARE(bars.size(), std::size_t{3}); // the tiny one is narrower than what is asked for
        QCOMPARE(bars[0].node, 2U);
        QCOMPARE(bars[0].to, 0.8);
        QCOMPARE(bars[1].node, 1U);
        QCOMPARE(bars[1].from, 0.8);
        QCOMPARE(bars[2].node, 3U);
        QCOMPARE(bars[2].depth, 1);
        QCOMPARE(bars[2].to, 0.4);
        const std::vector<FlameBar> inside = flameBars(tree, 2, FlameMeasure::Host, 0.02);
        QCOMPARE(inside.size(), std::size_t{2});
        QCOMPARE(inside[0].to, 1.0);
        QCOMPARE(inside[1].to, 0.5);
        QVERIFY(flameBars(tree, 0, FlameMeasure::Device, 0.02).empty());
        QVERIFY(flameBars(tree, 9, FlameMeasure::Host, 0.02).empty());
    }
};

FOURWALLS_TEST(TimelineAreaTest, QApplication)

} // namespace tst_timeline_area

#include "tst_timeline_area.moc"
