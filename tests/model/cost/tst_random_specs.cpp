// SPDX-License-Identifier: Apache-2.0
// Random networks, plans and clusters: a sound prediction or a sentence that names the field, never anything else; and
// what physics says: faster products, memory and links and shorter latencies are never slower, more memory never makes a
// plan infeasible. FOURWALLS_RANDOM_SPECS says how many are drawn.
#include <QtTest>

#include "model/cost/predicted_step.h"
#include "model/trace/in_memory_query.h"
#include "model/trace/metrics.h"
#include "tests/support/test_program.h"

#include <array>
#include <cmath>
#include <random>

namespace tst_random_specs {

using namespace fourwalls;
using namespace fourwalls::cost;

namespace {

/// Sizes with mean and nonsensical values among them.
class Chance {
public:
    explicit Chance(unsigned seed) : m_random(seed) {}

    template <class T, std::size_t N>
    T of(const std::array<T, N>& values)
    {
        return values[std::uniform_int_distribution<std::size_t>(0, N - 1)(m_random)];
    }
    bool oneIn(int n) { return std::uniform_int_distribution<int>(1, n)(m_random) == 1; }
    int degree() { return of(std::array{1, 1, 1, 2, 2, 4, 8, 3}); }

private:
    std::mt19937 m_random;
};

RunSpec randomSpec(Chance& chance)
{
    RunSpec spec;
    TransformerSpec t;
    t.layers = chance.of(std::array<std::int64_t, 6>{1, 2, 8, 12, 24, 96});
    t.hidden = chance.of(std::array<std::int64_t, 5>{64, 256, 1024, 12'288, 96});
    t.heads = chance.of(std::array<std::int64_t, 4>{1, 4, 8, 16});
    t.kvHeads = chance.oneIn(3) ? 1 : t.heads;
    t.ffnHidden = 4 * t.hidden;
    t.vocabulary = chance.of(std::array<std::int64_t, 3>{256, 32'000, 250'880});
    t.sequence = chance.of(std::array<std::int64_t, 4>{32, 512, 2048, 131'072});
    t.activation = chance.oneIn(2) ? Activation::Gelu : Activation::SwiGlu;
    if (chance.oneIn(4)) t.mixture = {8, 2, t.hidden, 0, 1, 0};
    if (chance.oneIn(25)) t.layers = 0;
    if (chance.oneIn(25)) t.hidden = -1;
    if (chance.oneIn(25)) t.vocabulary = std::int64_t{1} << 60;
    spec.model = {"random", t};
    spec.cluster = *loadCluster(chance.of(std::array{"dgx-a100", "dgx-h100", "v100-pcie", "rtx4090"}));
    spec.framework = chance.of(std::array{"megatron-core", "fsdp", "megatron-2021"});
    spec.training.batch = chance.of(std::array<std::int64_t, 6>{1, 8, 64, 1536, 0, -8});
    spec.training.sequence = chance.oneIn(5) ? chance.of(std::array<std::int64_t, 3>{0, -1, 1}) : t.sequence;
    spec.training.precision =
        chance.of(std::array{Precision::Bf16, Precision::F32, Precision::F16, Precision::Fp8, Precision::Tf32});
    ParallelPlan& plan = spec.plan;
    plan.dp = chance.degree();
    plan.tp = chance.degree();
    plan.pp = chance.degree();
    plan.cp = chance.oneIn(3) ? chance.degree() : 1;
    plan.ep = chance.oneIn(3) ? chance.degree() : 1;
    plan.microbatches = chance.of(std::array{1, 2, 4, 8, 16, 64});
    plan.zero = chance.of(std::array{0, 1, 2, 3});
    plan.sequenceParallel = chance.oneIn(2);
    plan.recompute = chance.of(std::array{Recompute::None, Recompute::Selective, Recompute::Full});
    plan.schedule = chance.of(std::array{PipelineSchedule::OneFOneB, PipelineSchedule::GPipe, PipelineSchedule::Naive,
                                         PipelineSchedule::Interleaved, PipelineSchedule::ZeroBubbleH1,
                                         PipelineSchedule::ZeroBubble2p, PipelineSchedule::ZeroBubbleV});
    plan.vpp = plan.schedule == PipelineSchedule::Interleaved ? 2 : 1;
    plan.offloadOptimizer = chance.oneIn(6);
    plan.offloadActivations = chance.oneIn(6);
    plan.overlap = chance.oneIn(2);
    plan.fusedAttention = chance.oneIn(2);
    if (chance.oneIn(4)) plan.documents = {{chance.degree(), 300}, {1, 100 * chance.degree()}};
    return spec;
}

/// How many specifications a test draws.
int draws(int usual)
{
    bool isNumber = false;
    const int asked = qEnvironmentVariableIntValue("FOURWALLS_RANDOM_SPECS", &isNumber);
    return isNumber && asked > 0 ? asked : usual;
}

/// The machines get better in one way.
struct Better {
    const char* what;
    void (*change)(ClusterSpec&);
};
constexpr Better kBetter[] = {{"memory", [](ClusterSpec& cluster) { cluster.device.memoryBytesPerSecond *= 2; }},
                              {"links",
                               [](ClusterSpec& cluster) {
                                   cluster.nodeLink.bytesPerSecond *= 1.7;
                                   cluster.nicLink.bytesPerSecond *= 1.7;
                               }},
                              {"peak rate",
                               [](ClusterSpec& cluster) {
                                   for (auto& [precision, rate] : cluster.device.peakFlops) rate *= 1.5;
                               }},
                              {"latency", [](ClusterSpec& cluster) {
                                   cluster.nodeLink.latencySeconds /= 2;
                                   cluster.nicLink.latencySeconds /= 3;
                               }}};

} // namespace

class RandomSpecsTest : public QObject {
    Q_OBJECT

private slots:
    void soundOrRefused();
    void moreIsNeverWorse();
    void nonsenseIsRefused();
    void putOffGradientsHideNothing();
};

void RandomSpecsTest::soundOrRefused()
{
    Chance chance(2024);
    int predictions = 0;
    const int count = draws(1500);
    for (int i = 0; i < count; ++i) {
        const RunSpec spec = randomSpec(chance);
        const auto predicted = predictStep(spec);
        if (!predicted) {
            QVERIFY2(!predicted.error().what.empty() && !predicted.error().where.empty(),
                     qPrintable(QString::number(i)));
            continue;
        }
        ++predictions;
        const QByteArray what = QByteArray::fromStdString(formatPlan(spec.plan)) + " " + QByteArray::number(i);
        QVERIFY2(std::isfinite(predicted->seconds) && predicted->seconds > 0, what.constData());
        QVERIFY2(std::isfinite(predicted->peakBytes) && predicted->peakBytes > 0, what.constData());
        QVERIFY2(predicted->lowSeconds <= predicted->seconds && predicted->seconds <= predicted->highSeconds,
                 what.constData());
        QVERIFY2(!predicted->why.empty() && !predicted->dominantTerm.empty(), what.constData());
        QVERIFY2(predicted->bubbleFraction >= 0 && predicted->bubbleFraction < 1, what.constData());
        if (i % 10 != 0) continue;
        const auto data = traceOf(*predicted);
        QVERIFY2(data.ok(), what.constData());
        InMemoryTraceQuery query(*data);
        const auto metrics = computeMetrics(query);
        QVERIFY2(metrics.ok(), what.constData());
        double sum = 0;
        for (const auto& [part, share] : metrics->waterfall.parts()) {
            QVERIFY2(std::isfinite(share), what.constData());
            sum += share;
        }
        QVERIFY2(std::abs(sum - 1) < 1e-6,
                 (what + " sum " + QByteArray::number(sum) + " seconds " + QByteArray::number(predicted->seconds))
                     .constData());
    }
    QVERIFY(predictions > 100);
}

void RandomSpecsTest::moreIsNeverWorse()
{
    Chance chance(7);
    int compared = 0;
    const int count = draws(600);
    for (int i = 0; i < count; ++i) {
        const RunSpec spec = randomSpec(chance);
        const auto before = predictStep(spec);
        if (!before) continue;
        ++compared;
        const QByteArray what = QByteArray::fromStdString(formatPlan(spec.plan)) + " " + QByteArray::number(i);
        for (const Better& better : kBetter) {
            RunSpec changed = spec;
            better.change(changed.cluster);
            const auto after = predictStep(changed);
            QVERIFY2(after.ok(), what.constData());
            QVERIFY2(after->seconds <= before->seconds * (1 + 1e-9),
                     (what + ": " + better.what + " " + QByteArray::number(before->seconds, 'g', 12) + " to " +
                      QByteArray::number(after->seconds, 'g', 12))
                         .constData());
        }
        RunSpec larger = spec;
        larger.cluster.device.memoryBytes *= 2;
        QVERIFY2(predictStep(larger)->feasible || !before->feasible, what.constData());
    }
    QVERIFY(compared > 50);
}

void RandomSpecsTest::nonsenseIsRefused()
{
    RunSpec spec;
    spec.model = *loadModel("gpt-small");
    spec.cluster = *loadCluster("dgx-a100");
    spec.framework = "megatron-core";
    spec.training.batch = 8;
    QVERIFY(predictStep(spec).ok());
    for (int ParallelPlan::*degree : {&ParallelPlan::dp, &ParallelPlan::tp, &ParallelPlan::pp, &ParallelPlan::cp,
                                      &ParallelPlan::ep, &ParallelPlan::vpp, &ParallelPlan::microbatches}) {
        RunSpec none = spec;
        none.plan.*degree = 0;
        const auto refused = predictStep(none);
        QVERIFY(!refused);
        QVERIFY(formatPlan(none.plan).find(refused.error().where + "=0") != std::string::npos);
    }
    // Passes of 1e308 s each are finite; nothing that is made of them is.
    spec.plan = *parsePlan("pp=3 microbatches=8 offload=activations schedule=zbv");
    spec.cluster.device.hostBytesPerSecond = 1e-300;
    const auto endless = predictStep(spec);
    QVERIFY(!endless && endless.error().what.find("30 years") != std::string::npos);
}

/// A schedule that puts weight gradients off has nothing of them beside the transfers of the input gradients: quicker
/// products then never lengthen its critical path, whatever the links.
void RandomSpecsTest::putOffGradientsHideNothing()
{
    for (const char* plan :
         {"pp=8 microbatches=16 offload=activations schedule=zb2p", "tp=8 pp=4 microbatches=8 schedule=zb2p"}) {
        for (double links = 1.0 / 64; links <= 64; links *= 2) {
            RunSpec spec;
            spec.model = *loadModel("gpt3-6.7b");
            spec.cluster = *loadCluster("dgx-a100");
            spec.framework = "megatron-2022";
            spec.plan = *parsePlan(plan);
            spec.training.batch = 64;
            spec.cluster.device.hostBytesPerSecond *= links;
            spec.cluster.nodeLink.bytesPerSecond *= links;
            RunSpec faster = spec;
            for (auto& [precision, rate] : faster.cluster.device.peakFlops) rate *= 1.5;
            const auto before = predictStep(spec), after = predictStep(faster);
            QVERIFY(before.ok() && after.ok());
            const QByteArray what = QByteArray(plan) + " links x " + QByteArray::number(links);
            QVERIFY2(after->seconds <= before->seconds * (1 + 1e-9), what.constData());
        }
    }
}

FOURWALLS_TEST(RandomSpecsTest, QCoreApplication)

} // namespace tst_random_specs

#include "tst_random_specs.moc"
