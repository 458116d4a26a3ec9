// SPDX-License-Identifier: Apache-2.0
// The whole decoder: gradients against finite differences in double for every combination of options; the CPU device
// against the double run; fused against unfused; micro-batches against the whole batch; bf16 within its own rounding.
#include <QtTest> // first: moc stumbles over <compare> otherwise

#include "profiler/engine/nn/decoder.h"
#include "tests/profiler/engine/engine_fixture.h"
#include "tests/support/test_program.h"

namespace tst_decoder {

using namespace fourwalls;
using namespace fourwalls::engine;
using namespace fourwalls::engine::testing;

namespace {

constexpr std::int64_t kSamples = 2, kSequence = 7;

TransformerSpec specOf(bool rotary, bool swiglu, bool rms, int kvHeads, bool biases, bool tied)
{
    TransformerSpec s;
    s.layers = 2;
    s.hidden = 16;
    s.heads = 4;
    s.kvHeads = kvHeads;
    s.ffnHidden = 20;
    s.vocabulary = 23;
    s.sequence = kSequence + 2;
    s.positions = rotary ? Positions::Rotary : Positions::Learned;
    s.activation = swiglu ? Activation::SwiGlu : Activation::Gelu;
    s.normalization = rms ? Normalization::RmsNorm : Normalization::LayerNorm;
    s.biases = biases;
    s.tiedEmbeddings = tied;
    return s;
}

// Weights large enough for every path to matter; the same values on every rank up to rounding.
void randomize(TestRank& rank, ParameterList& list)
{
    std::uint64_t stream = 100;
    for (const auto& p : list.all()) {
        const Tensor values = rank.random(p->weight.shape(), p->weight.type(), stream++, 0.4);
        const bool gain = !p->decays && element(p->weight, 0) == 1.0;
        for (std::int64_t i = 0; i < values.elements(); ++i)
            setElement(p->weight, i, element(values, i) + (gain ? 1.0 : 0.0));
        if (p->roundedCopy().defined()) rank.device->convert(p->weight, p->roundedCopy());
    }
}

struct Run {
    std::unique_ptr<TestRank> rank;
    std::unique_ptr<Decoder> model;
    Batch batch;
    double scale = 1.0;

    Run(DType compute, const TransformerSpec& spec, ComputeOptions options)
        : rank(std::make_unique<TestRank>(compute))
        , model(std::make_unique<Decoder>(*rank->context, spec, kSequence, 1, options))
    {
        randomize(*rank, model->parameters());
        batch.samples = kSamples;
        batch.inputs = rank->tokens({kSamples, kSequence}, spec.vocabulary, 1);
        batch.targets = rank->tokens({kSamples, kSequence}, spec.vocabulary, 2);
    }

    double gradients()
    {
        auto state = model->forward(*rank->context, batch, {});
        const double loss = model->loss(*rank->context, batch, *state, scale);
        model->backward(*rank->context, batch, *state, {});
        return loss;
    }

    void clear()
    {
        for (const auto& p : model->parameters().all()) p->gradientEmpty = true;
    }
};

// Largest difference of any gradient, as a share of the largest entry of the same gradient (or, for gradients that
// are nothing but rounding noise, such as those of key biases, of a thousandth of the largest gradient at all).
double gradientDifference(Run& actual, Run& expected)
{
    double floor = 0;
    for (const auto& p : expected.model->parameters().all()) floor = std::max(floor, 1e-3 * largest(p->gradient));
    double worst = 0;
    for (std::size_t i = 0; i < expected.model->parameters().all().size(); ++i) {
        const Tensor& a = actual.model->parameters().all()[i]->gradient;
        const Tensor& e = expected.model->parameters().all()[i]->gradient;
        const double scale = std::max(floor, largest(e));
        for (std::int64_t j = 0; j < e.elements(); ++j) {
            const double d = std::abs(element(a, j) - element(e, j)) / scale;
            if (!(d <= worst)) worst = d;
        }
    }
    return worst;
}

} // namespace

class DecoderTest : public QObject {
    Q_OBJECT

