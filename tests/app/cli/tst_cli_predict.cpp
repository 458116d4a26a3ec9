// SPDX-License-Identifier: Apache-2.0
// The verbs of the cost model: figures, traces, goodput, claims and comparisons with the fields of the contract, and what
// they refuse. The search for plans is in tst_cli_plan, what is learned from recordings in tst_cli_predict_like.
#include "tests/app/cli/program.h"
#include "tests/support/test_program.h"

#include <QFile>
#include <QJsonArray>
#include <QProcess>
#include <QRegularExpression>
#include <QTemporaryDir>
#include <QTest>

namespace tst_cli_predict {

using namespace fourwalls::test;

class CliPredictTest : public QObject {
    Q_OBJECT

private slots:
    void predictPrintsWhatTheTraceSays();
    void whatIsTakenInsteadIsSaid();
    void predictRefuses_data();
    void predictRefuses();
    void othersRefuse_data();
    void othersRefuse();
    void outOfMemoryIsAnAnswer();
    void thisMachineIsMeasured();
    void whatCannotBeIsNoWrongUsage();
    void examplesFit();
    void goodputAddsUp();
    void claimsHaveVerdicts();
    void compareAndItsGate();

private:
    QStringList gpt3() const
    {
        return {"--model", "gpt3-175b", "--cluster", "dgx-a100", "--batch", "64", "--seq", "2048"};
    }
    QTemporaryDir m_folder;
};

void CliPredictTest::predictPrintsWhatTheTraceSays()
{
    const QString file = m_folder.filePath("step.fourwalls");
    const Answer answer =
        run(QStringList{"predict", "--plan", "tp=8 pp=8 dp=2 microbatches=8 recompute=full", "-o", file, "--json"} +
            gpt3());
    QVERIFY2(answer.exitCode == 0, answer.err.constData());
    const QJsonObject predicted = answer.json();
    for (const char* field : {"schema_version", "low", "high", "dominant_term", "feasible", "why"})
        QVERIFY2(predicted.contains(field), field);
    QVERIFY(predicted["low"].toObject()["step_time_ms"].toDouble() <= predicted["step_time_ms"].toDouble());
    QVERIFY(predicted["high"].toObject()["step_time_ms"].toDouble() >= predicted["step_time_ms"].toDouble());
    QVERIFY(predicted["low"].toObject()["mfu"].toDouble() <= predicted["mfu"].toDouble());
    QVERIFY(predicted["feasible"].toBool());
    const QJsonObject read = run({"metrics", file, "--json"}).json();
    QCOMPARE(read["source"].toString(), QString("predicted"));
    for (const QString& field : read.keys()) QVERIFY2(read[field] == predicted[field], qPrintable(field));
    QVERIFY(run({"check", file, "--json"}).json()["sound"].toBool());
}

void CliPredictTest::whatIsTakenInsteadIsSaid()
{
    const auto says = [](const QStringList& words, const QString& begin) {
        const QStringList assumed = run(QStringList{"predict", "--batch", "64", "--seq", "2048", "--json"} + words)
                                        .json()["assumed"]
                                        .toVariant()
                                        .toStringList();
        return !assumed.filter(QRegularExpression("^" + QRegularExpression::escape(begin))).isEmpty();
    };
    const QStringList job{"--model", "llama2-7b", "--cluster", "dgx-a100", "--plan"};
    QVERIFY(says(job + QStringList{"dp=8 zero=3", "--framework", "megatron-core"},
                 "plan=as said (megatron-core has no zero=3"));
    QVERIFY(!says(job + QStringList{"dp=8 zero=3", "--framework", "fsdp"}, "plan="));
    QVERIFY(says(job + QStringList{"dp=8", "--framework", "deepspeed-megatron"}, "attention=unfused"));
    QVERIFY(!says(job + QStringList{"dp=8 attention=unfused", "--framework", "deepspeed-megatron"}, "attention="));
    const auto rates = [&](const char* cluster) {
        return says({"--model", "llama2-7b", "--cluster", cluster, "--plan", "dp=8"}, "rates=of single operations");
    };
    QVERIFY(rates("mi300x-platform") && !rates("dgx-h100"));
}

void CliPredictTest::predictRefuses_data()
{
    QTest::addColumn<QString>("plan");
    QTest::addColumn<QString>("named");
    QTest::newRow("unknown key") << "foo=1"
                                 << "foo";
    QTest::newRow("heads") << "tp=7"
                           << "tp";
    QTest::newRow("more stages than layers") << "pp=97 microbatches=64"
                                             << "pp";
    QTest::newRow("batch") << "dp=3"
                           << "batch";
    QTest::newRow("interleaved") << "pp=8 vpp=2 microbatches=4"
                                 << "microbatches";
    QTest::newRow("experts") << "dp=2 ep=2"
                             << "ep";
}

void CliPredictTest::predictRefuses()
{
    QFETCH(QString, plan);
    QFETCH(QString, named);
    const QString file = m_folder.filePath("none.fourwalls");
    const Answer answer = run(QStringList{"predict", "--plan", plan, "-o", file} + gpt3());
    QCOMPARE(answer.exitCode, 2);
    QVERIFY2(answer.saysOneLine(), answer.err.constData());
    QVERIFY2(answer.err.contains(named.toUtf8()), answer.err.constData());
    QVERIFY(!QFile::exists(file));
}

void CliPredictTest::othersRefuse_data()
{
    QTest::addColumn<QStringList>("words");
    QTest::addColumn<QString>("named");
    const QStringList goodput{"goodput", "--model", "gpt2-124m", "--cluster", "dgx-h100"};
    const QStringList plan{"plan", "--model", "gpt2-124m", "--cluster", "dgx-h100", "--gpus"};
    QTest::newRow("no samples") << QStringList{"predict", "--batch", "0"} << "--batch";
    QTest::newRow("no tokens") << QStringList{"predict", "--seq", "0"} << "--seq";
    QTest::newRow("precision") << QStringList{"predict", "--cluster", "v100-pcie", "--precision", "fp8"} << "fp8";
    QTest::newRow("rank") << QStringList{"predict", "--lora", "-1"} << "--lora";
    QTest::newRow("adapters of experts") << QStringList{"predict", "--model", "qwen3-30b-a3b", "--cluster", "dgx-h100",
                                                        "--lora",  "16"}
                                         << "adapters";
    QTest::newRow("devices") << plan + QStringList{"1000000000000"} << "--gpus";
    QTest::newRow("schedule") << plan + QStringList{"8", "--plan", "pp=2 schedule=zbv"} << "zbv";
    QTest::newRow("stage") << plan + QStringList{"8", "--plan", "zero=3"} << "zero=3";
    QTest::newRow("interval") << goodput + QStringList{"--interval-seconds", "0"} << "--interval-seconds";
    QTest::newRow("failures") << goodput + QStringList{"--mtbf-hours", "0"} << "cannot be 0 ";
}

void CliPredictTest::othersRefuse()
{
    QFETCH(QStringList, words);
    QFETCH(QString, named);
    const Answer answer = run(words);
    QCOMPARE(answer.exitCode, 2);
    QVERIFY2(answer.saysOneLine(), answer.err.constData());
    QVERIFY2(answer.err.contains(named.toUtf8()), answer.err.constData());
}

void CliPredictTest::outOfMemoryIsAnAnswer()
{
    const Answer answer = run(QStringList{"predict", "--plan", "tp=8 pp=1 microbatches=1", "--json"} + gpt3());
    QCOMPARE(answer.exitCode, 0);
    QVERIFY(!answer.json()["feasible"].toBool());
    QVERIFY(answer.json()["why"].toString().contains("out of memory"));
    // Adapters alone leave room for the weights below them, for the search as well.
    const QStringList llama{"--model", "llama2-7b", "--cluster", "dgx-a100", "--batch", "1", "--json"};
    QVERIFY(!run(QStringList{"predict"} + llama).json()["feasible"].toBool());
    QVERIFY(run(QStringList{"predict", "--lora", "16"} + llama).json()["feasible"].toBool());
    const auto best = [&](const QStringList& with) {
        const QStringList words = QStringList{"plan", "--gpus", "1"} + with + llama;
        return run(words).json()["plans"].toArray().first().toObject()["plan"].toString();
    };
    QVERIFY(best({}).contains("offload=optimizer"));
    const QString adapted = best({"--lora", "16"});
    QVERIFY2(!adapted.contains("offload"), qPrintable(adapted));
}

// Nothing but the verb: the default cluster is this machine, of which nothing is known before it is measured.
void CliPredictTest::thisMachineIsMeasured()
{
    for (const QStringList& words :
         {QStringList{"predict"}, QStringList{"predict", "--plan", "dp=2", "--precision", "f32"},
          QStringList{"plan", "--gpus", "2"}, QStringList{"goodput"}}) {
        const Answer answer = run(words + QStringList{"--json"});
        QVERIFY2(answer.exitCode == 0, answer.err.constData());
        QVERIFY(answer.err.isEmpty());
        const QJsonObject found = answer.json();
        QVERIFY(found["note"].toString().contains("calibrate -o machine.json"));
        const double step = words.first() == "plan"
                                ? found["plans"].toArray().first().toObject()["step_time_ms"].toDouble()
                                : found["step_time_ms"].toDouble();
        QVERIFY2(step > 0.1 && step < 1e5, qPrintable(QString::number(step)));
    }
    QVERIFY(run({"predict"}).out.contains("calibrate -o machine.json"));
    QVERIFY(run(QStringList{"predict", "--json"} + gpt3()).json()["note"].isNull());
}

void CliPredictTest::whatCannotBeIsNoWrongUsage()
{
    QFile file(m_folder.filePath("bare.json"));
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write(R"({"name": "bare", "device": {"name": "chip", "family": "other"}, "devices_per_node": 1, "nodes": 1})");
    file.close();
    for (const QStringList& words :
         {QStringList{"predict", "--cluster", file.fileName()},
          QStringList{"record", "--model", "gpt3-175b", "-o", m_folder.filePath("none.fourwalls")}}) {
        const Answer answer = run(words);
        QVERIFY2(answer.exitCode == 1, answer.err.constData());
        QVERIFY2(answer.saysOneLine(), answer.err.constData());
    }
}

// What --help shows is what one tries first.
void CliPredictTest::examplesFit()
{
    int tried = 0;
    for (const QString verb : {"predict", "goodput", "plan"}) {
        const QStringList lines = QString::fromUtf8(run({verb, "--help"}).out).split('\n');
        for (QString line : lines) {
            line = line.trimmed();
            if (!line.startsWith("fourwalls-cli " + verb + " --model")) continue;
            line = line.section('|', 0, 0).section(" -o ", 0, 0);
            QStringList words = QProcess::splitCommand(line).mid(1);
            if (!words.contains("--json")) words << "--json";
            const Answer answer = run(words);
            QVERIFY2(answer.exitCode == 0, qPrintable(line));
            const QJsonObject object = answer.json();
            const bool fits = verb == "plan" ? object["plans"].toArray().first().toObject()["feasible"].toBool()
                                             : object["feasible"].toBool();
            QVERIFY2(fits, qPrintable(line + ": " + object["why"].toString()));
            ++tried;
        }
    }
    QVERIFY2(tried >= 6, qPrintable(QString::number(tried)));
}

void CliPredictTest::goodputAddsUp()
{
    const Answer answer =
        run(QStringList{"goodput", "--plan", "tp=8 pp=8 dp=2 microbatches=8 recompute=full", "--mtbf-hours", "10000",
                        "--checkpoint-seconds", "60", "--restart-seconds", "300", "--json"} +
            gpt3());
    QVERIFY2(answer.exitCode == 0, answer.err.constData());
    const QJsonObject goodput = answer.json();
    const double mtbf = 10000.0 / 128;
    QVERIFY(qAbs(goodput["job_mtbf_hours"].toDouble() - mtbf) < 1e-9);
    QVERIFY(qAbs(goodput["availability"].toDouble() - mtbf * 3600 / (mtbf * 3600 + 300)) < 1e-9);
    const QJsonObject wasted = goodput["wasted"].toObject();
    QVERIFY(qAbs(goodput["goodput"].toDouble() + wasted["checkpoints"].toDouble() + wasted["recovery"].toDouble() +
                 wasted["recomputation"].toDouble() - 1) < 1e-9);
    QCOMPARE(run(QStringList{"goodput", "--mtbf-hours", "-1"} + gpt3()).exitCode, 2);
}

void CliPredictTest::claimsHaveVerdicts()
{
    const QJsonArray claims = run({"claims", "--json"}).json()["claims"].toArray();
    QVERIFY(claims.size() >= 50);
    for (const QJsonValue& value : claims) {
        const QJsonObject claim = value.toObject();
        for (const char* field : {"id", "statement", "claimed", "computed", "unit", "verdict", "because"})
            QVERIFY2(claim.contains(field), field);
    }
    QCOMPARE(run({"claims", "--id", "no-such-claim"}).exitCode, 2);
}

void CliPredictTest::compareAndItsGate()
{
    const QString quick = m_folder.filePath("a.fourwalls"), slow = m_folder.filePath("b.fourwalls");
    const auto predict = [](const QString& cluster, const QString& file) {
        return run({"predict", "--model", "gpt2-124m", "--cluster", cluster, "--batch", "8", "-o", file}).exitCode;
    };
    QCOMPARE(predict("dgx-h100", quick), 0);
    QCOMPARE(predict("dgx-a100", slow), 0);
    const Answer compared = run({"compare", quick, slow, "--json"});
    QVERIFY2(compared.exitCode == 0, compared.err.constData());
    const QJsonObject first = compared.json()["differences"].toArray().first().toObject();
    QCOMPARE(first["figure"].toString(), QString("step_time_ms"));
    QVERIFY(first["percent"].toDouble() > 10);
    QVERIFY(!compared.json()["layers"].toArray().isEmpty());
    QCOMPARE(run({"compare", quick, slow, "--fail-over", "5"}).exitCode, 1);
    QCOMPARE(run({"compare", slow, quick, "--fail-over", "5"}).exitCode, 0);
    QCOMPARE(run({"compare", quick, quick, "--fail-over", "0"}).exitCode, 0);
}

FOURWALLS_TEST(CliPredictTest, QCoreApplication)

} // namespace tst_cli_predict

#include "tst_cli_predict.moc"
