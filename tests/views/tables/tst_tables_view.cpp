// SPDX-License-Identifier: GPL-3.0-or-later
// The tables of a trace, offscreen: every table, filter, order, CSV, the visible range.
#include "tests/views/memory/view_probe.h"
#include "views/plot/plot_card.h"
#include "views/plot/plot_table.h"
#include "views/tables/query_answer.h"
#include "views/tables/query_panel.h"
#include "views/tables/tables_view.h"
#ifndef Q_MOC_RUN
#include "model/store/trace_file.h"
#include "model/trace/in_memory_query.h"
#include "model/trace/in_memory_trace.h"
#include "tests/model/trace/step_builder.h"
#include "tests/support/test_program.h"
#include "tests/views/trace_probe.h"
#include "views/whatif/gain_line.h"
#include "views/words/format.h"
#endif

#include <QAbstractItemModelTester>
#include <QComboBox>
#include <QFile>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSignalSpy>
#include <QTableView>
#include <QTemporaryDir>

#include <algorithm>
#include <functional>

namespace tst_tables_view {

using namespace fourwalls;
using namespace fourwalls::views;

class TablesViewTest : public QObject {
    Q_OBJECT

    static sample::TrainingShape small()
    {
        sample::TrainingShape shape;
        shape.layers = 3;
        shape.steps = 4;
        shape.ranks = 2;
        return shape;
    }

    /// The trace is open and everything of it is there.
    static bool shown(ViewProbe<TablesView>& probe)
    {
        return QTest::qWaitFor([&] { return probe.view->session() != nullptr; }) && probe.ready();
    }

private slots:
    void init() { failOnQtWarnings(); }

    void everyTableIsRead()
    {
        ViewProbe<TablesView> probe(small());
        QVERIFY(shown(probe));
        QAbstractItemModelTester tester(&probe.view->model(), QAbstractItemModelTester::FailureReportingMode::QtTest);
        for (int kind = 0; kind < kTableKindCount; ++kind) {
            probe.view->showTable(static_cast<TableKind>(kind));
            QVERIFY(shown(probe));
            QVERIFY(probe.view->model().table());
            QCOMPARE(probe.view->model().table()->kind, static_cast<TableKind>(kind));
            QVERIFY2(probe.view->model().columnCount() >= 4, qPrintable(tableId(static_cast<TableKind>(kind))));
            for (const auto& row : probe.view->model().table()->rows)
                QCOMPARE(row.size(), probe.view->model().table()->columns.size());
        }
    }

    void selectedRowsSayWhatTheyWouldGain()
    {
        // Rank 1: forward 0..6, transfer 6..8, optimizer 8..10 ms.
        TraceProbe<TablesView> probe(std::make_shared<const InMemoryTraceData>(test::slowNeighbour().data()));
        const auto select = [&](TableKind kind, const QString& text) {
            probe.view->showTable(kind);
            if (!probe.ready()) return QString();
            QTableView& table = probe.view->table();
            for (int row = 0; row < table.model()->rowCount(); ++row)
                for (int column = 0; column < 2; ++column)
                    if (table.model()->index(row, column).data().toString() == text) {
                        table.setCurrentIndex(table.model()->index(row, 0));
                        table.selectRow(row);
                        if (!probe.ready() || !probe.view->gain().isVisible()) return QString();
                        return QString(probe.view->gain().text()).replace(kThinSpace, QLatin1Char(' '));
                    }
            return QString();
        };
        QTRY_VERIFY(probe.view->session());
        QVERIFY(probe.ready() && !probe.view->gain().isVisible());
        QString text = select(TableKind::OperatorSums, QStringLiteral("forward"));
        QVERIFY2(text.contains(QLatin1String("all of this name in half the time: step 30 % shorter")),
                 qPrintable(text));
        text = select(TableKind::Ranks, QStringLiteral("1"));
        QVERIFY2(text.contains(QLatin1String("rank 1 like the mean: step 15 % shorter")), qPrintable(text));
        text = select(TableKind::CollectiveSums, QStringLiteral("dp"));
        QVERIFY2(text.contains(QLatin1String("links of dp twice as fast: step 10 % shorter")), qPrintable(text));
        QVERIFY(text.contains(QLatin1String("unchanged, this replay of step 0 is 0 % off")));
    }

