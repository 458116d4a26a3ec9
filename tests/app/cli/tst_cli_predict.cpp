// SPDX-License-Identifier: Apache-2.0
// The verbs of the cost model: figures, traces, searches, claims and comparisons with the fields of the contract.
#include "tests/app/cli/program.h"
#include "tests/support/test_program.h"

#include <QFile>
#include <QJsonArray>
#include <QProcess>
#include <QTemporaryDir>
#include <QTest>

namespace tst_cli_predict {

using namespace fourwalls::test;

class CliPredictTest : public QObject {
    Q_OBJECT

private slots:
    void predictPrintsWhatTheTraceSays();
    void predictRefuses_data();
    void predictRefuses();
    void othersRefuse_data();
    void othersRefuse();
    void outOfMemoryIsAnAnswer();
    void thisMachineIsMeasured();
    void whatCannotBeIsNoWrongUsage();
    void examplesFit();
    void planSearches();
    void planThatNothingFits();
    void planVerifies();
    void stagesRecomputeByThemselves();
    void stagesShareANode();
    void planSaysWhyThereIsNone();
    void likeATrace();
    void learnedFromTraces();
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

void CliPredictTest::planSearches()
{
    const Answer answer = run({"plan", "--model", "llama2-7b", "--cluster", "dgx-h100", "--gpus", "16", "--batch", "32",
                               "--limit", "3", "--json"});
    QVERIFY2(answer.exitCode == 0, answer.err.constData());
    const QJsonObject found = answer.json();
    QCOMPARE(found["plans"].toArray().size(), 3);
    QVERIFY(found["considered"].toDouble() >= found["evaluated"].toDouble());
    QVERIFY(found["evaluated"].toDouble() >= found["feasible"].toDouble());
    const QJsonObject best = found["plans"].toArray().first().toObject();
    QVERIFY(best["feasible"].toBool());
    // What plan says is what predict says.
    const QJsonObject predicted = run({"predict", "--model", "llama2-7b", "--cluster", "dgx-h100", "--batch", "32",
                                       "--plan", best["plan"].toString(), "--json"})
                                      .json();
    QVERIFY(qAbs(predicted["step_time_ms"].toDouble() / best["step_time_ms"].toDouble() - 1) < 1e-5);
    QCOMPARE(run({"plan", "--model", "llama2-7b", "--cluster", "dgx-h100", "--gpus", "0"}).exitCode, 2);

    // Energy is the same in both verbs; the robust plan comes first where that is asked for, and is refused of memory.
    const QStringList mixture{"plan", "--model", "mixtral-8x7b", "--cluster", "dgx-h100", "--gpus",
                              "16",   "--batch", "16",           "--limit",   "1",        "--json"};
    const QJsonObject usual = run(mixture).json(), robust = usual["robust"].toObject();
    const QString said = robust["is_best"].toBool() ? "the best plan is also" : robust["plan"].toString();
    QVERIFY2(robust["sentence"].toString().contains(said), qPrintable(robust["sentence"].toString()));
    QVERIFY(robust["expected_regret_pct"].toDouble() <= robust["expected_regret_of_best_pct"].toDouble());
    QVERIFY(robust["expected_regret_of_best_pct"].toDouble() > 0);
    const QJsonObject first = run(mixture + QStringList{"--robust"}).json()["plans"].toArray().first().toObject();
    QCOMPARE(first["plan"], robust["plan"]);
    const QJsonObject lean =
        run(mixture + QStringList{"--objective", "energy"}).json()["plans"].toArray().first().toObject();
    QVERIFY(lean["energy_joules"].toDouble() <= first["energy_joules"].toDouble());
    const QJsonObject same = run({"predict", "--model", "mixtral-8x7b", "--cluster", "dgx-h100", "--batch", "16",
                                  "--plan", lean["plan"].toString(), "--json"})
                                 .json();
    QCOMPARE(same["energy_joules"].toDouble(), lean["energy_joules"].toDouble());
    QCOMPARE(run(mixture + QStringList{"--objective", "memory", "--robust"}).exitCode, 2);
    // The best plan in the words of the framework that was searched for.
    const Answer words = run({"plan", "--model", "llama2-7b", "--cluster", "dgx-h100", "--gpus", "16", "--batch", "32",
                              "--emit", "megatron", "--json"});
    QVERIFY2(words.exitCode == 0, words.err.constData());
    const QJsonArray arguments = words.json()["emit"].toObject()["arguments"].toArray();
    QVERIFY(arguments.contains("--tensor-model-parallel-size") && arguments.contains("--global-batch-size"));
    QVERIFY(!words.json()["plans"].toArray().first().toObject()["plan"].toString().contains("zero=3"));
    // A configuration of DeepSpeed has no pipeline: what is passed over is said.
    const QStringList deep{"plan", "--model", "llama3-70b", "--cluster", "jean-zay-a100", "--gpus",
                           "64",   "--batch", "128",        "--emit",    "deepspeed"};
    const Answer passed = run(deep + QStringList{"--limit", "1", "--json"});
    QVERIFY2(passed.exitCode == 0, passed.err.constData());
    const QJsonObject told = passed.json()["emit"].toObject(), over = told["passed_over"].toObject();
    QCOMPARE(over["plan"], passed.json()["plans"].toArray().first().toObject()["plan"]);
    QVERIFY(over["plan"].toString().contains("pp=") && over["because"].toString().contains("pp="));
    QVERIFY(!told["plan"].toString().contains("pp=") && told["configuration"].isObject());
    QVERIFY(run(deep).out.contains("passed over: " + over["plan"].toString().toUtf8()));
    // The text says what it is for, and what was not said.
    const QByteArray text = run({"plan", "--model", "gpt2-124m", "--cluster", "dgx-h100", "--gpus", "8"}).out;
    QVERIFY2(text.startsWith("gpt2-124m on dgx-h100 in megatron-core, bf16, batch 8, sequences of 1024 tokens\n"),
             text.constData());
    QVERIFY(text.contains("batch=8, sequence=1024") && text.contains("step       peak    energy*  plan"));
}

/// A search that finds nothing to run could not do what it was asked for.
void CliPredictTest::planThatNothingFits()
{
    const auto refused = [this](const QStringList& words, const char* because) {
        const Answer answer = run(QStringList{"plan", "--model", "llama3-70b", "--json"} + words);
        QCOMPARE(answer.exitCode, 1);
        QVERIFY2(answer.err.contains(because) && answer.err.count('\n') == 1, answer.err.constData());
        QVERIFY(answer.json()["why"].isString() || !answer.json()["plans"].toArray().isEmpty());
    };
    refused({"--cluster", "dgx-h100", "--gpus", "2"}, "more memory than a device");
    refused({"--cluster", "dgx-h100", "--gpus", "7", "--batch", "4", "--plan", "dp=4"}, "no plan divides");
    refused(
        {"--cluster", "dgx-h100", "--gpus", "64", "--batch", "128", "--framework", "torchtitan", "--plan", "zero=1"},
        "torchtitan has no zero=1");
}

/// The search's plans trained: what is said of them follows from the rows. How well they agree depends on the machine.
void CliPredictTest::planVerifies()
{
    const QString trace = m_folder.filePath("verified.fourwalls"), table = m_folder.filePath("verified.json");
    const Answer recorded = run({"record", "-o", trace, "--model", "gpt-tiny", "--seq", "32", "--batch", "4", "--steps",
                                 "3", "--plan", "dp=2", "--clock", "device", "--kernel-times", table});
    QVERIFY2(recorded.exitCode == 0, recorded.err.constData());
    const Answer answer = run(
        {"plan", "--like", trace, "--gpus", "4", "--limit", "1", "--verify", "2", "--kernel-times", table, "--json"});
    QVERIFY2(answer.exitCode == 0, answer.err.constData());
    const QJsonObject found = answer.json(), verified = found["verified"].toObject();
    QCOMPARE(found["like"].toObject()["plan"].toString(), QString("dp=2"));
    QCOMPARE(found["plans"].toArray().size(), 1);
    const QJsonArray plans = verified["plans"].toArray();
    QCOMPARE(plans.size(), 4);
    int best = 0, pairs = 0, inOrder = 0;
    double least = 1e300;
    std::vector<double> times;
    for (const QJsonValue& value : plans) {
        const QJsonObject plan = value.toObject();
        best += plan["best"].toBool();
        times.push_back(plan["recorded_ms"].toDouble());
        QVERIFY(times.back() > 0 && plan["recorded_peak_bytes"].toDouble() > 0);
        least = std::min(least, times.back());
    }
    QCOMPARE(best, 2);
    for (std::size_t i = 0; i < times.size(); ++i)
        for (std::size_t j = i + 1; j < times.size(); ++j, ++pairs) inOrder += times[i] <= times[j];
    QCOMPARE(verified["pairs_in_order_pct"].toDouble(), 100.0 * inOrder / pairs);
    QVERIFY(std::abs(verified["regret_pct"].toDouble() - 100 * (times.front() / least - 1)) < 1e-6);
    // The plan that is the best of all with its own degrees is a reason for none.
    for (const QJsonValue& value : found["reasons"].toArray())
        QVERIFY(value.toObject()["chosen"] != value.toObject()["instead"]);
    // What fails while they are trained leaves the search's answer.
    const Answer ended = run({"plan", "--like", trace, "--gpus", "4", "--limit", "1", "--verify", "1", "--kernel-times",
                              m_folder.filePath("none/table.json"), "--json"});
    QCOMPARE(ended.exitCode, 1);
    QCOMPARE(ended.json()["plans"].toArray().size(), 1);
    QVERIFY(!ended.json()["verified"].toObject()["complete"].toBool(true));
    QVERIFY(ended.json()["verified"].toObject()["regret_pct"].isNull());
    const Answer foreign =
        run({"plan", "--model", "gpt2-124m", "--cluster", "dgx-h100", "--gpus", "8", "--verify", "2"});
    QCOMPARE(foreign.exitCode, 2);
    QVERIFY(foreign.saysOneLine() && foreign.err.contains("--like"));
    QCOMPARE(run({"plan", "--like", trace, "--gpus", "4", "--verify", "0"}).exitCode, 2);
}

/// The engine recomputes on each stage what its word says: the losses are those of any other plan, the step takes as long
/// as predicted from the recording without recomputation, and the peak of every rank is the predicted one of its stage.
void CliPredictTest::stagesRecomputeByThemselves()
{
    const QString none = m_folder.filePath("stages-none.fourwalls"), table = m_folder.filePath("stages-kernels.json");
    const auto peaks = [](const QJsonObject& metrics) {
        std::vector<double> bytes;
        for (const QJsonValue& rank : metrics["peak_bytes"].toArray())
            bytes.push_back(rank.toObject()["total"].toDouble());
        return bytes;
    };
    QJsonArray losses;
    std::vector<std::vector<double>> recorded;
    std::vector<double> times;
    for (const char* recompute : {"none", "full,none,none", "none,full,selective", "full"}) {
        const QString plan = QString("pp=3 microbatches=4 attention=unfused recompute=") + recompute,
                      trace = losses.isEmpty() ? none : m_folder.filePath("stages-mixed.fourwalls");
        const Answer run = recordEvenly({"-o", trace, "--model", "gpt-tiny", "--seq", "64", "--batch", "8", "--steps",
                                         "3", "--plan", plan, "--cluster", "dgx-a100", "--precision", "f32"},
                                        table);
        QVERIFY2(run.exitCode == 0, run.err.constData());
        const QJsonObject metrics = fourwalls::test::run({"metrics", trace, "--json"}).json();
        if (losses.isEmpty()) losses = metrics["loss"].toArray();
        QCOMPARE(losses.size(), 3);
        for (int step = 0; step < losses.size(); ++step)
            QVERIFY(std::abs(metrics["loss"].toArray()[step].toDouble() / losses[step].toDouble() - 1) < 1e-6);
        const Answer answer = fourwalls::test::run({"predict", "--like", none, "--plan", plan, "--json"});
        QVERIFY2(answer.exitCode == 0, answer.err.constData());
        times.push_back(metrics["step_time_ms"].toDouble());
        const double time = answer.json()["step_time_ms"].toDouble();
        QVERIFY2(std::abs(time / times.back() - 1) < 0.05,
                 qPrintable(QString("%1: %2 ms predicted, %3 ms recorded").arg(recompute).arg(time).arg(times.back())));
        const std::vector<double> predicted = peaks(answer.json());
        recorded.push_back(peaks(metrics));
        QCOMPARE(recorded.back().size(), std::size_t{3});
        QCOMPARE(predicted.size(), std::size_t{3});
        for (std::size_t stage = 0; stage < predicted.size(); ++stage)
            QVERIFY2(std::abs(predicted[stage] / recorded.back()[stage] - 1) < 0.01,
                     qPrintable(QString("%1, stage %2: %3 predicted, %4 recorded")
                                    .arg(recompute)
                                    .arg(stage)
                                    .arg(predicted[stage])
                                    .arg(recorded.back()[stage])));
    }
    QVERIFY(times[0] < times[1] && times[1] < times[3]);
    // A stage needs what it needs where all recompute as it does, whatever the others do; but for a message that comes
    // before or after the peak.
    const auto isSame = [](double a, double b) { return std::abs(a - b) <= 2 * 64 * 128 * sizeof(float); };
    const auto &nothing = recorded[0], &first = recorded[1], &mixed = recorded[2], &full = recorded[3];
    QVERIFY(full[0] < 0.8 * nothing[0]);
    QVERIFY(isSame(first[0], full[0]));
    QVERIFY(isSame(first[1], nothing[1]));
    QVERIFY(isSame(first[2], nothing[2]));
    QVERIFY(isSame(mixed[0], nothing[0]));
    QVERIFY(isSame(mixed[1], full[1]));
    QVERIFY(mixed[2] < nothing[2]);
}

/// Nodes of two ranks with a slow network between them. A narrow network with long sequences sends more between its stages
/// than between its replicas: which of them share a node decides the step, on the engine as predicted.
void CliPredictTest::stagesShareANode()
{
    const auto changed = [this](const char* preset, const char* name, const QJsonObject& changes) {
        QFile from(QString(FOURWALLS_SOURCE_DIR "/resources/presets/") + preset), to(m_folder.filePath(name));
        if (!from.open(QIODevice::ReadOnly) || !to.open(QIODevice::WriteOnly)) return QString();
        QJsonObject object = QJsonDocument::fromJson(from.readAll()).object();
        for (auto each = changes.begin(); each != changes.end(); ++each) object[each.key()] = each.value();
        to.write(QJsonDocument(object).toJson());
        return to.fileName();
    };
    const QString cluster = changed("clusters/dgx-a100.json", "pairs.json",
                                    {{"devices_per_node", 2},
                                     {"nics_per_node", 2},
                                     {"nic_link", QJsonObject{{"bytes_per_second", 3e7}, {"latency_seconds", 1e-5}}}});
    const QString model =
        changed("models/gpt-tiny.json", "narrow.json",
                {{"layers", 4}, {"sequence", 256}, {"hidden", 32}, {"heads", 4}, {"kv_heads", 4}, {"ffn_hidden", 128}});
    QVERIFY(!cluster.isEmpty() && !model.isEmpty());
    const QString plan = "dp=2 pp=2 microbatches=2", table = m_folder.filePath("pairs-kernels.json"),
                  traces[] = {m_folder.filePath("replicas.fourwalls"), m_folder.filePath("stages.fourwalls")};
    const QString plans[] = {plan, plan + " order=tp-cp-ep-pp-dp"};
    double recorded[2], predicted[2];
    QJsonArray losses;
    for (int i = 0; i < 2; ++i) {
        const Answer answer = recordEvenly({"-o", traces[i], "--model", model, "--seq", "256", "--batch", "32",
                                            "--steps", "3", "--plan", plans[i], "--cluster", cluster},
                                           table);
        QVERIFY2(answer.exitCode == 0, answer.err.constData());
        const QJsonObject metrics = run({"metrics", traces[i], "--json"}).json();
        recorded[i] = metrics["step_time_ms"].toDouble();
        if (i == 0) losses = metrics["loss"].toArray();
        QCOMPARE(metrics["loss"].toArray(), losses);
        const Answer like = run({"predict", "--like", traces[0], "--plan", plans[i], "--json"});
        QVERIFY2(like.exitCode == 0, like.err.constData());
        predicted[i] = like.json()["step_time_ms"].toDouble();
        QVERIFY2(std::abs(predicted[i] / recorded[i] - 1) < 0.04,
                 qPrintable(
                     QString("%1: %2 ms predicted, %3 ms recorded").arg(plans[i]).arg(predicted[i]).arg(recorded[i])));
    }
    // The activations stay in the nodes now.
    QVERIFY2(recorded[0] > 1.1 * recorded[1], qPrintable(QString("%1 and %2").arg(recorded[0]).arg(recorded[1])));
    QVERIFY2(predicted[0] > 1.1 * predicted[1], qPrintable(QString("%1 and %2").arg(predicted[0]).arg(predicted[1])));
}

void CliPredictTest::planSaysWhyThereIsNone()
{
    const QStringList words{"plan", "--model", "llama3-70b", "--cluster", "dgx-h100", "--gpus"};
    const QJsonObject tooLarge = run(words + QStringList{"1", "--json"}).json();
    QVERIFY(tooLarge["plans"].toArray().isEmpty());
    QVERIFY(tooLarge["too_large"].toInt() > 0);
    QVERIFY2(tooLarge["why"].toString().contains("memory"), qPrintable(tooLarge["why"].toString()));
    QVERIFY(!tooLarge["why"].toString().contains("no plan divides"));
    // More devices than samples, heads and layers can be dealt out to.
    const QJsonObject misfit = run(words + QStringList{"8191", "--batch", "3", "--json"}).json();
    QCOMPARE(misfit["too_large"].toInt(), 0);
    QVERIFY2(misfit["why"].toString().contains("no plan divides"), qPrintable(misfit["why"].toString()));
}

/// A trace says everything that the command line does not: here a recording on the device clock, with more ranks than this
/// machine may have cores. Its own plan comes out at the level of its own operators.
void CliPredictTest::learnedFromTraces()
{
    const QString table = m_folder.filePath("kernels.json"), learned = m_folder.filePath("learned.json");
    const auto record = [&](const char* plan, const char* name) {
        const QString file = m_folder.filePath(name);
        const Answer answer = recordEvenly(
            {"-o", file, "--model", "gpt-tiny", "--batch", "8", "--seq", "32", "--steps", "5", "--plan", plan}, table);
        return answer.exitCode == 0 ? file : QString();
    };
    const QString two = record("dp=2", "two.fourwalls"), cut = record("tp=2", "cut.fourwalls"),
                  four = record("dp=4", "four.fourwalls");
    QVERIFY(!two.isEmpty() && !cut.isEmpty() && !four.isEmpty());
    const Answer answer = run({"calibrate", "--from", two, cut, four, "-o", learned, "--json"});
    QVERIFY2(answer.exitCode == 0, answer.err.constData());
    const QJsonObject cluster = answer.json()["cluster"].toObject();
    const QJsonArray operators = cluster["operators"].toArray();
    QVERIFY(operators.size() > 30);
    // Whatever computes gave a rate; what share of the time that is, is the machine's matter.
    for (const QJsonValue& each : operators)
        QVERIFY2(each["flops"].toDouble() == 0 || each["rate"].isString(), qPrintable(each["name"].toString()));
    QVERIFY(cluster["rate_share"].toDouble() > 0 && cluster["rate_share"].toDouble() < 1);
    const QJsonObject kernel = cluster["operators"].toArray()[0].toObject();
    QVERIFY(kernel["count"].toInt() > 1 && kernel["low"].toDouble() <= kernel["seconds"].toDouble());
    // Every verb that takes machines takes the file.
    const QJsonObject predicted = run({"predict", "--model", "gpt-tiny", "--seq", "32", "--batch", "8", "--precision",
                                       "f32", "--plan", "tp=2", "--cluster", learned, "--json"})
                                      .json();
    const double took = run({"metrics", cut, "--json"}).json()["step_time_ms"].toDouble();
    const double ratio = predicted["step_time_ms"].toDouble() / took;
    QVERIFY2(std::abs(ratio - 1) < 0.2, qPrintable(QString::number(ratio)));
    QVERIFY(!run({"plan", "--model", "gpt-tiny", "--seq", "32", "--batch", "8", "--gpus", "2", "--cluster", learned,
                  "--json"})
                 .json()["plans"]
                 .toArray()
                 .isEmpty());
    const QJsonObject replayed =
        run({"replay", two, "--change", "plan=tp=2", "--calibration", learned, "--json"}).json();
    QVERIFY2(std::abs(replayed["changed_ms"].toDouble() / took - 1) < 0.2,
             qPrintable(QString::number(replayed["changed_ms"].toDouble() / took)));
    // Products whose operators add up over ranks: waiting and moving are no part of the product, and some of it is hidden.
    const QJsonObject itself = run({"predict", "--like", cut, "--json"}).json()["like"].toObject();
    QVERIFY2(std::abs(itself["error_pct"].toDouble()) < 2, qPrintable(QString::number(itself["error_pct"].toDouble())));
    // Of four ranks nothing was met but the four bytes of the gradients' norm: they say nothing of a layer's sums.
    const QString stages = m_folder.filePath("stages.fourwalls");
    QCOMPARE(recordEvenly({"-o", stages, "--model", "gpt-tiny", "--batch", "8", "--seq", "32", "--steps", "5", "--plan",
                           "tp=2 pp=2 microbatches=4", "--cluster", "dgx-a100"},
                          table)
                 .exitCode,
             0);
    const QString wide = m_folder.filePath("wide.fourwalls");
    QCOMPARE(recordEvenly({"-o", wide, "--model", "gpt-tiny", "--batch", "8", "--seq", "32", "--steps", "5", "--plan",
                           "tp=4", "--cluster", "dgx-a100"},
                          table)
                 .exitCode,
             0);
    const double widely = run({"metrics", wide, "--json"}).json()["step_time_ms"].toDouble();
    const double said = run({"replay", stages, "--change", "plan=tp=4", "--json"}).json()["changed_ms"].toDouble();
    QVERIFY2(std::abs(said / widely - 1) < 0.1, qPrintable(QString::number(said / widely)));
    QCOMPARE(run({"calibrate", "-o", learned, "--cluster", "dgx-a100"}).exitCode, 2);
    const Answer missing = run({"calibrate", "--from", m_folder.filePath("none.fourwalls"), "-o", learned});
    QCOMPARE(missing.exitCode, 1);
    QVERIFY(missing.saysOneLine());
}

void CliPredictTest::likeATrace()
{
    const QString trace = m_folder.filePath("like.fourwalls");
    const Answer recorded = recordEvenly({"-o", trace, "--model", "gpt-tiny", "--seq", "64", "--batch", "8", "--steps",
                                          "3", "--plan", "dp=4", "--cluster", "dgx-a100", "--json"},
                                         m_folder.filePath("like.json"));
    QVERIFY2(recorded.exitCode == 0, recorded.err.constData());
    const QJsonObject facts = run({"metrics", trace, "--json"}).json();

    const Answer own = run({"predict", "--like", trace, "--json"});
    QVERIFY2(own.exitCode == 0, own.err.constData());
    const QJsonObject predicted = own.json(), like = predicted["like"].toObject();
    QCOMPARE(predicted["plan"].toString(), QString("dp=4"));
    QCOMPARE(predicted["framework"].toString(), QString("fourwalls"));
    QVERIFY(like["operators"].toInt() > 10); // learned by their names
    QCOMPARE(like["recorded_ms"].toDouble(), facts["step_time_ms"].toDouble());
    QVERIFY(std::abs(like["predicted_ms"].toDouble() - predicted["step_time_ms"].toDouble()) < 1e-5); // whole ns
    QVERIFY2(std::abs(like["error_pct"].toDouble()) < 30, qPrintable(QString::number(like["error_pct"].toDouble())));
    // However evenly it was recorded, the band is no line, and holds what was recorded.
    const auto end = [&](const char* which) { return predicted[which].toObject()["step_time_ms"].toDouble(); };
    QVERIFY(end("low") < 0.97 * predicted["step_time_ms"].toDouble());
    QVERIFY(end("low") <= like["recorded_ms"].toDouble() && like["recorded_ms"].toDouble() <= end("high"));
    // Network, batch and sequence are the trace's.
    const double tokens = 8 * 64;
    QVERIFY(std::abs(predicted["tokens_per_s"].toDouble() * predicted["step_time_ms"].toDouble() / 1e3 / tokens - 1) <
            1e-6);

    // Only what is given changes: twice the batch is about twice the work of the same operators.
    const QJsonObject twice = run({"predict", "--like", trace, "--batch", "16", "--json"}).json();
    QCOMPARE(twice["plan"].toString(), QString("dp=4"));
    QVERIFY(twice["step_time_ms"].toDouble() > 1.3 * predicted["step_time_ms"].toDouble());
    const QJsonObject stages = run({"predict", "--like", trace, "--plan", "pp=4 microbatches=8", "--json"}).json();
    QCOMPARE(stages["plan"].toString(), QString("pp=4 microbatches=8"));
    QVERIFY(stages["bubble_fraction"].toObject()["mean"].toDouble() > 0);
    const Answer eight = run({"predict", "--like", trace, "--plan", "dp=8", "--json"});
    QVERIFY2(eight.exitCode == 0, eight.err.constData());

    QCOMPARE(run({"predict", "--like", m_folder.filePath("nothing.fourwalls")}).exitCode, 1);
    QCOMPARE(run({"predict", "--like", trace, "--plan", "dp=3"}).exitCode, 2);
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
