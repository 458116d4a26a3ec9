// SPDX-License-Identifier: Apache-2.0
// What a layer keeps for its backward pass, and what a rank holds of the weights, against theory: Korthikanti et al.
// 2022 (arXiv:2205.05198), sections 4.1 to 5, for tensor and sequence parallelism and recomputation. Prints the
// measured bytes beside the paper's; they differ by what the paper's networks have and these have not (dropout) and
// the other way round (statistics per row), and are equal to the byte once both are accounted for.
#include <QtTest> // first: moc stumbles over <compare> otherwise

#include "profiler/engine/run.h"
#include "tests/profiler/engine/parallel_decoder_fixture.h"
#include "tests/support/test_program.h"

namespace tst_activation_memory {

using namespace fourwalls;
using namespace fourwalls::engine;
using namespace fourwalls::engine::testing;

namespace {

constexpr std::int64_t kBatch = 2, kSequence = 64, kHidden = 64, kHeads = 8;

TransformerSpec specOf(std::int64_t layers)
{
    TransformerSpec s;
    s.layers = layers;
    s.hidden = kHidden;
    s.heads = s.kvHeads = kHeads;
    s.ffnHidden = 4 * kHidden;
    s.vocabulary = 512;
    s.sequence = kSequence;
    return s;
}

// Activations that rank 0 holds after the forward pass [bytes].
std::int64_t heldAfterForward(const ParallelPlan& plan, const TransformerSpec& spec, NumberFormat format)
{
    std::int64_t held = 0;
    const Status status = runRanks(plan, format, [&](RankContext& rank) {
        const ComputeOptions options{plan.fusedAttention, plan.fuse, plan.recompute};
        Decoder model(rank, spec, kSequence, 1, options);
        DecoderCase c;
        c.samples = kBatch;
        c.sequence = kSequence;
        DecoderTruth truth;
        truth.tokens.assign(kBatch * kSequence, 1.0);
        truth.targets = truth.tokens;
        const auto state = model.forward(rank, batchOf(rank, c, truth, 0), {});
        if (tensorIndex(rank) != 0 || indexIn(rank.contextGroup()) != 0) return;
        held = rank.allocator.statistics().current[static_cast<std::size_t>(MemoryCategory::Activations)];
    });
    return status.ok() ? held : -1;
}

} // namespace

class ActivationMemory : public QObject {
    Q_OBJECT