    void rowsLeadToTheTimeline()
    {
        UserRows rows;
        rows.columns = {"name", "slice", "rank", "start_ns", "duration_ns"};
        rows.rows = {{std::string("a"), std::int64_t{7}, std::int64_t{1}, std::int64_t{500}, std::int64_t{20}}};
        const RowPlace place = placeOfRow(rows, 0);
        QCOMPARE(place.slice, std::optional(SliceId{7}));
        QCOMPARE(place.rank, std::optional(RankId{1}));
        QCOMPARE(*place.range, (TimeRange{Instant{500}, Instant{520}}));
        rows.columns = {"x", "n", "r", "at", "end"};
        QCOMPARE(*placeOfRow(rows, 0).range, (TimeRange{Instant{500}, Instant{500}})); // the end lies before
        rows.columns = {"x", "n", "r", "total", "ms"};
        QVERIFY(placeOfRow(rows, 0).empty());
        QVERIFY(placeOfRow(rows, 5).empty());
        rows.columns = {"x", "slice", "r", "start", "ms"};
        rows.rows[0][1] = std::string("7"); // a text is no slice
        rows.rows[0][3] = std::numeric_limits<std::int64_t>::max();
        QVERIFY(placeOfRow(rows, 0).empty());
    }

    void answersAsPlots()
    {
        UserRows rows;
        rows.columns = {"step", "ms", "note", "loss"};
        for (int i = 0; i < 4; ++i)
            rows.rows.push_back({std::int64_t{i * 10}, 2.5 * i, std::string("n"),
                                 i == 2 ? UserValue{} : UserValue{std::int64_t{5 - i}}});
        auto plot = plotOfAnswer(rows);
        QVERIFY(plot.has_value());
        QCOMPARE(plot->x.title, QStringLiteral("step"));
        QCOMPARE(plot->y.title, QStringLiteral("ms, loss"));
        QCOMPARE(plot->content.lines.size(), std::size_t{2});
        QCOMPARE(plot->content.lines[0].points[3], (std::pair<double, double>{30, 7.5}));
        QCOMPARE(plot->content.lines[1].points.size(), std::size_t{3}); // a NULL is no value
        QCOMPARE(plot->content.points[1].id, 1);
        std::swap(rows.rows[0], rows.rows[3]); // no longer rising: points without lines
        plot = plotOfAnswer(rows);
        QVERIFY(plot->content.lines.empty() && plot->content.points.size() == 7);
        rows.columns = {"name", "count"};
        rows.rows = {{std::string("gemm"), std::int64_t{3}}, {std::string("add"), std::int64_t{9}}};
        plot = plotOfAnswer(rows);
        QCOMPARE(plot->x.title, QStringLiteral("name"));
        QCOMPARE(plot->x.text(1), QStringLiteral("add"));
        QCOMPARE(plot->content.points[1].y, 9.0);
        rows.rows = {{std::string("gemm"), std::string("3")}};
        QVERIFY(!plotOfAnswer(rows));
        QVERIFY(!plotOfAnswer(UserRows{}));
    }

    void queriesAreKept()
    {
        QueryPanel panel;
        QSignalSpy changed(&panel, &QueryPanel::savedChanged);
        panel.setText(QStringLiteral("-- slow copies\nSELECT 1"));
        panel.saveButton().click();
        QCOMPARE(changed.size(), 1);
        QCOMPARE(panel.saved(), QStringList{QStringLiteral("-- slow copies\nSELECT 1")});
        const auto* examples = panel.findChild<QComboBox*>();
        QCOMPARE(examples->itemText(examples->count() - 1), QStringLiteral("slow copies"));
        QCOMPARE(panel.saveButton().text(), QStringLiteral("Forget"));
        panel.saveButton().click();
        QVERIFY(panel.saved().isEmpty());
        QCOMPARE(panel.saveButton().text(), QStringLiteral("Save"));
        panel.setText(QStringLiteral("  "));
        QVERIFY(!panel.saveButton().isEnabled());
    }

