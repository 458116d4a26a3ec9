// SPDX-License-Identifier: Apache-2.0
// The mixture of experts on one rank: against the plain sum over experts, gradients (with the auxiliary loss) against
// finite differences in double, the fast device against double, forced routing, and what is counted.
#include <QtTest> // first: moc stumbles over <compare> otherwise

#include "model/trace/in_memory_query.h"
#include "model/trace/in_memory_trace.h"
#include "profiler/engine/nn/mixture.h"
#include "tests/profiler/engine/engine_fixture.h"
#include "tests/support/test_program.h"

namespace tst_mixture {

using namespace fourwalls;
using namespace fourwalls::engine;
using namespace fourwalls::engine::testing;

namespace {

constexpr std::int64_t kTokens = 19, kHidden = 6;

TransformerSpec specOf(std::int64_t topK, bool swiglu, bool biases, std::int64_t experts = 5)
{
    TransformerSpec s;
    s.layers = 1;
    s.hidden = kHidden;
    s.activation = swiglu ? Activation::SwiGlu : Activation::Gelu;
    s.biases = biases;
    s.mixture.experts = experts;
    s.mixture.topK = topK;
    s.mixture.expertHidden = 7;
    return s;
}

struct Run {
    TestRank rank;
    ParameterList list;
    std::unique_ptr<MixtureOfExperts> mixture;
    Tensor x, residual, weights; // weights: the loss is <y, weights>

    Run(DType type, const TransformerSpec& spec, MixtureOptions options = {}) : rank(type)
    {
        mixture = std::make_unique<MixtureOfExperts>(*rank.context, list, spec, "m.", 3, 1.0, 1.0, options);
        for (const auto& p : list.all())
            if (!p->decays)
                for (std::int64_t i = 0; i < p->weight.elements(); ++i)
                    setElement(p->weight, i, 0.1 * static_cast<double>(i % 5) - 0.2);
        x = rank.random({kTokens, kHidden}, type, 1);
        residual = rank.random({kTokens, kHidden}, type, 2);
        weights = rank.random({kTokens, kHidden}, type, 3);
    }

    Tensor forward(MixtureOfExperts::Saved& saved) { return mixture->forward(*rank.context, x, residual, 1, saved); }
    double loss()
    {
        MixtureOfExperts::Saved saved;
        const Tensor y = forward(saved);
        return dot(y, weights) + saved.auxiliaryLoss;
    }
    Tensor gradients()
    {
        MixtureOfExperts::Saved saved;
        forward(saved);
        return mixture->backward(*rank.context, rank.copy(weights, weights.type()), saved);
    }
};

double activation(bool swiglu, const std::vector<double>& h, std::size_t i, std::size_t f)
{
    if (swiglu) return h[i] / (1.0 + std::exp(-h[i])) * h[f + i];
    return 0.5 * h[i] * (1.0 + std::tanh(std::sqrt(2.0 / M_PI) * (h[i] + 0.044715 * h[i] * h[i] * h[i])));
}

} // namespace

class Mixture : public QObject {
    Q_OBJECT

