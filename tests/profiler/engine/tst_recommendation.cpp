// SPDX-License-Identifier: Apache-2.0
// The recommendation model on one rank: against the plain formula, gradients against finite differences in double, the
// fast device against double, rows brought from elsewhere against tables of its own, and that clicks can be learned.
#include <QtTest> // first: moc stumbles over <compare> otherwise

#include "profiler/engine/nn/recommendation.h"
#include "profiler/engine/run.h"
#include "profiler/engine/train/click_data.h"
#include "tests/profiler/engine/engine_fixture.h"
#include "tests/support/test_program.h"

namespace tst_recommendation {

using namespace fourwalls;
using namespace fourwalls::engine;
using namespace fourwalls::engine::testing;

namespace {

constexpr std::int64_t kSamples = 5;

RecommendationSpec smallSpec(std::int64_t lookups)
{
    RecommendationSpec s;
    s.tables = 3;
    s.rowsPerTable = 7;
    s.embeddingWidth = 4;
    s.lookupsPerTable = lookups;
    s.denseFeatures = 6;
    s.bottomLayers = {5, 4};
    s.topLayers = {6, 3, 1};
    return s;
}

struct Run {
    TestRank rank;
    Recommendation model;
    Batch batch;

    Run(DType type, const RecommendationSpec& spec, RecommendationOptions options = {})
        : rank(type)
        , model(*rank.context, spec, 3, options)
        , batch(ClickData(spec, 9).batch(*rank.context, 0, kSamples, 0, kSamples))
    {
        // Biases that matter, and that keep no ReLU exactly at its corner.
        for (const auto& p : model.parameters().all())
            if (!p->decays)
                for (std::int64_t i = 0; i < p->weight.elements(); ++i)
                    setElement(p->weight, i, 0.05 * static_cast<double>(i % 7) - 0.11);
    }

    double forward(double scale)
    {
        auto state = model.forward(*rank.context, batch, {});
        return model.loss(*rank.context, batch, *state, scale);
    }
    double gradients()
    {
        auto state = model.forward(*rank.context, batch, {});
        const double loss = model.loss(*rank.context, batch, *state, 1.0);
        model.backward(*rank.context, batch, *state, {});
        return loss;
    }
};

} // namespace

class RecommendationTest : public QObject {
    Q_OBJECT

private slots:
    void equalsThePlainFormula()
    {
        const RecommendationSpec spec = smallSpec(2);
        Run run(DType::F64, spec);
        const auto parameter = [&](const std::string& name) -> const Tensor& {
            for (const auto& p : run.model.parameters().all())
                if (p->name == name) return p->weight;
            qFatal("no parameter %s", name.c_str());
        };
        const auto net = [&](const std::string& name, std::vector<double> x, std::size_t layers, bool open) {
            for (std::size_t l = 0; l < layers; ++l) {
                const Tensor& w = parameter(name + std::to_string(2 * l) + ".weight");
                const Tensor& b = parameter(name + std::to_string(2 * l) + ".bias");
                std::vector<double> y(static_cast<std::size_t>(w.columns()));
                for (std::size_t j = 0; j < y.size(); ++j) {
                    y[j] = element(b, static_cast<std::int64_t>(j));
                    for (std::size_t i = 0; i < x.size(); ++i)
                        y[j] += x[i] * element(w, static_cast<std::int64_t>(i * y.size() + j));
                    if (!(open && l + 1 == layers)) y[j] = std::max(y[j], 0.0);
                }
                x = y;
            }
            return x;
        };
        double loss = 0;
        for (std::int64_t i = 0; i < kSamples; ++i) {
            std::vector<double> dense;
            for (std::int64_t d = 0; d < spec.denseFeatures; ++d)
                dense.push_back(element(run.batch.inputs, i * spec.denseFeatures + d));
            std::vector<std::vector<double>> features{net("bot_l.", dense, 2, false)};
            for (std::int64_t t = 0; t < spec.tables; ++t) {
                std::vector<double> sum(4);
                for (std::int64_t l = 0; l < 2; ++l)
                    for (std::int64_t c = 0; c < 4; ++c)
                        sum[static_cast<std::size_t>(c)] += element(
                            parameter(tableName(t)), run.batch.rows.as<std::int32_t>()[i * 6 + t * 2 + l] * 4 + c);
                features.push_back(sum);
            }
            std::vector<double> in = features[0];
            for (std::size_t a = 1; a < features.size(); ++a)
                for (std::size_t b = 0; b < a; ++b) {
                    double sum = 0;
                    for (std::size_t c = 0; c < 4; ++c) sum += features[a][c] * features[b][c];
                    in.push_back(sum);
                }
            const double p = 1.0 / (1.0 + std::exp(-net("top_l.", in, 3, true)[0]));
            loss -= std::log(run.batch.targets.as<std::int32_t>()[i] ? p : 1.0 - p) / kSamples;
        }
        QVERIFY(std::abs(run.forward(0.0) - loss) < 1e-12);
    }

