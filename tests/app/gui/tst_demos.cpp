// SPDX-License-Identifier: GPL-3.0-or-later
// Every carried demo: its file is sound, every figure in its texts has a value, its views exist, its plans predict, and
// it plays from start to end in the real window, in both languages. And what the files of teachers may get wrong; and the notes
// that are kept beside a trace.
#include <QtTest/QtTest>

#include "app/gui/appearance.h"
#include "app/gui/demo_library.h"
#include "app/gui/demo_player.h"
#include "app/gui/main_window.h"
#include "app/gui/trace_document.h"
#include "app/gui/trace_notes.h"
#include "tests/app/gui/openers.h"
#include "tests/app/gui/window_start.h"
#include "tests/support/test_program.h"
#include "views/base/analysis_view.h"
#include "views/demos/claims_page.h"
#include "views/runs/runs_page.h"
#include "views/view_registry.h"
#include "views/whatif/what_if.h"

#include <QAction>
#include <QFile>
#include <QLabel>
#include <QRegularExpression>
#include <QSignalSpy>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <QTest>

#include <algorithm>

namespace tst_demos {

using namespace fourwalls;
using namespace fourwalls::gui;
using tests::fileOpener;

namespace {

views::DemoSources numbers()
{
    views::DemoFigures figures;
    figures[QStringLiteral("time")] = {0.25, views::DemoUnit::Seconds, {}};
    figures[QStringLiteral("peak")] = {2e9, views::DemoUnit::Bytes, {}};
    figures[QStringLiteral("part")] = {5e8, views::DemoUnit::Bytes, {}};
    figures[QStringLiteral("ranks")] = {4, views::DemoUnit::Count, {}};
    figures[QStringLiteral("name")] = {0, views::DemoUnit::Word, QStringLiteral("gpt")};
    views::DemoSources sources;
    sources.current = QStringLiteral("a");
    sources.byName.insert(QStringLiteral("a"), std::make_shared<const views::DemoFigures>(figures));
    figures[QStringLiteral("time")].number = 0.5;
    sources.byName.insert(QStringLiteral("b"), std::make_shared<const views::DemoFigures>(figures));
    return sources;
}

QStringList textsOf(const TraceNotes& notes)
{
    QStringList texts;
    for (const TraceNote& note : notes.notes()) texts << note.text;
    return texts;
}

/// "{x}" stands for a figure; a point inside a number is none of a sentence.
int sentencesIn(QString text)
{
    text.remove(QRegularExpression(QStringLiteral("\\{[^}]*\\}")));
    text.remove(QRegularExpression(QStringLiteral("[0-9]\\.[0-9]")));
    text.replace(QRegularExpression(QStringLiteral("[\u3002\uff01\uff1f]")), QStringLiteral(". "));
    static const QRegularExpression end(QStringLiteral("[.!?](?=\\s|$|\"|\u201d)"));
    int count = 0;
    for (auto it = end.globalMatch(text.trimmed()); it.hasNext(); it.next()) ++count;
    return count;
}

} // namespace

class TestDemos : public QObject, private tests::WindowStart {
    Q_OBJECT

private slots:
    void initTestCase() { QStandardPaths::setTestModeEnabled(true); }
    void init() { beginInEnglish(); }
    void cleanup() { failOnWarnings(); }

    void expressions_data()
    {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("filled");
        const QString thin = QString(views::kThinSpace);
        QTest::newRow("time") << QStringLiteral("{time} long") << QStringLiteral("250%1ms long").arg(thin);
        QTest::newRow("share") << QStringLiteral("{part / peak | percent}") << QStringLiteral("25%1%").arg(thin);
        QTest::newRow("times") << QStringLiteral("{b.time / time | times}") << QStringLiteral("2\u00d7");
        QTest::newRow("sum") << QStringLiteral("{2 * (ranks - 1) | whole}") << QStringLiteral("6");
        QTest::newRow("bytes") << QStringLiteral("{peak - part}") << QStringLiteral("1.5%1GB").arg(thin);
        QTest::newRow("rate") << QStringLiteral("{peak / time}") << QStringLiteral("8%1GB/s").arg(thin);
        QTest::newRow("word") << QStringLiteral("{name}") << QStringLiteral("gpt");
        QTest::newRow("plain") << QStringLiteral("no figure") << QStringLiteral("no figure");
    }
    void expressions()
    {
        QFETCH(QString, text);
        QFETCH(QString, filled);
        QStringList problems;
        QCOMPARE(views::fillIn(text, numbers(), views::ByteUnit::GB, &problems), filled);
        QVERIFY2(problems.isEmpty(), qPrintable(problems.join(QLatin1Char('\n'))));
    }

