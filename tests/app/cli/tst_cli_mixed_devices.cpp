// SPDX-License-Identifier: Apache-2.0
// A cluster of two kinds of devices: the engine's ranks on slower nodes really take longer, and plans are predicted, searched
// and verified so.
#include "program.h"
#include "tests/support/test_program.h"

#include <QTemporaryDir>
#include <QtTest>

#include <cmath>

namespace tst_cli_mixed_devices {

using namespace fourwalls;
using namespace fourwalls::test;

class CliMixedDevicesTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase();
    void stepsAreThoseThatTheEngineTakes_data();
    void stepsAreThoseThatTheEngineTakes();
    void theSearchSplitsForThem();
    void allSlowerAlike();
    void refusals();

private:
    QString file(const char* name) const { return m_folder.filePath(name); }
    QJsonObject json(const char* name) const
    {
        QFile from(file(name));
        return from.open(QIODevice::ReadOnly) ? QJsonDocument::fromJson(from.readAll()).object() : QJsonObject();
    }
    /// A description whose second node has devices that take `slowdown` times as long.
    bool writeMixed(QJsonObject cluster, const char* name, double slowdown) const
    {
        QJsonObject device = cluster["device"].toObject();
        device["slowdown"] = slowdown;
        cluster["other_nodes"] = QJsonArray{QJsonObject{{"from_node", 1}, {"device", device}}};
        QFile to(file(name));
        return to.open(QIODevice::WriteOnly) && to.write(QJsonDocument(cluster).toJson()) > 0;
    }
    Answer record(const QString& to, const QString& plan, const char* cluster) const
    {
        return recordEvenly({"-o", to, "--model", "gpt-tiny", "--seq", "64", "--batch", "8", "--steps", "4",
                             "--precision", "f32", "--plan", plan, "--cluster", file(cluster)},
                            file("kernels.json"));
    }

    QTemporaryDir m_folder;
};

constexpr double kSlowdown = 1.8;

/// Nodes of one device each, and what the engine's operators take on their own.
void CliMixedDevicesTest::initTestCase()
{
    QFile preset(FOURWALLS_SOURCE_DIR "/resources/presets/clusters/dgx-a100.json");
    QFile device(FOURWALLS_SOURCE_DIR "/resources/presets/devices/a100-sxm-80gb.json");
    QVERIFY(preset.open(QIODevice::ReadOnly) && device.open(QIODevice::ReadOnly));
    QJsonObject cluster = QJsonDocument::fromJson(preset.readAll()).object();
    cluster["device"] = QJsonDocument::fromJson(device.readAll()).object();
    cluster["devices_per_node"] = cluster["nics_per_node"] = 1;
    QFile even(file("even.json"));
    QVERIFY(even.open(QIODevice::WriteOnly) && even.write(QJsonDocument(cluster).toJson()) > 0);
    even.close();
    QVERIFY(writeMixed(cluster, "mixed.json", kSlowdown));
    const Answer recorded = record(file("even.fourwalls"), "pp=2 microbatches=4", "even.json");
    QVERIFY2(recorded.exitCode == 0, recorded.err.constData());
    const Answer learned = run({"calibrate", "--from", file("even.fourwalls"), "-o", file("learned.json")});
    QVERIFY2(learned.exitCode == 0, learned.err.constData());
    QVERIFY(writeMixed(json("learned.json"), "learned-mixed.json", kSlowdown));
}

void CliMixedDevicesTest::stepsAreThoseThatTheEngineTakes_data()
{
    QTest::addColumn<QString>("plan");
    for (const char* plan : {"pp=2 microbatches=4", "pp=2 microbatches=4 layers=5,3", "dp=2 microbatches=4"})
        QTest::newRow(plan) << plan;
}

void CliMixedDevicesTest::stepsAreThoseThatTheEngineTakes()
{
    QFETCH(QString, plan);
    const QString trace = file("mixed.fourwalls");
    const Answer recorded = record(trace, plan, "mixed.json");
    QVERIFY2(recorded.exitCode == 0, recorded.err.constData());
    const double took = run({"metrics", trace, "--json"}).json()["step_time_ms"].toDouble();
    const Answer answer = run({"predict", "--model", "gpt-tiny", "--seq", "64", "--batch", "8", "--precision", "f32",
                               "--cluster", file("learned-mixed.json"), "--plan", plan, "--json"});
    QVERIFY2(answer.exitCode == 0, answer.err.constData());
    const double said = answer.json()["step_time_ms"].toDouble();
    QVERIFY2(std::abs(said / took - 1) < 0.08, qPrintable(QString("%1 ms predicted, %2 recorded").arg(said).arg(took)));
    // Every rank computes 1.8 times as long as on a quick device, or waits for one that does.
    const Answer alike = run({"predict", "--model", "gpt-tiny", "--seq", "64", "--batch", "8", "--precision", "f32",
                              "--cluster", file("learned.json"), "--plan", plan, "--json"});
    const double quick = alike.json()["step_time_ms"].toDouble();
    QVERIFY2(said > 1.2 * quick && said < 1.85 * quick, qPrintable(QString("%1 and %2").arg(said).arg(quick)));
}

