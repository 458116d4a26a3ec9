// SPDX-License-Identifier: Apache-2.0
// The BERT-style encoder and the transformer with experts as whole networks: masked tokens, gradients against finite
// differences in double for every combination of options, the fast device against double, and that both learn the text.
#include <QtTest> // first: moc stumbles over <compare> otherwise

#include "profiler/engine/nn/decoder.h"
#include "profiler/engine/run.h"
#include "profiler/engine/train/masked_text_data.h"
#include "tests/profiler/engine/engine_fixture.h"
#include "tests/support/test_program.h"

namespace tst_encoder {

using namespace fourwalls;
using namespace fourwalls::engine;
using namespace fourwalls::engine::testing;

namespace {

constexpr std::int64_t kSamples = 2, kSequence = 8;

TransformerSpec encoderSpec(bool postNorm, bool types, bool embeddingNorm, bool tied)
{
    TransformerSpec s;
    s.layers = 2;
    s.hidden = 16;
    s.heads = s.kvHeads = 4;
    s.ffnHidden = 20;
    s.vocabulary = 23;
    s.sequence = kSequence;
    s.causal = false;
    s.postNorm = postNorm;
    s.tokenTypes = types ? 2 : 0;
    s.embeddingNorm = embeddingNorm;
    s.tiedEmbeddings = tied;
    return s;
}

TransformerSpec expertSpec()
{
    TransformerSpec s = encoderSpec(false, false, false, false);
    s.causal = true;
    s.layers = 3;
    s.positions = Positions::Rotary;
    s.activation = Activation::SwiGlu;
    s.normalization = Normalization::RmsNorm;
    s.biases = false;
    s.mixture = {4, 2, 12, 0, 2, 0}; // the second layer of three
    return s;
}

struct Run {
    TestRank rank;
    Decoder model;
    Batch batch;

    Run(DType type, const TransformerSpec& spec, const ComputeOptions& options)
        : rank(type)
        , model(*rank.context, spec, kSequence, 1, options)
    {
        std::uint64_t stream = 100;
        for (const auto& p : model.parameters().all()) {
            const Tensor values = rank.random(p->weight.shape(), p->weight.type(), stream++, 0.4);
            const bool gain = !p->decays && element(p->weight, 0) == 1.0;
            for (std::int64_t i = 0; i < values.elements(); ++i)
                setElement(p->weight, i, element(values, i) + (gain ? 1.0 : 0.0));
            if (p->roundedCopy().defined()) rank.device->convert(p->weight, p->roundedCopy());
        }
        batch.samples = kSamples;
        batch.inputs = rank.tokens({kSamples, kSequence}, spec.vocabulary, 1);
        batch.targets = rank.tokens({kSamples, kSequence}, spec.vocabulary, 2);
        if (spec.causal) return;
        batch.targetShare = 2.0 / kSequence;
        for (std::int64_t i = 0; i < batch.targets.elements(); ++i)
            if (i % kSequence != 1 && i % kSequence != 4) batch.targets.as<std::int32_t>()[i] = -1;
    }