    void wrongExpressionsBecomeDashesAndSayWhy()
    {
        for (const char* text : {"{nothing}", "{time +}", "{time + peak}", "{1 / (ranks - 4)}", "{(time}",
                                 "{time | loud}", "{name | percent}", "{c.time}", "{time", "{}", "{time time}"}) {
            QStringList problems;
            const QString filled = views::fillIn(QString::fromLatin1(text), numbers(), views::ByteUnit::GB, &problems);
            QVERIFY2(problems.size() == 1, text);
            QVERIFY2(filled == QString(views::kDash) || filled.startsWith(QLatin1Char('{')), text);
        }
    }

    void brokenFilesAreRefusedByName_data()
    {
        QTest::addColumn<QByteArray>("json");
        QTest::addColumn<QString>("said");
        const auto with = [](const char* steps) {
            return QByteArray("{\"format\":1,\"title\":\"t\",\"traces\":[{\"name\":\"a\",\"file\":\"a.fourwalls\"}],"
                              "\"steps\":") +
                   steps + "}";
        };
        QTest::newRow("no json") << QByteArray("{") << QStringLiteral("at byte");
        QTest::newRow("no object") << QByteArray("[]") << QStringLiteral("one JSON object");
        QTest::newRow("other format") << QByteArray("{\"format\":2}") << QStringLiteral("format");
        QTest::newRow("no steps") << with("[]") << QStringLiteral("steps");
        QTest::newRow("no caption") << with("[{}]") << QStringLiteral("step 1, caption");
        QTest::newRow("unknown key") << with("[{\"caption\":\"c\",\"colour\":1}]") << QStringLiteral("colour");
        QTest::newRow("range") << with("[{\"caption\":\"c\",\"range\":[0.5,0.2]}]") << QStringLiteral("range");
        QTest::newRow("question alone") << with("[{\"caption\":\"c\",\"question\":\"q\"}]") << QStringLiteral("answer");
        QTest::newRow("unknown trace") << with("[{\"caption\":\"c\",\"trace\":\"b\"}]")
                                       << QStringLiteral("no trace \"b\"");
        QTest::newRow("rank") << with("[{\"caption\":\"c\",\"rank\":-1}]") << QStringLiteral("rank");
    }
    void brokenFilesAreRefusedByName()
    {
        QFETCH(QByteArray, json);
        QFETCH(QString, said);
        const Result<views::Demo> demo = views::readDemo(json, QStringLiteral("d"), QStringLiteral("d.json"));
        QVERIFY(!demo.ok());
        const QString message = QString::fromStdString(demo.error().message());
        QVERIFY2(message.contains(said), qPrintable(message));
        QVERIFY(message.contains(QStringLiteral("d.json")));
    }

    void carriesEnough()
    {
        QMap<QString, int> walls;
        for (const views::DemoEntry& entry : demoEntries(QStringLiteral("en"))) ++walls[entry.wall];
        for (const char* wall : {"memory", "communication", "performance", "tuning"})
            QVERIFY2(walls.value(QString::fromLatin1(wall)) >= 3, wall);
        QVERIFY(walls.value(QStringLiteral("all")) >= 2);
        QCOMPARE(demoEntries(QStringLiteral("zh_CN")).size(), builtInDemos().size());
    }