    static void addRows()
    {
        QTest::addColumn<QString>("plan");
        for (const char* attention : {"unfused", "fused"})
            for (const char* cuts : {"", "tp=2", "tp=4", "tp=4 sp=1"})
                for (const char* recompute : {"none", "selective", "full"}) {
                    const QString plan = QString("%1 attention=%2 recompute=%3").arg(cuts, attention, recompute);
                    QTest::newRow(qPrintable(plan)) << plan.trimmed();
                }
        QTest::newRow("cp") << "cp=2 attention=fused";
        QTest::newRow("cp tp sp") << "cp=2 tp=2 sp=1 attention=fused";
    }

private slots:
    void ofALayer_data() { addRows(); }
    void ofALayer()
    {
        QFETCH(QString, plan);
        const auto parsed = parsePlan(plan.toStdString());
        QVERIFY(parsed.ok());
        const bool half = OneDnnMatmul::supportsBf16();
        const NumberFormat format = half ? NumberFormat{DType::Bf16, DType::F32} : NumberFormat{};
        // One layer: the difference between networks of four and of two.
        const std::int64_t measured =
            (heldAfterForward(*parsed, specOf(4), format) - heldAfterForward(*parsed, specOf(2), format)) / 2;
        const double t = parsed->tp, cp = parsed->cp;
        const bool cut = parsed->sequenceParallel;
        const double s = kSequence / cp, b = kBatch, h = kHidden, a = kHeads;
        const double sbh = s * b * h, scores = a * s * s * b;
        const double width = half ? 2 : 4, statistics = 4; // bytes of an activation and of a number per row

        // The paper, in bytes of 2 per element: 34 sbh + 5 a s^2 b, of which tensor parallelism leaves 10 sbh whole.
        double paper = cut ? 34 * sbh / t : (10 + 24 / t) * sbh;
        if (parsed->recompute == Recompute::None) paper += 5 * scores / t;
        if (parsed->recompute == Recompute::Full) paper = 2 * sbh;
        paper *= width / 2;

        // This engine has no dropout: no masks of 1 byte (2 sbh between the layers, a s^2 b of the scores), no scores
        // behind dropout (2 a s^2 b). Fused attention keeps no scores at all, but a number per row and head; norms keep
        // two numbers per row. With sequence parallelism full recomputation keeps a part of the input only.
        const double rows = cut ? s * b / t : s * b;
        double expected = width * ((cut ? 4 / t : 4) + 12 / t) * sbh + 4 * rows * statistics;
        if (parsed->recompute == Recompute::None)
            expected += parsed->fusedAttention ? a / t * s * b * statistics : width * scores / t;
        if (parsed->recompute == Recompute::Full) expected = width * rows * h;

        // What lies between the two: dropout's masks and results, the scores that fused attention does not keep, the
        // part of the input that sequence parallelism leaves, numbers per row.
        const bool scoresOfPaper = parsed->recompute == Recompute::None, full = parsed->recompute == Recompute::Full;
        const double masks = full ? 0 : width / 2 * (cut ? 2 / t : 2) * sbh;
        const double dropped = scoresOfPaper ? width / 2 * 3 * scores / t : 0;
        const double unkept = scoresOfPaper && parsed->fusedAttention ? width * scores / t : 0;
        const double input = full ? width * (s * b - rows) * h : 0;
        const double numbers = expected - (paper - masks - dropped - unkept - input);
        qInfo("%-46s measured %8.0f B/layer, paper %8.0f (%+5.1f %%): masks -%.0f, scores behind dropout -%.0f, scores "
              "not kept -%.0f, input of other ranks -%.0f, row statistics +%.0f",
              qPrintable(plan), static_cast<double>(measured), paper, 100 * (static_cast<double>(measured) / paper - 1),
              masks, dropped, unkept, input, numbers);
        QCOMPARE(static_cast<double>(measured), expected);
    }

    void states_data()
    {
        QTest::addColumn<QString>("plan");
        for (const char* plan :
             {"", "recompute=full", "tp=2", "tp=4", "tp=4 sp=1 recompute=full", "cp=2", "cp=2 tp=2 sp=1"})
            QTest::newRow(plan) << plan;
    }
    // Weights, gradients and the two moments of AdamW, in a training step.
    void states()
    {
        QFETCH(QString, plan);
        RunSpec spec;
        const TransformerSpec transformer = specOf(4);
        spec.model = {"gpt", transformer};
        spec.plan = *parsePlan(plan.toStdString());
        spec.training.steps = 1;
        spec.training.batch = kBatch;
        QVERIFY(resolve(spec).ok());
        RunOptions options;
        options.measurePeak = false;
        const auto report = runTraining(spec, options);
        QVERIFY2(report.ok(), report.ok() ? "" : report.error().message().c_str());
        // Everything is cut by tp but norms, biases behind the sums and positions.
        const double t = spec.plan.tp, h = kHidden, layers = 4;
        const double whole = layers * 6 * h + 2 * h + kSequence * h;
        const double all = static_cast<double>(parameterCount(spec.model));
        const double expected = 4 * (whole + (all - whole) / t);
        for (const RankReport& rank : report->ranks) {
            const auto peak = [&](MemoryCategory category) {
                return static_cast<double>(rank.peakBytesByCategory[static_cast<std::size_t>(category)]);
            };
            const double weights = peak(MemoryCategory::Weights), gradients = peak(MemoryCategory::Gradients),
                         moments = peak(MemoryCategory::OptimizerState);
            if (rank.rank.value == 0)
                qInfo("%-26s weights %.0f B, gradients %.0f B, optimizer %.0f B, theory %.0f, %.0f, %.0f B",
                      qPrintable(plan), weights, gradients, moments, expected, expected, 2 * expected);
            QVERIFY(std::abs(weights - expected) <= 0.02 * expected);
            QVERIFY(std::abs(gradients - expected) <= 0.02 * expected);
            QVERIFY(std::abs(moments - 2 * expected) <= 0.02 * 2 * expected);
        }
    }
};

FOURWALLS_TEST(ActivationMemory, QCoreApplication)

} // namespace tst_activation_memory

#include "tst_activation_memory.moc"