void CliMixedDevicesTest::theSearchSplitsForThem()
{
    const Answer answer = run({"plan",
                               "--model",
                               "gpt-tiny",
                               "--seq",
                               "64",
                               "--batch",
                               "8",
                               "--precision",
                               "f32",
                               "--cluster",
                               file("learned-mixed.json"),
                               "--gpus",
                               "2",
                               "--plan",
                               "pp=2 microbatches=4 schedule=1f1b",
                               "--limit",
                               "1",
                               "--verify",
                               "1",
                               "--kernel-times",
                               file("kernels.json"),
                               "--json"});
    QVERIFY2(answer.exitCode == 0, answer.err.constData());
    const QString best = answer.json()["plans"].toArray()[0].toObject()["plan"].toString();
    // 8 layers, of which the second stage takes 1.8 times as long for each and has the head besides.
    QVERIFY2(best.contains("layers=5,3") || best.contains("layers=6,2"), qPrintable(best));
    // Trained with the engine on the same cluster, it is quicker than the even split.
    const QString trace = file("split.fourwalls");
    double times[2];
    for (const QString& plan : {QString("pp=2 microbatches=4"), best}) {
        QVERIFY(record(trace, plan, "mixed.json").exitCode == 0);
        times[plan == best] = run({"metrics", trace, "--json"}).json()["step_time_ms"].toDouble();
    }
    QVERIFY2(times[1] < 0.95 * times[0], qPrintable(QString("%1 and %2 ms").arg(times[1]).arg(times[0])));
}

/// Where all devices are slower, what a recording teaches has that in it: its own plan is not slowed down twice.
void CliMixedDevicesTest::allSlowerAlike()
{
    QJsonObject cluster = json("even.json"), device = cluster["device"].toObject();
    device["slowdown"] = kSlowdown;
    cluster["device"] = device;
    QFile to(file("slower.json"));
    QVERIFY(to.open(QIODevice::WriteOnly) && to.write(QJsonDocument(cluster).toJson()) > 0);
    to.close();
    const QString trace = file("slower.fourwalls");
    QVERIFY(record(trace, "pp=2 microbatches=4", "slower.json").exitCode == 0);
    const double took = run({"metrics", trace, "--json"}).json()["step_time_ms"].toDouble(),
                 quick = run({"metrics", file("even.fourwalls"), "--json"}).json()["step_time_ms"].toDouble();
    QVERIFY2(took > 1.6 * quick, qPrintable(QString("%1 and %2 ms").arg(took).arg(quick)));
    const double said = run({"predict", "--like", trace, "--json"}).json()["step_time_ms"].toDouble();
    QVERIFY2(std::abs(said / took - 1) < 0.05, qPrintable(QString("%1 ms predicted, %2 recorded").arg(said).arg(took)));
}

void CliMixedDevicesTest::refusals()
{
    const QString trace = file("mixed.fourwalls");
    QVERIFY(record(trace, "pp=2 microbatches=4", "mixed.json").exitCode == 0);
    const Answer like = run({"predict", "--like", trace});
    QCOMPARE(like.exitCode, 1);
    QVERIFY2(like.err.contains("several kinds"), like.err.constData());
    // Its ranks are as fast as their devices: the diagnosis says so, whoever made them slow.
    bool found = false;
    for (const QJsonValue& each : run({"diagnose", trace, "--json"}).json()["findings"].toArray())
        found = found || (each.toObject()["id"].toString() == "slow_rank" &&
                          each.toObject()["ranks"].toArray() == QJsonArray{1});
    QVERIFY(found);
}

FOURWALLS_TEST(CliMixedDevicesTest, QCoreApplication)

} // namespace tst_cli_mixed_devices

#include "tst_cli_mixed_devices.moc"
