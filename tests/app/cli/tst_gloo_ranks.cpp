// SPDX-License-Identifier: Apache-2.0
// `record --transport gloo` with real processes: the same numbers as between threads, one trace of all ranks, and a clear
// end when a rank is killed, stopped or never comes. Skipped, and said so, in a build without Gloo.
#include <QtTest> // first: moc stumbles over <compare> otherwise

#include "model/store/trace_file.h"
#include "tests/app/cli/rank_processes.h"
#include "tests/support/test_program.h"

#include <QDir>
#include <QJsonArray>

#include <signal.h>

namespace tst_gloo_ranks {

using namespace fourwalls;
using namespace fourwalls::test;

class GlooRanks : public QObject {
    Q_OBJECT

private slots:
    void initTestCase();
    void agreesWithLocal_data();
    void agreesWithLocal();
    void oneTraceOfAllRanks();
    void aKilledRank_data();
    void aKilledRank();
    void anOlderTraceIsKept();
    void stopsInOrder();
    void refusals();
    void aFrozenRank();
    void aRankThatDoesNotCome();

private:
    QStringList command(const QString& plan, int steps, const QStringList& more = {}) const
    {
        return QStringList{
                   "record",  "--model", m_model,       "--plan", plan,          "--steps", QString::number(steps),
                   "--batch", "12",      "--optimizer", "sgd",    "--transport", "gloo"} +
               more;
    }
    static QStringList local(QStringList arguments)
    {
        arguments[arguments.indexOf("--transport") + 1] = "local";
        return arguments;
    }
    QString path(const QString& name) const { return m_folder.filePath(name); }
    static QByteArray weights(const QString& folder)
    {
        QFile file(folder + "/model.safetensors");
        return file.open(QFile::ReadOnly) ? file.readAll() : QByteArray();
    }