    void gradientsInDouble_data()
    {
        QTest::addColumn<int>("lookups");
        QTest::newRow("one look-up") << 1;
        QTest::newRow("three look-ups") << 3;
    }
    void gradientsInDouble()
    {
        QFETCH(int, lookups);
        Run run(DType::F64, smallSpec(lookups));
        run.gradients();
        std::uint64_t stream = 1;
        for (const auto& p : run.model.parameters().all()) {
            const Tensor gradient = run.rank.copy(p->gradient, DType::F64);
            const double error = slopeError([&] { return run.forward(0.0); }, p->weight, gradient, stream++);
            QVERIFY2(error < 1e-7, qPrintable(QString::fromStdString(p->name) + QString(": %1").arg(error)));
        }
    }

    void cpuAgreesWithDouble_data()
    {
        QTest::addColumn<bool>("bf16");
        QTest::newRow("f32") << false;
        QTest::newRow("bf16") << true;
    }
    void cpuAgreesWithDouble()
    {
        QFETCH(bool, bf16);
        if (bf16 && !OneDnnMatmul::supportsBf16()) QSKIP("this processor has no bf16 products in oneDNN");
        const DType type = bf16 ? DType::Bf16 : DType::F32;
        Run exact(DType::F64, smallSpec(2)), fast(type, smallSpec(2));
        const double tolerance = 40 * unitRoundoff(type);
        QVERIFY(std::abs(fast.gradients() - exact.gradients()) < tolerance);
        double scale = 0, together = 0, one = 0, other = 0;
        for (const auto& p : exact.model.parameters().all()) scale = std::max(scale, largest(p->gradient));
        for (std::size_t i = 0; i < exact.model.parameters().all().size(); ++i) {
            const Tensor &a = fast.model.parameters().all()[i]->gradient,
                         &b = exact.model.parameters().all()[i]->gradient;
            together += dot(a, b);
            one += dot(a, a);
            other += dot(b, b);
            // In bf16 a sum near zero may fall on the other side of a ReLU: there only the direction of the
            // whole can be compared, and of five samples one weighs much.
            if (bf16) continue;
            for (std::int64_t j = 0; j < b.elements(); ++j)
                QVERIFY2(std::abs(element(a, j) - element(b, j)) < tolerance * scale,
                         exact.model.parameters().all()[i]->name.c_str());
        }
        QVERIFY2(together > 0.9 * std::sqrt(one * other),
                 qPrintable(QString::number(together / std::sqrt(one * other))));
    }

