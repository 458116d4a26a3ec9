// SPDX-License-Identifier: GPL-3.0-or-later
// What is given to others: the command that opens a view (and that the program takes it), a page, a piece of a trace, other
// formats; and the command that records a program of one's own. A Qt warning fails the test.
#include "app/gui/child_job.h"
#include "app/gui/command_line.h"
#include "app/gui/main_window.h"
#include "app/gui/record_dialog.h"
#include "app/gui/share_request.h"
#include "app/gui/trace_document.h"
#include "tests/app/gui/window_start.h"
#include "views/timeline/timeline_view.h"
#include "views/view_registry.h"
#ifndef Q_MOC_RUN
#include "model/store/trace_file.h"
#include "tests/support/test_program.h"
#endif

#include <QClipboard>
#include <QComboBox>
#include <QFileDialog>
#include <QImage>
#include <QLabel>
#include <QLineEdit>
#include <QPainter>
#include <QPushButton>
#include <QSignalSpy>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <QtTest/QtTest>

namespace tst_sharing {

using namespace fourwalls;
using namespace fourwalls::gui;

class TestSharing : public QObject, private tests::WindowStart {
    Q_OBJECT
private:
    static constexpr int kPatienceMs = 90'000;
    QTemporaryDir m_folder;
    QString m_trace;

    static std::unique_ptr<MainWindow> windowOf(Settings& settings)
    {
        auto window = std::make_unique<MainWindow>(
            [](const QString& path) { return store::openTrace(path.toStdString()); }, settings);
        window->resize(1200, 760);
        window->show();
        return window;
    }
    static void trigger(MainWindow& window, const char* name)
    {
        for (QAction* action : window.allActions())
            if (action->objectName() == QLatin1String(name)) action->trigger();
    }
    static Result<CommandLine> parse(const QStringList& words)
    {
        QStringList ids;
        for (const views::ViewEntry& entry : views::viewRegistry()) ids << entry.id;
        return parseCommandLine(words, ids);
    }
    /// Chooses a file in the dialog that an action opened.
    static void choose(MainWindow& window, const char* action, const QString& path)
    {
        trigger(window, action);
        auto* dialog = window.findChild<QFileDialog*>(QStringLiteral("share"));
        QVERIFY(dialog);
        emit dialog->fileSelected(path);
        dialog->close();
    }

private slots:
    void initTestCase()
    {
        QStandardPaths::setTestModeEnabled(true);
        QVERIFY(m_folder.isValid());
        QFile packed(QStringLiteral(FOURWALLS_SOURCE_DIR "/resources/demos/pipe_1f1b.fourwalls.z"));
        QVERIFY(packed.open(QIODevice::ReadOnly));
        m_trace = m_folder.filePath(QStringLiteral("my run.fourwalls"));
        QFile file(m_trace);
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(qUncompress(packed.readAll()));
    }
    void init() { beginInEnglish(); }
    void cleanup() { failOnWarnings(); }

    void aCommandOpensWhatWasSeen()
    {
        Settings settings(Settings::Kind::Forgetful);
        const auto window = windowOf(settings);
        TraceDocument* document = window->openFile(m_trace);
        QTRY_VERIFY(document->isOpen());
        window->showView(QStringLiteral("timeline"));
        views::Selection& selection = *document->selection();
        selection.setRank(RankId{1});
        const TimeRange whole = selection.whole();
        const TimeRange part{whole.begin + Duration{whole.length().ns / 3},
                             whole.begin + Duration{whole.length().ns / 2}};
        selection.setRange(part);
        ViewPlace find;
        find.find = QStringLiteral("forward");
        bool found = false;
        goToPlace(*document, find, [&](const Status& status) { found = status.ok(); });
        QTRY_VERIFY(found);
        const SliceId slice = selection.slice()->slice.id;
        selection.setRange(part);
        selection.setMeasured(TimeRange{part.begin, part.begin + Duration{1000}});
        trigger(*window, "view.copy_command");
        const QString command = QGuiApplication::clipboard()->text();
        QVERIFY2(command.startsWith(QStringLiteral("fourwalls '")), qPrintable(command));

        const auto words = wordsOfCommand(command);
        QVERIFY(words.ok());
        const auto line = parse(words->mid(1));
        QVERIFY2(line.ok(), line.ok() ? "" : line.error().message().c_str());
        QCOMPARE(line->files, QStringList{m_trace});
        const auto other = windowOf(settings);
        other->openAt(line->files, *line);
        QTRY_VERIFY(other->currentDocument() && other->currentDocument()->isOpen());
        views::Selection& there = *other->currentDocument()->selection();
        QTRY_VERIFY(there.slice().has_value());
        QCOMPARE(there.slice()->slice.id, slice);
        QCOMPARE(there.range(), part);
        QCOMPARE(there.rank(), RankId{1});
        QCOMPARE(there.measured(), selection.measured());
        QCOMPARE(other->currentViewId(), QStringLiteral("timeline"));
        QTRY_VERIFY(other->currentDocument()->isSettled());
    }