    static void addRows()
    {
        QTest::addColumn<int>("topK");
        QTest::addColumn<bool>("swiglu");
        QTest::addColumn<bool>("biases");
        QTest::addColumn<bool>("balanced");
        for (const int k : {1, 2, 5})
            for (const bool swiglu : {false, true})
                for (const bool biases : {false, true})
                    for (const bool balanced : {false, true})
                        QTest::addRow("k=%d %s%s%s", k, swiglu ? "swiglu" : "gelu", biases ? " biases" : "",
                                      balanced ? " balanced" : "")
                            << k << swiglu << biases << balanced;
    }
    static TransformerSpec specOfRow()
    {
        QFETCH(int, topK);
        QFETCH(bool, swiglu);
        QFETCH(bool, biases);
        return specOf(topK, swiglu, biases);
    }
    static MixtureOptions optionsOfRow()
    {
        QFETCH(bool, balanced);
        MixtureOptions options;
        options.routing = balanced ? MoeRouting::Balanced : MoeRouting::Natural;
        return options;
    }

private slots:
    void equalsThePlainSum_data() { addRows(); }
    void equalsThePlainSum()
    {
        const TransformerSpec spec = specOfRow();
        const MixtureOptions options = optionsOfRow();
        const bool swiglu = spec.activation == Activation::SwiGlu, balanced = options.routing == MoeRouting::Balanced;
        Run run(DType::F64, spec, options);
        MixtureOfExperts::Saved saved;
        const Tensor y = run.forward(saved);
        const auto experts = static_cast<std::size_t>(spec.mixture.experts), f = std::size_t{7};
        const auto k = static_cast<std::size_t>(spec.mixture.topK);
        const std::size_t width = swiglu ? 2 * f : f;
        const auto value = [&](const std::string& name, std::size_t i) {
            for (const auto& p : run.list.all())
                if (p->name == name) return element(p->weight, static_cast<std::int64_t>(i));
            return 0.0;
        };
        for (std::size_t t = 0; t < kTokens; ++t) {
            const auto in = [&](std::size_t c) { return element(run.x, static_cast<std::int64_t>(t * kHidden + c)); };
            std::vector<double> p(experts);
            double sum = 0;
            for (std::size_t e = 0; e < experts; ++e) {
                for (std::size_t c = 0; c < kHidden; ++c) p[e] += in(c)*value("m.gate.weight", c * experts + e);
                sum += p[e] = std::exp(p[e]);
            }
            std::vector<std::size_t> chosen(experts);
            for (std::size_t e = 0; e < experts; ++e) chosen[e] = balanced ? (t * k + e) % experts : e;
            if (!balanced)
                std::sort(chosen.begin(), chosen.end(), [&](std::size_t a, std::size_t b) { return p[a] > p[b]; });
            double total = 0;
            for (std::size_t j = 0; j < k; ++j) total += p[chosen[j]];
            std::vector<double> out(kHidden);
            for (std::size_t j = 0; j < k; ++j) {
                const std::string name = "m.experts." + std::to_string(chosen[j]) + ".";
                std::vector<double> h(width);
                for (std::size_t i = 0; i < width; ++i) {
                    h[i] = value(name + "up.bias", i);
                    for (std::size_t c = 0; c < kHidden; ++c) h[i] += in(c)*value(name + "up.weight", c * width + i);
                }
                for (std::size_t c = 0; c < kHidden; ++c) {
                    double o = value(name + "w2.bias", c);
                    for (std::size_t i = 0; i < f; ++i)
                        o += activation(swiglu, h, i, f) * value(name + "w2.weight", i * kHidden + c);
                    out[c] += p[chosen[j]] / (k == 1 ? sum : total) * o;
                }
            }
            for (std::size_t c = 0; c < kHidden; ++c) {
                const auto at = static_cast<std::int64_t>(t * kHidden + c);
                QVERIFY(std::abs(element(y, at) - element(run.residual, at) - out[c]) < 1e-12);
            }
        }
    }

    void gradientsInDouble_data() { addRows(); }
    void gradientsInDouble()
    {
        Run run(DType::F64, specOfRow(), optionsOfRow());
        const Tensor dx = run.gradients();
        const auto loss = [&run] { return run.loss(); };
        QVERIFY(slopeError(loss, run.x, dx, 1) < 1e-8);
        std::uint64_t stream = 2;
        for (const auto& p : run.list.all()) {
            if (p->gradientEmpty) continue; // an expert that nobody chose
            const double error = slopeError(loss, p->weight, p->gradient, stream++);
            QVERIFY2(error < 1e-8 || largest(p->gradient) < 1e-12,
                     qPrintable(QString::fromStdString(p->name) + QString(": %1").arg(error)));
        }
    }

    void cpuAgreesWithDouble_data()
    {
        QTest::addColumn<bool>("bf16");
        QTest::addColumn<int>("topK");
        for (const bool bf16 : {false, true})
            for (const int k : {1, 2}) QTest::addRow("%s k=%d", bf16 ? "bf16" : "f32", k) << bf16 << k;
    }
    void cpuAgreesWithDouble()
    {
        QFETCH(bool, bf16);
        QFETCH(int, topK);
        if (bf16 && !OneDnnMatmul::supportsBf16()) QSKIP("this processor has no bf16 products in oneDNN");
        const DType type = bf16 ? DType::Bf16 : DType::F32;
        // Forced choices: in bf16 a token near the border would choose another expert.
        const MixtureOptions options{MoeRouting::Balanced, 1, true};
        Run exact(DType::F64, specOf(topK, true, true), options), fast(type, specOf(topK, true, true), options);
        MixtureOfExperts::Saved a, b;
        const Tensor y = fast.forward(b), expected = exact.forward(a);
        const double tolerance = 60 * unitRoundoff(type);
        QVERIFY2(relativeDifference(y, expected) < tolerance,
                 qPrintable(QString::number(relativeDifference(y, expected))));
        const Tensor dx = fast.gradients(), dxExpected = exact.gradients();
        QVERIFY(relativeDifference(dx, dxExpected) < tolerance);
        for (std::size_t i = 0; i < exact.list.all().size(); ++i) {
            const Parameter &p = *fast.list.all()[i], &q = *exact.list.all()[i];
            QVERIFY2(relativeDifference(p.gradient, q.gradient) < tolerance, p.name.c_str());
        }
    }

    void naturalChoicesHoldInFloat()
    {
        // The margin says that f32 must choose as double does.
        Run exact(DType::F64, specOf(2, true, false)), fast(DType::F32, specOf(2, true, false));
        MixtureOfExperts::Saved a, b;
        exact.forward(a);
        fast.forward(b);
        QVERIFY(a.margin > 100 * unitRoundoff(DType::F32));
        QVERIFY(std::abs(a.margin - b.margin) < 100 * unitRoundoff(DType::F32));
        for (std::int64_t i = 0; i < a.choices.elements(); ++i)
            QCOMPARE(b.choices.as<std::int32_t>()[i], a.choices.as<std::int32_t>()[i]);
    }

