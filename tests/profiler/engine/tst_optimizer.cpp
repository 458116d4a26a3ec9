// SPDX-License-Identifier: Apache-2.0
// The optimizers against closed forms, the schedule of the learning rate, clipping, and the random numbers and texts
// that make runs repeatable.
#include <QtTest> // first: moc stumbles over <compare> otherwise

#include "profiler/engine/train/builtin_text.h"
#include "profiler/engine/train/optimizer.h"
#include "profiler/engine/train/text_data.h"
#include "tests/profiler/engine/engine_fixture.h"
#include "tests/support/test_program.h"

#include <QTemporaryFile>

#include <set>

namespace tst_optimizer {

using namespace fourwalls;
using namespace fourwalls::engine;
using namespace fourwalls::engine::testing;

class OptimizerTest : public QObject {
    Q_OBJECT

    static TrainingSettings constantRate(Optimizer kind, double rate)
    {
        // A schedule that stays at its peak: warm-up of one step, then only the first point of the cosine is used.
        TrainingSettings s;
        s.optimizer = kind;
        s.learningRate = rate;
        s.steps = 1'000'000'000;
        s.warmupFraction = 0;
        s.clipNorm = 0;
        return s;
    }

private slots:
    void adamWUnderAConstantGradient()
    {
        // With a constant gradient g both corrected moments are exact (g and g^2), so every step moves by
        // rate g / (|g| + epsilon) after a decay by the factor 1 - rate * decay: a geometric series.
        TestRank rank(DType::F64);
        ParameterList list;
        Parameter& matrix = list.addMatrix(*rank.context, 1, "m", 1, 3, 0.0);
        Parameter& vector = list.addVector(*rank.context, "v", 3, 0.0);
        const double w0 = 2.0, rate = 0.01, gradients[] = {0.5, -3.0, 1e-4};
        TrainingSettings settings = constantRate(Optimizer::AdamW, rate);
        ParameterOptimizer optimizer(*rank.context, list, settings);
        for (Parameter* p : {&matrix, &vector})
            for (int i = 0; i < 3; ++i) setElement(p->weight, i, w0);
        constexpr int steps = 50;
        for (int t = 0; t < steps; ++t) {
            for (Parameter* p : {&matrix, &vector}) {
                for (int i = 0; i < 3; ++i) setElement(p->gradient, i, gradients[i]);
                p->gradientEmpty = false;
            }
            optimizer.update(*rank.context, 1.0, t);
        }
        for (int i = 0; i < 3; ++i) {
            const double g = gradients[i], move = rate * g / (std::abs(g) + settings.epsilon);
            const double keep = 1.0 - rate * settings.weightDecay, power = std::pow(keep, steps);
            const double decayed = w0 * power - move * (1.0 - power) / (1.0 - keep);
            QVERIFY(std::abs(element(matrix.weight, i) - decayed) < 1e-10);
            QVERIFY(std::abs(element(vector.weight, i) - (w0 - steps * move)) < 1e-10); // vectors do not decay
        }
    }

    void momentumUnderAConstantGradient()
    {
        // v_t = g (1 - mu^t) / (1 - mu), and the weight moves by rate times their sum.
        TestRank rank(DType::F64);
        ParameterList list;
        Parameter& p = list.addVector(*rank.context, "v", 1, 1.0);
        TrainingSettings settings = constantRate(Optimizer::Sgd, 0.1);
        ParameterOptimizer optimizer(*rank.context, list, settings);
        constexpr int steps = 20;
        double expected = 1.0;
        for (int t = 0; t < steps; ++t) {
            setElement(p.gradient, 0, 0.3);
            p.gradientEmpty = false;
            optimizer.update(*rank.context, 1.0, t);
            expected -= 0.1 * 0.3 * (1.0 - std::pow(settings.momentum, t + 1)) / (1.0 - settings.momentum);
        }
        QVERIFY(std::abs(element(p.weight, 0) - expected) < 1e-12);
    }

    void clippingScalesToTheLimit()
    {
        TestRank rank(DType::F64);
        ParameterList list;
        Parameter& a = list.addVector(*rank.context, "a", 2, 0.0);
        Parameter& b = list.addVector(*rank.context, "b", 1, 0.0);
        Parameter& untouched = list.addVector(*rank.context, "c", 1, 0.0);
        TrainingSettings settings = constantRate(Optimizer::Sgd, 1.0);
        settings.momentum = 0;
        settings.clipNorm = 1.0;
        ParameterOptimizer optimizer(*rank.context, list, settings);
        setElement(a.gradient, 0, 3.0);
        setElement(a.gradient, 1, 0.0);
        setElement(b.gradient, 0, 4.0);
        setElement(untouched.gradient, 0, 1e9); // stale: nothing was added this step
        a.gradientEmpty = b.gradientEmpty = false;
        const double norm = optimizer.gradientNorm(*rank.context);
        QCOMPARE(norm, 5.0);
        optimizer.update(*rank.context, norm, 0);
        QVERIFY(std::abs(element(a.weight, 0) + 0.6) < 1e-6);
        QVERIFY(std::abs(element(b.weight, 0) + 0.8) < 1e-6);
        QCOMPARE(element(untouched.weight, 0), 0.0);
        QVERIFY(a.gradientEmpty);
    }