    void everyDemo_data()
    {
        QTest::addColumn<QString>("id");
        for (const QString& id : builtInDemos()) QTest::newRow(qPrintable(id)) << id;
    }
    void everyDemo()
    {
        QFETCH(QString, id);
        const Result<PreparedDemo> prepared = prepareDemo(id, fileOpener());
        QVERIFY2(prepared.ok(), prepared.ok() ? "" : prepared.error().message().c_str());
        const views::Demo& demo = prepared->demo;
        QVERIFY(demo.steps.size() >= 3);
        QVERIFY(demo.steps.last().own);
        bool asks = false;
        for (int i = 0; i < demo.steps.size(); ++i) {
            const views::DemoStep& step = demo.steps[i];
            asks = asks || !step.question.empty();
            const bool isRuns = step.view == QLatin1String("runs") && prepared->runs.contains(demo.traceOf(step));
            const bool isPage = step.view == QLatin1String("claims") || isRuns || step.own;
            const auto& known = views::viewRegistry();
            QVERIFY2(isPage || std::any_of(known.begin(), known.end(),
                                           [&](const auto& entry) { return entry.id == step.view; }),
                     qPrintable(step.view));
            for (const QString& language : {QStringLiteral("en"), QStringLiteral("zh_CN")}) {
                for (const views::DemoText* text : {&step.caption, &step.touch, &step.question, &step.answer}) {
                    QVERIFY2(text->empty() || text->has(language), qPrintable(language));
                    QStringList problems;
                    const QString filled =
                        views::fillIn(text->in(language), prepared->sources[i], views::ByteUnit::GB, &problems);
                    QVERIFY2(problems.isEmpty(), qPrintable(problems.join(QLatin1Char('\n'))));
                    if (qEnvironmentVariableIsSet("FOURWALLS_PRINT_DEMOS") && !filled.isEmpty())
                        std::printf("%s %d: %s\n", qPrintable(id), i + 1, qPrintable(filled));
                }
                QVERIFY2(sentencesIn(step.caption.in(language)) <= 2, qPrintable(step.caption.in(language)));
            }
        }
        QVERIFY(asks);
    }

    /// What captions say in words is so in the traces and predictions.
    void wordsAgreeWithFigures_data()
    {
        QTest::addColumn<QString>("id");
        QTest::addColumn<int>("step");
        QTest::addColumn<QString>("share");
        QTest::addColumn<bool>("beyondOne");
        const QString peak = QStringLiteral("predicted.peak / capacity"), first = QStringLiteral("memory-batch");
        QTest::newRow("breaks through the wall") << first << 1 << peak << true;
        QTest::newRow("recomputation fits") << first << 2 << peak << false;
        QTest::newRow("accumulation fits") << first << 3 << peak << false;
        QTest::newRow("fused is quicker")
            << QStringLiteral("performance-operators") << 1 << QStringLiteral("step_time / unfused.step_time") << false;
        QTest::newRow("recomputing takes longer")
            << QStringLiteral("memory-recompute") << 2 << QStringLiteral("step_time / fused.step_time") << true;
        QTest::newRow("the slow rank costs time")
            << QStringLiteral("communication-straggler") << 1 << QStringLiteral("step_time / even.step_time") << true;
        QTest::newRow("checkpoints beside the steps cost less")
            << QStringLiteral("tuning-checkpoints") << 1
            << QStringLiteral("job.lost.checkpoints / blocking.job.lost.checkpoints") << false;
        const QString sweep = QStringLiteral("tuning-sweep");
        QTest::newRow("the best rate moves")
            << sweep << 0 << QStringLiteral("width.64.lr / width.256.lr / 1.5") << true;
        const QString narrow = QStringLiteral("width.64.lr / width.256.lr / 1.5");
        QTest::newRow("the best rate stays within a step of the grid") << sweep << 1 << narrow << false;
        const QString wide = QStringLiteral("width.256.lr / width.64.lr / 1.5");
        QTest::newRow("and to the other side") << sweep << 1 << wide << false;
        QTest::newRow("without it the step is quicker")
            << QStringLiteral("performance-replayed") << 1 << QStringLiteral("step_time / slow.step_time") << false;
    }
    void wordsAgreeWithFigures()
    {
        QFETCH(QString, id);
        QFETCH(int, step);
        QFETCH(QString, share);
        QFETCH(bool, beyondOne);
        const Result<PreparedDemo> prepared = prepareDemo(id, fileOpener());
        QVERIFY2(prepared.ok(), prepared.ok() ? "" : prepared.error().message().c_str());
        QVERIFY(step < prepared->demo.steps.size());
        QStringList problems;
        const QString text = views::fillIn(QStringLiteral("{%1 | percent}").arg(share), prepared->sources[step],
                                           views::ByteUnit::GB, &problems);
        QVERIFY2(problems.isEmpty(), qPrintable(problems.join(QLatin1Char('\n'))));
        bool isNumber = false;
        const double percent = QString(text).remove(QChar(0x202f)).remove(QLatin1Char('%')).toDouble(&isNumber);
        QVERIFY2(isNumber, qPrintable(text));
        QVERIFY2(beyondOne ? percent > 100 : percent < 100, qPrintable(text));
    }

