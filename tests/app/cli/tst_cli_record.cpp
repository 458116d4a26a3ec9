// SPDX-License-Identifier: Apache-2.0
// `record`: the file, the progress, the summary, and an orderly end on a signal.
#include <QtTest> // first: moc stumbles over <compare> otherwise

#include "model/store/trace_file.h"
#include "tests/app/cli/program.h"
#include "tests/support/test_program.h"

#include <QDir>
#include <QFile>
#include <QJsonArray>
#include <QTemporaryDir>

#include <algorithm>

#include <signal.h>

namespace tst_cli_record {

using namespace fourwalls::test;

class CliRecordTest : public QObject {
    Q_OBJECT

private slots:
    void summaryAndProgressAsJson();
    void textForPeople();
    void withoutTrace();
    void divergedTrainingIsSaid();
    void tracingChangesNoNumbers();
    void signalsEndItInOrder_data();
    void signalsEndItInOrder();
    void failureBeforeTheFirstStepLeavesNoFile();
    void whatFilledTheMemoryIsKept();
    void modelFromAFile();

private:
    QString path(const QString& name) const { return m_folder.filePath(name); }
    QStringList record(const QString& name, const QStringList& more = {}, int steps = 3) const
    {
        return QStringList{"record", "-o", path(name)} + quickRun(steps) + more;
    }

