// SPDX-License-Identifier: GPL-3.0-or-later
// The window with traces in memory: opening, failing, switching; and renders of every view in both themes and
// languages. A Qt warning fails the test.
#include "app/gui/appearance.h"
#include "app/gui/bench_run.h"
#include "app/gui/image_export.h"
#include "app/gui/main_window.h"
#include "app/gui/record_dialog.h"
#include "app/gui/render_run.h"
#include "app/gui/shortcut_editor.h"
#include "app/gui/trace_document.h"
#include "tests/app/gui/openers.h"
#include "tests/views/fail_on_warning.h"
#include "views/chrome/status_strip.h"
#include "views/memory/memory_view.h"
#include "views/view_registry.h"
#include "views/whatif/knob_row.h"
#include "views/whatif/what_if.h"
#include "views/whatif/what_if_panel.h"
#ifndef Q_MOC_RUN // moc cannot read the standard library's headers of threads
#include "tests/support/test_program.h"
#include "tests/views/memory/sample_training.h"
#include "tests/views/whatif/predicted_sample.h"
#endif

#include <QAbstractButton>
#include <QAbstractItemModelTester>
#include <QAbstractItemView>
#include <QImage>
#include <QKeySequenceEdit>
#include <QLineEdit>
#include <QMenu>
#include <QPainter>
#include <QPicture>
#include <QPushButton>
#include <QRegularExpression>
#include <QSettings>
#include <QTemporaryDir>
#include <QUndoStack>
#include <QtTest/QtTest>

#include <map>
#include <set>

namespace tst_main_window {

using namespace fourwalls;
using namespace fourwalls::gui;
using tests::memoryOpener;

class TestMainWindow : public QObject {
    Q_OBJECT
private:
    QTemporaryDir m_folder;
    std::unique_ptr<tests::FailOnWarning> m_warnings;

    QString inFolder(const QString& name) const { return m_folder.filePath(name); }

private slots:
    void initTestCase() { QVERIFY(m_folder.isValid()); }
    void init()
    {
        m_warnings = std::make_unique<tests::FailOnWarning>();
        applyLanguage(QStringLiteral("en"));
        applyTheme(false);
    }
    void cleanup() { QCOMPARE(tests::FailOnWarning::take(), QString()); }

    void rendersEveryView_data()
    {
        QTest::addColumn<QString>("view");
        QTest::addColumn<bool>("dark");
        QTest::addColumn<QString>("language");
        QTest::newRow("welcome") << QStringLiteral("welcome") << false << QStringLiteral("en");
        QTest::newRow("welcome zh") << QStringLiteral("welcome") << true << QStringLiteral("zh_CN");
        for (const views::ViewEntry& entry : views::viewRegistry()) {
            QTest::newRow(qPrintable(entry.id)) << entry.id << false << QStringLiteral("en");
            QTest::newRow(qPrintable(entry.id + QStringLiteral(" dark zh")))
                << entry.id << true << QStringLiteral("zh_CN");
        }
    }
    void rendersEveryView()
    {
        QFETCH(QString, view);
        QFETCH(bool, dark);
        QFETCH(QString, language);
        applyLanguage(language);
        applyTheme(dark);
        CommandLine line;
        line.mode = CommandLine::Mode::Render;
        line.view = view;
        line.size = QSize(1100, 700);
        line.output = inFolder(QStringLiteral("view.png"));
        if (view != QLatin1String("welcome")) line.files = {QStringLiteral("run.fourwalls")};
        QCOMPARE(runRender(line, memoryOpener()), 0);
        const QImage image(line.output);
        QCOMPARE(image.size(), line.size);
        // The picture is of this theme and not of one colour.
        QCOMPARE(image.pixelColor(0, 500), views::theme(dark).chrome);
        std::set<QRgb> colours;
        for (int y = 60; y < 660; y += 5)
            for (int x = 100; x < 1090; x += 5) colours.insert(image.pixel(x, y));
        QVERIFY2(colours.size() > 5, qPrintable(QString::number(colours.size())));
    }

    void rendersDrawingsAndOnlyTheView()
    {
        if (views::viewRegistry().empty()) QSKIP("no views in this build");
        CommandLine line;
        line.mode = CommandLine::Mode::Render;
        line.view = views::viewRegistry().front().id;
        line.files = {QStringLiteral("run.fourwalls")};
        line.size = QSize(640, 400);
        line.viewOnly = true;
        for (const char* name : {"a.svg", "a.pdf", "a.png"}) {
            line.output = inFolder(QString::fromLatin1(name));
            QCOMPARE(runRender(line, memoryOpener()), 0);
        }
        QFile svg(inFolder(QStringLiteral("a.svg"))), pdf(inFolder(QStringLiteral("a.pdf")));
        QVERIFY(svg.open(QIODevice::ReadOnly) && pdf.open(QIODevice::ReadOnly));
        QVERIFY(svg.readAll().contains("<svg"));
        QVERIFY(pdf.read(5).startsWith("%PDF-"));
        // A plot is lines and letters there, not a picture of itself.
        line.view = QStringLiteral("steps");
        line.output = inFolder(QStringLiteral("steps.pdf"));
        QCOMPARE(runRender(line, memoryOpener()), 0);
        QFile steps(line.output);
        QVERIFY(steps.open(QIODevice::ReadOnly));
        const QString written = QString::fromLatin1(steps.readAll());
        static const QRegularExpression kImage(QStringLiteral("/Width (\\d+)"));
        for (const QRegularExpressionMatch& image : kImage.globalMatch(written))
            QVERIFY(image.captured(1).toInt() < 64);
        QCOMPARE(QImage(inFolder(QStringLiteral("a.png"))).size(), line.size);
    }

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

