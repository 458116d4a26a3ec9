// SPDX-License-Identifier: Apache-2.0
// Operators of a layer against the formulas of the papers: FLOPs, activation bytes, traffic; lists add up to passes.
#include <QTest>

#include <cmath>
#include <string_view>

#include "model/cost/layer_cost.h"
#include "model/spec/run_spec.h"
#include "tests/model/cost/priced_layer.h"
#include "tests/support/test_program.h"

namespace tst_layer_cost {

using namespace fourwalls;
using namespace fourwalls::cost;
using Fixture = testing::PricedLayer;

class LayerCostTest : public QObject {
    Q_OBJECT

private slots:
    void flopsOfAGptLayer();
    void activationsOfKorthikanti_data();
    void activationsOfKorthikanti();
    void keptByAlternateProducts();
    void cutSequencesArePutTogether();
    void allButProductsAreMadeAgain();
    void logitsOfACutLoss();
    void trafficOfTensorParallelism();
    void trafficOfLatentAttention();
    void latentsAreKept();
    void latentProductsRunAtTheirRowsRate();
    void expertsCostWhatTheirTokensNeed();
    void gatheredKeysAreHeld();
    void ringsMeetTheirKeysInPieces();
    void expertsAreKeptAtTheirOwnWidth();
    void listsAddUp();
};

namespace {

/// Of all passes.
WireBytes wireOf(const LayerCost& layer)
{
    WireBytes sum;
    for (const PassCost* pass : {&layer.forward, &layer.recompute, &layer.backwardInput, &layer.backwardWeight})
        sum.addScaled(pass->wire, 1);
    return sum;
}

} // namespace

void LayerCostTest::flopsOfAGptLayer()
{
    const Fixture f;
    const LayerCost layer = layerCost(f.context(), Fixture::setting());
    // 24 b s h^2 for the products and 4 b s^2 h for whole attention (arXiv:2205.05198, appendix A).
    const double products = 24.0 * 4 * 512 * 1024 * 1024, attention = 4.0 * 4 * 512 * 512 * 1024;
    QCOMPARE(layer.forward.flops, products + attention);
    QCOMPARE(layer.forward.modelFlops, products + attention / 2); // causal: half
    QCOMPARE(layer.backwardInput.flops + layer.backwardWeight.flops, 2 * (products + attention));
    QCOMPARE(layer.recompute.flops, 0.0);
    // 13 h: two norms, biases of the four products.
    QCOMPARE(layer.parameters, 12.0 * 1024 * 1024 + 13.0 * 1024);
    LayerSetting full = Fixture::setting();
    full.recompute = Recompute::Full;
    const LayerCost again = layerCost(f.context(), full);
    QCOMPARE(again.recompute.flops, layer.forward.flops);
    QCOMPARE(again.recompute.modelFlops, 0.0);
    full.recompute = Recompute::Selective;
    QCOMPARE(layerCost(f.context(), full).recompute.flops, attention);

    // What stops when all is there that the backward pass reads has no last product: 8 b s h^2 of the 24.
    Fixture early;
    early.framework.recomputeStopsEarly = true;
    full.recompute = Recompute::Full;
    const LayerCost less = layerCost(early.context(), full);
    QCOMPARE(less.recompute.flops, layer.forward.flops - products / 3);
    QVERIFY(less.recompute.seconds() < again.recompute.seconds());
    QCOMPARE(less.forward.flops, layer.forward.flops);
}

void LayerCostTest::activationsOfKorthikanti_data()
{
    QTest::addColumn<int>("tp");
    QTest::addColumn<bool>("sequenceParallel");
    QTest::addColumn<int>("recompute");
    QTest::addColumn<double>("perSbh"); // bytes over s b h; a s / h = 16 x 512 / 1024 = 8
    // arXiv:2205.05198, table 2: s b h (10 + 24/t + 5as/(ht)) and its variants.
    QTest::newRow("none") << 1 << false << int(Recompute::None) << 34.0 + 5 * 8;
    QTest::newRow("tp") << 8 << false << int(Recompute::None) << 10 + 24.0 / 8 + 5 * 8 / 8.0;
    QTest::newRow("tp+sp") << 8 << true << int(Recompute::None) << (34.0 + 5 * 8) / 8;
    QTest::newRow("tp selective") << 8 << false << int(Recompute::Selective) << 10 + 24.0 / 8;
    QTest::newRow("tp+sp selective") << 8 << true << int(Recompute::Selective) << 34.0 / 8;
    QTest::newRow("full") << 8 << false << int(Recompute::Full) << 2.0;
}

void LayerCostTest::activationsOfKorthikanti()
{
    QFETCH(int, tp);
    QFETCH(bool, sequenceParallel);
    QFETCH(int, recompute);
    QFETCH(double, perSbh);
    const Fixture f;
    LayerSetting s = Fixture::setting();
    s.tp = tp;
    s.sequenceParallel = sequenceParallel;
    s.recompute = static_cast<Recompute>(recompute);
    QCOMPARE(layerCost(f.context(), s).savedBytes / (512.0 * 4 * 1024), perSbh);
}

void LayerCostTest::keptByAlternateProducts()
{
    Fixture f;
    f.framework.flashAttention = true;
    f.framework.dropout = false;
    f.framework.selective = SelectiveRecompute::AlternateMatmuls;
    f.model.kvHeads = 4;
    f.model.activation = Activation::SwiGlu;
    LayerSetting s = f.setting(); // 4 x 512 rows
    s.recompute = Recompute::Selective;
    // By hand, columns of 2 bytes per row: input 1024, queries 1024, values 4 x 64, attention's result 1024, one inner
    // product 4096; and a float per head and row.
    const double rows = 4 * 512, sums = 4 * 16 * rows;
    QCOMPARE(layerCost(f.context(), s).savedBytes, 2 * rows * (1024 + 1024 + 256 + 1024 + 4096) + sums);
    f.framework.fusedActivation = false; // without a compiler the block's result is kept, too
    QCOMPARE(layerCost(f.context(), s).savedBytes, 2 * rows * (1024 + 1024 + 256 + 1024 + 4096 + 1024) + sums);
    // Two ranks: halves of the wide ones and of the input, the first sum's half; the last product before its sum whole.
    s.tp = 2;
    s.sequenceParallel = true;
    f.framework.fusedActivation = true;
    const double cut = 2 * rows * (512 + 512 + 512 + 128 + 512 + 2048) + sums / 2;
    QCOMPARE(layerCost(f.context(), s).savedBytes, cut);
    f.framework.fusedActivation = false;
    QCOMPARE(layerCost(f.context(), s).savedBytes, cut + 2 * rows * (1024 + 512));
}

void LayerCostTest::cutSequencesArePutTogether()
{
    Fixture f;
    LayerSetting s = f.setting();
    s.tp = 2;
    s.sequenceParallel = true;
    const auto bound = [&](const LayerSetting& setting) {
        const LayerCost layer = layerCost(f.context(), setting);
        return layer.forward.parts[CostPart::MemoryBound] + layer.backwardInput.parts[CostPart::MemoryBound];
    };
    LayerSetting one = s;
    one.microBatch = 1;
    const double plain = bound(s), alone = bound(one);
    f.framework.copiesSequences = true;
    // Two blocks: there a gather and a scatter, back two gathers (of the gradient, and of the input again) and one.
    const double copied = 2 * 2 * 4 * 512 * 1024.0;
    const double all = 2 * 5 * copied / memoryRate(f.rates, MemoryClass::Contiguous);
    QVERIFY2(qAbs((bound(s) - plain) / all - 1) < 1e-9, std::to_string((bound(s) - plain) / all).c_str());
    QCOMPARE(bound(one), alone); // the parts of a single sequence follow each other
    f.framework.asyncTensor = true;
    QVERIFY(bound(s) <= plain);
}

void LayerCostTest::allButProductsAreMadeAgain()
{
    Fixture f;
    f.framework.selective = SelectiveRecompute::AllButProducts;
    LayerSetting s = f.setting();
    s.recompute = Recompute::Selective;
    const LayerCost some = layerCost(f.context(), s);
    s.recompute = Recompute::Full;
    const LayerCost all = layerCost(f.context(), s);
    s.recompute = Recompute::None;
    const LayerCost none = layerCost(f.context(), s);
    QCOMPARE(some.recompute.parts[CostPart::Gemm], 0.0);
    QCOMPARE(some.recompute.parts[CostPart::Attention], all.recompute.parts[CostPart::Attention]);
    QVERIFY(some.recompute.parts[CostPart::MemoryBound] > 0);
    QVERIFY(all.savedBytes < some.savedBytes && some.savedBytes < none.savedBytes);
}

void LayerCostTest::logitsOfACutLoss()
{
    Fixture f;
    f.framework.logitBytes = 14;
    f.framework.padVocabulary = false;
    LayerSetting s = f.setting();
    const double logits = 4 * 512 * 1000.0;
    QCOMPARE(headCost(f.context(), s).workingBytes, 14 * logits);
    s.tp = 2;
    QCOMPARE(headCost(f.context(), s).workingBytes, 14 * logits / 2); // nothing said of a cut loss
    f.framework.shardedLogitBytes = 18;
    QCOMPARE(headCost(f.context(), s).workingBytes, 18 * logits / 2);
    s.tp = 1;
    QCOMPARE(headCost(f.context(), s).workingBytes, 14 * logits);
    // An eager loss in float against a compiled one; the same framework half a year apart.
    const auto before = loadFramework("torchtitan-compiled"), after = loadFramework("torchtitan-2025");
    QVERIFY(before.ok() && after.ok());
    QCOMPARE(before->logitBytes, 2.0 + 3 * 4);
    QCOMPARE(before->shardedLogitBytes, 2.0 + 4 * 4);
    QCOMPARE(after->logitBytes, 2.0 + 2);
}

void LayerCostTest::trafficOfTensorParallelism()
{
    const Fixture f;
    LayerSetting s = Fixture::setting();
    s.tp = 8;
    // Two all-reduces of 2 s b h bytes each way, each sends 2 (n-1)/n of it.
    const double each = 2 * 7.0 / 8 * 2 * 512 * 4 * 1024;
    QCOMPARE(wireOf(layerCost(f.context(), s)).tensor, 4 * each);
    s.recompute = Recompute::Full;
    QCOMPARE(wireOf(layerCost(f.context(), s)).tensor, 6 * each);
    s.tp = 1;
    QCOMPARE(wireOf(layerCost(f.context(), s)).tensor, 0.0);
    QCOMPARE(layerCost(f.context(), s).forward.parts[CostPart::TensorComm], 0.0);
}

// predict_against_engine.py compares the same sums with the bytes of a recording.
void LayerCostTest::trafficOfLatentAttention()
{
    Fixture f;
    f.model.normalization = Normalization::RmsNorm;
    f.model.biases = false;
    f.model.latent = {256, 128, 64, 64};
    LayerSetting s = Fixture::setting();
    // Queries down and up, keys and values down and up, output; two matrices of the feed-forward block; the norms.
    const double down = 1024.0 * (256 + 128 + 64), norms = 256 + 128;
    const double up = 256.0 * 16 * (64 + 64) + 128.0 * 16 * (64 + 64), rest = 1024.0 * 1024 + 2 * 4096.0 * 1024;
    QCOMPARE(layerCost(f.context(), s).parameters, down + up + rest + norms + 2 * 1024);
    QCOMPARE(layerCost(f.context(), s).partialParameters, 0.0);
    s.tp = 4;
    QCOMPARE(layerCost(f.context(), s).parameters, down + (up + rest) / 4 + norms + 2 * 1024);
    // Each way, both blocks' results and the feed-forward block's input in `hidden` columns; backward the two latents
    // and the rotary keys.
    const double column = 2.0 * 512 * 4, ringed = 3.0 / 4;
    QCOMPARE(wireOf(layerCost(f.context(), s)).tensor, 2 * ringed * column * (3 * 1024 + 256 + 128 + 64));
    // Cut by rows: seven exchanges of `hidden` columns, and the latents to their up-projections, again to their weight
    // gradients, and their gradients back; rotary keys belong to no product.
    s.sequenceParallel = true;
    const LayerCost cut = layerCost(f.context(), s);
    QCOMPARE(wireOf(cut).tensor, ringed * column * (7 * 1024 + 3 * (256 + 128) + 2 * 64));
    QCOMPARE(cut.partialParameters, down + norms + 2 * 1024);
    // Without a latent of the queries their product takes the rows themselves.
    f.model.latent.queryRank = 0;
    const LayerCost direct = layerCost(f.context(), s);
    QCOMPARE(wireOf(direct).tensor, ringed * column * (7 * 1024 + 3 * (1024 + 128) + 2 * 64));
    QCOMPARE(direct.partialParameters, 1024.0 * (128 + 64) + 128 + 2 * 1024);
}

// Of the held rows both latents before and behind their norms; in the engine, whose attention has one width, also the
// filling of the values and of the result. predict_against_engine.py compares the peak with that of a recording.
void LayerCostTest::latentsAreKept()
{
    Fixture f;
    f.framework.flashAttention = true;
    f.model.normalization = Normalization::RmsNorm;
    f.model.latent = {256, 128, 64, 48};
    LayerSetting s = Fixture::setting();
    s.tp = 4;
    s.sequenceParallel = true;
    const auto saved = [&] { return layerCost(f.context(), s).savedBytes; };
    const double tokens = 4 * 512, both = saved();
    f.model.latent.queryRank = 0;
    QCOMPARE(both - saved(), 2 * tokens / 4 * 2 * 256);
    f.model.latent.keyValueRank = 64;
    QCOMPARE(both - saved(), 2 * tokens / 4 * 2 * (256 + 64));
    // A value of 64 + 64 columns in place of 48, of each of 4 heads, twice; three statistics, float, of RMS norms.
    const double plain = saved();
    f.framework.freesAtOnce = true;
    QCOMPARE(saved() - plain, 2 * 2 * tokens * 4 * (128 - 48) + 4 * tokens / 4 * 3);
}

// The low-rank products are priced as one of equal work, whose width is no row's length and need not be a whole number.
void LayerCostTest::latentProductsRunAtTheirRowsRate()
{
    Fixture f;
    const auto preset = loadModel("deepseek-v3");
    QVERIFY(preset.ok());
    f.model = *preset->transformer();
    std::vector<OperatorCost> forward, recompute, input, weight;
    layerCost(f.context(), Fixture::setting(), 1, {&forward, &recompute, &input, &weight});
    const auto rate = [](const std::vector<OperatorCost>& list, const char* name) {
        for (const OperatorCost& item : list)
            if (item.name == std::string_view(name)) return item.flops / item.seconds;
        return 0.0;
    };
    QVERIFY(rate(forward, "attention.out") > 0);
    QVERIFY(rate(forward, "attention.qkv") > 0.5 * rate(forward, "attention.out"));
    QVERIFY(rate(input, "attention.qkv.input_gradient") > 0.5 * rate(input, "attention.out.input_gradient"));
    QVERIFY(rate(weight, "attention.qkv.weight_gradient") > 0.5 * rate(weight, "attention.out.weight_gradient"));
}

void LayerCostTest::expertsCostWhatTheirTokensNeed()
{
    Fixture f;
    f.model.mixture.experts = 8;
    f.model.mixture.topK = 2;
    f.model.mixture.expertHidden = 1024;
    LayerSetting s = Fixture::setting();
    s.mixture = true;
    const LayerCost one = layerCost(f.context(), s);
    QCOMPARE(one.expertParameters, 8.0 * 2 * 1024 * 1024);
    // Attention 8 b s h^2 and 4 b s^2 h, router, and two experts of 4 h f per token.
    const double tokens = 4 * 512;
    QCOMPARE(one.forward.flops,
             tokens * (8.0 * 1024 * 1024 + 4.0 * 512 * 1024 + 2.0 * 1024 * 8 + 2 * 4.0 * 1024 * 1024));
    s.ep = 4;
    const LayerCost spread = layerCost(f.context(), s);
    QCOMPARE(spread.expertParameters, 2.0 * 2 * 1024 * 1024);
    QCOMPARE(spread.forward.flops, one.forward.flops);
    QVERIFY(spread.forward.parts[CostPart::ExpertComm] > 0);
    // Dispatch and combine, both ways: 3/4 of each token's two copies leave; before them the counts of eight experts.
    QCOMPARE(wireOf(spread).expert, 4 * 0.75 * 2 * tokens * 2 * 1024 + 0.75 * 4 * 8);
    // Sorting what was received reads and writes every copy's row, after the dispatch and before the combination.
    f.framework.sortsReceivedRows = true;
    const double copies = 2 * tokens;
    const double sorting = 2 * (2 * 2 * copies * 1024) / memoryRate(f.rates, MemoryClass::Layout);
    const auto more = [](const PassCost& a, const PassCost& b) {
        return a.parts[CostPart::MemoryBound] - b.parts[CostPart::MemoryBound];
    };
    const LayerCost sorted = layerCost(f.context(), s);
    QVERIFY(qAbs(more(sorted.forward, spread.forward) / sorting - 1) < 1e-9);
    QVERIFY(qAbs(more(sorted.backwardInput, spread.backwardInput) / sorting - 1) < 1e-9);
    LayerSetting alone = s; // one expert a rank: nothing to sort
    alone.ep = 8;
    const LayerCost plain = layerCost(f.context(), alone);
    f.framework.sortsReceivedRows = false;
    QCOMPARE(plain.forward.seconds(), layerCost(f.context(), alone).forward.seconds());
    // Over nodes a token may travel once; then its copies are made on arrival, which is counted already.
    LayerSetting far = s;
    far.oncePerNode = true;
    far.tp = 4; // 16 ranks on nodes of eight
    const double once = layerCost(f.context(), far).forward.seconds();
    f.framework.sortsReceivedRows = true;
    QCOMPARE(layerCost(f.context(), far).forward.seconds(), once);
    f.framework.sortsReceivedRows = false;
    // Inside a node it goes to each rank once: with two experts of eight on four ranks to 7/4 of them, with both on one
    // rank, as a gate deals them out in turn, to one.
    LayerSetting near = s;
    near.oncePerNode = true;
    const double alike = layerCost(f.context(), near).forward.parts[CostPart::ExpertComm];
    QVERIFY(alike < spread.forward.parts[CostPart::ExpertComm]);
    f.model.mixture.groups = 4, f.model.mixture.topGroups = 1;
    QVERIFY(layerCost(f.context(), near).forward.parts[CostPart::ExpertComm] < alike);
    QCOMPARE(layerCost(f.context(), s).forward.parts[CostPart::ExpertComm], spread.forward.parts[CostPart::ExpertComm]);
    f.model.mixture.groups = f.model.mixture.topGroups = 1;
    // An expert that all tokens visit is exchanged over the tensor group like any other block.
    LayerSetting wide = s;
    wide.tp = 2;
    const double without = wireOf(layerCost(f.context(), wide)).tensor;
    f.model.mixture.sharedHidden = 512;
    QCOMPARE(wireOf(layerCost(f.context(), wide)).tensor, without + 2 * tokens * 2 * 1024);
    f.model.mixture.sharedHidden = 0;
    // Beside another micro-batch the exchanges hide, and slow its computation; both send the same.
    LayerSetting hiding = s;
    hiding.overlapExperts = true;
    const LayerCost beside = layerCost(f.context(), hiding);
    for (const auto pass : {&LayerCost::forward, &LayerCost::backwardInput}) {
        const PassCost &exposed = spread.*pass, &hidden = beside.*pass;
        QVERIFY(hidden.hidden[CostPart::ExpertComm] > 0 && exposed.hidden[CostPart::ExpertComm] == 0);
        QVERIFY(hidden.parts[CostPart::ExpertComm] < exposed.parts[CostPart::ExpertComm]);
        QCOMPARE(hidden.parts[CostPart::Contention],
                 exposed.parts[CostPart::Contention] + f.calibration.contention * hidden.hidden[CostPart::ExpertComm]);
        QCOMPARE(hidden.wire.expert, exposed.wire.expert);
    }
    LayerSetting natural = s;
    natural.naturalRouting = true;
    QVERIFY(layerCost(f.context(), natural).forward.seconds() > spread.forward.seconds());
}

void LayerCostTest::gatheredKeysAreHeld()
{
    Fixture f;
    LayerSetting ring = Fixture::setting();
    ring.cp = 2;
    LayerSetting gather = ring;
    gather.gathersContext = true;
    const double all =
        4 * 512 * 2.0 * 1024 * 2; // keys and values of all tokens; in the backward pass their gradients too
    const LayerCost held = layerCost(f.context(), gather), passed = layerCost(f.context(), ring);
    QCOMPARE(held.workingBytes - passed.workingBytes, 2 * all);
    QCOMPARE(held.workingForwardBytes - passed.workingForwardBytes, all);
}

// 256 queries of a rank of two. In stretches: 128 keys a call. The engine: its own 256 keys for half of the work; for the
// other half, of the other rank, 128 keys or, for half of its queries, 256.
void LayerCostTest::ringsMeetTheirKeysInPieces()
{
    Fixture f;
    f.framework.flashAttention = true;
    f.rates.attentionForwardHalf = 100;
    LayerSetting ring = Fixture::setting();
    ring.cp = 2;
    const double flops = 2 * 4 * 256.0 * 512 * 1024 * 2 / 2; // scores and values, half of them masked
    const auto attention = [&](const char* kernel) {
        f.framework.attentionKernel = kernel;
        return layerCost(f.context(), ring).forward.parts[CostPart::Attention];
    };
    const auto seconds = [&](double keys) { return flops / (5e13 * keys / (keys + 100)); };
    const auto near = [](double a, double b) { return std::abs(a - b) < 1e-9 * b; };
    QVERIFY(near(attention("flash2"), seconds(128)));
    QVERIFY(near(attention("engine"), seconds(256) / 2 + seconds(128) / 4 + seconds(256) / 4));
    f.model.causal = false; // whole blocks, and twice the work
    QVERIFY(near(attention("engine"), 2 * seconds(256)));
}

// The width of a dense block, which a mixture has none of, is nowhere in its memory. With fused attention there is
// nothing left for the recomputation of attention's core to save.
void LayerCostTest::expertsAreKeptAtTheirOwnWidth()
{
    Fixture f;
    f.framework.flashAttention = true;
    f.model.mixture.experts = 8;
    f.model.mixture.topK = 2;
    f.model.mixture.expertHidden = 1024;
    LayerSetting s = Fixture::setting();
    s.mixture = true;
    const auto cost = [&](Recompute recompute, std::int64_t denseWidth) {
        f.model.ffnHidden = denseWidth;
        s.recompute = recompute;
        return layerCost(f.context(), s);
    };
    const LayerCost none = cost(Recompute::None, 4096), core = cost(Recompute::Selective, 4096);
    QCOMPARE(core.savedBytes, none.savedBytes);
    QCOMPARE(core.workingBytes, none.workingBytes);
    const double tokens = 4 * 512, product = 2 * tokens * 2 * 1024; // of the two experts of each token
    QCOMPARE(none.workingBytes, 2 * product);
    f.framework.selective = SelectiveRecompute::AlternateMatmuls;
    for (const Recompute recompute : {Recompute::None, Recompute::Selective, Recompute::Full}) {
        const LayerCost narrow = cost(recompute, 4096), wide = cost(recompute, 65536);
        QCOMPARE(wide.savedBytes, narrow.savedBytes);
        QCOMPARE(wide.workingBytes, narrow.workingBytes);
    }
}

void LayerCostTest::listsAddUp()
{
    const Fixture f;
    LayerSetting s = Fixture::setting();
    s.tp = 4;
    s.sequenceParallel = true;
    s.recompute = Recompute::Full;
    std::vector<OperatorCost> forward, recompute, input, weight;
    const LayerCost layer = layerCost(f.context(), s, 3, {&forward, &recompute, &input, &weight});
    const auto sum = [](const std::vector<OperatorCost>& list) {
        double seconds = 0;
        for (const OperatorCost& item : list) seconds += item.hidden ? 0 : item.seconds;
        return seconds;
    };
    const auto visible = [](const PassCost& pass) {
        return pass.seconds() - pass.parts[CostPart::Host] - pass.parts[CostPart::Contention];
    };
    QVERIFY(qAbs(sum(forward) - visible(layer.forward)) < 1e-9);
    QVERIFY(qAbs(sum(recompute) - visible(layer.recompute)) < 1e-9);
    QVERIFY(qAbs(sum(input) - visible(layer.backwardInput)) < 1e-9);
    QVERIFY(qAbs(sum(weight) - visible(layer.backwardWeight)) < 1e-9);
    QCOMPARE(forward.front().layer, std::int64_t{3});
}

FOURWALLS_TEST(LayerCostTest, QCoreApplication)

} // namespace tst_layer_cost

#include "tst_layer_cost.moc"