    void rowsMayComeFromElsewhere()
    {
        const RecommendationSpec spec = smallSpec(2);
        Run own(DType::F64, spec), remote(DType::F64, spec, {true, true});
        const double expected = own.gradients();
        // Each look-up gets a row of its own: the gradients of a table's row are then spread over its copies.
        std::vector<Tensor> rows;
        const Batch original = remote.batch;
        remote.batch.rows = remote.rank.copy(original.rows, DType::I32);
        for (std::int64_t t = 0; t < spec.tables; ++t) {
            rows.push_back(remote.rank.tensor({kSamples * 2, 4}, DType::F64));
            for (std::int64_t i = 0; i < kSamples * 2; ++i) {
                const std::int64_t at = i / 2 * 6 + t * 2 + i % 2;
                remote.batch.rows.as<std::int32_t>()[at] = static_cast<std::int32_t>(i);
                for (std::int64_t c = 0; c < 4; ++c)
                    setElement(rows.back(), i * 4 + c,
                               tableEntry(spec, 3, t, original.rows.as<std::int32_t>()[at] * 4 + c));
            }
        }
        remote.model.bringRows(rows);
        const double actual = remote.gradients();
        QVERIFY(std::abs(actual - expected) < 1e-14);
        const std::vector<Tensor> gradients = remote.model.takeRowGradients();
        QCOMPARE(gradients.size(), std::size_t{3});
        for (std::int64_t t = 0; t < spec.tables; ++t) {
            std::vector<double> sum(static_cast<std::size_t>(spec.rowsPerTable * 4));
            for (std::int64_t i = 0; i < kSamples * 2; ++i)
                for (std::int64_t c = 0; c < 4; ++c)
                    sum[static_cast<std::size_t>(original.rows.as<std::int32_t>()[i / 2 * 6 + t * 2 + i % 2] * 4 +
                                                 c)] += element(gradients[static_cast<std::size_t>(t)], i * 4 + c);
            const Tensor& whole = own.model.parameters().all()[static_cast<std::size_t>(t)]->gradient;
            for (std::size_t i = 0; i < sum.size(); ++i)
                QVERIFY(std::abs(sum[i] - element(whole, static_cast<std::int64_t>(i))) < 1e-14);
        }
    }

    void clicksFollowTheFormula()
    {
        const RecommendationSpec spec = smallSpec(1);
        const ClickData data(spec, 4);
        TestRank rank(DType::F32);
        constexpr std::int64_t count = 4000;
        const Batch batch = data.batch(*rank.context, 0, count, 0, count);
        double clicks = 0, expected = 0, first = 0;
        for (std::int64_t i = 0; i < count; ++i) {
            clicks += batch.targets.as<std::int32_t>()[i];
            expected += data.clickProbability(i);
            first += batch.rows.as<std::int32_t>()[i * 3] == 0;
        }
        QVERIFY(std::abs(clicks - expected) < 4 * std::sqrt(count) / 2);
        QVERIFY(first / count > 0.4); // of seven rows the first is the favourite: (1/7)^(1/3) = 0.52
        // However the batch is cut, a sample is the same.
        const Batch part = data.batch(*rank.context, 0, count, 100, 1);
        for (std::int64_t d = 0; d < spec.denseFeatures; ++d)
            QCOMPARE(element(part.inputs, d), element(batch.inputs, 100 * spec.denseFeatures + d));
        QCOMPARE(part.targets.as<std::int32_t>()[0], batch.targets.as<std::int32_t>()[100]);
    }

    void learnsToForeseeClicks()
    {
        RecommendationSpec r = smallSpec(1);
        r.rowsPerTable = 50;
        RunSpec spec;
        spec.model = {"clicks", r};
        spec.training.steps = 150;
        spec.training.batch = 128;
        spec.training.learningRate = 1e-2;
        spec.cluster.name = "this-machine";
        QVERIFY(resolve(spec).ok());
        RunOptions options;
        options.measurePeak = false;
        const auto report = runTraining(spec, options);
        QVERIFY2(report.ok(), report ? "" : report.error().message().c_str());
        QVERIFY(std::abs(report->steps.front().loss - std::log(2.0)) < 0.1);
        double end = 0;
        for (std::size_t i = 130; i < 150; ++i) end += report->steps[i].loss / 20;
        // What is left to whoever knows the formula: the entropy of the coin.
        const ClickData data(r, spec.training.seed);
        double best = 0;
        for (std::int64_t i = 0; i < 4000; ++i) {
            const double p = data.clickProbability(i);
            best -= (p * std::log(p) + (1 - p) * std::log(1 - p)) / 4000;
        }
        QVERIFY2(end < 0.5 * (std::log(2.0) + best),
                 qPrintable(QString("ends at %1, the best possible is %2").arg(end).arg(best)));
    }
};

FOURWALLS_TEST(RecommendationTest, QCoreApplication)

} // namespace tst_recommendation

#include "tst_recommendation.moc"