    QTemporaryDir m_folder;
    QString m_model;
    void checkLoss(RankProcesses& ranks, int victim, const QString& file);
    // These wait for a timeout beside the other tests: for a third rank, and for one that is frozen.
    std::unique_ptr<RankProcesses> m_incomplete, m_frozen;
};

void GlooRanks::initTestCase()
{
    m_model = tinyModel(m_folder);
    const Answer answer = run(command("", 1, {"--no-trace", "--json"}));
    if (answer.err.contains("this build has no Gloo")) QSKIP("this build has no Gloo (libgloo-dev)");
    QVERIFY2(answer.exitCode == 0, answer.err.constData());
    m_incomplete = std::make_unique<RankProcesses>(3, command("dp=3", 2, {"--no-trace", "--rank-timeout", "3"}), 2);
    m_frozen = std::make_unique<RankProcesses>(
        3, command("dp=3", 1'000'000, {"-o", path("frozen.fourwalls"), "--rank-timeout", "3"}));
    QVERIFY2(m_frozen->awaitMessage("step 1 (2/"), m_frozen->said.constData());
    ::kill(static_cast<pid_t>((*m_frozen)[2].processId()), SIGSTOP);
}

void GlooRanks::agreesWithLocal_data()
{
    QTest::addColumn<QString>("plan");
    QTest::addColumn<QString>("model"); // empty: the small decoder
    QTest::newRow("sharded, tensor") << "dp=2 tp=2 sp=1 zero=3"
                                     << "";
    QTest::newRow("pipeline, ring") << "pp=2 dp=2 microbatches=2 zero=1 collective=ring overlap=0"
                                    << "";
    QTest::newRow("experts") << "dp=2 ep=2 collective=tree"
                             << "moe-tiny";
    QTest::newRow("servers") << "dp=2 ps=sync servers=1"
                             << "";
}

void GlooRanks::agreesWithLocal()
{
    // Same algorithms, same order of sums: the same bits.
    QFETCH(QString, plan);
    QFETCH(QString, model);
    QStringList arguments = command(plan, 3, {"--no-trace", "--json"});
    if (!model.isEmpty()) {
        arguments.replace(arguments.indexOf(m_model), model);
        arguments << "--seq"
                  << "16";
    }
    const QString here = path("local"), there = path("gloo");
    const Answer threads = run(local(arguments) + QStringList{"--save-weights", here});
    QVERIFY2(threads.exitCode == 0, threads.err.constData());
    const Answer processes = run(arguments + QStringList{"--save-weights", there});
    QVERIFY2(processes.exitCode == 0, processes.err.constData());
    QCOMPARE(processes.json()["loss"].toArray().size(), 3);
    QCOMPARE(processes.json()["loss"], threads.json()["loss"]);
    QVERIFY(weights(here).size() > 1000);
    QVERIFY(weights(there) == weights(here));
}

void GlooRanks::oneTraceOfAllRanks()
{
    const QStringList arguments = command("dp=2 pp=2 microbatches=2", 3);
    const Answer answer = run(arguments + QStringList{"-o", path("run.fourwalls"), "--json"});
    QVERIFY2(answer.exitCode == 0, answer.err.constData());
    QCOMPARE(answer.json()["file"].toString(), path("run.fourwalls"));
    QCOMPARE(QDir(m_folder.path()).entryList({"run.*"}), QStringList{"run.fourwalls"});
    const Answer reference = run(local(arguments) + QStringList{"-o", path("threads.fourwalls")});
    QVERIFY2(reference.exitCode == 0, reference.err.constData());

    const auto trace = store::openTrace(path("run.fourwalls").toStdString());
    QVERIFY2(trace.ok(), trace.ok() ? "" : trace.error().message().c_str());
    const TraceInfo& info = (*trace)->info();
    QVERIFY(info.complete);
    QCOMPARE(info.header.ranks.size(), std::size_t{4});
    QCOMPARE(info.stepCount, 3);
    QVERIFY(!info.groups.empty());
    for (const ProcessGroupInfo& group : info.groups) QCOMPARE(group.transport, std::string("gloo"));

    // What went over the wire is what the formulas say, on either transport.
    const auto wire = [this](const QString& file) {
        QMap<QString, QPair<double, double>> byOperation;
        for (const QJsonValue& value : run({"metrics", "--json", path(file)}).json()["collectives"].toArray()) {
            const QJsonObject one = value.toObject();
            auto& sum = byOperation[one["operation"].toString() + " " + one["group"].toString()];
            sum.first += one["count"].toDouble();
            sum.second += one["wire_bytes"].toDouble();
        }
        return byOperation;
    };
    QVERIFY(wire("run.fourwalls").size() >= 3);
    QCOMPARE(wire("run.fourwalls"), wire("threads.fourwalls"));
}

void GlooRanks::aKilledRank_data()
{
    QTest::addColumn<int>("victim");
    QTest::newRow("the second one") << 1;
    QTest::newRow("the first one") << 0;
}

void GlooRanks::aKilledRank()
{
    QFETCH(int, victim);
    const QString file = path(QString("killed%1.fourwalls").arg(victim));
    RankProcesses ranks(3, command("dp=3", 1'000'000, {"-o", file, "--rank-timeout", "3"}));
    QVERIFY2(ranks.awaitMessage("step 1 (2/"), ranks.said.constData());
    ::kill(static_cast<pid_t>(ranks[victim].processId()), SIGKILL);
    checkLoss(ranks, victim, file);
}

void GlooRanks::aFrozenRank()
{
    checkLoss(*m_frozen, 2, path("frozen.fourwalls"));
}

void GlooRanks::checkLoss(RankProcesses& ranks, int victim, const QString& file)
{
    const QByteArray name = "rank " + QByteArray::number(victim);
    for (int rank = 0; rank < 3; ++rank) {
        if (rank == victim) continue;
        QVERIFY2(ranks.ended(rank), "a rank hangs");
        QCOMPARE(ranks[rank].exitStatus(), QProcess::NormalExit);
        QCOMPARE(ranks[rank].exitCode(), 1);
        const QByteArray errors = ranks.errors(rank);
        QVERIFY2(errors.contains(name) && errors.contains("was lost at"), errors.constData());
    }
    // The trace says when and who: all of it if rank 0 lives, else each survivor's own.
    const QString written = victim == 0 ? QString(file).replace(".fourwalls", ".rank1.fourwalls") : file;
    const auto trace = store::openTrace(written.toStdString());
    QVERIFY2(trace.ok(), trace.ok() ? "" : trace.error().message().c_str());
    const auto events = (*trace)->events({Instant{0}, Instant{kLargestTimeNs}}, 1000);
    QVERIFY(events.ok());
    int faults = 0;
    for (const EventRecord& event : *events)
        if (event.kind == EventKind::Fault) {
            ++faults;
            QVERIFY2(event.text.find(name.toStdString()) != std::string::npos, event.text.c_str());
            QVERIFY2(event.text.find("was lost at") != std::string::npos, event.text.c_str());
            QVERIFY(event.at > Instant{0});
        }
    QCOMPARE(faults, victim == 0 ? 1 : 2);
    QVERIFY((*trace)->info().stepCount >= 1);
}

void GlooRanks::anOlderTraceIsKept()
{
    const QString file = path("older.fourwalls");
    QFile older(file);
    QVERIFY(older.open(QFile::WriteOnly) && older.write("a good one") == 10);
    older.close();
    RankProcesses ranks(3, command("dp=3", 1'000'000, {"-o", file, "--rank-timeout", "3"}));
    QVERIFY2(ranks.awaitMessage("measuring the peak"), ranks.said.constData());
    ranks[1].kill();
    QVERIFY(ranks.ended(0) && ranks.ended(2));
    QCOMPARE(ranks[0].exitCode(), 1);
    const QByteArray errors = ranks.errors(0);
    QVERIFY2(errors.contains("rank 1"), errors.constData());
    const QStringList left = QDir(m_folder.path()).entryList({"older.*"}, QDir::Files); // the dumps of who is left stay
    QVERIFY2(left == QStringList{"older.fourwalls"}, qPrintable(left.join(' ') + '\n' + errors));
    QVERIFY(older.open(QFile::ReadOnly));
    // On a busy machine the kill may come after the first step: then there is something to keep.
    if (errors.contains("step 0 (1/"))
        QVERIFY(older.size() > 10);
    else
        QCOMPARE(older.readAll(), QByteArray("a good one"));
}

void GlooRanks::aRankThatDoesNotCome()
{
    RankProcesses& ranks = *m_incomplete;
    for (int rank = 0; rank < 2; ++rank) {
        QVERIFY2(ranks.ended(rank), "a rank hangs");
        QCOMPARE(ranks[rank].exitCode(), 1);
        const QByteArray errors = ranks.errors(rank);
        QVERIFY2(errors.contains("rank 2 did not come within 3 s"), errors.constData());
    }
}

void GlooRanks::stopsInOrder()
{
    // Asked of one rank only, all end after the same step, and the trace is whole.
    const QString file = path("stopped.fourwalls");
    RankProcesses ranks(2, command("dp=2", 1'000'000, {"-o", file}));
    QVERIFY2(ranks.awaitMessage("step 1 (2/"), ranks.said.constData());
    ranks[1].terminate();
    for (int rank = 0; rank < 2; ++rank) {
        QVERIFY2(ranks.ended(rank), "a rank hangs");
        QVERIFY2(ranks[rank].exitCode() == 0, ranks.errors(rank).constData());
    }
    const auto trace = store::openTrace(file.toStdString());
    QVERIFY(trace.ok());
    QVERIFY((*trace)->info().complete);
    QCOMPARE((*trace)->info().header.ranks.size(), std::size_t{2});
}

void GlooRanks::refusals()
{
    const auto said = [this](const QStringList& arguments) { return run(arguments); };
    const Answer clock = said(command("dp=2", 3, {"--no-trace", "--clock", "device"}));
    QCOMPARE(clock.exitCode, 1);
    QVERIFY2(clock.saysOneLine() && clock.err.contains("--clock wall"), clock.err.constData());
    const Answer servers = said(command("dp=2 ps=async servers=1", 2, {"--no-trace"}));
    QCOMPARE(servers.exitCode, 1);
    QVERIFY2(servers.saysOneLine() && servers.err.contains("ps=sync"), servers.err.constData());
    const Answer patience = said(command("dp=2", 2, {"--no-trace", "--rank-timeout", "0"}));
    QCOMPARE(patience.exitCode, 2);
    // Two ranks in a plan of four.
    RankProcesses ranks(2, command("dp=4", 2, {"--no-trace"}), 1);
    QVERIFY(ranks.ended(0));
    QCOMPARE(ranks[0].exitCode(), 2);
    QVERIFY(ranks.errors(0).contains("WORLD_SIZE is 2"));
}

FOURWALLS_TEST(GlooRanks, QCoreApplication)

} // namespace tst_gloo_ranks

#include "tst_gloo_ranks.moc"