    void theSelectedSliceIsMarked()
    {
        ViewProbe<TablesView> probe(small());
        QVERIFY(shown(probe));
        probe.view->showTable(TableKind::Slices);
        QVERIFY(shown(probe));
        const auto* table = probe.view->findChild<QTableView*>();
        const TraceTable& rows = *probe.view->model().table();
        QVERIFY(rows.rows.size() > 20);
        const auto track = [&](const std::vector<QVariant>& row) {
            for (const TrackView& each : probe.view->session()->tracks())
                if (QString::fromStdString(each.info.name) == row[3].toString() &&
                    each.info.rank.value == row[4].toInt())
                    return each.id;
            return TrackId{};
        };
        for (const std::size_t index : {std::size_t{3}, rows.rows.size() - 1, std::size_t{11}}) {
            const auto& row = rows.rows[index];
            SelectedSlice slice;
            slice.slice.id = SliceId{static_cast<std::int64_t>(index)};
            slice.slice.track = track(row);
            slice.slice.start = Instant{row[5].toLongLong()};
            OpInfo op;
            op.name = row[0].toString().toStdString();
            slice.op = std::make_shared<const OpInfo>(op);
            probe.selection.setSlice(slice);
            const QModelIndex marked = table->selectionModel()->currentIndex();
            QVERIFY(marked.isValid());
            QCOMPARE(table->model()->index(marked.row(), 0).data(kExactRole).toString(), row[0].toString());
            QCOMPARE(table->model()->index(marked.row(), 5).data(kExactRole).toLongLong(), row[5].toLongLong());
            QCOMPARE(table->model()->index(marked.row(), 4).data(kExactRole).toInt(), row[4].toInt());
        }
    }

    /// The screen has the short name, the tool tip, the CSV and the filter the whole one.
    void namesAreShortAndTheWholeOnesAreNotLost()
    {
        TraceTable table;
        table.kind = TableKind::Operators;
        table.columns = {{"operator", CellKind::Name}};
        const QString whole =
            QStringLiteral("void at::native::vectorized_elementwise_kernel<4, "
                           "at::native::CUDAFunctor_add<float>, at::detail::Array<char*, 3> >(int, X)");
        table.rows = {{QVariant(whole)}};
        table.shortNames.insert(whole, QStringLiteral("elementwise · add<float>"));
        TraceTableModel model;
        model.setTable(std::make_shared<const TraceTable>(table));
        const QModelIndex name = model.index(0, 0);
        QCOMPARE(model.data(name).toString(), QStringLiteral("elementwise · add<float>"));
        QCOMPARE(model.data(name, Qt::ToolTipRole).toString(), whole);
        QCOMPARE(model.data(name, kExactRole).toString(), whole);
        const QString filtered = model.data(name, TraceTableModel::kFilterRole).toString();
        QVERIFY(filtered.contains(whole) && filtered.contains(QStringLiteral("elementwise · add<float>")));
        QVERIFY(csvOf(model).contains(QStringLiteral("CUDAFunctor_add")));
    }

    void askedNamesHaveAShortOne()
    {
        InMemoryTrace trace(TraceHeader{});
        {
            const TrackId kernels = trace.defineTrack({RankId{0}, TrackKind::ComputeStream, "stream 7", 0});
            const auto producer = trace.openProducer();
            std::int64_t at = 0;
            for (const char* functor : {"add", "mul"}) {
                OpInfo op;
                op.name = std::string("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_") +
                          functor + "<float>, at::detail::Array<char*, 3> >(int, X)";
                op.kind = SliceKind::Kernel;
                op.activity = Activity::Compute;
                producer->slice({kernels, trace.defineOp(op), Instant{at}, Duration{1000}, {}, {}});
                at += 1000;
            }
        }
        QVERIFY(trace.finish({}).ok());
        InMemoryTraceQuery query(trace.data());
        for (const TableKind kind : {TableKind::Operators, TableKind::Slices}) {
            const auto table = askTable(query, {kind, query.info().range, RankId{0}}, {});
            QVERIFY(table.ok());
            QCOMPARE(table->shortNames.size(), 2);
            for (const QString& shown : table->shortNames) {
                QVERIFY2(shown.startsWith(QStringLiteral("elementwise")), qPrintable(shown));
                QVERIFY(!shown.contains(QStringLiteral("at::native")));
            }
        }
    }

