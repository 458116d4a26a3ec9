// SPDX-License-Identifier: GPL-3.0-or-later
// The table of cells: the order of its rows.
#include "tests/support/test_program.h"
#include "views/plot/plot_cells.h"

#include <QtTest>

namespace tst_plot_cells {

using namespace fourwalls;
using namespace fourwalls::views;

class PlotCellsTest : public QObject {
    Q_OBJECT

    static std::vector<std::vector<CellValue>> rows(const QStringList& names)
    {
        std::vector<std::vector<CellValue>> result;
        for (const QString& name : names) {
            CellValue value;
            value.text = name;
            result.push_back({value});
        }
        return result;
    }

    static std::vector<CellColumn> oneColumn()
    {
        CellColumn column;
        column.title = QStringLiteral("name");
        return {column};
    }

    static QString shown(const CellTable& table)
    {
        QString text;
        for (int row = 0; row < table.model()->rowCount(); ++row)
            text += table.model()->index(row, 0).data().toString();
        return text;
    }

private slots:
    void rowsStayAsGivenUntilSomebodySorts()
    {
        CellTable table;
        table.setContent(oneColumn(), rows({QStringLiteral("b"), QStringLiteral("c"), QStringLiteral("a")}));
        QCOMPARE(shown(table), QStringLiteral("bca"));
        table.setContent(oneColumn(), rows({QStringLiteral("z"), QStringLiteral("x"), QStringLiteral("y")}));
        QCOMPARE(shown(table), QStringLiteral("zxy"));
        table.sortByColumn(0, Qt::DescendingOrder);
        QCOMPARE(shown(table), QStringLiteral("zyx"));
        table.setContent(oneColumn(), rows({QStringLiteral("b"), QStringLiteral("c"), QStringLiteral("a")}));
        QCOMPARE(shown(table), QStringLiteral("cba"));
    }

    /// Names of kernels differ at their ends: in a narrow column two of them do not read the same.
    void longNamesStayApart()
    {
        const auto drawn = [](const QString& name) {
            CellTable table;
            CellValue value;
            value.text = name;
            value.colour = Qt::blue;
            table.setContent(oneColumn(), {{value}});
            table.resize(160, 80);
            table.setColumnWidth(0, 150);
            return table.grab().toImage();
        };
        const QString begin = QStringLiteral("elementwise of a rather long kernel · direct_copy");
        QVERIFY(drawn(begin + QStringLiteral("<float>")) != drawn(begin + QStringLiteral("<int>")));
        QVERIFY(drawn(begin + QStringLiteral("<int>")) == drawn(begin + QStringLiteral("<int>")));
    }

    /// A column without anything to show leaves its room to the names, and comes back with something.
    void whatNobodyHasTakesNoRoom()
    {
        CellTable table;
        table.resize(500, 200);
        table.show();
        const auto fill = [&table](bool hidden) {
            std::vector<CellColumn> columns = oneColumn();
            columns[0].width = 0;
            columns.push_back({QStringLiteral("FLOP/s"), {}, true, 66, false, hidden});
            table.setContent(std::move(columns),
                             {{CellValue{.text = QStringLiteral("a")}, CellValue{.text = QStringLiteral("1")}}});
            QCoreApplication::processEvents();
        };
        fill(false);
        const int narrow = table.columnWidth(0);
        fill(true);
        QVERIFY(table.isColumnHidden(1));
        QVERIFY(table.columnWidth(0) >= narrow + 66);
        QVERIFY(table.asCsv().contains(QStringLiteral("FLOP/s")));
        fill(false);
        QVERIFY(!table.isColumnHidden(1));
        QCOMPARE(table.columnWidth(0), narrow);
    }

    /// A figure that is longer than its column was meant for widens it; what a person reads does not become narrower.
    void figuresAreNotCut()
    {
        CellTable table;
        table.resize(600, 120);
        CellColumn name, error;
        name.title = QStringLiteral("name");
        name.width = 0;
        error.title = QStringLiteral("e");
        error.isFigure = true;
        error.width = 40;
        const auto show = [&](const QString& figure) {
            table.setContent({name, error}, {{{.text = QStringLiteral("weights")}, {.text = QStringLiteral("0 %")}},
                                             {{.text = QStringLiteral("activations")}, {.text = figure}}});
            return table.columnWidth(1);
        };
        const auto taken = [&](const QString& text) { return QFontMetrics(table.font()).horizontalAdvance(text); };
        const int narrow = show(QStringLiteral("+1 %"));
        QVERIFY(narrow < 60);
        const QString longer = QStringLiteral("+197.3 % or so"), longest = QStringLiteral("+197 304 912.3 % or so");
        QVERIFY(show(longer) >= taken(longer) + 6); // the margins of a cell
        const int wide = show(longest);
        QVERIFY(wide >= taken(longest) + 6);
        QCOMPARE(show(QStringLiteral("0 %")), wide);
    }

    void theFirstOrderCanBeAsked()
    {
        CellTable table;
        table.setContent(oneColumn(), rows({QStringLiteral("b"), QStringLiteral("c"), QStringLiteral("a")}), 0);
        QCOMPARE(shown(table), QStringLiteral("cba"));
    }
};

FOURWALLS_TEST(PlotCellsTest, QApplication)

} // namespace tst_plot_cells

#include "tst_plot_cells.moc"
