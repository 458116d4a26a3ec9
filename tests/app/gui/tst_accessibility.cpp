// SPDX-License-Identifier: GPL-3.0-or-later
// Who cannot see the window or has no mouse: every page, dock and dialog says what is in it, every control
// takes the focus, and what the keys choose in a painted view is told.
#include "tests/app/gui/openers.h"
#include "tests/app/gui/speech_problems.h"
#include "tests/app/gui/window_start.h"
#include "tests/app/gui/window_tour.h"
#include "views/communication/matrix_plot.h"
#include "views/plot/plot_xy.h"
#include "views/timeline/flame_graph.h"
#include "views/timeline/timeline_canvas.h"

#include <QButtonGroup>
#include <QSignalSpy>
#include <QToolButton>

#include <numeric>
#ifndef Q_MOC_RUN // moc cannot read the standard library's headers of threads
#include "tests/support/test_program.h"
#endif

namespace tst_accessibility {

using namespace fourwalls;
using namespace fourwalls::gui;

namespace {

/// A point of the canvas with a slice under it.
std::optional<QPoint> sliceOn(const views::TimelineCanvas& canvas)
{
    const QRect plot = canvas.plotRect();
    for (int y = plot.top(); y < plot.bottom(); y += 4)
        for (int x = plot.left(); x < plot.right(); x += 4)
            if (canvas.hitAt(QPointF(x, y)).lanehit.slice) return QPoint(x, y);
    return std::nullopt;
}

} // namespace

class TestAccessibility : public QObject, private tests::WindowStart {
    Q_OBJECT

private slots:
    void init() { beginInEnglish(); }
    void cleanup() { failOnWarnings(); }

    void seesWhatIsWrong()
    {
        views::installSpoken();
        QWidget window;
        auto* slider = new QSlider(&window);
        auto* drawing = new views::MatrixPlot(&window);
        auto* silent = new QWidget(&window);
        silent->setFocusPolicy(Qt::StrongFocus);
        window.show();
        QCOMPARE(tests::silences(*slider), QStringList{QStringLiteral("has no name")});
        QCOMPARE(tests::silences(*silent), (QStringList{QStringLiteral("has no name"), QStringLiteral("has no role")}));
        QVERIFY(tests::silences(*drawing).contains(QStringLiteral("is a drawing without a name")));
        slider->setAccessibleName(QStringLiteral("round"));
        QVERIFY(tests::silences(*slider).isEmpty());
        slider->setFocusPolicy(Qt::ClickFocus);
        QVERIFY(tests::silencesOf(window).join(QLatin1Char(' ')).contains(QStringLiteral("no focus from Tab")));
    }

    void everythingSpeaksAndTakesTheFocus_data()
    {
        QTest::addColumn<QString>("language");
        QTest::newRow("en") << QStringLiteral("en");
        QTest::newRow("zh_CN") << QStringLiteral("zh_CN");
    }

    void everythingSpeaksAndTakesTheFocus()
    {
        QFETCH(QString, language);
        gui::test::TourPlan plan;
        plan.traces = QStringList{QStringLiteral("a.fourwalls"), QStringLiteral("planned.fourwalls")};
        plan.sizes = {QSize(1600, 900)};
        plan.languages = QStringList{language};
        QMap<QString, QString> found; // of the same widget on many pages the first
        int places = 0;
        gui::test::WindowTour tour(tests::memoryOpener(), plan);
        tour.setVisitor([&](QWidget& window, const QString& where) {
            ++places;
            for (const QString& problem : tests::silencesOf(window) + tests::unreachedByTab(window))
                if (!found.contains(problem)) found.insert(problem, where);
        });
        tour.walk();
        QStringList lines;
        for (auto it = found.begin(); it != found.end(); ++it) lines << it.value() + QStringLiteral(": ") + it.key();
        QVERIFY(places > 50);
        QVERIFY2(lines.isEmpty(), qPrintable(lines.join(QLatin1Char('\n'))));
    }