    double gradients()
    {
        auto state = model.forward(*rank.context, batch, {});
        const double loss = model.loss(*rank.context, batch, *state, 1.0);
        model.backward(*rank.context, batch, *state, {});
        return loss;
    }
    double loss(const Parameter& checked)
    {
        auto state = model.forward(*rank.context, batch, {});
        const Tensor kept = rank.copy(checked.gradient, checked.gradient.type()); // the head writes its gradient
        const double value = model.loss(*rank.context, batch, *state, 0.0);
        rank.device->convert(kept, checked.gradient);
        return value;
    }
    void checkSlopes()
    {
        gradients();
        std::uint64_t stream = 1;
        for (const auto& p : model.parameters().all()) {
            if (p->gradientEmpty) continue;
            const Tensor gradient = rank.copy(p->gradient, DType::F64);
            const double error = slopeError([&] { return loss(*p); }, p->weight, gradient, stream++);
            // Gradients that are zero by symmetry (key biases) have no slope to compare with.
            QVERIFY2(largest(gradient) < 1e-12 || error < 1e-6,
                     qPrintable(QString::fromStdString(p->name) + QString(": %1").arg(error)));
        }
    }
};

RunSpec trainingSpec(const TransformerSpec& t, std::int64_t steps)
{
    RunSpec spec;
    spec.model = {"small", t};
    spec.training.steps = steps;
    spec.training.batch = 8;
    spec.training.learningRate = 3e-3;
    spec.cluster.name = "this-machine";
    if (!resolve(spec).ok()) qFatal("the specification does not resolve");
    return spec;
}

double endOf(const RunReport& report)
{
    double sum = 0;
    const std::size_t n = report.steps.size();
    for (std::size_t i = n - 5; i < n; ++i) sum += report.steps[i].loss / 5;
    return sum;
}

} // namespace

class Encoder : public QObject {
    Q_OBJECT

    static void addCombinations()
    {
        QTest::addColumn<bool>("postNorm");
        QTest::addColumn<bool>("types");
        QTest::addColumn<bool>("embeddingNorm");
        QTest::addColumn<bool>("tied");
        QTest::addColumn<bool>("fused");
        for (int bits = 0; bits < 32; ++bits)
            QTest::addRow("%s%s%s%s%s", bits & 1 ? "post-norm" : "pre-norm", bits & 2 ? " types" : "",
                          bits & 4 ? " embedding-norm" : "", bits & 8 ? " tied" : " untied",
                          bits & 16 ? " fused" : " unfused")
                << bool(bits & 1) << bool(bits & 2) << bool(bits & 4) << bool(bits & 8) << bool(bits & 16);
    }
    static TransformerSpec specOfRow()
    {
        QFETCH(bool, postNorm);
        QFETCH(bool, types);
        QFETCH(bool, embeddingNorm);
        QFETCH(bool, tied);
        return encoderSpec(postNorm, types, embeddingNorm, tied);
    }

private slots:
    void gradientsInDouble_data() { addCombinations(); }
    void gradientsInDouble()
    {
        QFETCH(bool, fused);
        Run run(DType::F64, specOfRow(), {fused, fused});
        run.checkSlopes();
    }

    void cpuAgreesWithDouble_data() { addCombinations(); }
    void cpuAgreesWithDouble()
    {
        QFETCH(bool, fused);
        Run exact(DType::F64, specOfRow(), {false, false}), fast(DType::F32, specOfRow(), {fused, fused});
        // As in the decoder's test: a few hundred roundings lie on a path.
        const double tolerance = 400 * unitRoundoff(DType::F32);
        const double expected = exact.gradients();
        QVERIFY(std::abs(fast.gradients() - expected) < tolerance * expected);
        double floor = 0;
        for (const auto& p : exact.model.parameters().all()) floor = std::max(floor, 1e-3 * largest(p->gradient));
        for (std::size_t i = 0; i < exact.model.parameters().all().size(); ++i) {
            const Parameter &a = *fast.model.parameters().all()[i], &e = *exact.model.parameters().all()[i];
            const double scale = std::max(floor, largest(e.gradient));
            for (std::int64_t j = 0; j < e.gradient.elements(); ++j)
                QVERIFY2(std::abs(element(a.gradient, j) - element(e.gradient, j)) < tolerance * scale, e.name.c_str());
        }
    }

    void expertsInANetwork_data()
    {
        QTest::addColumn<bool>("full");
        QTest::newRow("all kept") << false;
        QTest::newRow("recomputed") << true;
    }
    void expertsInANetwork()
    {
        QFETCH(bool, full);
        // Balanced: the auxiliary loss, which is no part of the reported one, then has no gradient.
        ComputeOptions options;
        options.routing = MoeRouting::Balanced;
        options.recompute = full ? Recompute::Full : Recompute::None;
        Run run(DType::F64, expertSpec(), options);
        run.checkSlopes();
        QCOMPARE(run.model.parameters().elements(), parameterCount({"experts", expertSpec()}));
    }

