// SPDX-License-Identifier: Apache-2.0
// A rank of the engine that stands still: the others end at the timeout, all leave dumps, and `hang` names it.
#include <QtTest> // first: moc stumbles over <compare> otherwise

#include "profiler/engine/comm/process_world.h"
#include "tests/app/cli/program.h"
#include "tests/support/test_program.h"

#include <QDir>
#include <QJsonArray>
#include <QJsonObject>
#include <QTemporaryDir>

namespace tst_gloo_hang {

using namespace fourwalls::test;

class GlooHangTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase()
    {
        if (!fourwalls::engine::hasGloo()) QSKIP("this build has no Gloo");
    }
    void theStandingRankIsNamed_data();
    void theStandingRankIsNamed();
    void soundRunsLeaveNoDumps();

private:
    QTemporaryDir m_folder;
};

void GlooHangTest::theStandingRankIsNamed_data()
{
    QTest::addColumn<QString>("plan");
    QTest::addColumn<QString>("fault");
    QTest::addColumn<int>("rank");
    QTest::newRow("data parallel") << "dp=2"
                                   << "hang:1:2" << 1;
    QTest::newRow("within a step of a pipeline") << "pp=2 microbatches=4"
                                                 << "hang:0:2.3" << 0;
}

void GlooHangTest::theStandingRankIsNamed()
{
    QFETCH(QString, plan);
    QFETCH(QString, fault);
    QFETCH(int, rank);
    const QString file = m_folder.filePath(QString("run%1.fourwalls").arg(rank));
    const QString dumps = m_folder.filePath(QString("run%1.dumps").arg(rank));
    const Answer recorded = run({"record", "-o", file, "--transport", "gloo", "--plan", plan, "--steps", "1000",
                                 "--batch", "8", "--seq", "32", "--fault", fault, "--rank-timeout", "2"});
    QCOMPARE(recorded.exitCode, 1);
    QVERIFY2(recorded.err.contains("waits longer than 3 s in") && recorded.err.contains("fourwalls-cli hang"),
             recorded.err.constData());
    QCOMPARE(QDir(dumps).entryList(QDir::Files).size(), 2);
    const Answer answer = run({"hang", dumps, "--json"});
    QVERIFY2(answer.exitCode == 0, answer.err.constData());
    const QJsonArray suspects = answer.json()["suspects"].toArray();
    QCOMPARE(suspects.size(), 1);
    QCOMPARE(suspects[0].toObject()["rank"].toInt(), rank);
    QCOMPARE(answer.json()["ranks"].toArray().size(), 2);
    QCOMPARE(answer.json()["unreadable_records"].toInt(), 0);
    // What was recorded until then is there.
    const Answer checked = run({"check", file});
    QVERIFY2(checked.exitCode == 0, (checked.out + checked.err + recorded.err).constData());
}

void GlooHangTest::soundRunsLeaveNoDumps()
{
    const QString file = m_folder.filePath("sound.fourwalls");
    // Dumps of an earlier run of that name go; what else lies there stays.
    const QString dumps = m_folder.filePath("sound.dumps");
    QVERIFY(QDir().mkpath(dumps));
    for (const char* name : {"_dump_0.json", "notes.txt"}) {
        QFile old(dumps + "/" + name);
        QVERIFY(old.open(QIODevice::WriteOnly));
    }
    QCOMPARE(run({"record", "-o", file, "--transport", "gloo", "--plan", "dp=2", "--steps", "2", "--batch", "8",
                  "--seq", "32"})
                 .exitCode,
             0);
    QCOMPARE(QDir(dumps).entryList(QDir::Files), QStringList{"notes.txt"});
    // A rank that is killed hung nobody, and the dumps of the others go when the job begins again.
    const Answer killed = run({"record", "-o", m_folder.filePath("killed.fourwalls"), "--transport", "gloo", "--plan",
                               "dp=2", "--steps", "6", "--batch", "8", "--seq", "32", "--fault", "kill:1:3"});
    QVERIFY2(killed.err.contains("rank 1") && !killed.err.contains("who hung it"), killed.err.constData());
    QCOMPARE(run({"record", "-o", file, "--fault", "hang:0:1"}).exitCode, 2);
    QCOMPARE(run({"record", "-o", file, "--transport", "gloo", "--plan", "dp=2", "--fault", "hang:2:1"}).exitCode, 2);
    QCOMPARE(run({"record", "-o", file, "--transport", "gloo", "--plan", "dp=2", "--fault", "freeze:1:1"}).exitCode, 2);
}

FOURWALLS_TEST(GlooHangTest, QCoreApplication)

} // namespace tst_gloo_hang

#include "tst_gloo_hang.moc"