    void thePageOfAViewIsPartOfThePlace()
    {
        Settings settings(Settings::Kind::Forgetful);
        const auto window = windowOf(settings);
        TraceDocument* document = window->openFile(m_trace);
        QTRY_VERIFY(document->isOpen());
        window->showView(QStringLiteral("performance"));
        QVERIFY(!commandOf(*document, QStringLiteral("performance")).contains(QStringLiteral("--page")));
        QVERIFY(showPage(*document->currentView(), QStringLiteral("path")).ok());
        const auto words = wordsOfCommand(commandOf(*document, QStringLiteral("performance")));
        QVERIFY(words.ok());
        const auto line = parse(words->mid(1));
        QVERIFY(line.ok());
        QCOMPARE(line->page, QStringLiteral("path"));
        const Status refused = showPage(*document->currentView(), QStringLiteral("nowhere"));
        QCOMPARE(refused.error().code, ErrorCode::NotFound);
        QVERIFY(QString::fromStdString(refused.error().hint).contains(QStringLiteral("experts")));
        window->showView(QStringLiteral("timeline"));
        QVERIFY(!showPage(*document->currentView(), QStringLiteral("path")).ok());
        QVERIFY(showPage(*document->currentView(), {}).ok());
        QTRY_VERIFY(document->isSettled());
    }

