// SPDX-License-Identifier: Apache-2.0
// Plans against the one-rank run in double: losses, gradients and weights of five steps. Any mistake in who computes,
// sends or adds what shows far above the rounding of 1e-13.
#include <QtTest> // first: moc stumbles over <compare> otherwise

#include "tests/profiler/engine/parity_fixture.h"

using namespace fourwalls;
using namespace fourwalls::engine;
using namespace fourwalls::engine::testing;

namespace {

constexpr NumberFormat kDouble{DType::F64, DType::F64};

struct Row {
    const char* plan;
    int layers = 4;
    bool untied = false;
    bool adamw = false;
};

constexpr Row kRows[] = {
    {"dp=2"},
    {"dp=2 overlap=0"},
    {"dp=4 microbatches=2"},
    {"dp=8", 2},
    {"dp=2 microbatches=4 zero=1"},
    {"dp=4 zero=1 overlap=0", 4, true},
    {"dp=2 zero=2"},
    {"dp=4 zero=2 microbatches=2 overlap=0"},
    {"dp=2 zero=3", 4, true},
    {"dp=4 zero=3 microbatches=2"},
    {"dp=2 zero=3 reshard=0 microbatches=2"},
    {"dp=3 zero=3 overlap=0", 4, false, true},
    {"pp=2 schedule=naive microbatches=2"},
    {"pp=2 schedule=gpipe microbatches=4"},
    {"pp=2 microbatches=4", 4, true},
    {"pp=4 microbatches=8"},
    {"pp=3 microbatches=4", 5},
    {"pp=2 vpp=2 microbatches=4"},
    {"pp=2 vpp=3 microbatches=2", 7},
    {"pp=4 schedule=zb microbatches=8"},
    {"pp=2 schedule=zb2p microbatches=4", 3},
    {"pp=2 schedule=zbv microbatches=4"},
    {"pp=4 schedule=zbv microbatches=8", 9},
    {"dp=2 pp=2 microbatches=2"},
    {"dp=2 pp=2 microbatches=4 schedule=gpipe zero=1"},
    {"dp=2 pp=2 microbatches=2 zero=2"},
    {"dp=2 pp=2 microbatches=4 zero=3", 5, true},
    {"dp=2 pp=2 microbatches=2 zero=3"},
    {"dp=2 pp=4 microbatches=4 schedule=zb"},
    {"dp=2 pp=2 microbatches=4 schedule=zbv zero=1", 4, false, true},
    {"dp=2 pp=2 vpp=2 microbatches=2 zero=1"},
    {"dp=4 pp=2 microbatches=2 overlap=0"},
    {"tp=2"},
    {"tp=4", 2, true},
    {"tp=2 sp=1 microbatches=2"},
    {"tp=4 sp=1", 2},
    {"tp=2 recompute=full"},
    {"recompute=full microbatches=2"},
    {"recompute=selective attention=unfused"},
    {"tp=2 sp=1 recompute=selective attention=unfused"},
    {"cp=2"},
    {"cp=4", 2, true},
    {"cp=2 attention=unfused"},
    {"dp=2 tp=2"},
    {"dp=2 tp=2 sp=1 zero=1"},
    {"dp=2 tp=2 zero=2 microbatches=2"},
    {"dp=2 tp=2 sp=1 zero=3 microbatches=2"},
    {"dp=2 cp=2 zero=1"},
    {"dp=2 cp=2 zero=3", 3},
    {"tp=2 cp=2"},
    {"tp=2 sp=1 cp=2 microbatches=2"},
    {"tp=2 pp=2 microbatches=4"},
    {"tp=2 sp=1 pp=2 microbatches=4 schedule=gpipe"},
    {"tp=2 pp=2 vpp=2 microbatches=2 sp=1"},
    {"tp=2 pp=2 microbatches=4 schedule=zb"},
    {"tp=2 sp=1 pp=2 microbatches=2 schedule=zbv"},
    {"cp=2 pp=2 microbatches=2"},
    {"cp=2 pp=2 microbatches=4 recompute=full schedule=zb"},
    {"dp=2 recompute=full zero=3"},
    {"pp=4 microbatches=4 recompute=selective attention=unfused", 6},
    {"dp=2 tp=2 pp=2 microbatches=2"},
    {"dp=2 tp=2 pp=2 microbatches=2 sp=1 zero=1"},
    {"dp=2 tp=2 pp=2 microbatches=4 zero=3 sp=1", 3},
    {"dp=2 tp=2 cp=2"},
    {"dp=2 cp=2 pp=2 microbatches=2 zero=2"},
    {"tp=2 cp=2 pp=2 microbatches=2 sp=1", 4, true},
    {"dp=2 tp=2 pp=2 microbatches=4 schedule=zb2p zero=1"},
    {"dp=2 tp=2 pp=2 microbatches=4 sp=1 recompute=full", 4, true},
    // Where things are and how operators are cut changes no number; the reference works in place and fused.
    {"offload=optimizer microbatches=2", 2},
    {"offload=activations microbatches=2", 4, true},
    {"offload=activations recompute=full overlap=0", 2},
    {"offload=parameters", 3},
    {"dp=2 zero=1 offload=optimizer,activations", 2},
    {"dp=2 zero=3 offload=parameters", 3, true},
    {"dp=2 zero=3 reshard=0 offload=optimizer,parameters overlap=0 microbatches=2", 2},
    {"pp=2 microbatches=4 offload=activations,parameters", 4, true},
    {"pp=2 schedule=zbv microbatches=4 offload=optimizer,activations,parameters"},
    {"tp=2 sp=1 offload=activations,optimizer", 2},
    {"inplace=0", 2},
    {"fuse=0", 2, true},
    {"fuse=0 inplace=0", 2, false, true},
    {"pp=2 schedule=zb microbatches=4 fuse=0 inplace=0", 2},
    {"tp=2 fuse=0 inplace=0 recompute=selective attention=unfused", 2},
};

} // namespace

class ParityTest : public QObject {
    Q_OBJECT

    std::map<std::string, PlanOutcome> m_references;

private slots:
    void plansEqualOneRank_data()
    {
        QTest::addColumn<int>("row");
        for (int i = 0; i < static_cast<int>(std::size(kRows)); ++i)
            QTest::addRow("%s, %d layers%s%s", kRows[i].plan, kRows[i].layers, kRows[i].untied ? ", untied" : "",
                          kRows[i].adamw ? ", adamw" : "")
                << i;
    }

    void plansEqualOneRank()
    {
        QFETCH(int, row);
        const Row& r = kRows[row];
        const int batch = std::string(r.plan).find("dp=3") != std::string::npos ? 6 : 8;
        RunSpec spec = paritySpec(r.plan, r.layers, batch);
        std::get<TransformerSpec>(spec.model.architecture).tiedEmbeddings = !r.untied;
        ParityTolerance tolerance = parityTolerance(kDouble);
        if (r.adamw) {
            spec.training.optimizer = Optimizer::AdamW;
            spec.training.learningRate = 1e-3;
            tolerance.compareWeights = false;
            tolerance.gradient = 1e-8; // the noise of vanishing gradients moves weights
        }
        const std::string key =
            std::to_string(r.layers) + (r.untied ? "u" : "t") + (r.adamw ? "a" : "s") + std::to_string(batch);
        if (!m_references.count(key)) m_references[key] = runPlan(referenceOf(spec), kDouble);
        const std::string difference = compareOutcomes(runPlan(spec, kDouble), m_references[key], tolerance);
        QVERIFY2(difference.empty(), difference.c_str());
    }
};

QTEST_GUILESS_MAIN(ParityTest)
#include "tst_parity.moc"