    void paperIsLightAndSaysWhatItShows()
    {
        Settings settings(Settings::Kind::Forgetful);
        MainWindow window(memoryOpener(), settings);
        window.resize(1100, 700);
        window.show();
        TraceDocument* document = window.openFile(QStringLiteral("run.fourwalls"));
        QVERIFY(QTest::qWaitFor([&] { return document->isOpen(); }, 20'000));
        QHash<QString, int> fromLight; ///< very dark pixels
        for (const bool dark : {false, true}) {
            applyTheme(dark);
            for (const views::ViewEntry& entry : views::viewRegistry()) {
                window.showView(entry.id);
                document->currentView()->update();
                QVERIFY2(QTest::qWaitFor([&] { return document->isSettled(); }, 20'000), qPrintable(entry.id));
                QPicture shapes; // as a printer takes them
                QPainter paper(&shapes);
                printPage(*document->currentView(), paper, QRectF(20, 10, 1160, 830), QStringLiteral("run · recorded"));
                paper.end();
                QCOMPARE(views::currentTheme().dark, dark);
                QImage page(1200, 850, QImage::Format_RGB32);
                page.fill(Qt::white);
                QPainter(&page).drawPicture(0, 0, shapes);
                // Light behind and between the cards, a heading above them, and something on them.
                QCOMPARE(page.pixelColor(22, 40), views::theme(false).window);
                const auto ink = [&page](const QRect& where, int darker) {
                    int count = 0;
                    for (int x = where.left(); x <= where.right(); ++x)
                        for (int y = where.top(); y <= where.bottom(); ++y) count += qGray(page.pixel(x, y)) < darker;
                    return count;
                };
                const QRect cards(20, 40, 1160, 800);
                QVERIFY2(ink({20, 10, 380, 22}, 100) > 40 && ink(cards, 200) > 200, qPrintable(entry.id));
                // No plot stayed dark.
                if (!dark) fromLight[entry.id] = ink(cards, 60);
                QVERIFY2(ink(cards, 60) < 2 * fromLight[entry.id] + 4000, qPrintable(entry.id));
            }
        }
        applyTheme(false);
    }

    void everyViewIsFinalAtAnySize()
    {
        CommandLine line;
        line.mode = CommandLine::Mode::Render;
        line.files = {QStringLiteral("run.fourwalls")};
        line.output = inFolder(QStringLiteral("small.png"));
        for (const views::ViewEntry& entry : views::viewRegistry()) {
            line.view = entry.id;
            for (const QSize size : {QSize(400, 300), QSize(640, 400), QSize(800, 450)}) {
                line.size = size;
                QCOMPARE(runRender(line, memoryOpener()), 0);
                QCOMPARE(QImage(line.output).size(), size);
            }
        }
    }

    void renderSaysWhyItCannot()
    {
        CommandLine line;
        line.mode = CommandLine::Mode::Render;
        line.view = views::viewRegistry().front().id;
        line.output = inFolder(QStringLiteral("never.png"));
        line.files = {QStringLiteral("broken.fourwalls")};
        QCOMPARE(runRender(line, memoryOpener()), 1);
        line.files = {QStringLiteral("run.fourwalls")};
        line.rank = 77;
        QCOMPARE(runRender(line, memoryOpener()), 1);
        line.rank.reset();
        line.step = 99999;
        QCOMPARE(runRender(line, memoryOpener()), 1);
        line.step.reset();
        QVERIFY(!QFile::exists(line.output));
        line.output = inFolder(QStringLiteral("no/such/folder/a.png"));
        QCOMPARE(runRender(line, memoryOpener()), 1);
    }

    void aStepIsShown()
    {
        CommandLine line;
        line.mode = CommandLine::Mode::Render;
        line.view = views::viewRegistry().front().id;
        line.files = {QStringLiteral("run.fourwalls")};
        line.step = 1;
        line.output = inFolder(QStringLiteral("step.png"));
        QCOMPARE(runRender(line, memoryOpener()), 0);
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
            views::KnobSlider& zero = window.whatIfPanel()->row(views::Knob::Zero).slider();
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

    void rendersWhatIf()
    {
        CommandLine line;
        line.mode = CommandLine::Mode::Render;
        line.view = QStringLiteral("whatif");
        line.files = {QStringLiteral("planned.fourwalls")};
        line.output = inFolder(QStringLiteral("whatif.png"));
        line.whatIf = QStringLiteral("dp=4 tp=2 zero=1");
        QCOMPARE(runRender(line, memoryOpener()), 0);
        QCOMPARE(QImage(line.output).size(), line.size);
        line.view = QStringLiteral("memory");
        line.viewOnly = true;
        QCOMPARE(runRender(line, memoryOpener()), 0);
        line.whatIf = QStringLiteral("tp=3"); // the network does not divide
        QCOMPARE(runRender(line, memoryOpener()), 1);
        line.whatIf = QStringLiteral("dp=2");
        line.files = {QStringLiteral("run.fourwalls")}; // says nothing of what ran
        QCOMPARE(runRender(line, memoryOpener()), 1);
    }

    void benchPrintsItsFigures()
    {
        CommandLine line;
        line.mode = CommandLine::Mode::Bench;
        line.files = {QStringLiteral("broken.fourwalls")};
        QCOMPARE(runBench(line, memoryOpener()), 1);
    }
};

FOURWALLS_TEST(TestMainWindow, QApplication)

} // namespace tst_main_window

#include "tst_main_window.moc"
