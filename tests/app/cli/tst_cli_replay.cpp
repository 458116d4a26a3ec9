// SPDX-License-Identifier: Apache-2.0
// `replay` on recordings of the engine: on the device clock nothing lies between what a rank waited for and what it does
// next, so a graph with the right edges gives the recorded step back without any delay.
#include "tests/app/cli/program.h"
#include "tests/support/test_program.h"

#include <QFile>
#include <QJsonArray>
#include <QTemporaryDir>
#include <QTest>

#include <cmath>
#include <functional>
#include <map>

namespace tst_cli_replay {

using namespace fourwalls::test;

class CliReplayTest : public QObject {
    Q_OBJECT

private slots:
    void deviceClock_data();
    void deviceClock();
    void recordingsShareKernelTimes();
    void theNextPlan();
    void anotherPlanHasABand();
    void groupsOfTheSameMembersAreOne();
    void aSlowRankIsTakenAway();
    void aSlowLinkIsTakenAway();
    void passesInAnotherOrder();
    void aFindingSaysWhatTheChangeDoes();
    void theChangedStepIsATrace();
    void anotherOrderIsATrace_data();
    void anotherOrderIsATrace();
    void anotherPlanIsATrace();
    void refuses_data();
    void refuses();

private:
    QString record(const QStringList& arguments)
    {
        return fileOf(
            [&](const QStringList& words) {
                return run(QStringList{"record", "--clock", "device"} + words);
            },
            arguments);
    }
    /// Whose kernels take the times that their work says.
    QString recordedEvenly(const QStringList& arguments)
    {
        return fileOf([&](const QStringList& words) { return recordEvenly(words, m_folder.filePath("even.json")); },
                      arguments);
    }
    QString fileOf(const std::function<Answer(const QStringList&)>& recorded, const QStringList& arguments)
    {
        const QString file = m_folder.filePath(QString("run%1.fourwalls").arg(++m_files));
        const QStringList quick{"-o", file, "--model", "gpt-tiny", "--batch", "8", "--seq", "32"};
        const QStringList steps = arguments.contains("--steps") ? QStringList() : QStringList{"--steps", "4"};
        const Answer answer = recorded(quick + steps + arguments);
        if (answer.exitCode != 0) qWarning("%s", answer.err.constData());
        return answer.exitCode == 0 ? file : QString();
    }
    QTemporaryDir m_folder;
    QString m_pipeline; ///< a recording of two stages
    int m_files = 0;
};

void CliReplayTest::deviceClock_data()
{
    QTest::addColumn<QString>("plan");
    QTest::addColumn<QString>("cluster");
    for (const char* plan : {"dp=2", "dp=2 overlap=0", "dp=4 zero=3", "tp=2", "dp=2 tp=2 pp=2 microbatches=2",
                             "pp=4 microbatches=8 schedule=zb", "pp=2 vpp=2 microbatches=4", "tp=2 sp=1", "cp=2",
                             "dp=2 ps=sync servers=1", "dp=2 zero=1"})
        QTest::newRow(plan) << plan << "";
    QTest::newRow("with links") << "pp=4 microbatches=8"
                                << "dgx-a100";
    QTest::newRow("three kinds with links") << "dp=2 tp=2 pp=2 microbatches=2"
                                            << "dgx-a100";
}

void CliReplayTest::deviceClock()
{
    QFETCH(QString, plan);
    QFETCH(QString, cluster);
    const QString file =
        record(QStringList{"--plan", plan} + (cluster.isEmpty() ? QStringList() : QStringList{"--cluster", cluster}));
    QVERIFY(!file.isEmpty());
    const Answer answer = run({"replay", file, "--json"});
    QVERIFY2(answer.exitCode == 0, answer.err.constData());
    const QJsonObject replayed = answer.json();
    QCOMPARE(replayed["delays"].toString(), QString("class"));
    QVERIFY(!replayed["steps"].toArray().isEmpty());
    QVERIFY2(replayed["error_max_pct"].toDouble() <= 0.01,
             qPrintable(QString::number(replayed["error_max_pct"].toDouble())));
    QVERIFY2(replayed["error_no_delays_pct"].toDouble() <= 0.01,
             qPrintable(QString::number(replayed["error_no_delays_pct"].toDouble())));
    QCOMPARE(replayed["negative_delays"].toInt(), 0);
    QVERIFY(!replayed.contains("changed_ms"));
    // From the end of the job's step before to its own end, as `steps` prints them; where the first one begins the warm-up
    // left to chance.
    std::map<int, double> ends;
    for (const QJsonValue& each : run({"steps", file, "--json"}).json()["steps"].toArray())
        ends[each.toObject()["step"].toInt()] = each.toObject()["end_ns"].toDouble() / 1e6;
    int compared = 0;
    const QJsonArray steps = replayed["steps"].toArray();
    for (int i = 1; i < steps.size(); ++i) {
        const int step = steps[i].toObject()["step"].toInt();
        const double recorded = steps[i].toObject()["recorded_ms"].toDouble();
        QVERIFY2(std::abs(recorded - (ends.at(step) - ends.at(step - 1))) < 2e-6,
                 qPrintable(QString::number(recorded)));
        ++compared;
    }
    QVERIFY(compared > 0);
}

void CliReplayTest::recordingsShareKernelTimes()
{
    const QString table = m_folder.filePath("kernels.json");
    // The first measured step begins where the last warm-up step of each rank ended, on the times measured then. Of
    // three measured steps, the middle one is one of the two that the table alone decides.
    const auto stepOf = [&](const char* plan) {
        const QString file = record({"--plan", plan, "--kernel-times", table, "--steps", "5"});
        return run({"metrics", file, "--json"}).json()["step_time_ms"].toDouble();
    };
    const double first = stepOf("pp=2 microbatches=4");
    QVERIFY(first > 0 && QFile::exists(table));
    QCOMPARE(stepOf("pp=2 microbatches=4"), first); // not a nanosecond apart
    // Another plan adds its kernels, and leaves those that are there.
    QVERIFY(stepOf("dp=2") > 0);
    QCOMPARE(stepOf("pp=2 microbatches=4"), first);
    QFile broken(m_folder.filePath("broken.json"));
    QVERIFY(broken.open(QIODevice::WriteOnly) && broken.write("{}") == 2);
    broken.close();
    const Answer refused = run(QStringList{"record", "-o", m_folder.filePath("x.fourwalls"), "--clock", "device",
                                           "--kernel-times", broken.fileName()} +
                               quickRun());
    QCOMPARE(refused.exitCode, 1);
    QVERIFY2(refused.err.contains("no table of kernel times"), refused.err.constData());
    QCOMPARE(run(QStringList{"record", "-o", m_folder.filePath("x.fourwalls"), "--kernel-times", table} + quickRun())
                 .exitCode,
             2);
}

void CliReplayTest::theNextPlan()
{
    // Both recordings have the same kernel times: what the second one takes is what the first one should have said.
    const QString two = recordedEvenly({"--plan", "dp=2", "--cluster", "dgx-a100"}),
                  four = recordedEvenly({"--plan", "dp=4", "--cluster", "dgx-a100"});
    QVERIFY(!two.isEmpty() && !four.isEmpty());
    const QJsonObject said = run({"replay", two, "--change", "plan=dp=4", "--json"}).json();
    const QJsonObject took = run({"metrics", four, "--json"}).json();
    const double ratio = said["changed_ms"].toDouble() / took["step_time_ms"].toDouble();
    QVERIFY2(std::abs(ratio - 1) < 0.03, qPrintable(QString::number(ratio)));
    QCOMPARE(said["shares"].toObject()["scaled"].toDouble(), 1.0);
    double peak = 0;
    for (const QJsonValue& rank : took["peak_bytes"].toArray())
        peak = std::max(peak, rank.toObject()["total"].toDouble());
    QVERIFY(std::abs(said["peak_bytes"].toDouble() / peak - 1) < 0.01);
    QVERIFY(!said["assumed"].toArray().isEmpty());
}

void CliReplayTest::anotherPlanHasABand()
{
    const QString file = recordedEvenly({"--plan", "dp=2", "--cluster", "dgx-a100"});
    QVERIFY(!file.isEmpty());
    const auto after = [&](const QStringList& changes) {
        QStringList words{"replay", file, "--json"};
        for (const QString& change : changes) words << "--change" << change;
        return run(words);
    };
    // As wide as the errors of such answers: 23 % either way, and 0.9 % where one of the mild words changes.
    const auto width = [&](const QString& change) {
        const QJsonObject said = after({change}).json();
        const double changed = said["changed_ms"].toDouble();
        return changed > 0 ? (said["high_ms"].toDouble() - said["low_ms"].toDouble()) / changed / 2 : 0;
    };
    constexpr double kPrinted = 1e-4; // times are printed with so many digits
    QVERIFY2(width("plan=tp=2") >= 0.23 - kPrinted, qPrintable(QString::number(width("plan=tp=2"))));
    const double mild = width("plan=dp=2 zero=1");
    QVERIFY2(mild >= 0.009 && mild < 0.23, qPrintable(QString::number(mild)));
    QVERIFY(width("batch=16") >= 0.23 - kPrinted);
    // Tensor parallelism sends what the recording has nothing of.
    const QJsonObject shares = after({"plan=tp=2"}).json()["shares"].toObject();
    QVERIFY(shares["modelled"].toDouble() > 0 && shares["modelled"].toDouble() < 1);
    QVERIFY(std::abs(shares["measured"].toDouble() + shares["modelled"].toDouble() + shares["scaled"].toDouble() - 1) <
            1e-9);
    // Cores stay cores on other machines' links, and it is said.
    const Answer machines = after({"cluster=dgx-h100"});
    QVERIFY2(machines.exitCode == 0, machines.err.constData());
    QVERIFY2(machines.out.contains("stay on cores"), machines.out.constData());
    // Of ranks that share a memory nobody said how fast they are connected.
    const QString here = record({"--plan", "dp=2"});
    const Answer unknown = run({"replay", here, "--change", "cluster=dgx-h100"});
    QCOMPARE(unknown.exitCode, 1);
    QVERIFY2(unknown.err.contains("how fast its ranks are connected"), unknown.err.constData());
}

void CliReplayTest::groupsOfTheSameMembersAreOne()
{
    // Gradients of two replicas are summed in a group of all ranks: data parallel by another name.
    const QString file = recordedEvenly({"--plan", "dp=2 overlap=0", "--cluster", "dgx-a100"});
    QVERIFY(!file.isEmpty());
    const QJsonObject named = run({"replay", file, "--change", "link:dp*2", "--json"}).json(),
                      all = run({"replay", file, "--change", "link:world*2", "--json"}).json();
    QVERIFY(named["changed_ms"].toDouble() > 0 && named["changed_ms"].toDouble() < named["replayed_ms"].toDouble());
    QCOMPARE(named["changed_ms"].toDouble(), all["changed_ms"].toDouble());
    const Answer none = run({"replay", file, "--change", "link:tp*2"});
    QCOMPARE(none.exitCode, 1);
    QVERIFY2(none.err.contains("no transfer"), none.err.constData());
}

void CliReplayTest::aSlowRankIsTakenAway()
{
    const QString even = recordedEvenly({"--plan", "dp=2 overlap=0"}),
                  slowed = recordedEvenly({"--plan", "dp=2 overlap=0", "--slow-rank", "1:2"});
    QVERIFY(!even.isEmpty() && !slowed.isEmpty());
    const QJsonObject fleet = run({"replay", slowed, "--change", "kernels:*0.5", "--json"}).json();
    QVERIFY(std::abs(fleet["changed_ms"].toDouble() / (fleet["recorded_ms"].toDouble() / 2) - 1) < 0.01);
    QCOMPARE(fleet["changes"].toArray().size(), 1);
    QVERIFY(fleet["shares"].toObject()["scaled"].toDouble() > 0.99);
    // The slow rank takes twice as long as the other one: as long as both in the mean, three quarters.
    const QJsonObject mean = run({"replay", slowed, "--change", "stragglers=none", "--json"}).json();
    QVERIFY(std::abs(mean["changed_ms"].toDouble() / (mean["recorded_ms"].toDouble() * 0.75) - 1) < 0.02);
    QVERIFY(mean["low_ms"].toDouble() <= mean["changed_ms"].toDouble() &&
            mean["changed_ms"].toDouble() <= mean["high_ms"].toDouble());
}

/// Gradients of the first stage go over a slow link: none of it lies beside the backward pass, and the network's tied
/// embedding is reduced while they are under way.
void CliReplayTest::aSlowLinkIsTakenAway()
{
    const QStringList words{"--plan", "dp=2 pp=2 microbatches=4", "--cluster", slowNode(m_folder, 2e8), "--steps", "5"};
    const QString without = recordedEvenly(words),
                  with = recordedEvenly(words + QStringList{"--link-fault", "0-1:bandwidth=0.25"});
    QVERIFY(!without.isEmpty() && !with.isEmpty());
    const double quick = run({"metrics", without, "--json"}).json()["step_time_ms"].toDouble();
    const QJsonObject replayed = run({"replay", with, "--change", "link:dp_cp*4", "--json"}).json();
    QCOMPARE(replayed["negative_delays"].toInt(), 0);
    QCOMPARE(replayed["long_delays_off_path"].toInt(), 0);
    QVERIFY2(replayed["error_no_delays_pct"].toDouble() <= 0.01,
             qPrintable(QString::number(replayed["error_no_delays_pct"].toDouble())));
    QVERIFY(replayed["recorded_ms"].toDouble() > 1.1 * quick);
    QVERIFY2(std::abs(replayed["changed_ms"].toDouble() / quick - 1) < 0.002,
             qPrintable(QString("%1 ms, recorded %2 ms").arg(replayed["changed_ms"].toDouble()).arg(quick)));
}

void CliReplayTest::passesInAnotherOrder()
{
    const QString file = recordedEvenly({"--plan", "pp=4 microbatches=8", "--cluster", "dgx-a100"});
    QVERIFY(!file.isEmpty());
    const auto after = [&](const char* change) { return run({"replay", file, "--change", change, "--json"}).json(); };
    const QJsonObject same = after("schedule=1f1b");
    const double replayed = same["replayed_ms"].toDouble();
    QCOMPARE(same["changed_ms"].toDouble(), replayed); // what was recorded
    QVERIFY(after("schedule=zb")["changed_ms"].toDouble() < replayed);
    // One micro-batch after the other: about four times the passes of one stage.
    QVERIFY(after("schedule=naive")["changed_ms"].toDouble() > 2 * replayed);
    // Twice the micro-batches fill and drain the pipeline once: less than twice the time.
    const double twice = after("microbatches=16")["changed_ms"].toDouble();
    QVERIFY(twice > 1.5 * replayed && twice < 2 * replayed);
    // Half the time in the passes gains half as much by their order.
    const auto both = [&](const char* one, const char* other) {
        return run({"replay", file, "--change", one, "--change", other, "--json"});
    };
    const double halved = after("kernels:*0.5")["changed_ms"].toDouble(),
                 gain = replayed - after("schedule=zb")["changed_ms"].toDouble(),
                 halfGain = halved - both("kernels:*0.5", "schedule=zb").json()["changed_ms"].toDouble();
    QVERIFY2(halfGain > 0 && std::abs(halfGain / gain - 0.5) < 0.05,
             qPrintable(QString("%1 %2").arg(gain).arg(halfGain)));
    QVERIFY(both("kernels:*0", "microbatches=1").json()["changed_ms"].toDouble() > 0);
    // A plan orders its passes by itself.
    const Answer twofold = both("plan=pp=4 microbatches=8", "microbatches=16");
    QCOMPARE(twofold.exitCode, 1);
    QVERIFY2(twofold.err.contains("within the plan"), twofold.err.constData());
    QCOMPARE(run({"replay", file, "--change", "schedule=sometimes"}).exitCode, 2);
    const Answer hidden = run({"replay", file, "--change", "hide:receive"});
    QCOMPARE(hidden.exitCode, 1);
    QVERIFY2(hidden.err.contains("messages of the pipeline"), hidden.err.constData());
}

void CliReplayTest::aFindingSaysWhatTheChangeDoes()
{
    const QString file = recordedEvenly({"--plan", "pp=4 microbatches=8", "--cluster", "dgx-a100"});
    QVERIFY(!file.isEmpty());
    QString step;
    double gain = 0, best = 0;
    for (const QJsonValue& each : run({"diagnose", file, "--json"}).json()["findings"].toArray())
        if (each["id"] == QLatin1String("pipeline_bubble") && each["gain_from"] == QLatin1String("replay")) {
            gain = each["gain_ms"].toDouble();
            step = QString::number(each["steps"].toArray().first().toInt());
        }
    for (const char* change : {"schedule=zb", "schedule=1f1b"}) {
        const QJsonObject after =
            run({"replay", file, "--steps", step + "-" + step, "--change", change, "--json"}).json();
        best = std::max(best, after["replayed_ms"].toDouble() - after["changed_ms"].toDouble());
    }
    QVERIFY2(gain > 0 && std::abs(gain - best) < 1e-6, qPrintable(QString("%1 %2").arg(gain).arg(best)));
}

void CliReplayTest::theChangedStepIsATrace()
{
    const QString file = recordedEvenly({"--plan", "pp=2 microbatches=4"}),
                  changed = m_folder.filePath("changed.fourwalls");
    QVERIFY(!file.isEmpty());
    const QJsonObject answer = run({"replay", file, "--change", "kernels:*0.5", "-o", changed, "--json"}).json();
    QVERIFY(run({"check", changed, "--json"}).json()["sound"].toBool());
    const QJsonObject metrics = run({"metrics", changed, "--json"}).json(),
                      before = run({"metrics", file, "--json"}).json();
    QCOMPARE(metrics["source"].toString(), QString("predicted"));
    QVERIFY(std::abs(metrics["step_time_ms"].toDouble() / answer["changed_ms"].toDouble() - 1) < 0.01);
    // Everything is still there: the bubble is the same share of half the time, and memory is what it was.
    const auto bubble = [](const QJsonObject& of) { return of["bubble_fraction"].toObject()["mean"].toDouble(); };
    QVERIFY2(std::abs(bubble(metrics) - bubble(before)) < 0.01,
             qPrintable(QString("%1 %2").arg(bubble(metrics)).arg(bubble(before))));
    QCOMPARE(metrics["peak_bytes"].toArray()[0].toObject()["total"],
             before["peak_bytes"].toArray()[0].toObject()["total"]);
    // Unchanged it is the recording again.
    const QString same = m_folder.filePath("same.fourwalls");
    QCOMPARE(run({"replay", file, "-o", same}).exitCode, 0);
    const QJsonObject again = run({"metrics", same, "--json"}).json();
    QCOMPARE(again["step_time_ms"].toDouble(), before["step_time_ms"].toDouble());
    QCOMPARE(again["waterfall"].toObject(), before["waterfall"].toObject());
    QCOMPARE(run({"replay", same, "--json"}).json()["error_no_delays_pct"].toDouble(), 0.0);
    // Together with another order: what the changes of times make of the step is ordered.
    const QString other = m_folder.filePath("other.fourwalls");
    const Answer both =
        run({"replay", file, "--change", "microbatches=8", "--change", "kernels:*0.5", "-o", other, "--json"});
    QVERIFY2(both.exitCode == 0, both.err.constData());
    QVERIFY(run({"check", other, "--json"}).json()["sound"].toBool());
    const double written = run({"metrics", other, "--json"}).json()["step_time_ms"].toDouble();
    QVERIFY2(std::abs(written / both.json()["changed_ms"].toDouble() - 1) < 0.002,
             qPrintable(QString("%1 %2").arg(written).arg(both.json()["changed_ms"].toDouble())));
    const Answer alone = run({"replay", file, "--change", "microbatches=8", "--json"});
    QVERIFY(written < 0.7 * alone.json()["changed_ms"].toDouble());
}

void CliReplayTest::anotherOrderIsATrace_data()
{
    QTest::addColumn<QString>("change");
    QTest::addColumn<double>("memory"); // of the first stage against what was recorded, at least
    QTest::newRow("the recorded order") << "schedule=1f1b" << 0.999;
    QTest::newRow("all forward passes first") << "schedule=gpipe" << 1.2; // holds four micro-batches, not two
    QTest::newRow("zero bubble") << "schedule=zb" << 0.9;
    QTest::newRow("twice the micro-batches") << "microbatches=8" << 0.999;
    QTest::newRow("half the micro-batches") << "microbatches=2" << 0.8;
    QTest::newRow("chunks") << "vpp=2" << 0.8;
}

void CliReplayTest::anotherOrderIsATrace()
{
    QFETCH(QString, change);
    QFETCH(double, memory);
    if (m_pipeline.isEmpty()) m_pipeline = recordedEvenly({"--plan", "pp=2 microbatches=4", "--cluster", "dgx-a100"});
    QVERIFY(!m_pipeline.isEmpty());
    const QString changed = m_folder.filePath("order.fourwalls");
    const Answer said = run({"replay", m_pipeline, "--change", change, "-o", changed, "--json"});
    QVERIFY2(said.exitCode == 0, said.err.constData());
    QVERIFY(run({"check", changed, "--json"}).json()["sound"].toBool());
    const QJsonObject metrics = run({"metrics", changed, "--json"}).json(),
                      before = run({"metrics", m_pipeline, "--json"}).json();
    QCOMPARE(metrics["source"].toString(), QString("predicted"));
    const double ratio = metrics["step_time_ms"].toDouble() / said.json()["changed_ms"].toDouble();
    QVERIFY2(std::abs(ratio - 1) < 0.002, qPrintable(QString::number(ratio)));
    const auto peak = [](const QJsonObject& of) {
        return of["peak_bytes"].toArray()[0].toObject()["total"].toDouble();
    };
    QVERIFY2(peak(metrics) >= memory * peak(before) && peak(metrics) < 3 * peak(before),
             qPrintable(QString("%1 of %2").arg(peak(metrics)).arg(peak(before))));
    // Work is as much as there are micro-batches: what is no bubble takes the same time for each.
    const auto busy = [](const QJsonObject& of) {
        return of["step_time_ms"].toDouble() * (1 - of["bubble_fraction"].toObject()["mean"].toDouble());
    };
    const int passes = change.startsWith("microbatches=") ? change.mid(13).toInt() : 4;
    const double share = busy(metrics) / busy(before) / (passes / 4.0);
    QVERIFY2(std::abs(share - 1) < 0.1, qPrintable(QString::number(share)));
    // It can be run again, as any other trace.
    const Answer again = run({"replay", changed, "--json"});
    QVERIFY2(again.exitCode == 0, again.err.constData());
}

void CliReplayTest::anotherPlanIsATrace()
{
    if (m_pipeline.isEmpty()) m_pipeline = recordedEvenly({"--plan", "pp=2 microbatches=4", "--cluster", "dgx-a100"});
    const QString changed = m_folder.filePath("plan.fourwalls");
    const Answer said = run({"replay", m_pipeline, "--change", "plan=dp=2", "-o", changed, "--json"});
    QVERIFY2(said.exitCode == 0, said.err.constData());
    const QJsonObject metrics = run({"metrics", changed, "--json"}).json();
    QVERIFY(std::abs(metrics["step_time_ms"].toDouble() / said.json()["changed_ms"].toDouble() - 1) < 1e-3);
    QVERIFY2(run({"info", changed}).out.contains("scaled"), run({"info", changed}).out.constData());
    QCOMPARE(run({"compare", m_pipeline, changed}).exitCode, 0);
    QCOMPARE(run({"export", changed, "--format", "chrome", "-o", m_folder.filePath("plan.json")}).exitCode, 0);
}

void CliReplayTest::refuses_data()
{
    QTest::addColumn<QStringList>("arguments");
    QTest::addColumn<int>("exitCode");
    QTest::addColumn<QString>("says");
    QTest::newRow("no change") << QStringList{"--change", "faster=yes"} << 2 << "no change that a replay knows";
    QTest::newRow("no factor") << QStringList{"--change", "kernels:gemm"} << 2 << "lacks a factor";
    QTest::newRow("no stages") << QStringList{"--change", "stage:1=fleet"} << 1
                               << "which rank is on which pipeline stage";
    QTest::newRow("no such step") << QStringList{"--steps", "90-91"} << 1 << "no step from 90 to 91";
}

void CliReplayTest::refuses()
{
    QFETCH(QStringList, arguments);
    QFETCH(int, exitCode);
    QFETCH(QString, says);
    static const QString file = record({"--plan", "dp=2"});
    const Answer answer = run(QStringList{"replay", file} + arguments);
    QCOMPARE(answer.exitCode, exitCode);
    QVERIFY2(answer.err.contains(says.toUtf8()), answer.err.constData());
    QVERIFY(answer.out.isEmpty());
}

FOURWALLS_TEST(CliReplayTest, QCoreApplication)

} // namespace tst_cli_replay

#include "tst_cli_replay.moc"
