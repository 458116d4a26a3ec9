// SPDX-License-Identifier: Apache-2.0
// What the host launches for a layer, biases of experts, and modules that are recomputed by name.
#include <QTest>

#include <cmath>
#include <string_view>

#include "tests/model/cost/priced_layer.h"
#include "tests/support/test_program.h"

namespace tst_layer_modules {

using namespace fourwalls;
using namespace fourwalls::cost;
using Fixture = testing::PricedLayer;

class LayerModulesTest : public QObject {
    Q_OBJECT

private slots:
    void hostRunsAheadOfMessages();
    void eagerLaunchesAndGraphs();
    void biasesOfExpertsAreAddedOneByOne();
    void namedModulesAreMadeAgain();
};

// Where launching takes longest, a pass takes as long as its launches: the host goes on while messages are on their way.
void LayerModulesTest::hostRunsAheadOfMessages()
{
    Fixture f;
    f.framework.launchSeconds = 1;
    LayerSetting s = Fixture::setting();
    s.tp = 4;
    const PassCost pass = layerCost(f.context(), s).forward;
    QVERIFY(pass.parts[CostPart::TensorComm] > 0);
    QCOMPARE(pass.seconds(), std::round(pass.seconds())); // whole launches of a second each
    f.framework.launchSeconds = 0;
    QVERIFY(layerCost(f.context(), s).forward.seconds() < 1);
}

// Operators of eager PyTorch keep the host longer than compiled code, which a trace may know better than either; what a
// graph holds is launched at once.
void LayerModulesTest::eagerLaunchesAndGraphs()
{
    Fixture f;
    f.framework.launchSeconds = 1;
    const auto forward = [&] { return layerCost(f.context(), Fixture::setting()).forward.seconds(); };
    const double compiled = forward();
    f.framework.eager = true;
    f.calibration.eagerLaunchSeconds = 3;
    QCOMPARE(forward(), 3 * compiled);
    f.framework.capturesAttention = true; // what is left: two products, activation, the sum behind
    const double left = forward() / 3;
    QVERIFY(left >= 4 && left < compiled / 2);
    f.framework.capturesAttention = false;
    f.calibration.launchSeconds = 2;
    QCOMPARE(forward(), 2 * compiled);
}

// Megatron-Core: gate times bias in floats, the sum with the result in floats, all experts' in one, in 16 bits.
void LayerModulesTest::biasesOfExpertsAreAddedOneByOne()
{
    Fixture f;
    f.model.mixture = {8, 2, 512};
    f.model.biases = true;
    LayerSetting s = Fixture::setting();
    s.mixture = true;
    const auto bytesOf = [&](std::string_view name) {
        std::vector<OperatorCost> forward, recompute, input, weight;
        layerCost(f.context(), s, 0, {&forward, &recompute, &input, &weight});
        for (const auto* list : {&forward, &input})
            for (const OperatorCost& item : *list)
                if (item.name == name) return item.bytes;
        return 0.0;
    };
    QCOMPARE(bytesOf("moe.bias"), 0.0);
    f.framework.addsExpertBiases = true;
    const double results = 4 * 512 * 2 * 1024.0; // two experts for each of 2048 tokens
    QCOMPARE(bytesOf("moe.bias"), results * (4 + (2 + 4 + 4) + (4 + 4) + (4 + 2)));
    QCOMPARE(bytesOf("moe.bias.backward"), results * ((2 + 4) + (4 + 2) + 2 * (4 + 4 + 4)));
    f.model.biases = false;
    QCOMPARE(bytesOf("moe.bias"), 0.0);
}

// Of what a module has inside nothing is kept, and it is there again while the layer goes back.
void LayerModulesTest::namedModulesAreMadeAgain()
{
    Fixture f;
    f.framework.flashAttention = true;
    f.framework.dropout = false;
    f.model.activation = Activation::SwiGlu;
    f.model.normalization = Normalization::RmsNorm;
    f.model.mixture = {8, 2, 512};
    f.model.mixture.sharedHidden = 256;
    f.model.latent = {256, 128, 64, 48};
    LayerSetting s = Fixture::setting();
    s.mixture = true;
    const LayerCost whole = layerCost(f.context(), s);
    const double tokens = 4 * 512;
    const auto less = [&](unsigned modules) {
        s.recompute = Recompute::Selective;
        s.recomputeModules = modules;
        const LayerCost cost = layerCost(f.context(), s);
        const double bytes = whole.savedBytes - cost.savedBytes;
        return cost.workingBytes - whole.workingBytes == bytes && cost.recompute.seconds() > 0 ? bytes : -1.0;
    };
    QCOMPARE(less(kRecomputeLayerNorm), 2 * 2 * tokens * 1024); // the inputs of two blocks
    // Queries and keys of 64 + 64 columns and values of 48, of 16 heads.
    QCOMPARE(less(kRecomputeMlaUpProjection), 2 * tokens * 16 * (128 + 128 + 48));
    QCOMPARE(less(kRecomputeExpertActivation), 2 * 2 * tokens * 512);
    QCOMPARE(less(kRecomputeSharedExperts), 2 * tokens * 3 * 256);
    QCOMPARE(less(kRecomputeExperts), 2 * 2 * tokens * (1024 + 3 * 512) + 2 * tokens * 3 * 256);
    QCOMPARE(less(kRecomputeLayerNorm | kRecomputeExpertActivation), 2 * 2 * tokens * (1024 + 512));
    // All of the mixture again, exchanges included, takes what it took; a dense layer has no such module.
    s.recomputeModules = kRecomputeExperts;
    s.ep = 4;
    const LayerCost again = layerCost(f.context(), s);
    QCOMPARE(again.recompute.parts[CostPart::ExpertComm], again.forward.parts[CostPart::ExpertComm]);
    QVERIFY(again.recompute.parts[CostPart::ExpertComm] > 0);
    s.mixture = false;
    QCOMPARE(layerCost(f.context(), s).recompute.seconds(), 0.0);
    s.recomputeModules = kRecomputeMlp;
    const LayerCost dense = layerCost(f.context(), s);
    QVERIFY(dense.recompute.seconds() > 0 && dense.recompute.flops < dense.forward.flops);
}

FOURWALLS_TEST(LayerModulesTest, QCoreApplication)

} // namespace tst_layer_modules

#include "tst_layer_modules.moc"
