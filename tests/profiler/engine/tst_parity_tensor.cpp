// SPDX-License-Identifier: Apache-2.0
// Whole trainings with tensor, sequence and context parallelism and recomputation, alone and with data parallelism,
// ZeRO and pipelines, against the one-rank run: losses, gradients and weights of five steps; in double, where a mistake
// shows far above the rounding, in f32 and in bf16.
#include <QtTest> // first: moc stumbles over <compare> otherwise

#include "profiler/engine/device/onednn_matmul.h"
#include "tests/profiler/engine/parity_fixture.h"
#include "tests/support/test_program.h"

namespace tst_parity_tensor {

using namespace fourwalls;
using namespace fourwalls::engine;
using namespace fourwalls::engine::testing;

namespace {

constexpr NumberFormat kFormats[] = {{DType::F64, DType::F64}, {DType::F32, DType::F32}, {DType::Bf16, DType::F32}};
constexpr const char* kFormatNames[] = {"double", "f32", "bf16"};

struct Row {
    const char* plan;
    bool llama = false;
    int layers = 2;
};

constexpr Row kRows[] = {
    {"recompute=full"},
    {"recompute=selective attention=unfused", true},
    {"tp=2"},
    {"tp=4", true},
    {"tp=2 sp=1", true},
    {"tp=4 sp=1 microbatches=2"},
    {"tp=2 fuse=0 overlap=0 attention=unfused"},
    {"tp=4 sp=1 recompute=full", true},
    {"tp=2 sp=1 recompute=selective attention=unfused"},
    {"cp=2"},
    {"cp=4 overlap=0", true},
    {"cp=2 attention=unfused"},
    {"cp=2 microbatches=2 recompute=full", true},
    {"dp=2 tp=2"},
    {"dp=2 tp=2 sp=1 zero=1 microbatches=2"},
    {"dp=2 tp=2 sp=1 zero=2", true},
    {"dp=2 tp=2 sp=1 zero=3 recompute=full"},
    {"dp=2 tp=2 zero=3 microbatches=2", true},
    {"dp=2 cp=2"},
    {"dp=2 cp=2 zero=2 microbatches=2", true},
    {"cp=2 zero=3"},
    {"cp=2 tp=2", true},
    {"cp=2 tp=2 sp=1 recompute=selective"},
    {"dp=2 cp=2 tp=2 sp=1 zero=1", true},
    {"tp=2 pp=2 microbatches=4", false, 4},
    {"tp=2 sp=1 pp=2 microbatches=4 recompute=full", true, 3},
    {"tp=2 sp=1 pp=2 microbatches=4 schedule=zb", false, 4},
    {"tp=2 pp=2 microbatches=4 schedule=zbv", true, 5},
    {"tp=2 sp=1 pp=2 vpp=2 microbatches=2", true, 4},
    {"cp=2 pp=2 microbatches=2", false, 4},
    {"cp=2 pp=2 microbatches=2 schedule=zb attention=unfused", true, 4},
    {"dp=2 tp=2 pp=2 microbatches=2"},
    {"dp=2 tp=2 sp=1 pp=2 microbatches=4 zero=1", true},
    {"dp=2 tp=2 sp=1 pp=2 microbatches=2 zero=3"},
    {"cp=2 tp=2 pp=2 microbatches=2 sp=1 recompute=full"},
};

} // namespace

class ParityTensor : public QObject {
    Q_OBJECT

    std::map<std::string, PlanOutcome> m_references;
    ParityTally m_tally;

private slots:
    void plansEqualOneRank_data()
    {
        QTest::addColumn<int>("row");
        QTest::addColumn<int>("format");
        for (int format = 0; format < 3; ++format)
            for (int i = 0; i < static_cast<int>(std::size(kRows)); ++i)
                QTest::addRow("%s, %s, %d layers, %s", kRows[i].plan, kRows[i].llama ? "LLaMA" : "GPT", kRows[i].layers,
                              kFormatNames[format])
                    << i << format;
    }

    void plansEqualOneRank()
    {
        QFETCH(int, row);
        QFETCH(int, format);
        const NumberFormat numbers = kFormats[format];
        if (numbers.compute == DType::Bf16 && !OneDnnMatmul::supportsBf16())
            QSKIP("this processor has no bf16 products in oneDNN");
        const Row& r = kRows[row];
        RunSpec spec = paritySpec(r.plan, r.layers, 8);
        auto& t = std::get<TransformerSpec>(spec.model.architecture);
        t.vocabulary = 257; // divides by nothing
        if (r.llama) {
            t.positions = Positions::Rotary;
            t.activation = Activation::SwiGlu;
            t.normalization = Normalization::RmsNorm;
            t.biases = t.tiedEmbeddings = false;
            if (spec.plan.tp <= 2) t.kvHeads = 2;
        }
        const std::string key =
            std::to_string(r.layers) + (r.llama ? "l" : "g") + std::to_string(t.kvHeads) + kFormatNames[format];
        if (!m_references.count(key)) m_references[key] = runPlan(referenceOf(spec), numbers);
        const std::string difference =
            m_tally.compare(kFormatNames[format], runPlan(spec, numbers), m_references[key], parityTolerance(numbers));
        QVERIFY2(difference.empty(), difference.c_str());
    }

    void cleanupTestCase()
    {
        for (const std::string& line : m_tally.lines()) qInfo("%s", line.c_str());
    }
};

FOURWALLS_TEST(ParityTensor, QCoreApplication)

} // namespace tst_parity_tensor

#include "tst_parity_tensor.moc"
