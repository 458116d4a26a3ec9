// SPDX-License-Identifier: Apache-2.0
// What shapes and counts tell of a network, and what they do not.
#include <QtTest> // first: moc stumbles over <compare> otherwise

#include "model/trace/spec_evidence.h"
#include "tests/support/test_program.h"

#include <cmath>
#include <map>
#include <string>
#include <vector>

namespace tst_spec_evidence {

using namespace fourwalls;

namespace {

std::string said(const SpecEvidence& evidence, const std::string& field)
{
    for (const InferredField& each : evidence.infer())
        if (each.field == field) return each.value + " " + std::string(name(each.confidence));
    return {};
}

} // namespace

class TestSpecEvidence : public QObject {
    Q_OBJECT
private slots:
    void shapesOfBothWriters()
    {
        QCOMPARE(shapesOf("[[16, 512], [], [512, 3]]", 3), (std::vector<Shape>{{16, 512}, {}, {512, 3}}));
        QCOMPARE(shapesOf("[\n  [\n    16,\n    512\n  ]\n]", 3),
                 (std::vector<Shape>{{16, 512}})); // laid out over lines
        QCOMPARE(shapesOf("[[[4, 2], [4]], [7]]", 3), (std::vector<Shape>{{}, {7}}));
        QCOMPARE(shapesOf("[[-1, 2]]", 1), (std::vector<Shape>{{}}));
        QCOMPARE(shapesOf("shape 2x4x128x16", 2), (std::vector<Shape>{{2, 4, 128, 16}}));
        QVERIFY(shapesOf("[[", 2).empty());
        QVERIFY(shapesOf("grid [1, 1, 1]", 2).empty());
    }

    void positionsAreNoVocabulary()
    {
        SpecEvidence evidence;
        evidence.setSteps(1);
        evidence.addOperator("aten::embedding", "[[1024, 768], [1, 1024]]", 1);
        evidence.addOperator("aten::scaled_dot_product_attention", "[[4, 12, 1024, 64], [4, 12, 1024, 64]]", 12);
        evidence.addOperator("aten::native_layer_norm", "[[4, 1024, 768], [], [768], [768], []]", 25);
        QCOMPARE(said(evidence, "vocabulary"), std::string());
        QCOMPARE(said(evidence, "hidden"), std::string("768 high"));
        evidence.addOperator("aten::embedding", "[[50304, 768], [4, 1024]]", 1);
        evidence.addOperator("aten::nll_loss_forward", "[[4096, 50304], [4096]]", 1);
        QCOMPARE(said(evidence, "vocabulary"), std::string("50304 high"));
    }

    /// On a CPU, attention calls an operator of its own: once, not twice. A compiled program calls that one alone.
    void attentionOnTheCpuIsCountedOnce()
    {
        for (const bool compiled : {false, true}) {
            SpecEvidence evidence;
            evidence.setSteps(1);
            evidence.addOperator("aten::embedding", "[[512, 128], [8, 64]]", 1);
            evidence.addOperator("aten::nll_loss_forward", "[[512, 512], [512]]", 1);
            if (!compiled)
                evidence.addOperator("aten::scaled_dot_product_attention", "[[8, 4, 64, 32], [8, 4, 64, 32]]", 3);
            evidence.addOperator("aten::_scaled_dot_product_flash_attention_for_cpu",
                                 "[[8, 4, 64, 32], [8, 4, 64, 32]]", 3);
            QCOMPARE(said(evidence, "layers"), std::string("3 medium"));
            QCOMPARE(said(evidence, "heads"), std::string("4 high"));
        }
    }

    /// One of eight ranks whose groups nobody names: what it has of a width may be all of it or an eighth.
    void aPartOfTheRanksMayHoldAPartOfTheWidths()
    {
        SpecEvidence evidence;
        evidence.setWorld(8, 1);
        evidence.setSteps(1);
        evidence.addOperator("aten::embedding", "[[25136, 2880], [4, 1024]]", 1);
        evidence.addOperator("aten::scaled_dot_product_attention", "[[4, 8, 1024, 64], [4, 8, 1024, 64]]", 36);
        evidence.addOperator("aten::native_layer_norm", "[[4, 1024, 2880], [], [2880], [2880], []]", 73);
        evidence.addOperator("aten::nll_loss_forward", "[[4096, 25136], [4096]]", 1);
        QCOMPARE(said(evidence, "hidden"), std::string("2880 high"));
        QCOMPARE(said(evidence, "vocabulary"), std::string());
        QCOMPARE(said(evidence, "heads"), std::string());
        evidence.addName("DistributedDataParallel.forward");
        QCOMPARE(said(evidence, "vocabulary"), std::string("25136 high"));
        QCOMPARE(said(evidence, "heads"), std::string("8 high"));
    }