    /// They come after the sums; then a click on their heading sorts by them, by value and not by letters.
    void percentilesAreShownAndSorted()
    {
        ViewProbe<TablesView> probe(small());
        QVERIFY(shown(probe));
        probe.view->showTable(TableKind::OperatorSums);
        QVERIFY(shown(probe));
        QTableView& table = probe.view->table();
        int column = -1;
        for (int i = 0; i < table.model()->columnCount(); ++i)
            if (table.model()->headerData(i, Qt::Horizontal).toString() == QStringLiteral("p99")) column = i;
        QVERIFY(column > 0);
        QVERIFY(!table.model()->headerData(column, Qt::Horizontal, Qt::ToolTipRole).toString().isEmpty());
        // They are not cut, though the columns were empty at first.
        for (int row = 0; row < std::min(20, table.model()->rowCount()); ++row)
            for (const int each : {column - 1, column})
                QVERIFY(
                    QFontMetrics(table.font()).horizontalAdvance(table.model()->index(row, each).data().toString()) +
                        8 <
                    table.columnWidth(each));
        table.sortByColumn(column, Qt::DescendingOrder);
        std::vector<qlonglong> sorted;
        for (int row = 0; row < table.model()->rowCount(); ++row) {
            const QVariant value = table.model()->index(row, column).data(kExactRole);
            QVERIFY(value.isValid());
            sorted.push_back(value.toLongLong());
        }
        QVERIFY(sorted.size() > 3 && sorted.front() > sorted.back());
        QVERIFY(std::ranges::is_sorted(sorted, std::greater()));
    }

    void stepsAreThoseOfTheRank()
    {
        ViewProbe<TablesView> probe(small());
        QVERIFY(shown(probe));
        probe.view->showTable(TableKind::Steps);
        QVERIFY(shown(probe));
        QCOMPARE(probe.view->model().rowCount(), 4);
        probe.view->showTable(TableKind::Ranks);
        QVERIFY(shown(probe));
        QCOMPARE(probe.view->model().rowCount(), 2);
    }

    void anEmptyTableSaysWhy()
    {
        ViewProbe<TablesView> probe(small());
        QVERIFY(shown(probe));
        const auto word = [&] {
            QStringList texts;
            for (const QLabel* label : probe.view->table().viewport()->findChildren<QLabel*>())
                if (label->isVisible()) texts << label->text();
            return texts.join(QLatin1Char('|'));
        };
        QCOMPARE(word(), QString());
        probe.view->showTable(TableKind::Events);
        QVERIFY(shown(probe));
        QCOMPARE(probe.view->model().rowCount(), 0);
        QVERIFY2(word().contains(QStringLiteral("another table")), qPrintable(word()));
        probe.view->showTable(TableKind::Steps);
        QVERIFY(shown(probe));
        QCOMPARE(word(), QString());
    }

    void slicesFollowTheVisibleRange()
    {
        ViewProbe<TablesView> probe(small());
        QVERIFY(shown(probe));
        probe.view->showTable(TableKind::Slices);
        QVERIFY(shown(probe));
        const int all = probe.view->model().rowCount();
        QVERIFY(all > 0);
        const TimeRange whole = probe.selection.whole();
        probe.selection.setRange({whole.begin, whole.begin + Duration{whole.length().ns / 4}});
        QVERIFY(shown(probe));
        QVERIFY(probe.view->model().rowCount() > 0);
        QVERIFY(probe.view->model().rowCount() < all);
    }

