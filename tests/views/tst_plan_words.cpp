// SPDX-License-Identifier: GPL-3.0-or-later
// The few words for a plan: two different plans of a job never have the same ones.
#include <QtTest/QtTest>

#include "views/words/plan_words.h"
#ifndef Q_MOC_RUN
#include "tests/support/test_program.h"
#endif

namespace tst_plan_words {

using namespace fourwalls;
using namespace fourwalls::views;

class PlanWordsTest : public QObject {
    Q_OBJECT

    static QString summaryOf(const char* text)
    {
        const Result<ParallelPlan> plan = parsePlan(text);
        return plan.ok() ? planSummary(*plan) : QStringLiteral("no plan");
    }

private slots:
    void everyKeyThatDiffersIsSaid()
    {
        const char* base = "dp=2 tp=2 pp=2 cp=2 ep=2 microbatches=8 zero=3";
        const char* keys[] = {"",
                              " etp=1",
                              " vpp=2",
                              " vpp=2 schedule=zbv",
                              " schedule=zbv",
                              " order=tp-cp-ep-pp-dp",
                              " layers=3,5",
                              " shard=2",
                              " reshard=0",
                              " sp=1",
                              " recompute=full",
                              " offload=optimizer",
                              " offload=activations",
                              " offload=optimizer,parameters",
                              " schedule=gpipe",
                              " collective=ring",
                              " collective=tree",
                              " overlap=0",
                              " fuse=0",
                              " inplace=0",
                              " attention=unfused",
                              " context=ring",
                              " context=gather",
                              " routing=natural",
                              " dispatch=alltoall",
                              " dispatch=once",
                              " epoverlap=1",
                              " conv=direct",
                              " ps=sync",
                              " ps=sync servers=2"};
        QStringList all;
        for (const char* key : keys) {
            const QString summary = summaryOf((std::string(base) + key).c_str());
            QVERIFY2(summary != QStringLiteral("no plan"), key);
            QVERIFY2(!all.contains(summary), key);
            all << summary;
        }
    }

    void whatIsUsualIsNotSaid()
    {
        QCOMPARE(summaryOf("dp=2 zero=1"), QStringLiteral("dp 2 · ZeRO 1"));
        QCOMPARE(summaryOf("pp=2 vpp=2 microbatches=4"), QStringLiteral("pp 2 · interleaved ×2 · m 4"));
        QCOMPARE(summaryOf("cp=4 context=gather"), QStringLiteral("cp 4 · cp gather"));
    }
};

FOURWALLS_TEST(PlanWordsTest, QCoreApplication)

} // namespace tst_plan_words

#include "tst_plan_words.moc"
