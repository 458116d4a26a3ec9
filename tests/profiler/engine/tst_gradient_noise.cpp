// SPDX-License-Identifier: Apache-2.0
// The gradients' noise: the formulas by hand, a text whose samples are all equal, and one with two samples, whose gradients
// and their variance are computed one by one.
#include <QtTest> // first: moc stumbles over <compare> otherwise

#include "profiler/engine/run.h"
#include "profiler/engine/train/trainer.h"
#include "tests/profiler/engine/engine_fixture.h"
#include "tests/support/test_program.h"

#include <QTemporaryDir>

#include <cmath>
#include <fstream>

namespace tst_gradient_noise {

using namespace fourwalls;
using namespace fourwalls::engine;
using namespace fourwalls::engine::testing;

class GradientNoiseTest : public QObject {
    Q_OBJECT

    /// A network for sequences of 8 bytes that trains on that text.
    RunSpec specOf(const std::string& text, std::int64_t batch, const char* plan = "")
    {
        TransformerSpec t;
        t.layers = 1;
        t.hidden = 16;
        t.heads = 2;
        t.kvHeads = 2;
        t.ffnHidden = 32;
        t.vocabulary = 256;
        t.sequence = 8;
        RunSpec spec;
        spec.model = {"noise", t};
        spec.plan = *parsePlan(plan);
        spec.training.steps = 1;
        spec.training.batch = batch;
        spec.training.learningRate = 1e-12; // the weights stay what they are
        spec.training.dataFile = m_folder.filePath(QString("text%1").arg(m_files++)).toStdString();
        std::ofstream(spec.training.dataFile) << text;
        spec.cluster.name = "this-machine";
        const Status status = resolve(spec);
        Q_ASSERT(status.ok());
        return spec;
    }

    static RunReport run(const RunSpec& spec, std::int64_t every, std::int64_t batches)
    {
        RunOptions options;
        options.measurePeak = false;
        options.noiseEvery = every;
        options.noiseBatches = batches;
        auto report = runTraining(spec, options);
        Q_ASSERT(report.ok());
        return std::move(*report);
    }

    QTemporaryDir m_folder;
    int m_files = 0;

private slots:
    void twoBatchSizesTellSignalAndNoise()
    {
        // E|g|² of a batch of b samples is |G|² + V / b.
        constexpr double signal = 3, variance = 40;
        GradientNoise noise;
        noise.batch = 5;
        noise.batches = 8;
        for (const double off : {-0.5, 0.5}) noise.add(signal + variance / 5 + off, signal + variance / 40 + off / 8);
        QVERIFY(std::abs(noise.signal() - signal) < 1e-12);
        QVERIFY(std::abs(noise.variance() - variance) < 1e-12);
        QVERIFY(std::abs(*noise.noiseScale() - variance / signal) < 1e-12);
        GradientNoise hidden;
        hidden.batch = 1;
        hidden.batches = 2;
        QVERIFY(!hidden.noiseScale());
        hidden.add(10, 4); // the mean is smaller than noise alone would make it
        QVERIFY(!hidden.noiseScale());
    }

    void equalSamplesHaveNoNoise()
    {
        const RunReport report = run(specOf(std::string(64, 'a'), 2), 1, 4);
        QCOMPARE(report.noise.probes, std::int64_t{1});
        const double squares = std::pow(report.steps.front().gradientNorm, 2);
        QVERIFY(std::abs(report.noise.signal() / squares - 1) < 1e-4);
        QVERIFY(std::abs(report.noise.variance()) < 1e-4 * squares);
        QVERIFY(*report.noise.noiseScale() < 1e-3);
    }

    void twoSamplesHaveTheNoiseOfTheirDifference()
    {
        const std::string text = "the_quick!"; // ten bytes: two stretches of nine
        const auto gradientOf = [&](const std::string& sample) {
            RunSpec spec = specOf(sample, 1);
            TestRank rank(DType::F32);
            const auto trainer = Trainer::create(*rank.context, spec);
            Q_ASSERT(trainer.ok());
            (*trainer)->accumulateGradients(0);
            std::vector<double> gradient;
            for (const ParameterPiece& piece : (*trainer)->store().pieces())
                for (std::int64_t i = 0; i < piece.gradient.elements(); ++i)
                    gradient.push_back(piece.parameter->gradientEmpty ? 0 : element(piece.gradient, i));
            return gradient;
        };
        const std::vector<double> a = gradientOf(text.substr(0, 9)), b = gradientOf(text.substr(1, 9));
        double signal = 0, variance = 0;
        for (std::size_t i = 0; i < a.size(); ++i) {
            signal += std::pow((a[i] + b[i]) / 2, 2);
            variance += std::pow((a[i] - b[i]) / 2, 2);
        }
        QVERIFY(variance > 0.1 * signal);

        for (const auto& [batch, plan] : {std::pair(1, ""), std::pair(4, "dp=2 microbatches=2 zero=1")}) {
            RunSpec spec = specOf(text, batch, plan);
            spec.training.steps = 200;
            const RunReport report = run(spec, 1, 4);
            QCOMPARE(report.noise.probes, std::int64_t{200});
            QVERIFY2(std::abs(report.noise.signal() / signal - 1) < 0.1, plan);
            QVERIFY2(std::abs(report.noise.variance() / variance - 1) < 0.1, plan);
            QVERIFY2(std::abs(*report.noise.noiseScale() / (variance / signal) - 1) < 0.15, plan);
        }
    }

    void probesChangeNothingThatIsTrained()
    {
        for (const char* plan : {"", "dp=2 zero=2", "pp=2 microbatches=2 tp=2", "dp=2 offload=parameters"}) {
            TransformerSpec t = *specOf("x", 4).model.transformer();
            t.layers = 2;
            RunSpec spec = specOf("", 4);
            spec.training.dataFile.clear();
            spec.model = {"noise", t};
            spec.plan = *parsePlan(plan);
            spec.training.steps = 6;
            spec.training.learningRate = 1e-2;
            QVERIFY(resolve(spec).ok());
            const RunReport with = run(spec, 2, 3), without = run(spec, 0, 3);
            QCOMPARE(with.noise.probes, std::int64_t{3});
            QCOMPARE(without.noise.probes, std::int64_t{0});
            for (std::size_t i = 0; i < with.steps.size(); ++i) QCOMPARE(with.steps[i].loss, without.steps[i].loss);
        }
    }

    void refusesWhatIsNoProbe()
    {
        RunOptions options;
        options.noiseEvery = 1;
        options.noiseBatches = 1;
        QCOMPARE(checkRunnable(specOf("some text of a length", 2), options).error().code, ErrorCode::InvalidArgument);
    }
};

FOURWALLS_TEST(GradientNoiseTest, QCoreApplication)

} // namespace tst_gradient_noise

#include "tst_gradient_noise.moc"
