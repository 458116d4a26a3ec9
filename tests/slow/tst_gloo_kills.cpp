// SPDX-License-Identifier: Apache-2.0
// A hundred times: ranks as processes over Gloo, one of them killed at a random moment, from before it has joined to the
// middle of a step. The others end by themselves, soon, and say which one it was. FOURWALLS_KILLS changes the number.
#include <QtTest> // first: moc stumbles over <compare> otherwise

#include "model/store/trace_file.h"
#include "tests/app/cli/rank_processes.h"
#include "tests/support/test_program.h"

#include <QElapsedTimer>

#include <algorithm>
#include <random>
#include <vector>

namespace tst_gloo_kills {

using namespace fourwalls;
using namespace fourwalls::test;

class GlooKills : public QObject {
    Q_OBJECT

private slots:
    void nobodyHangs();
};

void GlooKills::nobodyHangs()
{
    constexpr int kTimeoutMs = 5000;
    QTemporaryDir folder;
    const QString model = tinyModel(folder);
    const Answer answer = run({"record", "--model", model, "--steps", "1", "--no-trace", "--transport", "gloo"});
    if (answer.err.contains("this build has no Gloo")) QSKIP("this build has no Gloo (libgloo-dev)");

    struct Plan {
        const char* text;
        int ranks;
    };
    constexpr Plan kPlans[] = {{"dp=2", 2},
                               {"dp=4 zero=3", 4},
                               {"tp=2 dp=2 overlap=0", 4},
                               {"pp=2 dp=2 microbatches=2 collective=ring", 4},
                               {"dp=2 ps=sync servers=1", 3}};
    const int kills =
        qEnvironmentVariableIsSet("FOURWALLS_KILLS") ? qEnvironmentVariableIntValue("FOURWALLS_KILLS") : 100;
    std::mt19937 random(20261121);
    const auto below = [&random](int limit) { return static_cast<int>(random() % static_cast<unsigned>(limit)); };
    std::vector<qint64> times; // from the kill to the end of the last survivor
    int named = 0, traced = 0;
    for (int i = 0; i < kills; ++i) {
        const Plan& plan = kPlans[below(static_cast<int>(std::size(kPlans)))];
        const int victim = below(plan.ranks), moment = below(1200);
        const QString file = folder.filePath("kill.fourwalls");
        RankProcesses ranks(plan.ranks,
                            {"record", "-o", file, "--model", model, "--plan", plan.text, "--batch", "4", "--steps",
                             "1000000", "--transport", "gloo", "--rank-timeout", QString::number(kTimeoutMs / 1000)});
        const QByteArray what = QByteArray("kill ") + QByteArray::number(i) + ": " + plan.text + ", rank " +
                                QByteArray::number(victim) + " after " + QByteArray::number(moment) + " ms";
        // A fault waits for nobody: its moment is drawn, and nothing that the ranks have done by then is assumed. It does
        // not finish by itself; this only lets the time pass.
        ranks[victim].waitForFinished(moment);
        QVERIFY2(ranks[victim].state() != QProcess::NotRunning, what.constData());
        ranks[victim].kill();
        QElapsedTimer since;
        since.start();
        for (int rank = 0; rank < plan.ranks; ++rank) {
            if (rank == victim) continue;
            // Up to the timeout for who never came, and once more for connections that were being made.
            QVERIFY2(ranks.ended(rank, 4 * kTimeoutMs),
                     (what + ": rank " + QByteArray::number(rank) + " hangs").constData());
            const QByteArray errors = ranks.errors(rank);
            QVERIFY2(ranks[rank].exitStatus() == QProcess::NormalExit, (what + ": " + errors).constData());
            QVERIFY2(ranks[rank].exitCode() == 1, (what + ": " + errors).constData());
            QVERIFY2(errors.contains("rank " + QByteArray::number(victim)) ||
                         (victim == 0 && errors.contains("rank 0 was not found")),
                     (what + ": " + errors).constData());
            named += errors.contains("was lost at");
        }
        times.push_back(since.elapsed());
        if (victim == 0 || !QFile::exists(file)) continue;
        const auto trace = store::openTrace(file.toStdString());
        QVERIFY2(trace.ok(),
                 (what + (trace.ok() ? "" : ": " + QByteArray::fromStdString(trace.error().message()))).constData());
        const auto events = (*trace)->events({Instant{0}, Instant{kLargestTimeNs}}, 1000);
        QVERIFY(events.ok());
        QVERIFY2(std::any_of(events->begin(), events->end(),
                             [](const EventRecord& event) { return event.kind == EventKind::Fault; }),
                 what.constData());
        ++traced;
        QFile::remove(file);
    }
    std::sort(times.begin(), times.end());
    qInfo("%d kills, no hang; the last survivor ended after %lld ms (median), %lld ms at most; %d survivors named the "
          "time, "
          "%d traces say who",
          kills, static_cast<long long>(times[times.size() / 2]), static_cast<long long>(times.back()), named, traced);
    QVERIFY(traced > 0);
}

FOURWALLS_TEST(GlooKills, QCoreApplication)

} // namespace tst_gloo_kills

#include "tst_gloo_kills.moc"