    void parametersAreCounted()
    {
        const TransformerSpec spec = encoderSpec(true, true, true, true);
        Run run(DType::F32, spec, {});
        QCOMPARE(run.model.parameters().elements(), parameterCount({"encoder", spec}));
    }

    void tokensAreMasked()
    {
        TestRank rank(DType::F32);
        constexpr std::int64_t sequence = 100, samples = 50;
        auto plain = TextData::open("", sequence, 1), text = TextData::open("", sequence, 1);
        QVERIFY(plain.ok() && text.ok());
        const Batch original = plain->batch(*rank.context, 3, samples, 0, samples);
        const MaskedTextData data(std::move(*text), 256, 1);
        const Batch batch = data.batch(*rank.context, 3, samples, 0, samples);
        QCOMPARE(batch.targetShare, 0.15);
        int hidden = 0, same = 0, other = 0;
        for (std::int64_t i = 0; i < samples; ++i) {
            int guesses = 0;
            for (std::int64_t t = i * sequence; t < (i + 1) * sequence; ++t) {
                const std::int32_t in = batch.inputs.as<std::int32_t>()[t],
                                   target = batch.targets.as<std::int32_t>()[t],
                                   was = original.inputs.as<std::int32_t>()[t];
                if (target < 0) {
                    QCOMPARE(in, was);
                    continue;
                }
                ++guesses;
                QCOMPARE(target, was);
                ++(in == 0 ? hidden : in == was ? same : other);
            }
            QCOMPARE(guesses, 15);
        }
        QVERIFY(std::abs(hidden - 600) < 60 && std::abs(same - 75) < 40 && std::abs(other - 75) < 40);
        // However the batch is cut, a sample is the same.
        const Batch part = data.batch(*rank.context, 3, samples, 7, 1);
        for (std::int64_t t = 0; t < sequence; ++t) {
            QCOMPARE(part.inputs.as<std::int32_t>()[t], batch.inputs.as<std::int32_t>()[7 * sequence + t]);
            QCOMPARE(part.targets.as<std::int32_t>()[t], batch.targets.as<std::int32_t>()[7 * sequence + t]);
        }
    }

    void encoderLearnsTheText()
    {
        TransformerSpec t = encoderSpec(true, true, true, true);
        t.hidden = 32;
        t.ffnHidden = 64;
        t.vocabulary = 256;
        t.sequence = 32;
        RunOptions options;
        options.measurePeak = false;
        const auto report = runTraining(trainingSpec(t, 60), options);
        QVERIFY2(report.ok(), report ? "" : report.error().message().c_str());
        QVERIFY(std::abs(report->steps.front().loss - std::log(256.0)) < 0.5);
        QVERIFY2(endOf(*report) < 3.6, qPrintable(QString::number(endOf(*report))));
    }

    void expertsLearnTheText()
    {
        TransformerSpec t = expertSpec();
        t.hidden = 32;
        t.vocabulary = 256;
        t.sequence = 32;
        t.mixture = {4, 2, 32, 0, 1, 0};
        RunOptions options;
        options.measurePeak = false;
        for (const char* plan : {"routing=natural", "routing=balanced", "routing=natural microbatches=2"}) {
            RunSpec spec = trainingSpec(t, 60);
            spec.plan = *parsePlan(plan);
            const auto report = runTraining(spec, options);
            QVERIFY2(report.ok(), report ? "" : report.error().message().c_str());
            QVERIFY2(endOf(*report) < 3.5, qPrintable(QString("%1: %2").arg(plan).arg(endOf(*report))));
        }
    }
};

FOURWALLS_TEST(Encoder, QCoreApplication)

} // namespace tst_encoder

#include "tst_encoder.moc"