    QTemporaryDir m_folder;
};

void CliRecordTest::summaryAndProgressAsJson()
{
    const Answer answer = run(record("a.fourwalls", {"--json"}));
    QCOMPARE(answer.exitCode, 0);
    const QJsonObject summary = answer.json();
    QCOMPARE(summary["schema_version"].toInt(), 1);
    QCOMPARE(summary["file"].toString(), path("a.fourwalls"));
    QCOMPARE(summary["loss"].toArray().size(), 3);
    QCOMPARE(summary["steps"].toInt(), 3);
    QCOMPARE(summary["stopped"].toBool(true), false);
    QCOMPARE(summary["parameters"].toInt(), 1'635'584);
    QVERIFY(summary["step_time_ms"].toDouble() > 0);
    QVERIFY(summary["peak_bytes"].toDouble() > 1e6);
    // Standard error: one JSON object per line; those of steps carry the figures.
    int steps = 0;
    for (const QByteArray& line : answer.err.trimmed().split('\n')) {
        const QJsonObject progress = QJsonDocument::fromJson(line).object();
        QVERIFY2(progress.contains("message"), line.constData());
        if (!progress.contains("step")) continue;
        ++steps;
        QCOMPARE(progress["step"].toInt(), steps);
        QCOMPARE(progress["steps"].toInt(), 3);
        QVERIFY(progress["loss"].toDouble() > 0 && progress["lr"].toDouble() > 0);
        QVERIFY(progress["step_ms"].toDouble() > 0);
        QCOMPARE(progress["loss"].toDouble(), summary["loss"].toArray()[steps - 1].toDouble());
    }
    QCOMPARE(steps, 3);
}

void CliRecordTest::textForPeople()
{
    const Answer answer = run(record("b.fourwalls"));
    QCOMPARE(answer.exitCode, 0);
    QVERIFY(answer.out.contains("recorded in " + path("b.fourwalls").toUtf8()));
    QVERIFY(answer.err.contains("step 2 (3/3)  loss "));
    QVERIFY(!QFile::exists(path("b.fourwalls-wal")));
}

void CliRecordTest::withoutTrace()
{
    const Answer answer = run(QStringList{"record", "--no-trace", "--json"} + quickRun(3));
    QCOMPARE(answer.exitCode, 0);
    QVERIFY(answer.json()["file"].isNull());
    QCOMPARE(answer.json()["step_ms"].toArray().size(), 3);
}

void CliRecordTest::divergedTrainingIsSaid()
{
    const QString file = path("diverged.fourwalls");
    const Answer answer = run(record("diverged.fourwalls", {"--optimizer", "sgd", "--lr", "1e6", "--clip", "0"}, 6));
    QCOMPARE(answer.exitCode, 0);
    QVERIFY2(answer.out.contains("training has diverged: the loss of step "), answer.out.constData());
    QVERIFY(answer.err.contains("loss is not a number") && !answer.err.contains("nan"));
    QVERIFY(run({"check", file, "--json"}).json()["sound"].toBool()); // the largest rate that a file can hold
    QVERIFY(!run(record("well.fourwalls")).out.contains("diverged"));
}

void CliRecordTest::tracingChangesNoNumbers()
{
    const Answer traced = run(record("c.fourwalls", {"--json", "--seed", "7"}));
    const Answer untraced = run(QStringList{"record", "--no-trace", "--json", "--seed", "7"} + quickRun(3));
    QVERIFY(!traced.json()["loss"].toArray().isEmpty());
    QCOMPARE(traced.json()["loss"], untraced.json()["loss"]);
    const Answer other = run(QStringList{"record", "--no-trace", "--json", "--seed", "8"} + quickRun(3));
    QVERIFY(other.json()["loss"] != traced.json()["loss"]);
}

void CliRecordTest::signalsEndItInOrder_data()
{
    QTest::addColumn<int>("signal");
    QTest::newRow("interrupt") << SIGINT;
    QTest::newRow("terminate") << SIGTERM;
}

void CliRecordTest::signalsEndItInOrder()
{
    QFETCH(int, signal);
    const QString file = QStringLiteral("signal%1.fourwalls").arg(signal);
    QProcess process;
    process.setReadChannel(QProcess::StandardError);
    process.start(programPath(), record(file, {"--json"}, 1'000'000));
    QByteArray progress;
    while (progress.count("\"step\":") < 3 && process.waitForReadyRead(60'000))
        progress += process.readAllStandardError();
    QVERIFY2(progress.count("\"step\":") >= 3, progress.constData());
    ::kill(static_cast<pid_t>(process.processId()), signal);
    QVERIFY(process.waitForFinished(60'000));
    QCOMPARE(process.exitCode(), 0);
    const QJsonObject summary = QJsonDocument::fromJson(process.readAllStandardOutput()).object();
    QVERIFY(summary["stopped"].toBool());
    const Answer check = run({"check", path(file), "--json"});
    QCOMPARE(check.exitCode, 0);
    QVERIFY(check.json()["complete"].toBool());
    const Answer metrics = run({"metrics", path(file), "--json"});
    QCOMPARE(metrics.json()["loss"].toArray().size(), summary["steps"].toInt());
}

void CliRecordTest::failureBeforeTheFirstStepLeavesNoFile()
{
    const QString empty = path("empty.txt");
    QVERIFY(QFile(empty).open(QIODevice::WriteOnly));
    const Answer answer = run(record("d.fourwalls", {"--data", empty}));
    QCOMPARE(answer.exitCode, 1);
    QVERIFY(answer.err.contains("empty.txt"));
    QCOMPARE(QDir(m_folder.path()).entryList({"d.fourwalls*"}, QDir::AllEntries | QDir::Hidden), QStringList());

    // An older trace of that name stays as it was.
    QCOMPARE(run(record("old.fourwalls")).exitCode, 0);
    QFile old(path("old.fourwalls"));
    QVERIFY(old.open(QIODevice::ReadOnly));
    const QByteArray before = old.readAll();
    old.close();
    QCOMPARE(run(record("old.fourwalls", {"--data", empty})).exitCode, 1);
    QVERIFY(old.open(QIODevice::ReadOnly));
    QVERIFY(old.readAll() == before);
    old.close();
    // And a successful recording replaces it, leaving nothing else behind.
    QCOMPARE(run(record("old.fourwalls", {}, 4)).exitCode, 0);
    QCOMPARE(QDir(m_folder.path()).entryList({"*old.fourwalls*"}, QDir::AllEntries | QDir::Hidden),
             QStringList{"old.fourwalls"});
}

void CliRecordTest::whatFilledTheMemoryIsKept()
{
    // gpt-tiny's states fit into these devices, a step of this batch does not.
    QFile cluster(path("small.json"));
    QVERIFY(cluster.open(QIODevice::WriteOnly));
    cluster.write(R"({"name": "small", "device": {"name": "small device", "family": "cpu", "memory_bytes": 90000000},
                      "devices_per_node": 1, "nodes": 1, "fabric": "shared"})");
    cluster.close();
    const QStringList wanted{"record",
                             "--model",
                             "gpt-tiny",
                             "--batch",
                             "8",
                             "--steps",
                             "2",
                             "--clock",
                             "wall",
                             "--cluster",
                             cluster.fileName(),
                             "-o",
                             path("full.fourwalls")};
    const Answer answer = run(wanted);
    QCOMPARE(answer.exitCode, 1);
    QVERIFY2(answer.err.contains("out of memory"), answer.err.constData());
    const auto trace = fourwalls::store::openTrace(path("full.fourwalls").toStdString());
    QVERIFY(trace.ok());
    const auto events =
        (*trace)->events({fourwalls::Instant{0}, (*trace)->info().range.end + fourwalls::Duration{1}}, 10);
    QVERIFY(events.ok());
    QCOMPARE(events->size(), std::size_t{2});
    QCOMPARE(events->front().kind, fourwalls::EventKind::OutOfMemory);
    QCOMPARE(events->back().kind, fourwalls::EventKind::Fault);
    // What was alive then is nearly all that the device has.
    const auto alive = (*trace)->aliveAt(fourwalls::RankId(0), events->front().at, 1000);
    QVERIFY(alive.ok());
    QVERIFY2(alive->totalBytes > 60'000'000 && alive->totalBytes < 90'000'000,
             qPrintable(QString::number(alive->totalBytes)));
}

void CliRecordTest::modelFromAFile()
{
    QFile file(path("mine.json"));
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write(R"({"layers":2,"hidden":32,"heads":2,"vocabulary":256,"sequence":64,"activation":"swiglu",
                   "normalization":"rms_norm","positions":"rotary","biases":false})");
    file.close();
    const Answer answer = run({"record", "-o", path("mine.fourwalls"), "--model", path("mine.json"), "--steps", "2",
                               "--batch", "2", "--json"});
    QVERIFY2(answer.exitCode == 0, answer.err.constData());
    const Answer info = run({"info", path("mine.fourwalls"), "--json"});
    const QJsonObject spec = info.json()["spec"].toObject();
    QCOMPARE(spec["model"].toObject()["name"].toString(), QString("mine"));
    QCOMPARE(spec["training"].toObject()["sequence"].toInt(), 64);
}

FOURWALLS_TEST(CliRecordTest, QCoreApplication)

} // namespace tst_cli_record

#include "tst_cli_record.moc"