    void aPlaceThatIsNotThereIsSaid()
    {
        Settings settings(Settings::Kind::Forgetful);
        const auto window = windowOf(settings);
        TraceDocument* document = window->openFile(m_trace);
        QTRY_VERIFY(document->isOpen());
        const auto refused = [&](const ViewPlace& place) {
            std::optional<Status> answer;
            goToPlace(*document, place, [&](const Status& status) { answer = status; });
            return QTest::qWaitFor([&] { return answer.has_value(); }, 20'000) && !answer->ok();
        };
        ViewPlace place;
        place.slice = 123'456'789'012;
        QVERIFY(refused(place));
        place = {};
        place.step = 999'999;
        QVERIFY(refused(place));
        place = {};
        place.rank = 4711;
        QVERIFY(refused(place));
        place = {};
        place.range = TimeRange{Instant{1'000'000'000'000'000}, Instant{1'000'000'000'000'001}};
        QVERIFY(refused(place));
        place.area = std::exchange(place.range, std::nullopt);
        QVERIFY(refused(place));
        place = {};
        place.find = QStringLiteral("no such name");
        QVERIFY(refused(place));
    }

    void optionsOfAPlaceNeedATrace()
    {
        QVERIFY(parse({QStringLiteral("a"), QStringLiteral("--view"), QStringLiteral("memory")}).ok());
        QVERIFY(parse({QStringLiteral("a"), QStringLiteral("--step"), QStringLiteral("3")}).ok());
        QVERIFY(!parse({QStringLiteral("--view"), QStringLiteral("memory")}).ok());
        QVERIFY(!parse({QStringLiteral("a"), QStringLiteral("--view"), QStringLiteral("nosuch")}).ok());
        QVERIFY(!parse({QStringLiteral("a"), QStringLiteral("--slice"), QStringLiteral("x")}).ok());
        QVERIFY(!parse({QStringLiteral("--bench"), QStringLiteral("a"), QStringLiteral("--step"), QStringLiteral("3")})
                     .ok());
        QVERIFY(!parse({QStringLiteral("--render"), QStringLiteral("memory"), QStringLiteral("--view"),
                        QStringLiteral("steps"), QStringLiteral("-o"), QStringLiteral("a.png"), QStringLiteral("a")})
                     .ok());
    }

    void commandsAreSplitAsAShellDoes()
    {
        const auto words = [](const char* text) {
            const auto split = wordsOfCommand(QString::fromUtf8(text));
            return split.ok() ? *split : QStringList{QStringLiteral("?")};
        };
        const auto list = [](std::initializer_list<const char*> texts) {
            QStringList strings;
            for (const char* text : texts) strings << QString::fromUtf8(text);
            return strings;
        };
        QCOMPARE(words("python  train.py --x 'a b' \"c d\""), list({"python", "train.py", "--x", "a b", "c d"}));
        QCOMPARE(words("a\\ b 'it''s' \"q\\\"q\\n\" ''"), list({"a b", "its", "q\"q\\n", ""}));
        QCOMPARE(words("CUDA_VISIBLE_DEVICES=0,1 python a.py"),
                 list({"env", "CUDA_VISIBLE_DEVICES=0,1", "python", "a.py"}));
        QCOMPARE(words("'open"), list({"?"}));
        QCOMPARE(words(""), QStringList());
        // What is put together is split again.
        const QStringList odd = list({"x y", "it's", "a\"b", "$HOME", "\\", "", "前"});
        QCOMPARE(*wordsOfCommand(shellCommand(QStringLiteral("p"), odd)), QStringList{QStringLiteral("p")} + odd);
    }

    void aProgramOfOnesOwnBecomesACommand()
    {
        RecordDialog dialog;
        dialog.show();
        auto* what = dialog.findChild<QComboBox*>(QStringLiteral("record.what"));
        auto* program = dialog.findChild<QLineEdit*>(QStringLiteral("record.program"));
        QVERIFY(what && program && !program->isVisible());
        what->setCurrentIndex(1);
        QVERIFY(program->isVisible());
        QPushButton* start = nullptr;
        for (QPushButton* button : dialog.findChildren<QPushButton*>())
            if (button->property("primary").toBool()) start = button;
        QVERIFY(start && !start->isEnabled()); // nothing to start yet
        program->setText(QStringLiteral("torchrun --nproc_per_node 8 'my train.py'"));
        QVERIFY(start->isEnabled());
        QCOMPARE(dialog.request().arguments().mid(3),
                 QStringList({QStringLiteral("--json"), QStringLiteral("--"), QStringLiteral("torchrun"),
                              QStringLiteral("--nproc_per_node"), QStringLiteral("8"), QStringLiteral("my train.py")}));
        const auto shown = [&] {
            for (const QLabel* label : dialog.findChildren<QLabel*>())
                if (label->accessibleName() == QStringLiteral("Command line")) return label->text();
            return QString();
        };
        QVERIFY2(shown().endsWith(QStringLiteral("-- torchrun --nproc_per_node 8 'my train.py'")), qPrintable(shown()));
        // A job that runs already is not recorded; how to record one later is said, and can be typed as it is said.
        auto* attach = dialog.findChild<QLabel*>(QStringLiteral("record.attach"));
        QVERIFY(attach && attach->isVisible());
        const QString variable = QStringLiteral("FOURWALLS_CAPTURE=signal");
        QVERIFY(attach->text().contains(variable) && attach->text().contains(QStringLiteral("kill -USR2")));
        program->setText(variable + QStringLiteral(" python a.py"));
        QCOMPARE(dialog.request().arguments().mid(4),
                 QStringList({QStringLiteral("--"), QStringLiteral("env"), variable, QStringLiteral("python"),
                              QStringLiteral("a.py")}));
        program->setText(QStringLiteral("python a.py | tee log"));
        QVERIFY(!start->isEnabled());
        QVERIFY(shown().contains(QStringLiteral("sh -c")));
        RecordRequest request = dialog.request();
        request.command = QStringLiteral("python a.py");
        request.commandSteps = QStringLiteral("3 to 4");
        QVERIFY(!request.problem().isEmpty());
        request.commandSteps = QStringLiteral("3-4");
        QVERIFY(request.problem().isEmpty());
        request.commandFolder = QStringLiteral("/my jobs");
        dialog.setRequest(request);
        QVERIFY2(shown().startsWith(QStringLiteral("cd '/my jobs' && fourwalls-cli record ")), qPrintable(shown()));
        what->setCurrentIndex(0);
        QVERIFY(!program->isVisible() && start->isEnabled());
        QVERIFY(!attach->isVisible());
        QVERIFY(!dialog.request().arguments().contains(QStringLiteral("--")));
        RecordRequest gpus = dialog.request();
        gpus.device = QStringLiteral("cuda");
        gpus.transport = QStringLiteral("nccl");
        dialog.setRequest(gpus);
        QVERIFY(dialog.request().arguments().contains(QStringLiteral("nccl")));
        gpus.device = QStringLiteral("cpu");
        QVERIFY(!gpus.problem().isEmpty());
    }

    void aProgramThatFailsIsSaid()
    {
        if (!QFile::exists(commandLineProgram())) QSKIP("fourwalls-cli is not part of this build");
        RecordDialog dialog;
        RecordRequest request;
        request.command = QStringLiteral("sh -c 'exit 3'");
        request.output = m_folder.filePath(QStringLiteral("failed.fourwalls"));
        dialog.setRequest(request);
        QSignalSpy recorded(&dialog, &RecordDialog::recorded);
        dialog.show();
        dialog.start();
        QTRY_VERIFY_WITH_TIMEOUT(!dialog.isRunning(), kPatienceMs);
        QCOMPARE(recorded.size(), 0);
        QVERIFY(dialog.isVisible());
        QVERIFY(!QFile::exists(request.output));
    }

    /// The page begins with what the window shows: its picture, pixel by pixel, what it is and what opens it again.
    void checkPage(const TraceDocument& document)
    {
        QFile file(m_folder.filePath(QStringLiteral("page.html")));
        QVERIFY(file.open(QIODevice::ReadOnly));
        const QString page = QString::fromUtf8(file.readAll());
        const QString packed = page.section(QStringLiteral("src=\"data:image/png;base64,"), 1).section(u'"', 0, 0);
        QImage picture;
        QVERIFY(picture.loadFromData(QByteArray::fromBase64(packed.toLatin1()), "PNG"));
        QImage shown(picture.size(), QImage::Format_RGB32);
        {
            QPainter painter(&shown);
            document.currentView()->exportTo(painter, QSizeF(picture.size()));
        }
        QCOMPARE(picture.convertToFormat(QImage::Format_RGB32), shown);
        QVERIFY2(page.contains(QStringLiteral("<p class=\"soft\">Timeline · rank 0 · ")), qPrintable(page.left(4000)));
        QVERIFY(page.contains(QStringLiteral("marked: forward")));
        const QString command = page.section(QStringLiteral("<code>"), 1)
                                    .section(QStringLiteral("</code>"), 0, 0)
                                    .replace(QStringLiteral("&#39;"), QStringLiteral("'"));
        QCOMPARE(QString(command).replace(QStringLiteral("THIS_TRACE.fourwalls"), QStringLiteral("'%1'").arg(m_trace)),
                 commandOf(document, QStringLiteral("timeline")));
        QVERIFY(!page.contains(m_folder.path())); // it names no files
    }

    void filesForOthersAreMade()
    {
        if (!QFile::exists(commandLineProgram())) QSKIP("fourwalls-cli is not part of this build");
        Settings settings(Settings::Kind::Forgetful);
        const auto window = windowOf(settings);
        TraceDocument* document = window->openFile(m_trace);
        QTRY_VERIFY(document->isOpen());
        window->showView(QStringLiteral("timeline"));
        // A part of the trace, an area in it and a marked slice.
        const TimeRange all = document->selection()->whole();
        document->selection()->setRange({all.begin, all.begin + Duration{all.length().ns / 2}});
        document->selection()->setMeasured(TimeRange{all.begin, all.begin + Duration{all.length().ns / 9}});
        ViewPlace marked;
        marked.find = QStringLiteral("forward");
        goToPlace(*document, marked, [](const Status&) {});
        QTRY_VERIFY(document->selection()->slice().has_value());
        QTRY_VERIFY(document->isSettled());
        choose(*window, "file.report", m_folder.filePath(QStringLiteral("page"))); // the suffix is added
        QTRY_VERIFY_WITH_TIMEOUT(QFile::exists(m_folder.filePath(QStringLiteral("page.html"))), kPatienceMs);
        checkPage(*document);
        document->selection()->setMeasured(std::nullopt);
        document->selection()->setSlice(std::nullopt);
        choose(*window, "file.export", m_folder.filePath(QStringLiteral("events.json")));
        QTRY_VERIFY_WITH_TIMEOUT(QFile::exists(m_folder.filePath(QStringLiteral("events.json"))), kPatienceMs);
        // A piece: what is seen.
        const TimeRange whole = document->selection()->whole();
        const TimeRange part{whole.begin + Duration{whole.length().ns / 3},
                             whole.begin + Duration{whole.length().ns / 2}};
        document->selection()->setRange(part);
        const qsizetype before = window->documents().size();
        choose(*window, "file.trim", m_folder.filePath(QStringLiteral("piece.fourwalls")));
        QTRY_COMPARE_WITH_TIMEOUT(window->documents().size(), before + 1, kPatienceMs);
        TraceDocument* piece = window->currentDocument();
        QTRY_VERIFY(piece->isOpen());
        QVERIFY(piece->session()->info().counts.slices > 0);
        QVERIFY(piece->session()->info().counts.slices < document->session()->info().counts.slices);
        const TimeRange kept = piece->session()->info().range;
        QVERIFY(kept.overlaps(part));
        QVERIFY(kept.length().ns < whole.length().ns);
    }

    void choicesNameTheirFiles()
    {
        for (const ShareChoice& choice : exportChoices(m_trace)) {
            QCOMPARE(choice.arguments.at(1), m_trace);
            QVERIFY(choice.filter().startsWith(choice.words));
            QCOMPARE(choice.named(QStringLiteral("/a/b.xyz")), QStringLiteral("/a/b.xyz"));
        }
        QCOMPARE(exportChoices(m_trace).front().named(QStringLiteral("/a/b")), QStringLiteral("/a/b.json"));
        const auto trims = trimChoices(m_trace, {Instant{5}, Instant{9}});
        QVERIFY(trims.back().arguments.contains(QStringLiteral("--redact")));
        QVERIFY(trims.front().arguments.contains(QStringLiteral("5ns:9ns")));
    }
};

FOURWALLS_TEST(TestSharing, QApplication)

} // namespace tst_sharing

#include "tst_sharing.moc"
