// SPDX-License-Identifier: Apache-2.0
// The text form of a plan: what it accepts, what it refuses and how it names the culprit.
#include "model/spec/parallel_plan.h"
#include "tests/support/test_program.h"

#include <QTest>

#include <vector>

namespace tst_parallel_plan {

using namespace fourwalls;

class ParallelPlanTest : public QObject {
    Q_OBJECT

private slots:
    void emptyIsTheDefault();
    void readsEveryKey();
    void roundTrip_data();
    void roundTrip();
    void refuses_data();
    void refuses();
};

void ParallelPlanTest::emptyIsTheDefault()
{
    const auto plan = parsePlan("  \t ");
    QVERIFY(plan.ok());
    QVERIFY(*plan == ParallelPlan{});
    QCOMPARE(QString::fromStdString(formatPlan(*plan)), QString());
}

void ParallelPlanTest::readsEveryKey()
{
    const auto plan =
        parsePlan("dp=2 tp=4 pp=8 cp=3 ep=2 vpp=2 microbatches=16 zero=3 sp=1 recompute=selective "
                  "offload=optimizer,parameters collective=tree overlap=0 fuse=0 inplace=0 attention=unfused "
                  "routing=natural ps=async servers=5 shard=3 etp=2 context=gather dispatch=once epoverlap=1");
    QVERIFY2(plan.ok(), plan.ok() ? "" : plan.error().message().c_str());
    QCOMPARE(plan->worldSize(), 2 * 4 * 8 * 3);
    QCOMPARE(plan->microbatches, 16);
    QCOMPARE(plan->zero, 3);
    QVERIFY(plan->sequenceParallel);
    QCOMPARE(plan->recompute, Recompute::Selective);
    QVERIFY(plan->offloadOptimizer && plan->offloadParameters && !plan->offloadActivations);
    QCOMPARE(plan->schedule, PipelineSchedule::Interleaved); // because vpp > 1
    QCOMPARE(plan->collective, CollectiveAlgorithm::Tree);
    QVERIFY(!plan->overlap && !plan->fuse && !plan->inPlace && !plan->fusedAttention);
    QCOMPARE(plan->routing, MoeRouting::Natural);
    QCOMPARE(plan->parameterServer, ParameterServer::Async);
    QCOMPARE(plan->servers, 5);
    QCOMPARE(plan->shards(), 3);
    QCOMPARE(plan->expertTensorDegree(), 2);
    QVERIFY(plan->context == ContextExchange::Gather && plan->dispatch == ExpertDispatch::OncePerNode);
    QVERIFY(plan->overlapExperts && !ParallelPlan{}.overlapExperts);
    QCOMPARE(plan->expertReplicas(), 2 * 3 * 2); // dp x cp, and the tensor group in two
    QCOMPARE(parsePlan("dp=4 cp=2")->shards(), 8);
    QVERIFY(parsePlan("pp=4 layers=5,6,6,5")->stageLayers == (std::vector{5, 6, 6, 5}));
    QVERIFY(parsePlan("pp=4 layers=5,2x6,5")->stageLayers == (std::vector{5, 6, 6, 5}));
    QVERIFY(*parsePlan("pp=4 recompute=3xfull,none") == *parsePlan("pp=4 recompute=full,full,full,none"));
    ParallelPlan staged = *parsePlan("pp=3 recompute=full,none,selective");
    QVERIFY(staged.recomputeOf(0) == Recompute::Full && staged.recomputeOf(1) == Recompute::None &&
            staged.recomputeOf(2) == Recompute::Selective && staged.recomputes());
    QVERIFY(staged.recompute == Recompute::None && !(staged == *parsePlan("pp=3")));
    staged.setRecompute(std::vector{Recompute::Full, Recompute::Full, Recompute::Full});
    QVERIFY(staged == *parsePlan("pp=3 recompute=full")); // equal on all stages: one word
    QVERIFY(parsePlan("recompute=full")->recomputeOf(5) == Recompute::Full);

    // Modules by name, in any order and once; another word for all of a layer takes their place.
    ParallelPlan named = *parsePlan("recompute=moe_act+layernorm+moe_act");
    QVERIFY(named.recompute == Recompute::Selective && named.recomputes());
    QCOMPARE(named.recomputeModules, unsigned{kRecomputeLayerNorm} | kRecomputeExpertActivation);
    named.setRecompute(Recompute::Selective);
    QVERIFY(named == *parsePlan("recompute=selective"));
}

void ParallelPlanTest::roundTrip_data()
{
    QTest::addColumn<QString>("text");
    for (const char* text : {"dp=2",
                             "pp=4 microbatches=8 schedule=gpipe",
                             "pp=4 vpp=2",
                             "pp=4 vpp=2 schedule=1f1b",
                             "pp=4 schedule=interleaved",
                             "pp=2 schedule=zb2p",
                             "zero=3 offload=optimizer,activations",
                             "recompute=full overlap=0 fuse=0 attention=unfused",
                             "ps=sync servers=2",
                             "dp=16 zero=3 shard=8",
                             "dp=4 tp=4 ep=8 etp=1",
                             "cp=2 context=ring",
                             "dp=8 ep=8 dispatch=alltoall epoverlap=1",
                             "pp=4 layers=5,6,6,5 microbatches=8",
                             "pp=2 vpp=2 layers=1,2,2,1",
                             "pp=8 layers=4,4,4,4,4,4,4,2",
                             "pp=12 layers=8x1,3x2,1 microbatches=64",
                             "pp=9 recompute=4xfull,selective,4xnone",
                             "pp=3 recompute=full,none,selective",
                             "dp=2 pp=2 order=tp-cp-ep-pp-dp",
                             "recompute=layernorm+moe_act",
                             "documents=512",
                             "dp=2 documents=6x512,3x2048,8192 context=ring",
                             "recompute=core_attn+layernorm+mla_up_proj+mlp+moe+moe_act+shared_experts"})
        QTest::newRow(text) << QString(text);
}

void ParallelPlanTest::roundTrip()
{
    QFETCH(QString, text);
    const auto plan = parsePlan(text.toStdString());
    QVERIFY2(plan.ok(), plan.ok() ? "" : plan.error().message().c_str());
    QCOMPARE(QString::fromStdString(formatPlan(*plan)), text);
    QVERIFY(*parsePlan(formatPlan(*plan)) == *plan);
}

void ParallelPlanTest::refuses_data()
{
    QTest::addColumn<QString>("text");
    QTest::addColumn<QString>("named");
    QTest::newRow("no layers") << "pp=2 layers="
                               << "layers";
    QTest::newRow("empty stage") << "pp=2 layers=4,0"
                                 << "layers";
    QTest::newRow("half a list") << "pp=3 layers=4,4,"
                                 << "layers";
    QTest::newRow("half a list of stages") << "pp=2 recompute=full,"
                                           << "recompute";
    QTest::newRow("no such recomputation") << "pp=2 recompute=full,some"
                                           << "recompute";
    QTest::newRow("no such module") << "recompute=layernorm+norm"
                                    << "recompute";
    QTest::newRow("half a list of modules") << "recompute=layernorm+"
                                            << "recompute";
    QTest::newRow("modules by stage") << "pp=2 recompute=layernorm,full"
                                      << "recompute";
    for (const char* text : {"documents=", "documents=0", "documents=512,", "documents=2x", "documents=x512",
                             "documents=0x512", "documents=1e3", "documents=512x-1"})
        QTest::newRow(text) << text << "documents";
    for (const char* text : {"layers=3x", "layers=0x4", "layers=2x3x4", "layers=99999x1,2x1"})
        QTest::newRow(text) << text << "layers";
    QTest::newRow("too many stages") << "recompute=1000000xfull"
                                     << "recompute";
    QTest::newRow("unknown") << "dp=2 tensor=4"
                             << "tensor";
    QTest::newRow("repeated") << "dp=2 pp=4 dp=2"
                              << "dp";
    QTest::newRow("no value") << "dp"
                              << "dp";
    QTest::newRow("empty value") << "dp="
                                 << "dp";
    QTest::newRow("zero degree") << "pp=0"
                                 << "pp";
    QTest::newRow("negative") << "tp=-1"
                              << "tp";
    QTest::newRow("trailing") << "tp=2x"
                              << "tp";
    QTest::newRow("not a number") << "microbatches=many"
                                  << "microbatches";
    QTest::newRow("beyond int") << "dp=99999999999"
                                << "dp";
    QTest::newRow("zero stage") << "zero=4"
                                << "zero";
    QTest::newRow("switch") << "overlap=2"
                            << "overlap";
    QTest::newRow("word") << "schedule=2f2b"
                          << "schedule";
    QTest::newRow("attention") << "attention=flash"
                               << "attention";
    QTest::newRow("offload twice") << "offload=optimizer,optimizer"
                                   << "offload";
    QTest::newRow("offload none and") << "offload=none,optimizer"
                                      << "offload";
    QTest::newRow("world") << "dp=1000000 tp=1000000 pp=1000000 cp=1000000"
                           << "world size";
    QTest::newRow("upper case") << "DP=2"
                                << "DP";
}

void ParallelPlanTest::refuses()
{
    QFETCH(QString, text);
    QFETCH(QString, named);
    const auto plan = parsePlan(text.toStdString());
    QVERIFY(!plan.ok());
    QCOMPARE(plan.error().code, ErrorCode::InvalidArgument);
    QVERIFY2(plan.error().what.find(named.toStdString()) != std::string::npos, plan.error().message().c_str());
    QVERIFY(!plan.error().hint.empty());
}

FOURWALLS_TEST(ParallelPlanTest, QCoreApplication)

} // namespace tst_parallel_plan

#include "tst_parallel_plan.moc"