    void theSelectedSliceIsTold()
    {
        Settings settings(Settings::Kind::Forgetful);
        MainWindow window(tests::memoryOpener(), settings);
        window.resize(1600, 900);
        window.show();
        window.activateWindow();
        TraceDocument* document = window.openFile(QStringLiteral("a.fourwalls"));
        QTRY_VERIFY(document->isOpen());
        window.showView(QStringLiteral("timeline"));
        auto* timeline = qobject_cast<views::TimelineView*>(document->currentView());
        QVERIFY(timeline);
        QTRY_VERIFY_WITH_TIMEOUT(timeline->showsFinalData(), 30'000);
        views::TimelineCanvas& canvas = timeline->canvas();
        QAccessibleInterface* spoken = QAccessible::queryAccessibleInterface(&canvas);
        QVERIFY(spoken);
        QCOMPARE(spoken->role(), QAccessible::Chart);
        const int rows = spoken->childCount();
        QVERIFY(!spoken->text(QAccessible::Value).contains(QStringLiteral("rank")));
        const auto place = sliceOn(canvas);
        QVERIFY(place);
        QTest::mouseClick(&canvas, Qt::LeftButton, Qt::NoModifier, *place);
        QTRY_VERIFY(document->selection()->slice() && document->selection()->slice()->op);
        const QString first = spoken->text(QAccessible::Value);
        QVERIFY2(first.contains(QStringLiteral("rank 0")), qPrintable(first));
        QCOMPARE(spoken->childCount(), rows + 1);
        QVERIFY(spoken->focusChild());
        QCOMPARE(spoken->focusChild()->text(QAccessible::Name), first);
        QVERIFY(spoken->child(0)->state().selected && !spoken->child(1)->state().selected);
        QVERIFY(canvas.rect().contains(canvas.mapFromGlobal(spoken->child(0)->rect().center())));
        QTest::keyClick(&canvas, Qt::Key_Right);
        QTRY_VERIFY(spoken->text(QAccessible::Value) != first);
        QCOMPARE(spoken->focusChild()->text(QAccessible::Name), spoken->text(QAccessible::Value));
        QCOMPARE(tests::silencesOf(window), QStringList()); // the details, too
    }

    void pressingASwitchIsAClick()
    {
        views::installSpoken();
        QWidget window;
        QToolButton button(&window);
        button.setCheckable(true);
        button.setText(QStringLiteral("&Slack"));
        window.show();
        QSignalSpy clicked(&button, &QToolButton::clicked);
        QAccessibleInterface* spoken = QAccessible::queryAccessibleInterface(&button);
        QCOMPARE(spoken->role(), QAccessible::CheckBox);
        QCOMPARE(spoken->text(QAccessible::Name), QStringLiteral("Slack"));
        QVERIFY(!spoken->state().checked);
        spoken->actionInterface()->doAction(spoken->actionInterface()->actionNames().value(0));
        QCOMPARE(clicked.size(), 1);
        QVERIFY(spoken->state().checkable && spoken->state().checked);
        QButtonGroup choices;
        choices.addButton(&button);
        QCOMPARE(spoken->role(), QAccessible::RadioButton);
    }

    void aMatrixIsATable()
    {
        views::installSpoken();
        views::MatrixPlot plot;
        plot.setMatrix({0, 1, 4}, {0, 5, 0, 7, 0, 0, 0, 9, 0}, 0);
        plot.resize(400, 300);
        plot.show();
        QAccessibleInterface* spoken = QAccessible::queryAccessibleInterface(&plot);
        QAccessibleTableInterface* table = spoken->tableInterface();
        QVERIFY(table);
        QCOMPARE(table->rowCount(), 3);
        QCOMPARE(table->columnCount(), 3);
        QCOMPARE(table->rowDescription(2), QStringLiteral("rank 4"));
        const auto cell = [&](int row, int column) { return table->cellAt(row, column); };
        QCOMPARE(cell(1, 0)->text(QAccessible::Name), plot.cellText(1, 0));
        QCOMPARE(cell(1, 0)->tableCellInterface()->rowIndex(), 1);
        QCOMPARE(cell(1, 0)->tableCellInterface()->columnIndex(), 0);
        QVERIFY(!table->cellAt(3, 0) && !table->cellAt(0, 3));
        plot.setFocus();
        for (const int key : {Qt::Key_Right, Qt::Key_Down, Qt::Key_Right, Qt::Key_Right, Qt::Key_Right})
            QTest::keyClick(&plot, static_cast<Qt::Key>(key));
        QCOMPARE(table->selectedCells().value(0), cell(1, 2));
        QCOMPARE(spoken->text(QAccessible::Value), plot.cellText(1, 2));
        // Of operations: the columns have numbers of their own, and Enter chooses a cell.
        const QSignalSpy chosen(&plot, &views::MatrixPlot::cellChosen);
        plot.setTable({3, 5}, {1, 2, 3, 4}, {0, 1, 2, 3, 4, 5, 6, 7});
        QCOMPARE(table->rowCount(), 2);
        QCOMPARE(table->columnCount(), 4);
        QCOMPARE(table->rowDescription(1), QStringLiteral("rank 5"));
        QCOMPARE(table->columnDescription(3), QStringLiteral("operation 4"));
        QTest::keyClick(&plot, Qt::Key_Right);
        QTest::keyClick(&plot, Qt::Key_Return);
        QCOMPARE(chosen.count(), 1);
        plot.setMatrix({0, 1, 4}, {0, 5, 0, 7, 0, 0, 0, 9, 0}, 0);
        // A smaller matrix: what is gone is not valid, and nothing is selected.
        const QAccessibleInterface* last = cell(2, 2);
        plot.setMatrix({0, 1}, {0, 1, 1, 0}, 0);
        QVERIFY(!last->isValid());
        QCOMPARE(table->selectedCellCount(), 0);
    }

    void ofAMillionCellsOnlyTheCurrentOneIsTold()
    {
        views::installSpoken();
        views::MatrixPlot plot;
        constexpr int kRanks = 1000;
        std::vector<int> names(kRanks);
        std::iota(names.begin(), names.end(), 0);
        plot.setMatrix(names, std::vector<double>(names.size() * names.size(), 1.0), 8);
        plot.resize(400, 300);
        plot.show();
        const QAccessibleInterface* spoken = QAccessible::queryAccessibleInterface(&plot);
        QCOMPARE(spoken->childCount(), 0);
        QTest::keyClick(&plot, Qt::Key_Right);
        QTest::keyClick(&plot, Qt::Key_Down);
        QCOMPARE(spoken->childCount(), 1);
        QCOMPARE(spoken->child(0)->text(QAccessible::Name), plot.cellText(1, 0));
    }

    void thePointsOfAPlotAreTold()
    {
        views::installSpoken();
        views::XyPlot plot;
        plot.setAccessibleName(QStringLiteral("points"));
        views::XyContent content;
        for (const int id : {2, 0, 1}) {
            views::XyPoint point;
            point.x = id;
            point.y = 10 - id;
            point.id = id;
            content.points.push_back(point);
        }
        plot.setContent({}, {}, content);
        plot.setToolTips([](int id) { return QStringLiteral("point %1").arg(id); });
        plot.resize(400, 300);
        plot.show();
        const QAccessibleInterface* spoken = QAccessible::queryAccessibleInterface(plot.focusProxy());
        QCOMPARE(spoken->role(), QAccessible::Chart);
        QCOMPARE(spoken->text(QAccessible::Name), QStringLiteral("points"));
        QCOMPARE(spoken->childCount(), 3);
        QCOMPARE(spoken->child(1)->text(QAccessible::Name), QStringLiteral("point 1")); // from left to right
        QTest::keyClick(plot.focusProxy(), Qt::Key_Left);
        QCOMPARE(spoken->text(QAccessible::Value), QStringLiteral("point 2"));
    }

    void theBarsOfAFlameGraphAreTold()
    {
        views::installSpoken();
        auto tree = std::make_shared<CallTree>();
        tree->nodes.resize(3);
        const auto set = [&](std::size_t at, std::uint32_t parent, const char* name, std::int64_t ns) {
            tree->nodes[at].parent = parent;
            tree->nodes[at].name = name;
            tree->nodes[at].total = Duration{ns};
        };
        set(0, 0, "", 100);
        set(1, 0, "outer", 100);
        set(2, 1, "inner", 60);
        views::FlameGraph graph;
        graph.resize(400, 200);
        graph.show();
        graph.setTree(tree, views::FlameMeasure::Host);
        const QAccessibleInterface* spoken = QAccessible::queryAccessibleInterface(&graph);
        QCOMPARE(spoken->role(), QAccessible::Tree);
        QCOMPARE(spoken->child(1)->role(), QAccessible::TreeItem);
        QVERIFY(spoken->child(1)->text(QAccessible::Name).startsWith(QStringLiteral("inner")));
        QTest::keyClick(&graph, Qt::Key_Down);
        QTest::keyClick(&graph, Qt::Key_Down);
        QVERIFY(spoken->text(QAccessible::Value).startsWith(QStringLiteral("inner")));
    }
};

FOURWALLS_TEST(TestAccessibility, QApplication)

} // namespace tst_accessibility

#include "tst_accessibility.moc"
