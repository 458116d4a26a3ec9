// SPDX-License-Identifier: Apache-2.0
// Exit codes and messages of the command line: 2 for wrong usage, 1 for what cannot be done, one line each.
#include "tests/app/cli/program.h"
#include "tests/support/test_program.h"

#include <QDir>
#include <QFile>
#include <QTemporaryDir>
#include <QTest>

#include <sys/stat.h>

namespace tst_cli_usage {

using namespace fourwalls::test;

class CliUsageTest : public QObject {
    Q_OBJECT

private slots:
    void helpOfEveryVerb_data();
    void helpOfEveryVerb();
    void wrongUsage_data();
    void wrongUsage();
    void couldNot_data();
    void couldNot();
    void outputsThatMayNotBeReplaced();
    void versionIsTold();
    void noVerbShowsTheHelp();
    void failuresLeaveNothingBehind();

private:
    QTemporaryDir m_folder;
};

void CliUsageTest::helpOfEveryVerb_data()
{
    QTest::addColumn<QString>("verb");
    for (const char* verb : {"record", "info", "metrics", "check", "trim", "export", "bench"})
        QTest::newRow(verb) << QString(verb);
}

void CliUsageTest::helpOfEveryVerb()
{
    QFETCH(QString, verb);
    const Answer answer = run({verb, "--help"});
    QCOMPARE(answer.exitCode, 0);
    QVERIFY(answer.out.contains("Examples:\n  fourwalls-cli " + verb.toUtf8()));
    QVERIFY(answer.out.contains("--json"));
    QVERIFY(answer.err.isEmpty());
}

void CliUsageTest::wrongUsage_data()
{
    QTest::addColumn<QStringList>("arguments");
    QTest::addColumn<QString>("named");
    const auto row = [](const char* name, const QStringList& arguments, const char* named) {
        QTest::newRow(name) << arguments << QString(named);
    };
    row("unknown verb", {"frobnicate"}, "frobnicate");
    row("misspelt verb", {"qurey", "x"}, "(try: query, or fourwalls-cli --help)");
    row("misspelt option", {"info", "x", "--jsno"}, "(try: --json, or fourwalls-cli info --help)");
    row("misspelt option with a value", {"plan", "--model", "gpt-tiny", "--clustr", "dgx-h100", "--gpus", "8"},
        "(try: --cluster, or fourwalls-cli plan --help)");
    row("unknown option", {"info", "x", "--frobnicate"}, "--frobnicate");
    row("missing file", {"metrics"}, "FILE");
    row("no output", {"record"}, "-o");
    row("no command", {"record", "-o", "x", "--"}, "--");
    row("unknown plan key", {"record", "-o", "x", "--plan", "dp=2 foo=1"}, "foo");
    row("repeated plan key", {"record", "-o", "x", "--plan", "tp=1 tp=1"}, "tp");
    row("batch", {"record", "-o", "x", "--plan", "dp=2 microbatches=3", "--batch", "8"}, "batch");
    row("batch of none", {"record", "-o", "x", "--batch", "0"}, "--batch");
    row("batch no number", {"record", "-o", "x", "--batch", "many"}, "--batch");
    row("batch in other digits", {"record", "-o", "x", "--batch", "0x8"}, "whole number");
    row("batch beyond numbers", {"record", "-o", "x", "--batch", "99999999999999999999"}, "--batch");
    row("batch of nothing", {"record", "-o", "x", "--batch", ""}, "--batch");
    row("batch twice", {"record", "-o", "x", "--batch", "8", "--batch", "4"}, "twice");
    row("seed below none", {"record", "-o", "x", "--seed", "-1"}, "--seed");
    row("sequence of none", {"record", "-o", "x", "--seq", "0"}, "--seq");
    row("value missing", {"record", "-o", "x", "--steps"}, "--steps needs a value");
    row("word that is no command", {"record", "-o", "x", "extra"}, "'extra'");
    row("word before the command", {"record", "-o", "x", "extra", "--", "true"}, "not expected");
    row("two slow ranks at once", {"record", "-o", "x", "--slow-rank", "0:2", "1:3"}, "'1:3'");
    row("rate that is none", {"goodput", "--tokens", "nan"}, "--tokens");
    row("limit below none", {"compare", "a", "b", "--fail-over", "-1"}, "--fail-over");
    row("steps", {"record", "-o", "x", "--steps", "0"}, "--steps");
    row("sequence", {"record", "-o", "x", "--seq", "4096"}, "seq");
    row("optimizer", {"record", "-o", "x", "--optimizer", "lion"}, "lion");
    row("rate", {"record", "-o", "x", "--lr", "-1"}, "--lr");
    row("a rate that no trace can hold", {"record", "-o", "x", "--lr", "1e7"}, "--lr");
    row("slow rank", {"record", "-o", "x", "--slow-rank", "0"}, "--slow-rank");
    row("slow rank that is not", {"record", "-o", "x", "--slow-rank", "4:2"}, "rank 4");
    row("link", {"record", "-o", "x", "--link-fault", "0-0:loss=0.1"}, "--link-fault");
    row("link fault", {"record", "-o", "x", "--link-fault", "0-1:loss=1"}, "--link-fault");
    row("evaluation never", {"record", "-o", "x", "--eval-every", "0"}, "--eval-every");
    row("evaluation steps alone", {"record", "-o", "x", "--eval-steps", "2"}, "--eval-every");
    row("case of the suite", {"bench", "diagnose", "--case", "9223372036854775807"}, "--case");
    row("rank timeout", {"record", "-o", "x", "--rank-timeout", "0"}, "--rank-timeout");
    row("device clock", {"record", "-o", "x", "--clock", "device", "--steps", "2"}, "clock");
    row("trim nothing", {"trim", "x", "-o", "y"}, "--steps");
    row("trim twice", {"trim", "x", "--steps", "1", "--range", "0:1", "-o", "y"}, "--range");
    row("trim steps", {"trim", "x", "--steps", "5-2", "-o", "y"}, "5-2");
    row("trim range", {"trim", "x", "--range", "5ms:2ms", "-o", "y"}, "5ms:2ms");
    row("trim ranks", {"trim", "x", "--ranks", "a", "-o", "y"}, "--ranks");
    row("format", {"export", "x", "--format", "pdf", "-o", "y"}, "pdf");
    row("bench", {"bench"}, "bench");
    row("bench slices", {"bench", "generate", "--slices", "0", "-o", "y"}, "--slices");
}

void CliUsageTest::wrongUsage()
{
    QFETCH(QStringList, arguments);
    QFETCH(QString, named);
    const Answer answer = run(arguments, m_folder.path());
    QCOMPARE(answer.exitCode, 2);
    QVERIFY2(answer.saysOneLine(), answer.err.constData());
    QVERIFY2(answer.err.contains(named.toUtf8()), answer.err.constData());
    QVERIFY2(answer.err.contains("try:"), answer.err.constData());
    QVERIFY(answer.out.isEmpty());
}

void CliUsageTest::couldNot_data()
{
    QTest::addColumn<QStringList>("arguments");
    QTest::addColumn<QString>("named");
    const auto row = [](const char* name, const QStringList& arguments, const char* named) {
        QTest::newRow(name) << arguments << QString(named);
    };
    row("missing trace", {"info", "missing.fourwalls"}, "missing.fourwalls");
    row("folder", {"metrics", "."}, ".");
    row("unknown model", {"record", "-o", "x", "--model", "gpt-huge"}, "gpt-tiny");
    row("unknown cluster", {"record", "-o", "x", "--cluster", "moon"}, "dgx-h100");
    row("nothing to shard", {"record", "-o", "x", "--plan", "zero=1"}, "zero");
    row("transport", {"record", "-o", "x", "--transport", "nccl"}, "nccl");
    row("data", {"record", "-o", "x", "--data", "missing.txt"}, "missing.txt");
    row("weights below a file", {"record", "-o", "x", "--save-weights", "/etc/passwd/weights"}, "--save-weights");
    row("weights", {"record", "-o", "x", "--load-weights", "missing"}, "missing");
    row("folder of output", {"record", "-o", "no/such/x", "--steps", "1"}, "no/such/x");
    row("folder of bench", {"bench", "generate", "--slices", "10", "-o", "no/such/x"}, "no/such");
}

void CliUsageTest::couldNot()
{
    QFETCH(QStringList, arguments);
    QFETCH(QString, named);
    const Answer answer = run(arguments, m_folder.path());
    QCOMPARE(answer.exitCode, 1);
    QVERIFY2(answer.saysOneLine(), answer.err.constData());
    QVERIFY2(answer.err.contains(named.toUtf8()), answer.err.constData());
    QVERIFY(answer.out.isEmpty());
}

void CliUsageTest::outputsThatMayNotBeReplaced()
{
    const QTemporaryDir folder;
    const QString trace = folder.filePath("trace"), pipe = folder.filePath("pipe"), link = folder.filePath("link");
    const auto contents = [](const QString& path) {
        QFile file(path);
        return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
    };
    QCOMPARE(run({"bench", "generate", "--slices", "100", "--ranks", "1", "-o", trace}).exitCode, 0);
    const QByteArray before = contents(trace);
    QVERIFY(!before.isEmpty());
    QVERIFY(QFile::link(trace, link));
    for (const QString& name : {trace, link})
        for (const QStringList& verb : {QStringList{"export", trace, "--format", "chrome"}, {"report", trace}}) {
            const Answer answer = run(verb + QStringList{"-o", name});
            QCOMPARE(answer.exitCode, 1);
            QVERIFY2(answer.saysOneLine() && answer.err.contains("is what is read"), answer.err.constData());
            QVERIFY(contents(trace) == before);
        }
    QCOMPARE(mkfifo(pipe.toUtf8().constData(), 0600), 0);
    const Answer answer = run({"report", trace, "-o", pipe});
    QCOMPARE(answer.exitCode, 1);
    QVERIFY2(answer.saysOneLine() && answer.err.contains("pipe"), answer.err.constData());
    struct stat status = {};
    QVERIFY(::stat(pipe.toUtf8().constData(), &status) == 0 && S_ISFIFO(status.st_mode));
    // Behind a link the file is replaced, and the link stays.
    QCOMPARE(run({"bench", "generate", "--slices", "100", "--ranks", "2", "-o", link}).exitCode, 0);
    QVERIFY(QFileInfo(link).isSymLink());
    QVERIFY(contents(trace) != before);
}

void CliUsageTest::versionIsTold()
{
    const Answer answer = run({"--version"});
    QCOMPARE(answer.exitCode, 0);
    QCOMPARE(answer.out, QByteArray("fourwalls-cli " FOURWALLS_VERSION "\n"));
}

void CliUsageTest::noVerbShowsTheHelp()
{
    const Answer answer = run({});
    QCOMPARE(answer.exitCode, 2);
    QVERIFY(answer.err.contains("record"));
    QVERIFY(answer.out.isEmpty());
}

void CliUsageTest::failuresLeaveNothingBehind()
{
    // All of the above ran in this folder.
    QCOMPARE(QDir(m_folder.path()).entryList(QDir::AllEntries | QDir::Hidden | QDir::NoDotAndDotDot), QStringList());
}

FOURWALLS_TEST(CliUsageTest, QCoreApplication)

} // namespace tst_cli_usage

#include "tst_cli_usage.moc"
