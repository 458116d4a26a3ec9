// SPDX-License-Identifier: Apache-2.0
// Predictions that learn from recordings, held against further recordings: of a trace's own run, of other plans, of plans
// whose stages recompute by themselves or share a node.
#include "tests/app/cli/program.h"
#include "tests/support/test_program.h"

#include <QFile>
#include <QJsonArray>
#include <QTemporaryDir>
#include <QTest>

#include <cmath>
#include <vector>

namespace tst_cli_predict_like {

using namespace fourwalls::test;

class CliPredictLikeTest : public QObject {
    Q_OBJECT

private slots:
    void stagesRecomputeByThemselves();
    void stagesShareANode();
    void learnedFromTraces();
    void likeATrace();

private:
    QTemporaryDir m_folder;
};

/// The engine recomputes on each stage what its word says: the losses are those of any other plan, the step takes as long
/// as predicted from the recording without recomputation, and the peak of every rank is the predicted one of its stage.
void CliPredictLikeTest::stagesRecomputeByThemselves()
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
void CliPredictLikeTest::stagesShareANode()
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

void CliPredictLikeTest::learnedFromTraces()
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

/// A trace says everything that the command line does not: here a recording on the device clock, with more ranks than this
/// machine may have cores. Its own plan comes out at the level of its own operators.
void CliPredictLikeTest::likeATrace()
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

FOURWALLS_TEST(CliPredictLikeTest, QCoreApplication)

} // namespace tst_cli_predict_like

#include "tst_cli_predict_like.moc"