    static void addCombinations()
    {
        QTest::addColumn<bool>("rotary");
        QTest::addColumn<bool>("swiglu");
        QTest::addColumn<bool>("rms");
        QTest::addColumn<int>("kvHeads");
        QTest::addColumn<bool>("biases");
        QTest::addColumn<bool>("tied");
        QTest::addColumn<bool>("fusedAttention");
        for (int bits = 0; bits < 128; ++bits) {
            const bool rotary = bits & 1, swiglu = bits & 2, rms = bits & 4, grouped = bits & 8, biases = bits & 16,
                       tied = bits & 32, fused = bits & 64;
            QTest::addRow("%s %s %s %s %s %s %s", rotary ? "rotary" : "learned", swiglu ? "swiglu" : "gelu",
                          rms ? "rmsnorm" : "layernorm", grouped ? "grouped" : "multi-head",
                          biases ? "biases" : "no-biases", tied ? "tied" : "untied", fused ? "fused" : "unfused")
                << rotary << swiglu << rms << (grouped ? 2 : 4) << biases << tied << fused;
        }
        // Of these the fourth column is the rank of the queries' latent.
        for (const int queryRank : {0, 6})
            for (const bool fused : {false, true})
                QTest::addRow("latent attention, queries %s, %s", queryRank ? "too" : "directly",
                              fused ? "fused" : "unfused")
                    << true << true << true << queryRank << false << false << fused;
    }

    static TransformerSpec latentSpec(int queryRank)
    {
        TransformerSpec s = specOf(true, true, true, 4, false, false);
        s.headWidth = 3;
        s.latent = {queryRank, 7, 4, 5}; // keys of 7 columns, values of 5
        return s;
    }

    static TransformerSpec specOfRow()
    {
        if (QTest::currentDataTag() && std::string(QTest::currentDataTag()).starts_with("latent")) {
            QFETCH(int, kvHeads);
            return latentSpec(kvHeads);
        }
        QFETCH(bool, rotary);
        QFETCH(bool, swiglu);
        QFETCH(bool, rms);
        QFETCH(int, kvHeads);
        QFETCH(bool, biases);
        QFETCH(bool, tied);
        return specOf(rotary, swiglu, rms, kvHeads, biases, tied);
    }

private slots:
    void gradientsInDouble_data() { addCombinations(); }
    void gradientsInDouble()
    {
        QFETCH(bool, fusedAttention);
        Run run(DType::F64, specOfRow(), {fusedAttention, fusedAttention});
        run.gradients();
        std::uint64_t stream = 1;
        for (const auto& p : run.model->parameters().all()) {
            const auto loss = [&] {
                auto state = run.model->forward(*run.rank->context, run.batch, {});
                // The head's weight gradient is written as well; keep what the backward pass left.
                const Tensor kept = run.rank->copy(p->gradient, DType::F64);
                const double value = run.model->loss(*run.rank->context, run.batch, *state, 0.0);
                run.rank->device->convert(kept, p->gradient);
                return value;
            };
            const Tensor gradient = run.rank->copy(p->gradient, DType::F64);
            const double error = slopeError(loss, p->weight, gradient, stream++);
            // Gradients that are zero by symmetry (key biases) have no slope to compare with.
            const bool vanishing = largest(gradient) < 1e-12;
            QVERIFY2(vanishing || error < 1e-6,
                     qPrintable(QString::fromStdString(p->name) + QString(": %1").arg(error)));
        }
    }

    void cpuAgreesWithDouble_data() { addCombinations(); }
    void cpuAgreesWithDouble()
    {
        QFETCH(bool, fusedAttention);
        const TransformerSpec spec = specOfRow();
        Run exact(DType::F64, spec, {false, false}), fast(DType::F32, spec, {fusedAttention, fusedAttention});
        const double expected = exact.gradients(), actual = fast.gradients();
        // Sums of at most a hundred terms, through four layers' worth of operators: a few hundred roundings.
        const double tolerance = 400 * unitRoundoff(DType::F32);
        QVERIFY2(std::abs(actual - expected) < tolerance * expected,
                 qPrintable(QString("loss %1 %2").arg(actual).arg(expected)));
        const double difference = gradientDifference(fast, exact);
        QVERIFY2(difference < tolerance, qPrintable(QString("gradients differ by %1").arg(difference)));
    }

