// SPDX-License-Identifier: Apache-2.0
// `compare` of several runs: intervals, what carries a difference, findings, Markdown, and the exit code for a CI.
#include <QtTest> // first: moc stumbles over <compare> otherwise

#include "tests/app/cli/program.h"
#include "tests/support/test_program.h"

#include <QJsonArray>
#include <QJsonObject>
#include <QTemporaryDir>

namespace tst_cli_compare {

using namespace fourwalls::test;

class CliCompareTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase();
    void aSlowdownFails();
    void equalRunsPass();
    void markdown();
    void findingsOfTwoTraces();
    void aTraceDoesNotDifferFromItself();
    void anEmptyFolderHasNoRuns();
    void theSuite();
    void refuses_data();
    void refuses();

private:
    /// Runs with kernel times from one file differ by what was changed alone.
    QStringList record(const QString& name, int runs, const QStringList& more)
    {
        QStringList files;
        for (int i = 0; i < runs; ++i) {
            files << m_folder.filePath(QString("%1%2.fourwalls").arg(name).arg(i));
            const Answer answer =
                run(QStringList{"record", "-o", files.back(), "--clock", "device", "--steps", "8", "--batch", "8",
                                "--seq", "32", "--plan", "dp=2", "--kernel-times", m_folder.filePath("times.json")} +
                    more);
            if (answer.exitCode != 0) qWarning("%s", answer.err.constData());
        }
        return files;
    }

    QTemporaryDir m_folder;
    QStringList m_before, m_same, m_slow;
};

void CliCompareTest::initTestCase()
{
    m_before = record("before", 2, {});
    m_same = record("same", 2, {});
    m_slow = record("slow", 2, {"--slow-rank", "1:1.4"});
}

QJsonObject rowOf(const QJsonArray& rows, const QString& key, const QString& value)
{
    for (const QJsonValue& each : rows)
        if (each.toObject()[key].toString() == value) return each.toObject();
    return {};
}

void CliCompareTest::aSlowdownFails()
{
    const QStringList both = QStringList{"compare"} + m_slow + QStringList{"--against"} + m_before;
    const Answer answer = run(both + QStringList{"--json"});
    QVERIFY2(answer.exitCode == 0, answer.err.constData());
    const QJsonObject said = answer.json();
    const QJsonObject step = rowOf(said["differences"].toArray(), "figure", "step_time_ms");
    QCOMPARE(step["verdict"].toString(), QString("worse"));
    QVERIFY(step["low_percent"].toDouble() > 5 && step["percent"].toDouble() >= step["low_percent"].toDouble());
    QVERIFY(step["value"].toDouble() > step["against"].toDouble());
    QCOMPARE(said["runs"].toArray().size(), 2);
    // What carries it adds up to the difference.
    double sum = said["other_difference_ms"].toDouble();
    for (const QJsonValue& each : said["carried_by"].toArray()) sum += each.toObject()["difference_ms"].toDouble();
    QVERIFY(!said["carried_by"].toArray().isEmpty());
    QVERIFY(std::abs(sum - said["mean_step_difference_ms"].toDouble()) < 1e-9);
    QCOMPARE(said["carried_by"].toArray().first().toObject()["kind"].toString(), QString("operator"));
    const QJsonObject found = rowOf(said["findings"].toObject()["new"].toArray(), "id", "slow_rank");
    QCOMPARE(found["ranks"].toArray(), QJsonArray{1});
    QCOMPARE(found["runs_after"].toInt(), 2);

    const Answer gate = run(both + QStringList{"--fail-over", "1"});
    QCOMPARE(gate.exitCode, 1);
    QVERIFY2(gate.err.contains("step_time_ms is worse by") || gate.err.contains("tokens_per_s is worse by"),
             gate.err.constData());
    QCOMPARE(run(both + QStringList{"--fail-over", "80"}).exitCode, 0);
    QVERIFY(run(both + QStringList{"--fail-over", "1", "--json"}).json()["failed"].toBool());
}

void CliCompareTest::equalRunsPass()
{
    const Answer answer =
        run(QStringList{"compare"} + m_same + QStringList{"--against"} + m_before + QStringList{"--fail-over", "0"});
    QVERIFY2(answer.exitCode == 0, answer.err.constData());
    QVERIFY2(answer.out.contains("no difference shown"), answer.out.constData());
    // A side of one run has an interval over its steps.
    const Answer one = run({"compare", m_same[0], "--against", m_before[0], "--fail-over", "0"});
    QCOMPARE(one.exitCode, 0);
    QVERIFY(one.out.contains("one run"));
}

