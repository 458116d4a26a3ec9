// SPDX-License-Identifier: Apache-2.0
// The other kinds of network over ranks against one rank, in double: encoders with masked tokens, mixtures of experts
// (with equal micro-batches, whose tokens share an auxiliary loss), latent attention, recommendation.
#include <QtTest> // first: moc stumbles over <compare> otherwise

#include "tests/profiler/engine/parity_fixture.h"
#include "tests/support/test_program.h"

namespace tst_model_parity {

using namespace fourwalls;
using namespace fourwalls::engine;
using namespace fourwalls::engine::testing;

namespace {

constexpr NumberFormat kDouble{DType::F64, DType::F64};

RunSpec encoder(const std::string& plan, bool postNorm)
{
    RunSpec spec = paritySpec(plan);
    auto& t = std::get<TransformerSpec>(spec.model.architecture);
    t.causal = false;
    t.postNorm = postNorm;
    t.embeddingNorm = true;
    t.tokenTypes = 2;
    t.sequence = 16; // two tokens of each sample are hidden
    return spec;
}

RunSpec experts(const std::string& plan)
{
    RunSpec spec = paritySpec(plan, 3);
    auto& t = std::get<TransformerSpec>(spec.model.architecture);
    t.positions = Positions::Rotary;
    t.activation = Activation::SwiGlu;
    t.normalization = Normalization::RmsNorm;
    t.tiedEmbeddings = false;
    t.headWidth = 6;                  // four of them are wider than the residual stream
    t.mixture = {4, 2, 12, 10, 1, 1}; // an expert that all tokens visit; the first layer of three stays dense
    return spec;
}

RunSpec latent(const std::string& plan)
{
    RunSpec spec = experts(plan);
    auto& t = std::get<TransformerSpec>(spec.model.architecture);
    t.layers = 4;
    t.headWidth = 3;
    t.biases = false;
    t.latent = {plan.find("tp") == std::string::npos ? 0 : 6, 5, 4, 6}; // queries from a latent, too, or directly
    if (plan.find("ep=") == std::string::npos) t.mixture = {};
    return spec;
}

RunSpec clicks(const std::string& plan)
{
    RunSpec spec = paritySpec(plan);
    RecommendationSpec r;
    r.tables = 3;
    r.rowsPerTable = 11;
    r.embeddingWidth = 4;
    r.lookupsPerTable = 2;
    r.denseFeatures = 5;
    r.bottomLayers = {6, 4};
    r.topLayers = {7, 1};
    spec.model = {"clicks", r};
    return spec;
}

} // namespace

class ModelParity : public QObject {
    Q_OBJECT

    ParityTally m_tally;

    // In double, between a plan and one rank with as many micro-batches.
    std::string difference(const char* kind, const RunSpec& spec)
    {
        RunSpec one = referenceOf(spec);
        one.plan.routing = spec.plan.routing;
        one.plan.microbatches = spec.plan.microbatches;
        return m_tally.compare(kind, runPlan(spec, kDouble), runPlan(one, kDouble), parityTolerance(kDouble));
    }

private slots:
    void encoders_data()
    {
        QTest::addColumn<QString>("plan");
        QTest::addColumn<bool>("postNorm");
        for (const char* plan :
             {"dp=2", "dp=2 zero=3 microbatches=2", "tp=2", "tp=2 sp=1", "cp=2", "pp=2 microbatches=2",
              "pp=4 schedule=zb microbatches=4", "dp=2 tp=2 sp=1", "dp=2 tp=2 pp=2 microbatches=2",
              "tp=2 recompute=full", "fuse=0 inplace=0 offload=activations,parameters"}) {
            QTest::addRow("%s, norms behind", plan) << plan << true;
            if (std::string(plan).size() < 9) QTest::addRow("%s, norms before", plan) << plan << false;
        }
    }
    void encoders()
    {
        QFETCH(QString, plan);
        QFETCH(bool, postNorm);
        const std::string differs = difference("encoders", encoder(plan.toStdString(), postNorm));
        QVERIFY2(differs.empty(), differs.c_str());
    }

    void mixtures_data()
    {
        QTest::addColumn<QString>("plan");
        for (const char* plan :
             {"dp=2", "dp=2 ep=2", "dp=4 ep=2 microbatches=2", "dp=4 ep=4", "dp=2 ep=2 zero=1", "dp=4 ep=2 zero=2",
              "dp=4 ep=2 zero=3", "tp=2", "tp=2 sp=1", "dp=2 ep=2 tp=2 sp=1", "cp=2 ep=2", "pp=3 microbatches=2",
              "dp=2 ep=2 pp=3 microbatches=2", "dp=2 ep=2 recompute=full", "dp=2 ep=2 pp=3 schedule=zb microbatches=4",
              "dp=2 ep=2 fuse=0 inplace=0 offload=activations,optimizer"})
            for (const char* routing : {"natural", "balanced"})
                QTest::addRow("%s %s", plan, routing) << QString("%1 routing=%2").arg(plan, routing);
    }
    void mixtures()
    {
        QFETCH(QString, plan);
        const std::string differs = difference("mixtures", experts(plan.toStdString()));
        QVERIFY2(differs.empty(), differs.c_str());
    }

    void latentAttention_data()
    {
        QTest::addColumn<QString>("plan");
        for (const char* plan :
             {"dp=2 zero=3", "tp=2", "tp=4 sp=1 microbatches=2", "dp=2 tp=2 sp=1 zero=2", "cp=2", "tp=2 cp=2 sp=1",
              "pp=2 microbatches=2 recompute=full", "tp=2 recompute=selective attention=unfused",
              "tp=2 sp=1 pp=2 schedule=zb microbatches=4", "pp=4 schedule=zb microbatches=4", "dp=2 ep=2 tp=2",
              "tp=2 fuse=0 inplace=0 offload=activations,parameters"})
            QTest::addRow("%s", plan) << plan;
    }
    void latentAttention()
    {
        QFETCH(QString, plan);
        const std::string differs = difference("latent attention", latent(plan.toStdString()));
        QVERIFY2(differs.empty(), differs.c_str());
    }

    void recommendation_data()
    {
        QTest::addColumn<QString>("plan");
        for (const char* plan :
             {"dp=2", "dp=4 microbatches=2", "dp=2 zero=1", "dp=2 zero=3", "offload=optimizer,parameters", "fuse=0"})
            QTest::addRow("%s", plan) << plan;
    }
    void recommendation()
    {
        QFETCH(QString, plan);
        const std::string differs = difference("recommendation", clicks(plan.toStdString()));
        QVERIFY2(differs.empty(), differs.c_str());
    }

    void cleanupTestCase()
    {
        for (const std::string& line : m_tally.lines()) qInfo("%s", line.c_str());
    }
};

FOURWALLS_TEST(ModelParity, QCoreApplication)

} // namespace tst_model_parity

#include "tst_model_parity.moc"
