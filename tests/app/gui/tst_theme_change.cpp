// SPDX-License-Identifier: GPL-3.0-or-later
// Another theme while traces are open: what can be seen follows at once, what is hidden when it is shown, and both look as
// they do where Qt brings every widget to the style sheet itself.
#include "app/gui/main_window.h"
#include "tests/app/gui/window_patience.h"
#include "tests/app/gui/window_start.h"
#include "views/chrome/status_strip.h"
#include "views/plot/theme.h"
#include "views/view_registry.h"
#ifndef Q_MOC_RUN
#include "tests/app/gui/openers.h"
#include "tests/support/test_program.h"
#endif

#include <QApplication>
#include <QComboBox>
#include <QDialog>
#include <QGroupBox>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QTableWidget>
#include <QVBoxLayout>
#include <QtTest/QtTest>

namespace tst_theme_change {

using namespace fourwalls;
using namespace fourwalls::gui;
using namespace fourwalls::tests;

class TestThemeChange : public QObject, private WindowStart {
    Q_OBJECT
private slots:
    void init() { beginInEnglish(); }
    void cleanup()
    {
        applyTheme(false);
        failOnWarnings();
    }

    void everyViewLooksAsWhereQtRestylesAll()
    {
        Settings settings(Settings::Kind::Forgetful);
        MainWindow window(memoryOpener(), settings);
        window.resize(1440, 860);
        window.show();
        window.showWhatIf(true);
        const QStringList traces{QStringLiteral("planned a.fourwalls"), QStringLiteral("b.fourwalls")};
        pictures(window, traces);
        restyleAll(); // boxes to choose from keep the size that they had before they were first brought to a sheet
        window.showView(QStringLiteral("welcome"));
        for (const bool dark : {true, false, true}) applyTheme(dark);
        const QMap<QString, QImage> ours = pictures(window, traces);
        restyleAll();
        const QMap<QString, QImage> qts = pictures(window, traces);
        QCOMPARE(ours.keys(), qts.keys());
        QVERIFY(ours.size() > 20);
        for (auto each = ours.cbegin(); each != ours.cend(); ++each)
            QVERIFY2(each.value() == qts[each.key()], qPrintable(each.key()));
    }

    void whatIsHiddenFollowsWhenItIsShown()
    {
        QDialog old;
        fill(old);
        old.show();
        QVERIFY(QTest::qWaitForWindowExposed(&old));
        const QImage light = old.grab().toImage();
        old.hide();
        auto* part = old.findChild<QGroupBox*>();
        part->hide();
        applyTheme(true);
        old.show();
        part->show(); // one hidden thing in another
        QDialog fresh;
        fill(fresh);
        fresh.show();
        QVERIFY(QTest::qWaitForWindowExposed(&fresh));
        QVERIFY(old.grab().toImage() != light);
        QCOMPARE(old.grab().toImage(), fresh.grab().toImage());
        applyTheme(false); // while it is shown
        QCOMPARE(old.grab().toImage(), light);
    }

    void noWidgetWorksOutItsSizeAgain()
    {
        Settings settings(Settings::Kind::Forgetful);
        MainWindow window(memoryOpener(), settings);
        window.show();
        window.openFile(QStringLiteral("planned a.fourwalls"));
        gui::test::WindowPatience(window).rest();
        StyleChanges changes(QApplication::allWidgets());
        qApp->installEventFilter(&changes);
        applyTheme(true);
        QVERIFY2(changes.seen.isEmpty(), qPrintable(changes.seen.join(QLatin1Char('\n'))));
    }

private:
    /// What makes a widget work out its size again, of those that were there before.
    class StyleChanges : public QObject {
    public:
        explicit StyleChanges(const QWidgetList& widgets) : m_widgets(widgets.begin(), widgets.end()) {}
        QStringList seen;
        bool eventFilter(QObject* watched, QEvent* event) override
        {
            if (event->type() == QEvent::StyleChange && m_widgets.contains(watched))
                seen << gui::test::nameOf(static_cast<QWidget*>(watched));
            return false;
        }

    private:
        QSet<QObject*> m_widgets;
    };

    /// As Qt does it.
    static void restyleAll() { qApp->setStyleSheet(views::styleSheetOf(views::currentTheme()) + QLatin1Char('\n')); }

    static void fill(QDialog& dialog)
    {
        dialog.setFixedSize(320, 400);
        auto* group = new QGroupBox(QStringLiteral("group"));
        auto* inside = new QVBoxLayout(group);
        auto* field = new QLineEdit(QStringLiteral("typed"));
        auto* choice = new QComboBox;
        choice->addItem(QStringLiteral("one"));
        auto* off = new QPushButton(QStringLiteral("off"));
        off->setEnabled(false);
        auto* table = new QTableWidget(2, 2);
        for (QWidget* each : std::initializer_list<QWidget*>{field, choice, off, table}) {
            each->setFocusPolicy(Qt::NoFocus);
            inside->addWidget(each);
        }
        auto* outside = new QVBoxLayout(&dialog);
        outside->addWidget(new QLabel(QStringLiteral("label")));
        outside->addWidget(group);
    }

    /// The window but for its status bar, which says how much memory the program has, with every view of the traces.
    static QMap<QString, QImage> pictures(MainWindow& window, const QStringList& traces)
    {
        const auto* status = window.findChild<views::StatusStrip*>();
        gui::test::WindowPatience patience(window);
        QMap<QString, QImage> found;
        for (const QString& trace : traces) {
            window.openFile(trace);
            for (const views::ViewEntry& entry : views::viewRegistry()) {
                window.showView(entry.id);
                patience.rest();
                for (int turn = 0; turn < 10; ++turn) QCoreApplication::processEvents(); // layouts ask for layouts
                found.insert(trace + QLatin1Char(' ') + entry.id,
                             window.grab(QRect(0, 0, window.width(), status->y())).toImage());
            }
        }
        return found;
    }
};

FOURWALLS_TEST(TestThemeChange, QApplication)

} // namespace tst_theme_change

#include "tst_theme_change.moc"
