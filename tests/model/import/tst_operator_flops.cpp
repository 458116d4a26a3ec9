// SPDX-License-Identifier: Apache-2.0
// FLOPs from shapes, who gets them, and what runtime calls count as.
#include <QtTest>

#include "model/import/common/launch_links.h"
#include "model/import/common/op_names.h"
#include "model/import/common/operator_flops.h"
#include "tests/support/test_program.h"

#include <string>

namespace tst_operator_flops {

using namespace fourwalls;
using namespace fourwalls::importers;

namespace {

/// A token of an array, with the room behind it that its reader wants.
struct JsonText {
    explicit JsonText(const char* array)
        : text(std::string(array) + std::string(16, '\0'))
        , token{std::string_view(text).substr(0, text.size() - 16), JsonToken::Kind::Array}
    {}
    JsonText(const JsonText&) = delete;
    std::string text;
    JsonToken token;
};

} // namespace

class OperatorFlopsTest : public QObject {
    Q_OBJECT
private slots:
    void theBackwardOfAConvolutionHasTheGradientsOfItsMask()
    {
        // grad_output [2, 8, 4, 4], input, weight [8, 3, 3, 3]: a gradient is 2 x 256 x 27 FLOPs.
        const std::string dims = std::string("[[2,8,4,4],[2,3,4,4],[8,3,3,3]]") + std::string(16, '\0');
        const JsonToken shapes{std::string_view(dims).substr(0, dims.size() - 16), JsonToken::Kind::Array};
        const auto both = operatorFlops("aten::convolution_backward", shapes, {});
        QCOMPARE(both->flops, 2.0 * 2 * 256 * 27);
        QCOMPARE(both->products, 2);
        const std::string inputs =
            std::string(R"(["","","","[0]","[1,1]","[1,1]","[1,1]","False","[0,0]","1","[False, True, False]"])") +
            std::string(16, '\0');
        const JsonToken words{std::string_view(inputs).substr(0, inputs.size() - 16), JsonToken::Kind::Array};
        const auto weightOnly = operatorFlops("aten::convolution_backward", shapes, words);
        QCOMPARE(weightOnly->flops, 2.0 * 256 * 27);
        QCOMPARE(weightOnly->products, 1);
    }

    /// Both write "True" for something else than the causal mask in one of the places.
    void attentionIsHalvedByItsOwnFlagOnly()
    {
        // 2 samples, 4 heads, 8 queries and 16 keys of 32: 4 x 2048 x 16 FLOPs.
        const JsonText dims("[[2,4,8,32],[2,4,16,32],[2,4,16,32],[],[],[],[]]");
        const double whole = 4.0 * 2 * 4 * 8 * 32 * 16;
        const JsonText training(R"(["","","","","True","0.","False",""])"),
            causal(R"(["","","","","True","0.","True",""])");
        const char* efficient = "aten::_scaled_dot_product_efficient_attention";
        QCOMPARE(operatorFlops(efficient, dims.token, training.token)->flops, whole);
        QCOMPARE(operatorFlops(efficient, dims.token, causal.token)->flops, whole / 2);
        const JsonText flash(R"(["","","","0.","False","True",""])"),
            flashCausal(R"(["","","","0.","True","False",""])");
        QCOMPARE(operatorFlops("aten::_scaled_dot_product_flash_attention", dims.token, flash.token)->flops, whole);
        QCOMPARE(operatorFlops("aten::_scaled_dot_product_flash_attention", dims.token, flashCausal.token)->flops,
                 whole / 2);
        // Without the flag nothing is said, and what single operators do is theirs.
        QVERIFY(!operatorFlops(efficient, dims.token, {}));
        QVERIFY(!operatorFlops("aten::_scaled_dot_product_attention_math", dims.token, causal.token));
        // flash-attn: [batch, sequence, heads, width]; a window computes less than the shapes say.
        const JsonText own("[[2,8,4,32],[2,16,4,32],[2,16,4,32],[],[],[],[],[],[],[],[]]");
        const JsonText open(R"(["","","","0.","0.1","False","-1","-1","0.","","False"])"),
            window(R"(["","","","0.","0.1","True","256","0","0.","","False"])");
        QCOMPARE(operatorFlops("flash_attn::_flash_attn_forward", own.token, open.token)->flops, whole);
        QVERIFY(!operatorFlops("flash_attn::_flash_attn_forward", own.token, window.token));
    }

