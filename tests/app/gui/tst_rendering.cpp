// SPDX-License-Identifier: GPL-3.0-or-later
// Pictures without anybody at the window: every view in both themes and languages, at any size, as a drawing and on paper;
// and the exit codes of `--render` and `--bench`. A Qt warning fails the test.
#include "app/gui/appearance.h"
#include "app/gui/bench_run.h"
#include "app/gui/image_export.h"
#include "app/gui/main_window.h"
#include "app/gui/render_run.h"
#include "app/gui/trace_document.h"
#include "tests/app/gui/openers.h"
#include "tests/app/gui/window_start.h"
#include "views/view_registry.h"
#ifndef Q_MOC_RUN // moc cannot read the standard library's headers of threads
#include "tests/support/test_program.h"
#endif

#include <QFile>
#include <QHash>
#include <QImage>
#include <QPainter>
#include <QPicture>
#include <QRegularExpression>
#include <QTemporaryDir>
#include <QtTest/QtTest>

#include <set>

namespace tst_rendering {

using namespace fourwalls;
using namespace fourwalls::gui;
using tests::memoryOpener;

class TestRendering : public QObject, private tests::WindowStart {
    Q_OBJECT
private:
    QTemporaryDir m_folder;

    QString inFolder(const QString& name) const { return m_folder.filePath(name); }

private slots:
    void initTestCase() { QVERIFY(m_folder.isValid()); }
    void init() { beginInEnglish(); }
    void cleanup() { failOnWarnings(); }

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

FOURWALLS_TEST(TestRendering, QApplication)

} // namespace tst_rendering

#include "tst_rendering.moc"
