// SPDX-License-Identifier: GPL-3.0-or-later
// The window with traces in memory: opening, failing, switching, its actions, menus and dialogs, and What if beside it. A Qt
// warning fails the test.
#include "app/gui/appearance.h"
#include "app/gui/main_window.h"
#include "app/gui/record_dialog.h"
#include "app/gui/shortcut_editor.h"
#include "app/gui/trace_document.h"
#include "tests/app/gui/openers.h"
#include "tests/app/gui/window_start.h"
#include "views/chrome/status_strip.h"
#include "views/memory/memory_view.h"
#include "views/view_registry.h"
#include "views/whatif/knob_row.h"
#include "views/whatif/what_if.h"
#include "views/whatif/what_if_panel.h"
#ifndef Q_MOC_RUN // moc cannot read the standard library's headers of threads
#include "tests/support/test_program.h"
#endif

#include <QAbstractButton>
#include <QAbstractItemModelTester>
#include <QAbstractItemView>
#include <QKeySequenceEdit>
#include <QLineEdit>
#include <QMenu>
#include <QPushButton>
#include <QSettings>
#include <QTemporaryDir>
#include <QUndoStack>
#include <QtTest/QtTest>

#include <map>
#include <memory>

namespace tst_main_window {

using namespace fourwalls;
using namespace fourwalls::gui;
using tests::memoryOpener;

class TestMainWindow : public QObject, private tests::WindowStart {
    Q_OBJECT
private:
    QTemporaryDir m_folder;

private slots:
    void initTestCase() { QVERIFY(m_folder.isValid()); }
    void init() { beginInEnglish(); }
    void cleanup() { failOnWarnings(); }