void CliCompareTest::markdown()
{
    const Answer answer = run(QStringList{"compare"} + m_slow + QStringList{"--against"} + m_before +
                              QStringList{"--fail-over", "1", "--markdown"});
    QCOMPARE(answer.exitCode, 1);
    const QString text = QString::fromUtf8(answer.out);
    QVERIFY2(text.startsWith("### Step time: "), qPrintable(text));
    QVERIFY(text.contains("| step time |") && text.contains("**Worse by more than 1 %.**"));
    QVERIFY(text.contains("- new: one rank holds the others up: rank 1"));
    QVERIFY(text.contains("slow0.fourwalls"));
    // Every row of a table has the cells of its heading.
    int cells = 0;
    for (const QString& line : text.split('\n')) {
        if (!line.startsWith('|')) {
            cells = 0;
            continue;
        }
        if (cells == 0) cells = static_cast<int>(line.count('|'));
        QCOMPARE(static_cast<int>(line.count('|')), cells);
    }
}

void CliCompareTest::aTraceDoesNotDifferFromItself()
{
    const Answer same = run({"compare", m_slow[0], m_slow[0]});
    QVERIFY2(same.exitCode == 0 && same.out.startsWith("nothing differs"), (same.out + same.err).constData());
    QVERIFY2(!same.out.contains("0.00 %"), same.out.constData());
    QVERIFY(!run({"compare", m_slow[0], m_before[0]}).out.contains("nothing differs"));
}

void CliCompareTest::anEmptyFolderHasNoRuns()
{
    const QString empty = m_folder.filePath("empty");
    QVERIFY(QDir().mkpath(empty));
    const Answer none = run({"runs", empty});
    QVERIFY2(none.out.startsWith("no run in ") && none.out.contains("fourwalls-cli record -o"), none.out.constData());
    QVERIFY(!none.out.contains("lr"));
    const Answer other = run({"runs", m_folder.path(), "--find", "nothing-has-this-name"});
    QVERIFY2(other.out.startsWith("no run has these words"), other.out.constData());
    QVERIFY(run({"runs", m_folder.path()}).out.startsWith("run "));
}

void CliCompareTest::findingsOfTwoTraces()
{
    const QJsonObject forth = run({"compare", m_before[0], m_slow[0], "--json"}).json()["findings"].toObject();
    QCOMPARE(rowOf(forth["new"].toArray(), "id", "slow_rank")["ranks"].toArray(), QJsonArray{1});
    QVERIFY(rowOf(forth["gone"].toArray(), "id", "slow_rank").isEmpty());
    const QJsonObject back = run({"compare", m_slow[0], m_before[0], "--json"}).json()["findings"].toObject();
    QCOMPARE(rowOf(back["gone"].toArray(), "id", "slow_rank")["ranks"].toArray(), QJsonArray{1});
    const QByteArray text = run({"compare", m_slow[0], m_before[0]}).out;
    QVERIFY2(text.contains("gone: one rank holds the others up: rank 1"), text.constData());
}

void CliCompareTest::theSuite()
{
    const Answer answer = run({"bench", "gate", "--trials", "1", "--runs", "2", "--slowdown", "30", "--json"});
    QVERIFY2(answer.exitCode == 0, answer.err.constData());
    const QJsonObject score = answer.json();
    QCOMPARE(score["trials"].toInt(), 1);
    QVERIFY(std::abs(score["slowdown_pct"].toDouble() - 30) < 3);
    for (const char* key : {"found_pct", "false_alarm_pct", "interval_holds_pct", "run_deviation_pct"})
        QVERIFY2(score.contains(key), key);
}

void CliCompareTest::refuses_data()
{
    QTest::addColumn<QStringList>("arguments");
    QTest::addColumn<QByteArray>("says");
    const auto row = [](const char* name, const QStringList& arguments, const QByteArray& says) {
        QTest::newRow(name) << arguments << says;
    };
    row("one trace", {"a"}, "two traces");
    row("three traces", {"a", "b", "c"}, "--against");
    row("nothing to compare with", {"a", "--against"}, "--against");
    row("Markdown of two traces", {"a", "b", "--markdown"}, "--markdown");
    row("sure of everything", {"a", "--against", "b", "--confidence", "100"}, "--confidence");
    row("limit below none", {"a", "--against", "b", "--fail-over", "-1"}, "--fail-over");
}

void CliCompareTest::refuses()
{
    QFETCH(QStringList, arguments);
    QFETCH(QByteArray, says);
    const Answer answer = run(QStringList{"compare"} + arguments);
    QCOMPARE(answer.exitCode, 2);
    QVERIFY2(answer.err.contains(says), answer.err.constData());
}

FOURWALLS_TEST(CliCompareTest, QCoreApplication)

} // namespace tst_cli_compare

#include "tst_cli_compare.moc"