    void auxiliaryLossIsLeastWhenBalanced()
    {
        // Every expert equally often and equally likely: E * sum of (1/E)(1/E) = 1.
        Run run(DType::F64, specOf(1, false, false, 5), {MoeRouting::Balanced, 1, true});
        const Tensor router = run.list.all()[0]->weight;
        for (std::int64_t i = 0; i < router.elements(); ++i) setElement(router, i, 0.0); // it knows nothing
        MixtureOfExperts::Saved saved;
        run.forward(saved);
        // Choices come in turn, 19 tokens over 5 experts.
        QVERIFY(std::abs(saved.auxiliaryLoss - kAuxiliaryLossWeight) < 1e-12);

        Run one(DType::F64, specOf(1, false, false, 5));
        const Tensor favourite = one.list.all()[0]->weight; // [hidden, experts]
        for (std::int64_t i = 0; i < one.x.elements(); ++i) setElement(one.x, i, 1.0);
        for (std::int64_t i = 0; i < favourite.elements(); ++i) setElement(favourite, i, i % 5 == 2 ? 2.0 : 0.0);
        MixtureOfExperts::Saved allAtOne;
        one.forward(allAtOne);
        // f = 1 for one expert, whose probability is nearly 1: E * 1 * 1.
        QVERIFY(std::abs(allAtOne.auxiliaryLoss - 5 * kAuxiliaryLossWeight) < 1e-5);
    }

    void tokensPerExpertAreCounted()
    {
        InMemoryTrace trace{TraceHeader{}};
        Recorder recorder(&trace, RankId{0}, ClockOrigin::now());
        Allocator allocator(recorder, 0);
        ReferenceDevice device(recorder, allocator);
        RankContext rank{recorder, allocator, device, {DType::F64, DType::F64}};
        ParameterList list;
        const MixtureOfExperts mixture(rank, list, specOf(2, true, false), "m.", 3, 1.0, 1.0, {});
        TestRank source(DType::F64);
        const Tensor x = source.random({kTokens, kHidden}, DType::F64, 1);
        MixtureOfExperts::Saved saved;
        mixture.forward(rank, x, {}, 1, saved);
        saved = {};
        recorder.close();
        QVERIFY(trace.finish({}).ok());
        const auto data = trace.data();
        double tokens = 0;
        int experts = 0;
        bool imbalance = false, margin = false;
        for (std::size_t i = 0; i < data->info.counters.size(); ++i) {
            const std::string& name = data->info.counters[i].name;
            for (const CounterRecord& sample : data->counters[i]) {
                if (name.starts_with("tokens of expert ")) {
                    ++experts;
                    tokens += sample.value;
                }
                if (name == "expert imbalance") imbalance = sample.value >= 1.0;
                if (name == "router margin") margin = sample.value > 0.0;
            }
        }
        QCOMPARE(experts, 5);
        QCOMPARE(tokens, 2.0 * kTokens);
        QVERIFY(imbalance && margin);
    }

    /// Experts 4 to 7 of eight get three times another's tokens, three of four in all; a token's experts differ.
    void tokensOfFavouredExperts()
    {
        constexpr int kMany = 10'000;
        for (const std::size_t each : {std::size_t{1}, std::size_t{2}}) {
            std::vector<double> tokens(8);
            for (int token = 0; token < kMany; ++token) {
                std::vector<std::int32_t> choices(each);
                ExpertSkew{4, 4, 3}.choose(token, 8, choices);
                for (const std::int32_t expert : choices) {
                    QVERIFY(expert >= 0 && expert < 8);
                    tokens[static_cast<std::size_t>(expert)] += 1.0 / (kMany * static_cast<double>(each));
                }
                QVERIFY(each < 2 || choices[0] != choices[1]);
            }
            for (std::size_t expert = 0; expert < 8; ++expert)
                QVERIFY2(std::abs(tokens[expert] - (expert < 4 ? 0.0625 : 0.1875)) < 0.02,
                         qPrintable(QString::number(tokens[expert])));
        }
        std::vector<std::int32_t> all(4);
        ExpertSkew{0, 1, 1000}.choose(5, 4, all);
        std::sort(all.begin(), all.end());
        QCOMPARE(all, (std::vector<std::int32_t>{0, 1, 2, 3}));
    }

    void everythingIsReleased()
    {
        Run run(DType::F32, specOf(2, true, true));
        const std::int64_t before = run.rank.allocator.statistics().allocated;
        run.gradients();
        QCOMPARE(run.rank.allocator.statistics().allocated, before);
    }
};

FOURWALLS_TEST(Mixture, QCoreApplication)

} // namespace tst_mixture

#include "tst_mixture.moc"