    void playsFromStartToEnd_data() { everyDemo_data(); }
    void playsFromStartToEnd()
    {
        QFETCH(QString, id);
        Settings settings(Settings::Kind::Forgetful);
        MainWindow window(fileOpener(), settings);
        window.resize(1280, 720);
        window.show();
        DemoPlayer& player = *window.demoPlayer();
        window.startDemo(id);
        QTRY_VERIFY_WITH_TIMEOUT(player.isPlaying(), 20'000);
        const int count = static_cast<int>(player.demo()->demo.steps.size());
        for (int i = 0; i < count; ++i) {
            QTRY_COMPARE_WITH_TIMEOUT(player.step(), i, 5'000);
            QTRY_VERIFY_WITH_TIMEOUT(player.isSettled(), 10'000);
            QVERIFY2(player.problems().isEmpty(), qPrintable(player.problems().join(QLatin1Char('\n'))));
            const views::DemoStep& step = player.demo()->demo.steps[i];
            auto* panel = window.findChild<views::DemoPanel*>();
            QVERIFY(panel && panel->isVisible());
            QVERIFY(!panel->page().caption.contains(QLatin1Char('{')));
            if (!step.own) QCOMPARE(window.currentViewId(), step.view);
            for (const QString& name : step.actions) { // a page of the view, or something that it shows, by its action
                const views::View* view = window.currentDocument()->currentView();
                const auto* analysis = qobject_cast<const views::AnalysisView*>(view);
                const bool page = analysis && name == analysis->id() + QStringLiteral(".page.") + analysis->page();
                const QList<QAction*> actions = view->viewActions();
                const bool shown = std::any_of(actions.begin(), actions.end(), [&](const QAction* action) {
                    return action->objectName() == name && action->isCheckable() && action->isChecked();
                });
                QVERIFY2(page || shown, qPrintable(name));
            }
            if (step.view == QLatin1String("claims")) {
                QTRY_VERIFY_WITH_TIMEOUT(window.claimsPage()->isReady(), 20'000);
            } else if (step.view == QLatin1String("runs")) {
                QVERIFY(window.runsPage()->isReady() && window.runsPage()->runs());
                QVERIFY(window.runsPage()->runs()->runs.size() > 3);
            } else if (!step.own) {
                TraceDocument* document = window.currentDocument();
                QTRY_VERIFY_WITH_TIMEOUT(document->currentView()->showsFinalData(), 20'000);
                if (step.plan) QTRY_VERIFY_WITH_TIMEOUT(document->whatIf()->prediction() != nullptr, 10'000);
            }
            if (!step.question.empty()) {
                QTest::keyClick(&window, Qt::Key_Down, Qt::AltModifier);
                QTRY_VERIFY(panel->showsAnswer());
            }
            if (i == 1) { // the reader changes the language on the way
                applyLanguage(QStringLiteral("zh_CN"));
                QCoreApplication::sendPostedEvents();
                QCOMPARE(panel->page().title, player.demo()->demo.title.in(QStringLiteral("zh_CN")));
            }
            QTest::keyClick(&window, Qt::Key_Right, Qt::AltModifier);
        }
        QTRY_VERIFY(!player.isPlaying());
        QVERIFY(settings.recentFiles().isEmpty());
    }

    void theWordsAreReadableInEitherTheme()
    {
        Settings settings(Settings::Kind::Forgetful);
        MainWindow window(fileOpener(), settings);
        window.show();
        applyTheme(true); // while the panel is hidden
        window.startDemo(QStringLiteral("communication-ring"));
        QTRY_VERIFY_WITH_TIMEOUT(window.demoPlayer()->isPlaying() && window.demoPlayer()->isSettled(), 20'000);
        auto* touch = window.findChild<QLabel*>(QStringLiteral("demo.touch"));
        QVERIFY(touch && touch->isVisible());
        const auto ink = [touch] {
            QCoreApplication::processEvents();
            return touch->palette().color(touch->foregroundRole());
        };
        QCOMPARE(ink(), views::theme(true).accent);
        applyTheme(false); // while it is shown
        QCOMPARE(ink(), views::theme(false).accent);
        applyTheme(true);
        QCOMPARE(ink(), views::theme(true).accent);
    }

    void claimsSpeakTheLanguage()
    {
        const auto claims = claims::allClaims();
        QVERIFY(claims.ok());
        const views::ClaimWords chinese = claimWords(QStringLiteral("zh_CN")), none = claimWords(QStringLiteral("en"));
        static const QRegularExpression han(QStringLiteral("\\p{Han}"));
        QStringList untranslated;
        for (const claims::Claim& claim : *claims) {
            QCOMPARE(none.statement(claim), QString::fromStdString(claim.statement));
            if (!chinese.statement(claim).contains(han) || !chinese.because(claim).contains(han))
                untranslated << QString::fromStdString(claim.id);
        }
        QVERIFY2(untranslated.size() * 20 <= static_cast<qsizetype>(claims->size()),
                 qPrintable(untranslated.join(QLatin1Char(' '))));
        // Figures are those of now, wherever they stand in the sentence; another sentence stays as it is.
        const views::ClaimWords words = views::ClaimWords::read(
            "{\"claims\":{\"x\":{\"because\":{\"of\":\"2.5 GB of 10 images\",\"is\":\"10 张图像中的 2.5 GB\"}}}}");
        claims::Claim claim;
        claim.id = "x";
        claim.because = "3.75 GB of 12 images";
        QCOMPARE(words.because(claim), QStringLiteral("12 张图像中的 3.75 GB"));
        claim.because = "3.75 GB of 12 cats";
        QCOMPARE(words.because(claim), QStringLiteral("3.75 GB of 12 cats"));
    }

    void unknownNamesAreSaid()
    {
        const Result<PreparedDemo> none = prepareDemo(QStringLiteral("no-such-demo"), fileOpener());
        QVERIFY(!none.ok());
        QVERIFY(QString::fromStdString(none.error().message()).contains(QStringLiteral("tour")));
    }

    void notesSurviveTheirFile()
    {
        TraceNote note;
        note.text = QStringLiteral("here it waits, 这里");
        note.view = QStringLiteral("timeline");
        note.range = {Instant{5'000'000'000'123}, Instant{5'000'000'000'456}};
        note.mark = TimeRange{Instant{5'000'000'000'200}, Instant{5'000'000'000'200}};
        note.step = StepIndex{3};
        note.rank = RankId{2};
        const auto read = notesFromJson(notesToJson({note}), QStringLiteral("notes"));
        QVERIFY(read.ok());
        QCOMPARE(read->size(), std::size_t{1});
        QVERIFY(read->front() == note);
        QVERIFY(!notesFromJson("[]", QStringLiteral("notes")).ok());
        QVERIFY(!notesFromJson("{\"format\":7}", QStringLiteral("notes")).ok());
        // A damaged entry is left out, the others stay.
        const auto some = notesFromJson("{\"format\":1,\"notes\":[{\"from_ns\":\"9\",\"to_ns\":\"3\"},7,{\"text\":"
                                        "\"t\",\"from_ns\":\"1\",\"to_ns\":\"2\"}]}",
                                        QStringLiteral("notes"));
        QVERIFY(some.ok());
        QCOMPARE(some->size(), std::size_t{1});
    }

    void notesAreKeptBesideTheTrace()
    {
        QTemporaryDir folder;
        const QString trace = folder.filePath(QStringLiteral("run.fourwalls"));
        TraceNote note;
        note.text = QStringLiteral("first");
        note.range = {Instant{1}, Instant{2}};
        {
            TraceNotes notes(trace);
            QTRY_VERIFY(notes.isLoaded());
            notes.add(note);
            QTRY_VERIFY(QFile::exists(trace + QStringLiteral(".notes.json")));
        }
        // Added before the file was read: behind what is in it, which stays; the last of quick changes is what is kept.
        TraceNotes again(trace);
        note.text = QStringLiteral("second");
        again.add(note);
        QTRY_VERIFY(again.isSettled());
        for (int i = 0; i < 20; ++i) again.setText(1, QStringLiteral("second %1").arg(i));
        QTRY_VERIFY(again.isSettled());
        QCOMPARE(textsOf(again), QStringList({QStringLiteral("first"), QStringLiteral("second 19")}));
        TraceNotes more(trace);
        QTRY_COMPARE(textsOf(more), textsOf(again));
    }

    void notesThatCannotBeReadAreNotOverwritten()
    {
        QTemporaryDir folder;
        const QString trace = folder.filePath(QStringLiteral("run.fourwalls"));
        const QString beside = trace + QStringLiteral(".notes.json");
        const QByteArray newer = "{\"format\":2,\"notes\":[\"of a newer version\"]}";
        QFile file(beside);
        QVERIFY(file.open(QIODevice::WriteOnly) && file.write(newer) == newer.size());
        file.close();
        TraceNote note;
        note.text = QStringLiteral("mine");
        note.range = {Instant{1}, Instant{2}};
        {
            TraceNotes notes(trace);
            QSignalSpy failed(&notes, &TraceNotes::failed);
            notes.add(note);
            QTRY_VERIFY(notes.isSettled());
            QCOMPARE(failed.size(), 1);
        }
        QVERIFY(file.open(QIODevice::ReadOnly));
        QCOMPARE(file.readAll(), newer);
        file.close();
        { // kept in the own folder, and read from there, also when the other file can be read again
            QVERIFY(file.open(QIODevice::WriteOnly) && file.write(notesToJson({})) > 0);
            file.close();
            TraceNotes notes(trace);
            QTRY_COMPARE(textsOf(notes), QStringList{QStringLiteral("mine")});
            notes.setText(0, QStringLiteral("mine, beside it"));
            QTRY_VERIFY(notes.isSettled());
        }
        QVERIFY(file.open(QIODevice::ReadOnly));
        QVERIFY(file.readAll().contains("mine, beside it"));
        file.close();
        QVERIFY(file.remove()); // and nothing older is left in the own folder
        TraceNotes none(trace);
        QTRY_VERIFY(none.isSettled());
        QVERIFY(none.notes().empty());
    }

    void ghostsGoWithTheirStep()
    {
        Settings settings(Settings::Kind::Forgetful);
        MainWindow window(fileOpener(), settings);
        window.resize(1280, 720);
        window.show();
        DemoPlayer& player = *window.demoPlayer();
        window.startDemo(QStringLiteral("tuning-plan"));
        QTRY_VERIFY_WITH_TIMEOUT(player.isPlaying(), 20'000);
        const auto at = [&](int step) { return player.step() == step && player.isSettled(); };
        QTRY_VERIFY_WITH_TIMEOUT(at(0), 10'000);
        QVERIFY(!player.demo()->demo.steps[0].plan && player.demo()->demo.steps[1].plan);
        player.next();
        QTRY_VERIFY_WITH_TIMEOUT(at(1), 10'000);
        QTRY_VERIFY_WITH_TIMEOUT(window.currentDocument()->whatIf()->isActive(), 10'000);
        player.back();
        QTRY_VERIFY_WITH_TIMEOUT(at(0), 10'000);
        window.showView(QStringLiteral("memory"));
        QVERIFY(!window.showsWhatIf() && !window.currentDocument()->whatIf()->isActive());
        player.next();
        QTRY_VERIFY_WITH_TIMEOUT(at(1), 10'000);
        player.stop();
        window.showView(QStringLiteral("overview"));
        QVERIFY(!window.showsWhatIf() && !window.currentDocument()->whatIf()->isActive());
    }
};

FOURWALLS_TEST(TestDemos, QApplication)

} // namespace tst_demos

#include "tst_demos.moc"