    void answersSql()
    {
        // A trace in a file: one of those that demos carry.
        QTemporaryDir folder;
        QFile packed(QStringLiteral(FOURWALLS_SOURCE_DIR "/resources/demos/gpt.fourwalls.z"));
        QVERIFY(packed.open(QIODevice::ReadOnly));
        const QString path = folder.filePath(QStringLiteral("gpt.fourwalls"));
        QFile file(path);
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(qUncompress(packed.readAll()));
        file.close();
        TraceSession session([](const QString& name) { return store::openTrace(name.toStdString()); }, path);
        Selection selection;
        TablesView view;
        view.resize(1100, 600);
        view.show();
        QVERIFY(QTest::qWaitFor([&] { return session.isOpen(); }));
        selection.reset(session.info().range);
        view.setTrace(&session, &selection);
        const auto answered = [&] { return QTest::qWaitFor([&] { return view.showsFinalData(); }, 10'000); };
        const auto finding = [&] { return view.findChild<PlotCard*>()->finding().text(); };
        QAbstractItemModelTester tester(&view.queryModel(), QAbstractItemModelTester::FailureReportingMode::QtTest);

        for (QAction* action : view.actions())
            if (action->objectName() == QLatin1String("tables.sql")) action->trigger();
        QVERIFY(view.showsQuery() && view.queryPanel().isVisible());
        // The first example stands there: Ctrl+Return asks it.
        QTest::keyClick(&view.queryPanel().edit(), Qt::Key_Return, Qt::ControlModifier);
        QVERIFY(!view.showsFinalData());
        QVERIFY(answered());
        QCOMPARE(view.queryModel().rowCount(), 10);
        QCOMPARE(view.queryModel().headerData(2, Qt::Horizontal).toString(), QStringLiteral("ms"));
        QCOMPARE(view.table().model()->rowCount(), 10);
        QCOMPARE(view.tableAsCsv().count(QLatin1Char('\n')), 11);
        QVERIFY2(finding().contains(QStringLiteral("10 rows")), qPrintable(finding()));

        view.queryPanel().setText(QStringLiteral("SELECT nme FROM op"));
        QVERIFY(view.queryPanel().edit().document()->isUndoAvailable());
        view.queryPanel().askButton().click();
        QVERIFY(answered());
        QVERIFY2(finding().contains(QStringLiteral("nme")), qPrintable(finding()));
        QCOMPARE(view.queryModel().rowCount(), 10); // the last answer stays
        view.showQuery(QStringLiteral("DELETE FROM slice"));
        QVERIFY(answered());
        QVERIFY2(finding().contains(QStringLiteral("reading")), qPrintable(finding()));

        view.showQuery(
            QStringLiteral("WITH RECURSIVE t(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM t) SELECT count(*) FROM t"));
        QCOMPARE(view.queryPanel().askButton().text(), QStringLiteral("Stop"));
        view.queryPanel().askButton().click();
        QVERIFY(answered());
        QCOMPARE(view.queryPanel().askButton().text(), QStringLiteral("Run (Ctrl+Enter)"));

        // Every kind of value, filtered and sorted as other tables.
        view.showQuery(QStringLiteral(
            "SELECT 2 AS a, 'two' AS b, NULL, x'00', 0.5 UNION ALL SELECT 1, 'one', NULL, x'0102', 1.5"));
        QVERIFY(answered());
        QCOMPARE(view.queryModel().rowCount(), 2);
        view.table().sortByColumn(0, Qt::AscendingOrder);
        QCOMPARE(view.table().model()->index(0, 1).data().toString(), QStringLiteral("one"));
        view.filter().setText(QStringLiteral("two"));
        QCOMPARE(view.table().model()->rowCount(), 1);
        view.filter().clear();

        view.showTable(TableKind::Steps);
        QVERIFY(answered());
        QVERIFY(!view.showsQuery() && !view.queryPanel().isVisible());
        QVERIFY(view.table().model()->rowCount() > 0);
    }

    void aTraceInMemoryHasNoSql()
    {
        ViewProbe<TablesView> probe(small());
        QVERIFY(shown(probe));
        probe.view->showQuery(QStringLiteral("SELECT 1"));
        QVERIFY(shown(probe));
        QCOMPARE(probe.view->queryModel().rowCount(), 0);
        QVERIFY(probe.view->findChild<PlotCard*>()->finding().text().contains(QStringLiteral("file")));
        QVERIFY(probe.view->tableAsCsv().isEmpty());
    }

    void filtersSortsAndCopies()
    {
        ViewProbe<TablesView> probe(small());
        QVERIFY(shown(probe));
        probe.view->showTable(TableKind::Operators);
        QVERIFY(shown(probe));
        QTableView& table = probe.view->table();
        const int all = table.model()->rowCount();
        QVERIFY(all > 1);
        probe.view->filter().setText(QStringLiteral("optimizer"));
        QVERIFY(table.model()->rowCount() < all);
        probe.view->filter().setText(QStringLiteral("there is no such operator"));
        QCOMPARE(table.model()->rowCount(), 0);
        probe.view->filter().clear();
        QCOMPARE(table.model()->rowCount(), all);
        constexpr int kTotal = 5;
        table.sortByColumn(kTotal, Qt::AscendingOrder);
        for (int row = 1; row < all; ++row)
            QVERIFY(table.model()->index(row - 1, kTotal).data(kExactRole).toLongLong() <=
                    table.model()->index(row, kTotal).data(kExactRole).toLongLong());
        const QString csv = probe.view->tableAsCsv();
        QCOMPARE(csv.count(QLatin1Char('\n')), all + 1);
    }
};

FOURWALLS_TEST(TablesViewTest, QApplication)

} // namespace tst_tables_view

#include "tst_tables_view.moc"
