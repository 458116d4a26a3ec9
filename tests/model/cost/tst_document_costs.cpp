// SPDX-License-Identifier: Apache-2.0
// What packed documents do to a step's price: attention by the squares of their lengths, and the wait for the replica and
// the micro-batches with the longest ones, against figures by hand.
#include "model/cost/document_draws.h"
#include "model/cost/layer_transfers.h"
#include "model/cost/predicted_step.h"
#include "model/cost/schedule_simulation.h"
#include "model/cost/step_cost.h"
#include "tests/model/cost/priced_layer.h"
#include "tests/model/cost/priced_run.h"
#include "tests/support/test_program.h"

#include <QTest>

#include <cmath>

namespace tst_document_costs {

using namespace fourwalls;
using namespace fourwalls::cost;
using testing::llama;
using testing::plan;
using testing::predict;

class DocumentCostsTest : public QObject {
    Q_OBJECT

private slots:
    void attentionByLength();
    void drawnWaits();
    void stepsWait();
    void neverLongerThanWhole();
};

void DocumentCostsTest::attentionByLength()
{
    testing::PricedLayer f;
    f.framework.flashAttention = true;
    f.rates.attentionForwardHalf = f.rates.attentionBackwardHalf = 300;
    LayerSetting s = testing::PricedLayer::setting();
    const auto seconds = [&](double attended) {
        s.attended = attended;
        const LayerCost cost = layerCost(f.context(), s);
        return cost.forward.parts[CostPart::Attention] + cost.backwardInput.parts[CostPart::Attention];
    };
    // A rate of r keys / (keys + half): what documents of 128 and 384 take, one by one, is what their mean by tokens
    // takes. Forward and backward are 2 and 5 products on half of the pairs, 2 FLOPs each, of 1024 columns.
    const double apart = 4 * (128.0 * (128 + 300) + 384.0 * (384 + 300)) * 2 * 1024 * (2 + 5) / 2 / 5e13;
    const double mean = (128.0 * 128 + 384.0 * 384) / 512;
    QVERIFY(std::abs(seconds(mean) / apart - 1) < 1e-9);
    QCOMPARE(seconds(0), seconds(512));
    const LayerCost whole = layerCost(f.context(), s);
    // Without a fused kernel every pair is computed, and those of one document are what the network needs.
    s.fusedAttention = false;
    s.attended = 0;
    const LayerCost all = layerCost(f.context(), s);
    s.attended = 128;
    const LayerCost masked = layerCost(f.context(), s);
    QCOMPARE(masked.forward.seconds(), all.forward.seconds());
    QCOMPARE(all.forward.modelFlops - masked.forward.modelFlops, 0.75 * 4 * 512.0 * 512 * 1024 * 4 / 2);
    QVERIFY(whole.forward.seconds() > 0);
}

void DocumentCostsTest::drawnWaits()
{
    // Sequences of two tokens and documents of one or two: two of one, or one of two, each as often. Work 2/3 or 4/3 of
    // the mean. Of two of them the longer one is 7/6 in the mean.
    DocumentDraws draws;
    draws.draw({{1, 1}, {1, 2}}, 2, 1);
    QVERIFY(std::abs(draws.attended() - 1.5) < 0.05);
    const auto near = [](double value, double expected) { return std::abs(value - expected) < 0.02; };
    QVERIFY(near(draws.unevenPasses(plan("dp=2"), 1, {1, 2}), 1.0 / 6));
    QCOMPARE(draws.unevenPasses(plan("microbatches=4"), 1, {1, 1}), 0.0); // nobody waits
    // A second stage takes the longest of two micro-batches once more.
    QVERIFY(near(draws.unevenPasses(plan("pp=2 microbatches=2"), 1, {1, 1}), 1.0 / 6));
    // Of two chunks a stage, only one more of them.
    QVERIFY(near(draws.unevenPasses(plan("pp=2 vpp=2 microbatches=2"), 1, {1, 1}), 1.0 / 12));
    // Two replicas that meet in each of three micro-batches wait three times; at the end only, the sums differ by less.
    QVERIFY(near(draws.unevenPasses(plan("dp=2 microbatches=3"), 1, {2, 2}), 0.5));
    const double atEnd = draws.unevenPasses(plan("dp=2 microbatches=3"), 1, {1, 2});
    // Of three coins each the difference is 0, 1, 2 or 3 heads with 20, 30, 12 and 2 of 64; half of it is waited for.
    QVERIFY(near(atEnd, (30.0 + 24 + 6) / 64 * (2.0 / 3) / 2));
    // A mean of many sequences spreads by the root of their number, however many they are: of 64 and of 6400.
    const double some = draws.unevenPasses(plan("dp=2"), 64, {1, 2});
    QVERIFY(near(10 * draws.unevenPasses(plan("dp=2"), 6400, {1, 2}), some));
    QVERIFY(some > 0.1 / 6 &&
            draws.unevenPasses(plan("dp=1000000 microbatches=1000000"), 1'000'000, {1, 1'000'000}) > 0);
    // Sequences of equal documents are all the same.
    draws.draw({{1, 64}}, 1024, 1);
    QCOMPARE(draws.attended(), 64.0);
    QCOMPARE(draws.unevenPasses(plan("dp=8 microbatches=3"), 2, {8, 8}), 0.0);
    draws.draw({}, 1024, 1);
    QCOMPARE(draws.attended(), 0.0);
}

void DocumentCostsTest::stepsWait()
{
    const RunSpec spec = llama();
    const char* const whole = "tp=8 pp=4 dp=8 microbatches=32 sp=1";
    const std::string packed = std::string(whole) + " documents=60x512,30x2048,10x8192";
    auto model = *CostModel::create(spec);
    const StepCost before = *model.stepCost(plan(whole)), after = *model.stepCost(plan(packed.c_str()));
    QCOMPARE(before.unevenSeconds, 0.0);
    QVERIFY(after.unevenSeconds > 0);
    QVERIFY(after.modelFlopsPerStep < before.modelFlopsPerStep);
    // The simulation ends later by it, and by nothing else; the closed form says the same.
    StepCost even = after;
    even.unevenSeconds = 0;
    const double more = simulateSchedule(after)->seconds - simulateSchedule(even)->seconds;
    QVERIFY(std::abs(more / after.unevenSeconds - 1) < 1e-9);
    const double formMore =
        closedForm(after, model.calibration()).seconds - closedForm(even, model.calibration()).seconds;
    QVERIFY(std::abs(formMore / after.unevenSeconds - 1) < 1e-9);
    // Of documents nearly as long as the sequence, most of attention's time goes with their squares, too.
    const ParallelPlan nearly = plan((std::string(whole) + " documents=50x8192,4000").c_str());
    const StepCost almost = *model.stepCost(nearly);
    DocumentDraws draws;
    draws.draw(nearly.documents, 8192, spec.training.seed);
    double attention = 0;
    for (const PassCost* pass : {&almost.kinds[1].forward, &almost.kinds[1].recompute, &almost.kinds[1].backwardInput})
        attention += pass->parts[CostPart::Attention];
    const double slope = almost.unevenSeconds / draws.unevenPasses(nearly, 4, {1, 8});
    QVERIFY2(slope > 0.6 * attention && slope <= 1.01 * attention, qPrintable(QString::number(slope / attention)));
    // Who meets in every micro-batch waits longer than who meets at the end: gathered weights, reduced gradients, experts.
    const FrameworkPreset& framework = model.framework();
    const auto meeting = [&](const char* text) { return waitingReplicas(framework, plan(text)).meeting; };
    QCOMPARE(meeting("dp=8"), 1);
    QCOMPARE(meeting("dp=8 cp=2 zero=3"), 8);
    QCOMPARE(meeting("dp=8 zero=2"), 8);
    QCOMPARE(meeting("dp=8 zero=3 shard=4"), 4);
    QCOMPARE(meeting("dp=8 cp=2 ep=8"), 4);
    QCOMPARE(waitingReplicas(framework, plan("dp=8 ps=async servers=1")).waiting, 1);
    // The model's next plan without documents is priced as before.
    QCOMPARE(model.stepCost(plan(whole))->kinds[0].forward.seconds(), before.kinds[0].forward.seconds());
    // Documents as long as the sequence change nothing, nor do longer ones.
    for (const char* same : {" documents=8192", " documents=100000"})
        QCOMPARE(closedForm(*model.stepCost(plan((std::string(whole) + same).c_str())), model.calibration()).seconds,
                 closedForm(before, model.calibration()).seconds);
}

void DocumentCostsTest::neverLongerThanWhole()
{
    // Shorter documents, less attention: in every plan, whatever waits come to it.
    const RunSpec spec = llama();
    for (const char* text : {"tp=8 dp=32 microbatches=4", "tp=8 pp=8 dp=4 microbatches=64",
                             "dp=256 zero=3 recompute=full", "tp=8 cp=2 dp=16 microbatches=8 attention=unfused"}) {
        double last = predict(spec, plan(text)).seconds;
        for (const char* documents : {" documents=4096", " documents=1024", " documents=128"}) {
            const double seconds = predict(spec, plan((std::string(text) + documents).c_str())).seconds;
            QVERIFY2(seconds <= last * (1 + 1e-12), documents);
            last = seconds;
        }
    }
}

FOURWALLS_TEST(DocumentCostsTest, QCoreApplication)

} // namespace tst_document_costs

#include "tst_document_costs.moc"