    void aTransposedConvolutionCostsByItsInput()
    {
        // [2, 8, 4, 4] through [8, 3, 2, 2]: every element of the input meets 3 x 2 x 2 weights.
        const JsonText forward("[[2,8,4,4],[8,3,2,2],[3],[],[],[],[],[],[]]");
        const JsonText words(R"(["","","","[2, 2]","[0, 0]","[1, 1]","True","[0, 0]","1"])");
        QCOMPARE(operatorFlops("aten::convolution", forward.token, words.token)->flops, 2.0 * 256 * 12);
        const JsonText backward("[[2,3,8,8],[2,8,4,4],[8,3,2,2]]");
        const JsonText all(R"(["","","","[3]","[2, 2]","[0, 0]","[1, 1]","True","[0, 0]","1","[True, True, True]"])");
        QCOMPARE(operatorFlops("aten::convolution_backward", backward.token, all.token)->flops, 2.0 * 2 * 256 * 12);
    }

    /// PyTorch before 2.0 wrote no strides: the backward operator of the same sizes has the result's.
    void aConvolutionWithoutStridesIsToldByItsBackward()
    {
        const JsonText forward("[[2,3,8,8],[16,3,3,3],[],[],[],[],[],[],[]]"),
            backward("[[2,16,4,4],[2,3,8,8],[16,3,3,3],[],[],[],[],[],[],[],[]]"),
            old("[[2,3,8,8],[2,16,4,4],[16,3,3,3],[],[],[],[],[],[],[],[]]"),
            other("[[2,16,8,8],[2,3,8,8],[16,3,3,3],[],[],[],[],[],[],[],[]]");
        QVERIFY(!operatorFlops("aten::convolution", forward.token, {}));
        ConvolutionResults results;
        const int asked = results.ask("aten::convolution", forward.token);
        QVERIFY(asked >= 0);
        QCOMPARE(results.flops(asked), 0.0);
        results.learn("aten::convolution_backward", backward.token);
        results.learn("aten::cudnn_convolution_backward", old.token);
        QCOMPARE(results.flops(asked), 2.0 * 2 * 16 * 4 * 4 * 3 * 3 * 3);
        results.learn("aten::convolution_backward", other.token); // the same sizes with another stride
        QCOMPARE(results.flops(asked), 0.0);
        QCOMPARE(results.ask("aten::mm", forward.token), -1);
    }

    void eachProductIsGivenToAKernel()
    {
        LaunchLinks links;
        OperatorContext both;
        both.flops = 100;
        both.products = 2;
        both.operands = Arithmetic::Bf16;
        links.addOperator(0, 0, 100, both);
        links.addLaunch(7, 0, 10);
        QVERIFY(links.resolve(Phase::None).ok());
        const std::int32_t index = links.find(7)->flopsOperator;
        QCOMPARE(links.operandsOf(index), Arithmetic::Bf16);
        QCOMPARE(links.flopsLeft(), std::int64_t{1});
        QCOMPARE(links.takeFlops(index), 50.0);
        QCOMPARE(links.flopsLeft(), std::int64_t{0});
        QCOMPARE(links.takeFlops(index), 50.0);
        QCOMPARE(links.takeFlops(index), 0.0);
    }

    void aCopyThatKeepsItsCallerIsNoLaunch()
    {
        OpInfo copy;
        copy.name = "cudaMemcpyAsync";
        copy.kind = SliceKind::HostCall;
        copy.activity = Activity::Launch;
        QCOMPARE(callActivity(copy, Duration{5'000}, false), Activity::Launch);
        QCOMPARE(callActivity(copy, Duration{5'000'000}, false), Activity::Synchronisation);
        // Within the device, or from page-locked memory, it only waits for room in the queue.
        QCOMPARE(callActivity(copy, Duration{5'000'000}, true), Activity::Launch);
        QVERIFY(waitsForNothing("Memcpy DtoD (Device -> Device)"));
        QVERIFY(waitsForNothing("Memcpy HtoD (Pinned -> Device)"));
        QVERIFY(!waitsForNothing("Memcpy HtoD (Pageable -> Device)"));
        QVERIFY(!waitsForNothing("Memcpy DtoH (Device -> Pageable)"));
        QVERIFY(!waitsForNothing("Memcpy DtoH (Device -> Host)")); // of HIP: it may be either
        // A launch that waits for room in the queue does so while the device works.
        OpInfo launch = copy;
        launch.name = "cudaLaunchKernel";
        QCOMPARE(callActivity(launch, Duration{5'000'000}, false), Activity::Launch);
        // So does one that fills memory.
        OpInfo fill = copy;
        fill.name = "cudaMemsetAsync";
        QCOMPARE(callActivity(fill, Duration{5'000'000}, false), Activity::Launch);
        OpInfo sync = copy;
        sync.name = "cudaStreamSynchronize";
        sync.activity = Activity::Synchronisation;
        QCOMPARE(callActivity(sync, Duration{10}, false), Activity::Synchronisation);
    }
};

FOURWALLS_TEST(OperatorFlopsTest, QCoreApplication)

} // namespace tst_operator_flops

#include "tst_operator_flops.moc"
