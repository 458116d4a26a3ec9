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
        QCOMPARE(callActivity(copy, Duration{5'000}), Activity::Launch);
        QCOMPARE(callActivity(copy, Duration{5'000'000}), Activity::Synchronisation);
        // A launch that waits for room in the queue does so while the device works.
        OpInfo launch = copy;
        launch.name = "cudaLaunchKernel";
        QCOMPARE(callActivity(launch, Duration{5'000'000}), Activity::Launch);
        OpInfo sync = copy;
        sync.name = "cudaStreamSynchronize";
        sync.activity = Activity::Synchronisation;
        QCOMPARE(callActivity(sync, Duration{10}), Activity::Synchronisation);
    }
};

FOURWALLS_TEST(OperatorFlopsTest, QCoreApplication)

} // namespace tst_operator_flops

#include "tst_operator_flops.moc"
