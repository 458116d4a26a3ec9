// SPDX-License-Identifier: GPL-3.0-or-later
// The application's command line: what it reads, and what it refuses with which words.
#include "app/gui/command_line.h"
#include "app/gui/frame_recorder.h"
#include "app/gui/record_request.h"
#include "tests/support/test_program.h"

#include <QtTest/QtTest>

namespace tst_command_line {

using namespace fourwalls;
using namespace fourwalls::gui;

class TestCommandLine : public QObject {
    Q_OBJECT
private:
    static Result<CommandLine> parse(const QString& text)
    {
        return parseCommandLine(text.split(QLatin1Char(' '), Qt::SkipEmptyParts),
                                {QStringLiteral("welcome"), QStringLiteral("timeline"), QStringLiteral("memory")});
    }

private slots:
    void plainFilesOpenAWindow()
    {
        const auto line = parse(QStringLiteral("a.fourwalls b.fourwalls --theme dark"));
        QVERIFY(line.ok());
        QVERIFY(line->mode == CommandLine::Mode::Window);
        QCOMPARE(line->files.size(), 2);
        QVERIFY(line->dark == true);
    }

    void renderTakesAllItsOptions()
    {
        const auto line =
            parse(QStringLiteral("--render timeline --size 1280x720 --range 10ms:25.5ms --step 3 --rank 1 "
                                 "--theme light --lang zh_CN --view-only -o out.svg t.fourwalls"));
        QVERIFY2(line.ok(), line.ok() ? "" : line.error().message().c_str());
        QVERIFY(line->mode == CommandLine::Mode::Render);
        QCOMPARE(line->view, QStringLiteral("timeline"));
        QCOMPARE(line->size, QSize(1280, 720));
        QCOMPARE(line->range->begin.ns, std::int64_t{10'000'000});
        QCOMPARE(line->range->end.ns, std::int64_t{25'500'000});
        QCOMPARE(*line->step, 3);
        QCOMPARE(*line->rank, 1);
        QVERIFY(line->viewOnly && line->dark == false);
        QCOMPARE(line->language, QStringLiteral("zh_CN"));
        QCOMPARE(parse(QStringLiteral("--render=memory --size=400x300 -o a.png f"))->size, QSize(400, 300));
        QVERIFY(parse(QStringLiteral("--render welcome -o a.png")).ok()); // needs no trace
    }

    void times()
    {
        QCOMPARE(parseTimeRange(QStringLiteral("1200us:3ms"))->begin.ns, std::int64_t{1'200'000});
        QCOMPARE(parseTimeRange(QStringLiteral("0:1s"))->end.ns, std::int64_t{1'000'000'000});
        QCOMPARE(parseTimeRange(QStringLiteral("1:2"))->end.ns, std::int64_t{2'000'000});
        QCOMPARE(parseTimeRange(QStringLiteral("-5ns:5ns"))->begin.ns, std::int64_t{-5});
        for (const char* bad : {"", "1ms", "3ms:1ms", "a:b", "1ms:2ms:3ms", "1m:2m", "0:1e99s", "0:99999999999999s"})
            QVERIFY2(!parseTimeRange(QString::fromLatin1(bad)).ok(), bad);
    }

    void wrongUsageIsNamed_data()
    {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("named");
        const auto row = [](const char* text, const char* named) {
            QTest::newRow(text) << QString::fromLatin1(text) << QString::fromLatin1(named);
        };
        row("--render nosuch -o a.png f", "nosuch");
        row("--render timeline f", "-o");
        row("--render timeline -o a.png", "one trace");
        row("--render timeline -o a.png f g", "one trace");
        row("--render timeline -o a.gif f", ".png");
        row("--render timeline --size 0x10 -o a.png f", "--size");
        row("--render timeline --size 399x300 -o a.png f", "--size");
        row("--render timeline --size big -o a.png f", "--size");
        row("--render timeline --size 99999x99999 -o a.png f", "--size");
        row("--render timeline --step -1 -o a.png f", "--step");
        row("--render timeline --rank x -o a.png f", "--rank");
        row("--render memory --whatif dq=2 -o a.png f", "dq");
        row("--whatif dp=2 f", "--whatif");
        row("--render timeline --change schedule=sometimes -o a.png f", "sometimes");
        row("--change schedule=zb f", "--change");
        row("--render timeline --theme blue -o a.png f", "blue");
        row("--render timeline --lang de -o a.png f", "de");
        row("--render timeline -o", "-o");
        row("--render timeline --bench -o a.png f", "exclude");
        row("--size 10x10 f", "--size");
        row("--json f", "--json");
        row("--bench", "one trace");
        row("--nonsense", "--nonsense");
        row("-z", "-z");
    }
    void wrongUsageIsNamed()
    {
        QFETCH(QString, text);
        QFETCH(QString, named);
        const auto line = parse(text);
        QVERIFY(!line.ok());
        const QString message = QString::fromStdString(line.error().message());
        QVERIFY2(message.contains(named), qPrintable(message));
        QVERIFY(!message.contains(QLatin1Char('\n')));
    }

    void recordRequestsBecomeCommands()
    {
        RecordRequest request;
        request.output = QStringLiteral("/tmp/my run.fourwalls");
        request.sequence = 64;
        const QStringList arguments = request.arguments();
        QCOMPARE(arguments.constFirst(), QStringLiteral("record"));
        QCOMPARE(arguments.at(arguments.indexOf(QStringLiteral("--seq")) + 1), QStringLiteral("64"));
        QVERIFY(!arguments.contains(QStringLiteral("--data")));
        const QString command = shellCommand(QStringLiteral("fourwalls-cli"), arguments);
        QVERIFY2(command.contains(QStringLiteral("'/tmp/my run.fourwalls'")), qPrintable(command));
        QCOMPARE(shellCommand(QStringLiteral("x"), {QStringLiteral("it's")}), QStringLiteral("x 'it'\\''s'"));
    }

    void progressLinesAreRead()
    {
        const RecordProgress progress =
            parseProgress(QStringLiteral("  step 2 (3/20)  loss 5.2134  lr 0.0003  612 ms "));
        QCOMPARE(*progress.step, 3);
        QCOMPARE(*progress.steps, 20);
        QCOMPARE(*progress.loss, 5.2134);
        const RecordProgress message = parseProgress(QStringLiteral("measuring the peak"));
        QVERIFY(!message.step && !message.loss);
        QCOMPARE(message.message, QStringLiteral("measuring the peak"));
        const RecordProgress object = parseProgress(
            QStringLiteral(R"({"step":4,"steps":20,"loss":4.5,"lr":0.0003,"message":"step 3 (4/20)  loss 4.5"})"));
        QCOMPARE(*object.step, 4);
        QCOMPARE(*object.steps, 20);
        QCOMPARE(*object.loss, 4.5);
        QVERIFY(object.message.startsWith(QStringLiteral("step 3 (4/20)")));
        QVERIFY(!parseProgress(QStringLiteral("{not json")).step);
    }

    void quantilesAreNearestRank()
    {
        QVERIFY(!quantile({}, 0.5));
        QCOMPARE(*quantile({5, 1, 3}, 0.5), 3.0);
        std::vector<double> hundred;
        for (int i = 1; i <= 100; ++i) hundred.push_back(i);
        QCOMPARE(*quantile(hundred, 0.99), 99.0);
        QCOMPARE(*quantile(hundred, 1.0), 100.0);
    }
};

FOURWALLS_TEST(TestCommandLine, QCoreApplication)

} // namespace tst_command_line

#include "tst_command_line.moc"