    void bf16AgreesWithDouble_data() { addCombinations(); }
    void bf16AgreesWithDouble()
    {
        if (!OneDnnMatmul::supportsBf16()) QSKIP("this processor has no bf16 products in oneDNN");
        QFETCH(bool, fusedAttention);
        const TransformerSpec spec = specOfRow();
        Run exact(DType::F64, spec, {false, false}), fast(DType::Bf16, spec, {fusedAttention, fusedAttention});
        const double expected = exact.gradients(), actual = fast.gradients();
        // About twenty roundings to bf16 lie on a path; they are independent, so their root counts, with a margin of 4.
        const double tolerance = 4 * std::sqrt(20.0) * unitRoundoff(DType::Bf16);
        QVERIFY2(std::abs(actual - expected) < tolerance * expected,
                 qPrintable(QString("loss %1 %2").arg(actual).arg(expected)));
        const double difference = gradientDifference(fast, exact);
        QVERIFY2(difference < 4 * tolerance, qPrintable(QString("gradients differ by %1").arg(difference)));
    }

    void fusedEqualsUnfused()
    {
        const TransformerSpec spec = specOf(true, true, true, 2, false, false);
        Run fused(DType::F64, spec, {true, true}), unfused(DType::F64, spec, {false, false});
        const double a = fused.gradients(), b = unfused.gradients();
        QVERIFY(std::abs(a - b) < 1e-13 * b);
        QVERIFY(gradientDifference(fused, unfused) < 1e-12);
    }

    void microBatchesAddUp()
    {
        const TransformerSpec spec = specOf(false, false, false, 4, true, true);
        Run whole(DType::F64, spec, {true, true}), parts(DType::F64, spec, {true, true});
        const double expected = whole.gradients();
        double loss = 0;
        const Batch all = parts.batch;
        parts.scale = 1.0 / kSamples;
        for (std::int64_t i = 0; i < kSamples; ++i) {
            parts.batch = {all.inputs.rowRange(i, 1), all.targets.rowRange(i, 1), 1};
            loss += parts.gradients() / kSamples;
        }
        QVERIFY(std::abs(loss - expected) < 1e-13 * expected);
        QVERIFY(gradientDifference(parts, whole) < 1e-12);
        // A new step overwrites what the last one left.
        parts.clear();
        parts.batch = all;
        parts.scale = 1.0;
        parts.gradients();
        QVERIFY(gradientDifference(parts, whole) < 1e-12);
    }

    void chunkedLossEqualsWhole()
    {
        // More rows than one chunk holds: 256 rows at least.
        TransformerSpec spec = specOf(false, false, false, 4, true, true);
        spec.vocabulary = 1 << 15;
        spec.sequence = 150;
        const auto run = [&](bool fuse) {
            auto r = std::make_unique<Run>(DType::F32, spec, ComputeOptions{true, fuse});
            r->batch.inputs = r->rank->tokens({kSamples, 150}, spec.vocabulary, 3);
            r->batch.targets = r->rank->tokens({kSamples, 150}, spec.vocabulary, 4);
            return r;
        };
        const auto chunked = run(true), whole = run(false);
        const double a = chunked->gradients(), b = whole->gradients();
        QVERIFY(std::abs(a - b) < 64 * unitRoundoff(DType::F32) * b);
        QVERIFY(gradientDifference(*chunked, *whole) < 400 * unitRoundoff(DType::F32));
        QVERIFY(chunked->rank->allocator.statistics().peakAllocated <
                whole->rank->allocator.statistics().peakAllocated);
    }

    void everythingIsReleased()
    {
        const TransformerSpec spec = specOf(true, true, true, 2, false, false);
        Run run(DType::F32, spec, {true, true});
        const std::int64_t resident = run.rank->allocator.statistics().allocated;
        run.gradients();
        QCOMPARE(run.rank->allocator.statistics().allocated, resident);
        QVERIFY(run.rank->allocator.statistics().peakAllocated > resident);
    }
};

FOURWALLS_TEST(DecoderTest, QCoreApplication)

} // namespace tst_decoder

#include "tst_decoder.moc"
