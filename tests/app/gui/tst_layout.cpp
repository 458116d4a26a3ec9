// SPDX-License-Identifier: GPL-3.0-or-later
// Every page of every view of a trace, with docks and dialogs, at small sizes and in both languages: no widget lies on
// another one or outside of its parent, and Qt has nothing to say. Whether letters are cut depends on the fonts of the
// system: bench_random_user says that.
#include "tests/app/gui/openers.h"
#include "tests/app/gui/window_tour.h"
#include "tests/support/test_program.h"
#include "tests/views/fail_on_warning.h"
#include "views/chrome/scrolled_page.h"
#include "views/plot/wrap_row.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

namespace tst_layout {

using namespace fourwalls;

class TestLayout : public QObject {
    Q_OBJECT
private:
    std::unique_ptr<tests::FailOnWarning> m_warnings;

private slots:
    void init() { m_warnings = std::make_unique<tests::FailOnWarning>(); }
    void cleanup() { QCOMPARE(tests::FailOnWarning::take(), QString()); }

    void seesWhatIsWrong()
    {
        QWidget window;
        window.resize(300, 200);
        auto* first = new QLabel(QStringLiteral("one"), &window);
        auto* second = new QLabel(QStringLiteral("two"), &window);
        first->setGeometry(10, 10, 100, 30);
        second->setGeometry(10, 60, 100, 30);
        window.show();
        QCOMPARE(tests::layoutProblems(window), QStringList());
        second->setGeometry(50, 20, 100, 30);
        QCOMPARE(tests::misplacedWidgets(window).size(), 1);
        QVERIFY(tests::misplacedWidgets(window)[0].startsWith(QStringLiteral("overlap")));
        second->setGeometry(250, 60, 100, 30);
        QVERIFY(tests::misplacedWidgets(window).value(0).startsWith(QStringLiteral("outside")));
        // Of a text the letters behind the label's end.
        second->setGeometry(10, 60, 30, 30);
        second->setText(QStringLiteral("a text that is much longer than its label"));
        QVERIFY(tests::cutTexts(window).value(0).startsWith(QStringLiteral("cut sideways")));
        // A name that is shortened before a choice; beside something else it may be a trace's.
        second->setGeometry(10, 60, 100, 30);
        second->setText(QStringLiteral("Stage like…"));
        QCOMPARE(tests::shortenedNames(window), QStringList());
        QComboBox choice(&window);
        second->setBuddy(&choice);
        QCOMPARE(tests::shortenedNames(window).size(), 1);
    }

    void rowsWrap()
    {
        QWidget window;
        auto* column = new QVBoxLayout(&window);
        column->setContentsMargins(0, 0, 0, 0);
        auto* row = new views::WrapRow;
        column->addLayout(row);
        auto* below = new QLabel(&window);
        column->addWidget(below, 1);
        for (int i = 0; i < 4; ++i) {
            auto* button = new QPushButton(&window);
            button->setFixedSize(100, 20);
            row->addWidget(button);
        }
        const auto rowsAt = [&](int width) {
            window.resize(width, 300);
            for (int turn = 0; turn < 5; ++turn) QCoreApplication::processEvents();
            return row->rows();
        };
        window.show();
        QCOMPARE(rowsAt(4 * 100 + 3 * row->spacing()), 1);
        QCOMPARE(rowsAt(4 * 100), 2);
        QCOMPARE(row->geometry().height(), 2 * 20 + row->spacing());
        QVERIFY(below->y() >= row->geometry().bottom());
        QCOMPARE(rowsAt(150), 4);
        QCOMPARE(rowsAt(1000), 1);
        QCOMPARE(row->geometry().height(), 20);
        QCOMPARE(tests::misplacedWidgets(window), QStringList());
    }

    void aPageKeepsTheSizeThatItNeeds()
    {
        auto* page = new QWidget;
        page->setMinimumSize(400, 300);
        views::ScrolledPage scrolled(page);
        scrolled.resize(900, 700);
        scrolled.show();
        QCOMPARE(page->size(), QSize(900, 700));
        scrolled.resize(200, 100);
        QCOMPARE(page->size(), QSize(400, 300));
        scrolled.resize(800, 600);
        QCOMPARE(page->size(), QSize(800, 600));
    }

    void everyPageHasRoom()
    {
        gui::applyTheme(false);
        gui::test::TourPlan plan;
        plan.traces = QStringList{QStringLiteral("planned.fourwalls")};
        plan.sizes = {QSize(800, 500), QSize(1280, 720)};
        plan.languages = QStringList{QStringLiteral("en"), QStringLiteral("zh_CN")};
        QStringList found;
        gui::test::WindowTour tour(tests::memoryOpener(), plan);
        int places = 0;
        tour.setVisitor([&](QWidget& window, const QString& where) {
            ++places;
            for (const QString& problem : tests::misplacedWidgets(window))
                found << where + QStringLiteral(": ") + problem;
        });
        tour.walk();
        QVERIFY(places > 100);
        QVERIFY2(found.isEmpty(), qPrintable(found.join(QLatin1Char('\n'))));
    }
};

FOURWALLS_TEST(TestLayout, QApplication)

} // namespace tst_layout

#include "tst_layout.moc"