    void theStatusSaysThatARunRanOutOfMemory()
    {
        TraceHeader header;
        header.ranks.push_back({RankId{0}, "device", "host", 0, 90'000'000, 1});
        InMemoryTrace trace(header);
        trace.openProducer()->event({EventKind::OutOfMemory, RankId{0}, Instant{1'000'000}, "out of memory"});
        QVERIFY(trace.finish({}).ok());
        Settings settings(Settings::Kind::Forgetful);
        MainWindow window(
            [data = trace.data()](const QString&) {
                return Result<std::unique_ptr<TraceQuery>>(std::make_unique<InMemoryTraceQuery>(data));
            },
            settings);
        window.show();
        const auto* strip = window.findChild<views::StatusStrip*>();
        QVERIFY(strip);
        const TraceDocument* document = window.openFile(QStringLiteral("run.fourwalls"));
        QVERIFY(QTest::qWaitFor([&] { return document->isSettled(); }, 20'000));
        QVERIFY2(strip->accessibleDescription().contains(QStringLiteral("rank 0 ran out of memory")),
                 qPrintable(strip->accessibleDescription()));
    }

    void opensSwitchesAndCloses()
    {
        Settings settings(Settings::Kind::Forgetful);
        MainWindow window(memoryOpener(), settings);
        window.show();
        QCOMPARE(window.currentViewId(), QStringLiteral("welcome"));
        TraceDocument* first = window.openFile(QStringLiteral("a.fourwalls"));
        TraceDocument* second = window.openFile(QStringLiteral("b.fourwalls"));
        QVERIFY(first != second);
        QCOMPARE(window.openFile(QStringLiteral("a.fourwalls")), first); // not opened twice
        QCOMPARE(window.currentDocument(), first);
        QTRY_VERIFY(first->isOpen() && second->isOpen());
        for (const views::ViewEntry& entry : views::viewRegistry()) {
            window.showView(entry.id);
            QCOMPARE(window.currentViewId(), entry.id);
            QVERIFY(first->currentView());
            QTRY_VERIFY(first->currentView()->showsFinalData());
        }
        emit first->selection()->viewRequested(views::viewRegistry().front().id);
        QCOMPARE(window.currentViewId(), views::viewRegistry().front().id);
        emit first->closeRequested();
        QCOMPARE(window.currentDocument(), second);
        emit second->closeRequested();
        QCOMPARE(window.currentDocument(), nullptr);
        QCOMPARE(window.currentViewId(), QStringLiteral("welcome"));
    }

    void aBrokenFileSaysSoAndCanBeTriedAgain()
    {
        Settings settings(Settings::Kind::Forgetful);
        MainWindow window(memoryOpener(), settings);
        window.show();
        TraceDocument* document = window.openFile(QStringLiteral("broken.fourwalls"));
        QTRY_VERIFY(document->hasFailed());
        QVERIFY(document->currentWidget()->accessibleName().contains(QStringLiteral("this is not a trace")));
        QVERIFY(document->currentWidget()->accessibleName().contains(QStringLiteral("open a .fourwalls file")));
        emit document->retryRequested();
        QVERIFY(window.currentDocument() && window.currentDocument() != document);
        QTRY_VERIFY(window.currentDocument()->hasFailed());
    }

    void everyActionHasANameAndNoTwoShareAKey()
    {
        Settings settings(Settings::Kind::Forgetful);
        MainWindow window(memoryOpener(), settings);
        window.show();
        TraceDocument* document = window.openFile(QStringLiteral("a.fourwalls"));
        QTRY_VERIFY(document->isOpen());
        for (const views::ViewEntry& entry : views::viewRegistry()) {
            window.showView(entry.id);
            std::map<QString, QString> users;
            for (const QAction* action : window.allActions()) {
                if (action->isSeparator()) continue;
                QVERIFY2(!action->text().isEmpty(), qPrintable(action->objectName()));
                QVERIFY2(!action->objectName().isEmpty(), qPrintable(action->text()));
                for (const QKeySequence& keys : action->shortcuts()) {
                    const QString text = keys.toString();
                    QVERIFY2(!users.contains(text), qPrintable(text + QStringLiteral(": ") + action->text() +
                                                               QStringLiteral(", ") + users[text]));
                    users[text] = action->text();
                }
            }
        }
    }

    void everyControlHasAnAccessibleName()
    {
        Settings settings(Settings::Kind::Forgetful);
        MainWindow window(memoryOpener(), settings);
        window.show();
        TraceDocument* document = window.openFile(QStringLiteral("a.fourwalls"));
        QTRY_VERIFY(document->isOpen());
        for (const views::ViewEntry& entry : views::viewRegistry()) {
            window.showView(entry.id);
            for (const QAbstractButton* button : window.findChildren<QAbstractButton*>()) {
                // Parts of Qt's own widgets (a table's corner, a line edit's clear mark) speak through their widget.
                if (qobject_cast<QAbstractItemView*>(button->parent()) || qobject_cast<QLineEdit*>(button->parent()))
                    continue;
                QVERIFY2(!button->accessibleName().isEmpty() || !button->text().isEmpty(),
                         qPrintable(entry.id + QStringLiteral(": ") + button->objectName() +
                                    QLatin1String(button->metaObject()->className())));
            }
        }
    }

    void theModelsOfTheViewsAreSound()
    {
        Settings settings(Settings::Kind::Forgetful);
        MainWindow window(memoryOpener(), settings);
        window.show();
        TraceDocument* document = window.openFile(QStringLiteral("a.fourwalls"));
        QTRY_VERIFY(document->isOpen());
        for (const views::ViewEntry& entry : views::viewRegistry()) {
            window.showView(entry.id);
            QTRY_VERIFY(document->currentView()->showsFinalData());
            for (QAbstractItemView* list : document->currentView()->findChildren<QAbstractItemView*>()) {
                if (!list->model()) continue;
                QAbstractItemModelTester tester(list->model(), QAbstractItemModelTester::FailureReportingMode::QtTest);
                document->currentView()->fitAll();
            }
        }
    }

    void switchesThemeAndLanguageWhileOpen()
    {
        Settings settings(Settings::Kind::Forgetful);
        MainWindow window(memoryOpener(), settings);
        window.resize(1280, 720);
        window.show();
        TraceDocument* document = window.openFile(QStringLiteral("a.fourwalls"));
        QTRY_VERIFY(document->isOpen());
        for (const views::ViewEntry& entry : views::viewRegistry()) window.showView(entry.id);
        const auto textOf = [&](const char* name) {
            for (const QAction* action : window.allActions())
                if (action->objectName() == QLatin1String(name)) return action->text();
            return QString();
        };
        const QString english = textOf("file.open");
        applyLanguage(QStringLiteral("zh_CN"));
        QCoreApplication::sendPostedEvents();
        QVERIFY(textOf("file.open") != english);
        applyTheme(true);
        QVERIFY(!window.grab().isNull());
        applyLanguage(QStringLiteral("en"));
        QCoreApplication::sendPostedEvents();
        QCOMPARE(textOf("file.open"), english);
    }

    void theMenuNamesRecentFilesAtOnce()
    {
        QSettings::setPath(QSettings::IniFormat, QSettings::UserScope, m_folder.path());
        Settings settings(Settings::Kind::Persistent);
        settings.clearRecentFiles();
        MainWindow window(memoryOpener(), settings);
        window.show();
        const QMenu* recent = window.findChild<QMenu*>(QStringLiteral("recent"));
        QVERIFY(recent && !recent->isEnabled());
        TraceDocument* document = window.openFile(QStringLiteral("a&b.fourwalls"));
        QTRY_VERIFY(document->isOpen());
        QVERIFY(recent->isEnabled());
        QCOMPARE(recent->actions().front()->text(), QStringLiteral("a&&b.fourwalls"));
        emit document->closeRequested();
        recent->actions().front()->trigger();
        QTRY_VERIFY(window.currentDocument() && window.currentDocument()->isOpen());
        QCOMPARE(window.currentDocument()->path(), QStringLiteral("a&b.fourwalls"));
        recent->actions().back()->trigger(); // forgets them
        QVERIFY(!recent->isEnabled());
        QVERIFY(settings.recentFiles().isEmpty());
    }

    void shortcutsAreSetAndTakenBack()
    {
        Settings settings(Settings::Kind::Forgetful);
        MainWindow window(memoryOpener(), settings);
        ShortcutEditor editor(window.allActions(), settings);
        editor.show();
        auto* edit = editor.findChild<QKeySequenceEdit*>();
        QPushButton* reset = nullptr;
        for (QPushButton* each : editor.findChildren<QPushButton*>())
            if (edit && each->accessibleName().endsWith(edit->accessibleName())) reset = each;
        QVERIFY(edit && reset);
        QVERIFY(!reset->isEnabled()); // nothing to take back
        const QKeySequence before = edit->keySequence();
        edit->setKeySequence(QKeySequence(Qt::CTRL | Qt::ALT | Qt::Key_F9));
        QVERIFY(reset->isEnabled());
        reset->click();
        QCOMPARE(edit->keySequence(), before);
        QVERIFY(!reset->isEnabled());
    }

    void dialogsOpen()
    {
        RecordDialog record;
        RecordRequest request = record.request();
        QCOMPARE(request.model, QStringLiteral("gpt-tiny"));
        QVERIFY(request.output.endsWith(QStringLiteral(".fourwalls")));
        request.steps = 3;
        request.learningRate = 0.001;
        record.setRequest(request);
        QCOMPARE(record.request().steps, 3);
        QCOMPARE(record.request().learningRate, 0.001);
        record.show();
        QVERIFY(!record.grab().isNull());
        Settings settings(Settings::Kind::Forgetful);
        MainWindow window(memoryOpener(), settings);
        ShortcutEditor editor(window.allActions(), settings);
        editor.show();
        QVERIFY(!editor.grab().isNull());
    }

    void whatIfIsShownFollowsTheTraceAndIsRemembered()
    {
        QSettings::setPath(QSettings::IniFormat, QSettings::UserScope, m_folder.path());
        const auto actionOf = [](MainWindow& window, const char* name) -> QAction* {
            for (QAction* action : window.allActions())
                if (action->objectName() == QLatin1String(name)) return action;
            return nullptr;
        };
        {
            Settings settings(Settings::Kind::Persistent);
            MainWindow window(memoryOpener(), settings);
            window.resize(1280, 720);
            window.show();
            QVERIFY(!window.showsWhatIf());
            TraceDocument* planned = window.openFile(QStringLiteral("planned.fourwalls"));
            TraceDocument* other = window.openFile(QStringLiteral("a.fourwalls"));
            QTRY_VERIFY(planned->isOpen() && other->isOpen());
            window.openFile(QStringLiteral("planned.fourwalls"));
            window.showView(QStringLiteral("memory"));
            QVERIFY(!planned->whatIf()->isActive());
            actionOf(window, "whatif.show")->trigger();
            QVERIFY(window.showsWhatIf());
            QVERIFY(planned->whatIf()->isActive());
            QTRY_VERIFY(planned->whatIf()->prediction() && planned->whatIf()->baseline());
            auto* memory = qobject_cast<views::MemoryView*>(planned->currentView());
            QVERIFY(memory);
            QTRY_VERIFY(memory->areaPlot().hasGhost());

            // Sliders of the real dock; undo by the window's action.
            views::KnobSlider& zero = window.whatIfPanel()->row(Knob::Zero).slider();
            zero.setFocus();
            QTest::keyClick(&zero, Qt::Key_End);
            QCOMPARE(planned->whatIf()->spec()->plan.zero, 3);
            actionOf(window, "whatif.undo")->trigger();
            QCOMPARE(planned->whatIf()->spec()->plan.zero, 0);

            window.openFile(QStringLiteral("a.fourwalls"));
            QVERIFY(!planned->whatIf()->isActive());
            QCOMPARE(window.whatIfPanel()->whatIf(), other->whatIf());
            window.close();
        }
        Settings settings(Settings::Kind::Persistent);
        settings.setRestoresSession(false);
        MainWindow window(memoryOpener(), settings);
        window.show();
        QVERIFY(window.showsWhatIf());
    }
};

FOURWALLS_TEST(TestMainWindow, QApplication)

} // namespace tst_main_window

#include "tst_main_window.moc"
