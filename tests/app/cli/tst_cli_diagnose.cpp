// SPDX-License-Identifier: Apache-2.0
// `diagnose` on recordings in which something was spoiled on purpose: the cause, who has it, and what it would gain.
#include <QtTest>

#include "tests/app/cli/program.h"
#include "tests/support/test_program.h"

#include <QJsonArray>
#include <QJsonObject>
#include <QTemporaryDir>

namespace tst_cli_diagnose {

using namespace fourwalls::test;

class CliDiagnoseTest : public QObject {
    Q_OBJECT

private slots:
    void spoiledOnPurpose_data();
    void spoiledOnPurpose();
    void sequencesOfDifferentLength();
    void aLateLinkExplainsItsRanks();
    void nothingIsWrong();
    void publishedJobs();
    void theTraceSaysWhatWasDone();
    void theSuite();
    void refuses_data();
    void refuses();

private:
    QString record(const QStringList& arguments, int steps = 12)
    {
        const QString file = m_folder.filePath(QString("run%1.fourwalls").arg(++m_files));
        QStringList words{"-o", file, "--steps", QString::number(steps)};
        const QStringList quick[] = {{"--model", "gpt-tiny"}, {"--batch", "8"}, {"--seq", "32"}};
        for (const QStringList& each : quick)
            if (!arguments.contains(each.first())) words += each;
        // What a link costs beside the computing is not this machine's matter.
        const Answer answer =
            arguments.contains("--link-fault")
                ? recordEvenly(words + arguments, m_folder.filePath(QString("even%1.json").arg(m_files)))
                : run(QStringList{"record", "--clock", "device"} + words + arguments);
        if (answer.exitCode != 0) qWarning("%s", answer.err.constData());
        return answer.exitCode == 0 ? file : QString();
    }
    QTemporaryDir m_folder;
    int m_files = 0;
};

/// Whether the questions that the evidence names find rows in the trace.
bool everyFigureHasRows(const QString& file, const QJsonObject& finding)
{
    for (const QJsonValue& each : finding["evidence"].toArray()) {
        const QString query = each.toObject()["where"].toObject()["query"].toString();
        const Answer answer = run({"query", file, query, "--csv"});
        if (answer.exitCode == 0 && answer.out.count('\n') > 1) continue;
        qWarning("%s: %s%s", qPrintable(each.toObject()["what"].toString()), qPrintable(query), answer.err.constData());
        return false;
    }
    return true;
}

QJsonObject findingOf(const QJsonObject& answer, const QString& id)
{
    for (const QJsonValue& each : answer["findings"].toArray())
        if (each.toObject()["id"].toString() == id) return each.toObject();
    return {};
}

void CliDiagnoseTest::spoiledOnPurpose_data()
{
    QTest::addColumn<QStringList>("how");
    QTest::addColumn<QString>("id");
    QTest::addColumn<QJsonArray>("ranks");
    const auto row = [](const char* name, const QStringList& how, const QString& id, const QJsonArray& ranks) {
        QTest::newRow(name) << how << id << ranks;
    };
    row("slow rank", {"--plan", "dp=4", "--slow-rank", "2:1.5"}, "slow_rank", {2});
    row("slow rank of a pipeline", {"--plan", "pp=2 microbatches=4", "--disturb", "slow_rank:0:1.6"}, "slow_rank", {0});
    row("slow stage", {"--plan", "dp=2 pp=2 microbatches=4", "--disturb", "slow_stage:0:1.8"}, "slow_stage", {0, 1});
    row("throttled", {"--plan", "dp=2", "--disturb", "throttling:1:1.6@7"}, "throttling", {1});
    row("bad steps", {"--plan", "dp=2", "--disturb", "bad_steps:0:4@5"}, "bad_steps", {0});
    row("slow loader", {"--plan", "dp=2", "--disturb", "data_loading:1:8"}, "data_loading", {1});
    row("pauses", {"--plan", "dp=2", "--disturb", "host_pause:1:20"}, "host_pause", {1});
    row("memory", {"--plan", "dp=2", "--disturb", "memory_growth:1:2"}, "memory_growth", {1});
    row("slow link", {"--plan", "dp=2", "--cluster", "dgx-a100", "--link-fault", "0-1:latency_us=2000"}, "slow_link",
        {0, 1});
    row("slow link of four",
        {"--plan", "dp=4", "--cluster", slowNode(m_folder, 5e8), "--link-fault", "1-2:bandwidth=0.4"}, "slow_link",
        {1, 2});
    // What comes behind a late message waits for it, whoever sent it.
    row("late link of four that all send to all",
        {"--model", "moe-tiny", "--plan", "dp=4 ep=4", "--cluster", slowNode(m_folder, 5e9), "--link-fault",
         "0-2:latency_us=200"},
        "slow_link", {0, 2});
    row("uneven experts", {"--model", "moe-tiny", "--plan", "dp=2 ep=2", "--disturb", "expert_imbalance:1:3"},
        "expert_imbalance", {0, 1});
    // Steps of little work, so that writing takes a good part of them on any disk.
    row("checkpoints", {"--plan", "dp=2", "--batch", "2", "--seq", "8", "--checkpoint-every", "1"}, "checkpoint_stall",
        {0, 1});
    row("evaluations", {"--plan", "dp=2", "--eval-every", "4"}, "evaluation_stall", {0, 1});
}

void CliDiagnoseTest::spoiledOnPurpose()
{
    QFETCH(QStringList, how);
    QFETCH(QString, id);
    QFETCH(QJsonArray, ranks);
    const QString file = record(how);
    QVERIFY(!file.isEmpty());
    const Answer answer = run({"diagnose", file, "--json"});
    QVERIFY2(answer.exitCode == 0, answer.err.constData());
    const QJsonObject said = answer.json(), finding = findingOf(said, id);
    QVERIFY2(!finding.isEmpty(), answer.out.constData());
    QCOMPARE(finding["ranks"].toArray(), ranks);
    QVERIFY(!finding["evidence"].toArray().isEmpty() && !finding["confidence"].toString().isEmpty());
    QVERIFY(!finding["advice"].toString().isEmpty() && finding["show"]["begin_ns"].isDouble());
    QVERIFY(everyFigureHasRows(file, finding));
    if (finding["gain_from"].toString() == "replay") {
        QVERIFY(finding["gain_low_ms"].toDouble() <= finding["gain_ms"].toDouble());
        QVERIFY(finding["gain_high_ms"].toDouble() >= finding["gain_ms"].toDouble());
    }
    if (id == "memory_growth") {
        QVERIFY(finding["gain_ms"].isNull());
        // Who made what stays.
        const auto evidence = finding["evidence"].toArray();
        const auto made = std::find_if(evidence.begin(), evidence.end(), [](const QJsonValue& each) {
            return each.toObject()["what"].toString() == "mostly";
        });
        QVERIFY(made != evidence.end());
        QCOMPARE(made->toObject()["value"].toString(), QString("remember"));
    } else {
        QVERIFY(finding["gain_pct"].toDouble() >= 1 && finding["gain_pct"].toDouble() < 100);
    }
    // Findings are in the order of what they gain.
    double before = 1e9;
    for (const QJsonValue& each : said["findings"].toArray()) {
        if (each.toObject()["gain_pct"].isNull()) continue;
        QVERIFY(each.toObject()["gain_pct"].toDouble() <= before);
        before = each.toObject()["gain_pct"].toDouble();
    }
    const QByteArray text = run({"diagnose", file}).out;
    for (const char* words : {"how sure", "look at", "what helps"}) QVERIFY2(text.contains(words), text.constData());
}

void CliDiagnoseTest::sequencesOfDifferentLength()
{
    const QString file = m_folder.filePath("uneven.fourwalls");
    const Answer recorded =
        recordEvenly({"-o", file, "--model", "gpt-tiny", "--steps", "12", "--batch", "16", "--seq", "32", "--plan",
                      "dp=2 microbatches=4", "--disturb", "sequence_imbalance:all:4"},
                     m_folder.filePath("uneven.json"));
    QVERIFY2(recorded.exitCode == 0, recorded.err.constData());
    const Answer answer = run({"diagnose", file, "--json"});
    const QJsonObject finding = findingOf(answer.json(), "sequence_imbalance");
    QVERIFY2(!finding.isEmpty(), answer.out.constData());
    QCOMPARE(finding["ranks"].toArray(), (QJsonArray{0, 1}));
    // The operators say that the passes differ in their work, and their times follow it.
    bool follows = false;
    for (const QJsonValue& each : finding["evidence"].toArray())
        if (each.toObject()["what"].toString() == "correlation of time and FLOPs")
            follows = each.toObject()["value"].toDouble() > 0.9;
    QVERIFY2(follows, answer.out.constData());
    // What even sequences would gain: a step is as long as the rank that was dealt more; both would take the mean.
    const double gain = finding["gain_pct"].toDouble();
    QVERIFY2(gain > 3 && gain < 40, answer.out.constData());
}

/// Rank 0 comes late to what follows, since what rank 1 sends it does: that is the link's, and no rank is slow.
void CliDiagnoseTest::aLateLinkExplainsItsRanks()
{
    const QString file = record({"--plan", "tp=4", "--cluster", "dgx-a100", "--link-fault", "0-1:latency_us=1000"});
    QVERIFY(!file.isEmpty());
    const QJsonObject said = run({"diagnose", file, "--json"}).json();
    QCOMPARE(findingOf(said, "slow_link")["ranks"].toArray(), (QJsonArray{0, 1}));
    QVERIFY(findingOf(said, "slow_rank").isEmpty());
}

void CliDiagnoseTest::nothingIsWrong()
{
    // Where all send to all, a hop waits for those that its sender sends before it: they are no slow link.
    for (const QStringList& how :
         {QStringList{"--plan", "tp=2"}, QStringList{"--plan", "dp=4 zero=2"},
          QStringList{"--plan", "dp=4", "--cluster", slowNode(m_folder, 2e9)},
          QStringList{"--model", "moe-tiny", "--plan", "dp=4 ep=4", "--cluster", slowNode(m_folder, 2e9)}}) {
        const QString file = record(how);
        QVERIFY(!file.isEmpty());
        const QJsonObject said = run({"diagnose", file, "--json"}).json();
        for (const QJsonValue& each : said["findings"].toArray()) {
            const QString id = each.toObject()["id"].toString();
            // What the plan itself costs.
            QVERIFY2(id == "exposed_communication" || id == "small_kernels" || id == "uneven_arrivals", qPrintable(id));
        }
    }
}

/// Jobs of ByteDance-Seed/StragglerAnalysis at 8efcd7f37f15 (Apache-2.0), as recorded operations: of SE the first six steps,
/// of ST all. Their authors' analysis says that SE's sequences and ST's last stage hold the job up.
void CliDiagnoseTest::publishedJobs()
{
    const QString folder = QStringLiteral(FOURWALLS_SOURCE_DIR "/tests/data/replay/");
    const auto faults = [&](const char* name) {
        const QString file = m_folder.filePath(QString::fromLatin1(name) + ".fourwalls");
        if (run({"import", folder + name, "-o", file}).exitCode != 0) return QList<QJsonObject>();
        QList<QJsonObject> list;
        for (const QJsonValue& each : run({"diagnose", file, "--json"}).json()["findings"].toArray())
            if (each["id"].toString() == "sequence_imbalance" || each["id"].toString().startsWith("slow_"))
                list << each.toObject();
        return list;
    };
    const QList<QJsonObject> se = faults("recorded-SE-6-steps.json.gz");
    QCOMPARE(se.size(), 2);
    QCOMPARE(se[0]["id"].toString(), QString("sequence_imbalance"));
    QVERIFY(std::abs(se[0]["gain_pct"].toDouble() - 23.0) < 0.5);
    QCOMPARE(se[1]["id"].toString(), QString("slow_stage"));
    QCOMPARE(se[1]["stage"].toInt(), 1);
    QVERIFY(std::abs(se[1]["gain_pct"].toDouble() - 9.0) < 0.5);
    const QList<QJsonObject> st = faults("recorded-ST.json.gz");
    QCOMPARE(st.size(), 1);
    QCOMPARE(st[0]["id"].toString(), QString("slow_stage"));
    QCOMPARE(st[0]["stage"].toInt(), 3);
    QVERIFY(std::abs(st[0]["gain_pct"].toDouble() - 12.9) < 0.5);
}

void CliDiagnoseTest::theTraceSaysWhatWasDone()
{
    const auto events = [this](const QStringList& more) {
        const QString file = record(QStringList{"--plan", "dp=2", "--disturb", "slow_rank:1:1.5"} + more, 4);
        const QString folder = m_folder.filePath(QString("csv%1").arg(m_files));
        if (run({"export", file, "--format", "csv", "-o", folder}).exitCode != 0) return QByteArray("no export");
        QFile table(folder + "/events.csv");
        return table.open(QIODevice::ReadOnly) ? table.readAll() : QByteArray();
    };
    QVERIFY(events({}).contains("on purpose: slow_rank 1.5"));
    QVERIFY(!events({"--blind"}).contains("on purpose"));
}

void CliDiagnoseTest::theSuite()
{
    const Answer answer = run({"bench", "diagnose", "--cases", "2", "--seed", "2", "--json"});
    QVERIFY2(answer.exitCode == 0, answer.err.constData());
    const QJsonObject score = answer.json();
    QCOMPARE(score["cases"].toInt(), 2);
    for (const char* key : {"clean", "rank_right_pct", "cause_first_pct", "cause_top3_pct", "false_alarm_pct",
                            "gain_error_pct", "by_cause"})
        QVERIFY2(score.contains(key), key);
}

void CliDiagnoseTest::refuses_data()
{
    QTest::addColumn<QStringList>("arguments");
    QTest::addColumn<QString>("says");
    const QStringList run{"record", "-o", "x.fourwalls", "--plan", "dp=2", "--steps", "4"};
    QTest::newRow("unknown kind") << run + QStringList{"--disturb", "gremlins:0:2"} << "gremlins";
    QTest::newRow("no amount") << run + QStringList{"--disturb", "slow_rank:0"} << "KIND:PLACE:AMOUNT";
    QTest::newRow("no such rank") << run + QStringList{"--disturb", "slow_rank:5:2"} << "no such rank";
    QTest::newRow("factor below one") << run + QStringList{"--disturb", "throttling:0:0.5@2"} << "factor";
    QTest::newRow("no output") << QStringList{"bench", "generate"} << "--output";
    QTest::newRow("no cases") << QStringList{"bench", "diagnose", "--cases", "0"} << "--cases";
}

void CliDiagnoseTest::refuses()
{
    QFETCH(QStringList, arguments);
    QFETCH(QString, says);
    const Answer answer = run(arguments);
    QCOMPARE(answer.exitCode, 2);
    QVERIFY2(answer.err.contains(says.toUtf8()), answer.err.constData());
}

FOURWALLS_TEST(CliDiagnoseTest, QCoreApplication)

} // namespace tst_cli_diagnose

#include "tst_cli_diagnose.moc"