    void theRateRisesAndFalls()
    {
        TrainingSettings s;
        s.steps = 101;
        s.learningRate = 2.0;
        s.warmupFraction = 0.1;
        QCOMPARE(learningRateAt(s, 0), 0.2);
        QCOMPARE(learningRateAt(s, 9), 2.0);
        QCOMPARE(learningRateAt(s, 10), 2.0);
        QVERIFY(std::abs(learningRateAt(s, 55) - 1.1) < 1e-12); // half way: the mean of peak and floor
        QVERIFY(std::abs(learningRateAt(s, 100) - 0.2) < 1e-12);
        for (int i = 11; i <= 100; ++i) QVERIFY(learningRateAt(s, i) < learningRateAt(s, i - 1));
        s.steps = 1;
        QCOMPARE(learningRateAt(s, 0), 2.0);
    }

    void randomNumbersAreWhatTheyWere()
    {
        // Fixed values: a change here changes every recorded run.
        QCOMPARE(mix64(0), std::uint64_t{0xe220a8397b1dcdaf}); // first output of SplitMix64 with seed 0
        const RandomStream r(1, 2);
        double sum = 0, squares = 0, smallest = 1, largestValue = 0;
        constexpr int n = 100000;
        for (std::uint64_t i = 0; i < n; ++i) {
            const double b = r.bell(i), u = r.uniform(i);
            sum += b;
            squares += b * b;
            smallest = std::min(smallest, u);
            largestValue = std::max(largestValue, u);
            QVERIFY(r.below(i, 10) < 10);
        }
        QVERIFY(std::abs(sum / n) < 4.0 / std::sqrt(n));                 // four standard deviations
        QVERIFY(std::abs(squares / n - 1.0) < 4.0 * std::sqrt(1.4 / n)); // the fourth moment of the sum of four is 2.4
        QVERIFY(smallest >= 0 && smallest < 1e-3 && largestValue < 1 && largestValue > 1 - 1e-3);
    }

    void samplesDependOnTheirNumberOnly()
    {
        TestRank rank(DType::F32);
        auto data = TextData::open("", 20, 9);
        QVERIFY(data.ok());
        const Batch whole = data->batch(*rank.context, 3, 8, 0, 8), part = data->batch(*rank.context, 3, 8, 5, 2);
        for (std::int64_t i = 0; i < 40; ++i) {
            QCOMPARE(part.inputs.as<std::int32_t>()[i], whole.inputs.as<std::int32_t>()[5 * 20 + i]);
            QCOMPARE(part.targets.as<std::int32_t>()[i], whole.targets.as<std::int32_t>()[5 * 20 + i]);
        }
        std::string first;
        for (std::int64_t i = 0; i < 20; ++i) first.push_back(static_cast<char>(whole.inputs.as<std::int32_t>()[i]));
        QVERIFY(builtinText().find(first) != std::string_view::npos);
        for (std::int64_t i = 0; i + 1 < 20; ++i)
            QCOMPARE(whole.targets.as<std::int32_t>()[i], whole.inputs.as<std::int32_t>()[i + 1]);
        QVERIFY(builtinText().size() > 200000);
    }

    void anyBytesAreText()
    {
        QTemporaryFile file;
        QVERIFY(file.open());
        QByteArray bytes;
        for (int i = 0; i < 300; ++i) bytes.append(static_cast<char>(i));
        file.write(bytes);
        file.flush();
        TestRank rank(DType::F32);
        auto data = TextData::open(file.fileName().toStdString(), 256, 1);
        QVERIFY(data.ok());
        const Batch batch = data->batch(*rank.context, 0, 4, 0, 4);
        std::set<std::int32_t> seen;
        for (std::int64_t i = 0; i < batch.inputs.elements(); ++i) seen.insert(batch.inputs.as<std::int32_t>()[i]);
        QCOMPARE(*seen.begin(), 0);
        QCOMPARE(*seen.rbegin(), 255);
        QVERIFY(!TextData::open(file.fileName().toStdString(), 300, 1).ok()); // needs 301 bytes
        QVERIFY(!TextData::open("/", 10, 1).ok());
    }
};

FOURWALLS_TEST(OptimizerTest, QCoreApplication)

} // namespace tst_optimizer

#include "tst_optimizer.moc"