    /// What else a value could be, and how much less the trace speaks for it.
    void theRunnerUp()
    {
        SpecEvidence evidence;
        evidence.setSteps(1);
        evidence.addOperator("aten::scaled_dot_product_attention", "[[4, 12, 1024, 64], [4, 12, 1024, 64]]", 36);
        evidence.addOperator("aten::scaled_dot_product_attention", "[[4, 16, 1024, 64], [4, 16, 1024, 64]]", 3);
        evidence.addOperator("aten::native_layer_norm", "[[4, 1024, 768], [], [768], [768], []]", 40);
        evidence.addOperator("aten::native_layer_norm", "[[4, 1024, 64], [], [64], [64], []]", 10);
        evidence.setFlops({{Precision::Bf16, 8.0}, {Precision::F32, 2.0}});
        evidence.setDevice("NVIDIA A100");
        std::map<std::string, InferredField> fields;
        std::vector<AuditRecord> audit;
        for (const InferredField& field : evidence.infer()) audit.push_back(toAudit(field));
        for (const InferredField& field : inferredFields(audit)) fields[field.field] = field; // through a file
        const auto next = [&](const char* field) {
            const auto& found = fields[field].runnerUp;
            return found ? found->value + " " + std::to_string(std::lround(100 * found->odds)) : std::string("none");
        };
        QCOMPARE(next("precision"), std::string("f32 25"));
        QCOMPARE(next("hidden"), std::string("64 25"));
        QCOMPARE(next("heads"), std::string("16 8"));
        QCOMPARE(next("device"), std::string("none")); // the file says so
        QCOMPARE(fields["heads"].value, std::string("12"));
        QCOMPARE(fields["heads"].confidence, Confidence::High);
    }

    /// Two losses per pass and one look-up of words: which of them counts micro-batches is open.
    void signsThatContradictOneAnotherSayNothing()
    {
        SpecEvidence evidence;
        evidence.setSteps(2);
        evidence.addOperator("aten::embedding", "[[30522, 768], [8, 128]]", 2);
        evidence.addOperator("aten::scaled_dot_product_attention", "[[8, 12, 128, 64], [8, 12, 128, 64]]", 24);
        evidence.addOperator("aten::native_layer_norm", "[[8, 128, 768], [], [768], [768], []]", 50);
        evidence.addOperator("aten::nll_loss_forward", "[[1024, 30522], [1024]]", 4);
        QCOMPARE(said(evidence, "microbatches"), std::string());
    }

    void normsAloneAreNoTransformer()
    {
        SpecEvidence evidence;
        evidence.setSteps(1);
        evidence.addOperator("aten::native_layer_norm", "[[16, 512], [], [512], [512], []]", 8);
        for (const char* block : {"nn.Module: BasicBlock_0", "nn.Module: BasicBlock_1"}) evidence.addName(block);
        QVERIFY(evidence.infer().empty());
    }

    /// A text encoder beside a network of convolutions is not the model.
    void convolutionsAreAnotherNetwork()
    {
        SpecEvidence evidence;
        evidence.setSteps(1);
        evidence.addOperator("aten::scaled_dot_product_attention", "[[4, 12, 77, 64], [4, 12, 77, 64]]", 12);
        evidence.addOperator("aten::convolution", "[[4, 320, 64, 64], [320, 320, 3, 3]]", 60);
        QVERIFY(evidence.infer().empty());
    }

    void allReducesOfTheForwardPassAreNoReplicas()
    {
        SpecEvidence evidence;
        evidence.setWorld(8, 8);
        evidence.setSteps(1);
        for (int i = 0; i < 24; ++i) evidence.addForwardReduction(8);
        QCOMPARE(said(evidence, "tp"), std::string("8 medium"));
        QCOMPARE(said(evidence, "dp"), std::string());
    }

    /// flash-attn hands over [batch, sequence, heads, width].
    void headsThird()
    {
        SpecEvidence evidence;
        evidence.setSteps(1);
        evidence.addOperator("flash_attn::_flash_attn_forward", "[[2, 4096, 32, 128], [2, 4096, 8, 128]]", 16);
        QCOMPARE(said(evidence, "heads"), std::string("32 high"));
        QCOMPARE(said(evidence, "kv_heads"), std::string("8 medium"));
        QCOMPARE(said(evidence, "sequence"), std::string("4096 medium"));
    }
};

FOURWALLS_TEST(TestSpecEvidence, QCoreApplication)

} // namespace tst_spec_evidence

#include "tst_spec_evidence.moc"
