// SPDX-License-Identifier: Apache-2.0
// The whole residual network: gradients against finite differences in double; the CPU device against the double run;
// micro-batches; running statistics; names and files; learning.
#include <QtTest> // first: moc stumbles over <compare> otherwise

#include "tests/profiler/engine/resnet_fixture.h"

#include "model/spec/run_spec.h"
#include "profiler/engine/train/optimizer.h"
#include "profiler/engine/train/safetensors.h"
#include "tests/support/test_program.h"

#include <QTemporaryDir>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tst_resnet {

using namespace fourwalls;
using namespace fourwalls::engine;
using namespace fourwalls::engine::testing;

namespace {

// Relative difference of all gradients taken as one vector.
double gradientDifference(ResNetRun& actual, ResNetRun& expected)
{
    double difference = 0, scale = 0;
    for (std::size_t i = 0; i < expected.parameters().all().size(); ++i) {
        const Tensor& a = actual.parameters().all()[i]->gradient;
        const Tensor& b = expected.parameters().all()[i]->gradient;
        for (std::int64_t j = 0; j < b.elements(); ++j) {
            difference += std::pow(element(a, j) - element(b, j), 2);
            scale += std::pow(element(b, j), 2);
        }
    }
    return std::sqrt(difference / scale);
}

// What rounding may do to the gradients of the small network, as a share of their norm. After k roundings a
// normalised value is off by about u sqrt(k); with 16 ReLUs and three roundings before each, k is 24 on average. A
// ReLU passes the wrong side where its input lies within that error of zero: a share of 0.4 (the density of the normal
// distribution at zero) of it. Each wrong decision puts a term of the usual size too much or too little into a sum
// of squares.
double gradientTolerance(DType type)
{
    const double wrong = 0.4 * unitRoundoff(type) * std::sqrt(24.0);
    return std::sqrt(2 * 16 * wrong);
}

} // namespace

class ResNetTest : public QObject {
    Q_OBJECT

private slots:
    void gradientsMatchFiniteDifferences()
    {
        ResNetRun run(DType::F64, smallShape(4), 3);
        run.gradients();
        std::vector<Tensor> gradients; // the loss adds to those of the head each time
        for (const auto& p : run.parameters().all()) gradients.push_back(run.rank->copy(p->gradient, DType::F64));
        for (std::size_t i = 0; i < gradients.size(); ++i) {
            const auto& p = run.parameters().all()[i];
            const double error = slopeError([&] { return run.forwardOnly(); }, p->weight, gradients[i], i, 1e-6);
            QVERIFY2(error < 1e-5, qPrintable(QString("%1: %2").arg(p->name.c_str()).arg(error)));
        }
    }

    void f32AgreesWithDouble()
    {
        ResNetRun exact(DType::F64, smallShape(16), 4), fast(DType::F32, smallShape(16), 4);
        const double expected = exact.gradients(), actual = fast.gradients();
        QVERIFY2(std::abs(actual - expected) < 400 * unitRoundoff(DType::F32) * expected,
                 qPrintable(QString("loss %1 %2").arg(actual).arg(expected)));
        const double difference = gradientDifference(fast, exact);
        QVERIFY2(difference < gradientTolerance(DType::F32),
                 qPrintable(QString("gradients differ by %1").arg(difference)));
    }

    void bf16AgreesWithDouble()
    {
        if (!OneDnnMatmul::supportsBf16()) QSKIP("this processor has no bf16 arithmetic in oneDNN");
        ResNetRun exact(DType::F64, smallShape(16), 4), fast(DType::Bf16, smallShape(16), 4);
        const double expected = exact.gradients(), actual = fast.gradients();
        QVERIFY2(std::abs(actual - expected) < unitRoundoff(DType::Bf16) * std::sqrt(48.0) * expected,
                 qPrintable(QString("loss %1 %2").arg(actual).arg(expected)));
        const double difference = gradientDifference(fast, exact);
        QVERIFY2(difference < gradientTolerance(DType::Bf16),
                 qPrintable(QString("gradients differ by %1").arg(difference)));
    }

    void fusedEqualsUnfused()
    {
        ResNetRun fused(DType::F64, smallShape(4), 3), unfused(DType::F64, smallShape(4), 3, false);
        const double a = fused.gradients(), b = unfused.gradients();
        QVERIFY(std::abs(a - b) < 1e-13 * b);
        QVERIFY(gradientDifference(fused, unfused) < 1e-10);

        ResNetRun fast(DType::F32, smallShape(16), 4), slow(DType::F32, smallShape(16), 4, false);
        const double expected = slow.gradients();
        QVERIFY(std::abs(fast.gradients() - expected) < 400 * unitRoundoff(DType::F32) * expected);
        QVERIFY(gradientDifference(fast, slow) < gradientTolerance(DType::F32));
    }

    void chunksEqualTheWhole_data()
    {
        QTest::addColumn<int>("cut");
        QTest::addColumn<bool>("deferred");
        for (int cut = 1; cut < 5; ++cut)
            for (const bool deferred : {false, true})
                QTest::addRow("%d blocks and %d%s", cut, 5 - cut, deferred ? ", weight gradients later" : "")
                    << cut << deferred;
    }

    void chunksEqualTheWhole()
    {
        QFETCH(int, cut);
        QFETCH(bool, deferred);
        const ResNetShape shape = smallShape(4);
        ResNetRun whole(DType::F64, shape, 3), other(DType::F64, shape, 3);
        const double expected = whole.gradients();
        RankContext& rank = *other.rank->context;
        ResNet front(rank, shape, 1, true, ConvolutionAlgorithm::Auto, ChunkRange{0, cut, true, false});
        ResNet back(rank, shape, 1, true, ConvolutionAlgorithm::Auto, ChunkRange{cut, 5 - cut, false, true});
        const auto first = front.forward(rank, other.batch, {});
        QVERIFY(first->output.shape() == back.inputShape(rank, Batch{{}, {}, 3}));
        const auto second = back.forward(rank, other.batch, first->output);
        QCOMPARE(back.loss(rank, other.batch, *second, 1.0), expected);
        DeferredWork later;
        rank.deferred = deferred ? &later : nullptr;
        const Tensor between = back.backward(rank, other.batch, *second, {});
        QVERIFY(between.shape() == first->output.shape());
        QVERIFY(!front.backward(rank, other.batch, *first, between).defined());
        rank.deferred = nullptr;
        QCOMPARE(later.empty(), !deferred);
        later.run(rank);
        std::vector<const Parameter*> parts;
        for (ResNet* chunk : {&front, &back})
            for (const auto& p : chunk->parameters().all()) parts.push_back(p.get());
        QCOMPARE(parts.size(), whole.parameters().all().size());
        for (std::size_t i = 0; i < parts.size(); ++i) {
            const Parameter& p = *whole.parameters().all()[i];
            QCOMPARE(parts[i]->name, p.name);
            for (std::int64_t j = 0; j < p.gradient.elements(); ++j)
                QCOMPARE(element(parts[i]->gradient, j), element(p.gradient, j));
        }
    }

    void microBatchesAddUp()
    {
        // Statistics are those of the micro-batch, so each is a batch of its own; their gradients add up.
        const auto gradientsOf = [](std::int64_t step) {
            auto run = std::make_unique<ResNetRun>(DType::F32, smallShape(16), 2);
            run->next(step, 2);
            run->scale = 0.5;
            run->gradients();
            return run;
        };
        const auto first = gradientsOf(0), second = gradientsOf(1);
        ResNetRun both(DType::F32, smallShape(16), 2);
        both.scale = 0.5;
        both.gradients();
        both.next(1, 2);
        both.gradients();
        for (std::size_t i = 0; i < both.parameters().all().size(); ++i) {
            const Tensor& a = first->parameters().all()[i]->gradient;
            const Tensor& b = second->parameters().all()[i]->gradient;
            const Tensor& sum = both.parameters().all()[i]->gradient;
            const double tolerance = 4 * unitRoundoff(DType::F32) * (largest(a) + largest(b));
            for (std::int64_t j = 0; j < sum.elements(); ++j)
                QVERIFY(std::abs(element(sum, j) - element(a, j) - element(b, j)) <= tolerance);
        }
    }

    void runningStatisticsFollowTheBatches()
    {
        ResNetRun run(DType::F64, smallShape(4), 3);
        const auto find = [&](const std::string& name) -> const Tensor& {
            for (const auto& p : run.parameters().buffers())
                if (p->name == name) return p->weight;
            qFatal("no such buffer");
        };
        // What the stem's normalisation sees does not change while the weights stay: the running values approach it.
        ReferenceImageOperators images(*run.rank->device);
        const ConvolutionShape stem{3, 3, 64, 64, 4, 7, 2, 3};
        const Tensor y = run.rank->tensor(stem.output(), DType::F64),
                     scaled = run.rank->tensor(stem.output(), DType::F64);
        images.convolution(stem, run.batch.inputs, run.parameters().all()[0]->weight, y);
        BatchNormSaved saved;
        images.batchNorm(y, run.parameters().all()[1]->weight, run.parameters().all()[2]->weight, true, scaled, saved);
        for (int i = 0; i < 3; ++i) run.forwardOnly();
        const double kept = std::pow(0.9, 3), n = 3.0 * 32 * 32;
        for (std::int64_t c = 0; c < 4; ++c) {
            QVERIFY(std::abs(element(find("bn1.running_mean"), c) - (1 - kept) * element(saved.mean, c)) < 1e-12);
            const double variance = kept + (1 - kept) * element(saved.variance, c) * n / (n - 1);
            QVERIFY(std::abs(element(find("bn1.running_var"), c) - variance) < 1e-12);
        }
    }

    void parametersAreThoseOfThePublishedNetworks()
    {
        // torchvision 0.14's counts of resnet50, resnet101 and resnet152.
        for (const auto& [depth, count] :
             {std::pair{50, 25557032ll}, std::pair{101, 44549160ll}, std::pair{152, 60192808ll}}) {
            const ResNetSpec spec{depth, 224, 1000};
            QCOMPARE(parameterCount({"resnet", spec}), std::int64_t{count});
            TestRank rank(DType::F32);
            ResNet model(*rank.context, *ResNetShape::of(spec), 1);
            QCOMPARE(model.parameters().elements(), std::int64_t{count});
            QCOMPARE(model.parameters().all().size(),
                     static_cast<std::size_t>(3 * (depth + 3) + 2)); // four shortcuts, one dense layer
            QCOMPARE(model.parameters().buffers().size(), static_cast<std::size_t>(2 * (depth + 3)));
        }
        QVERIFY(!ResNetShape::of({18, 224, 1000}));
    }

    void filesHaveTorchvisionsNames()
    {
        QTemporaryDir directory;
        const std::string path = directory.path().toStdString();
        ResNetRun run(DType::F32, smallShape(16), 2);
        const double before = run.forwardOnly();
        QVERIFY(saveWeights(path, run.parameters()).ok());
        const auto header = readSafetensorsHeader(path + "/model.safetensors");
        QVERIFY(header.ok());
        const std::map<std::string, std::vector<std::int64_t>> expected = {
            {"conv1.weight", {16, 3, 7, 7}},
            {"bn1.weight", {16}},
            {"bn1.bias", {16}},
            {"bn1.running_mean", {16}},
            {"bn1.running_var", {16}},
            {"layer1.0.conv1.weight", {16, 16, 1, 1}},
            {"layer1.0.conv2.weight", {16, 16, 3, 3}},
            {"layer1.0.downsample.0.weight", {64, 16, 1, 1}},
            {"layer1.0.downsample.1.running_var", {64}},
            {"layer1.1.bn3.bias", {64}},
            {"layer4.0.conv2.weight", {128, 128, 3, 3}},
            {"fc.weight", {5, 512}},
            {"fc.bias", {5}},
        };
        for (const auto& [name, shape] : expected) {
            QVERIFY2(header->tensors.count(name), name.c_str());
            QVERIFY2(header->tensors.at(name).shape == shape, name.c_str());
        }

        ResNetRun other(DType::F32, smallShape(16), 2);
        for (const auto& p : other.parameters().all())
            for (std::int64_t i = 0; i < p->weight.elements(); ++i) setElement(p->weight, i, 0.25);
        QVERIFY(loadWeights(*other.rank->context, path, other.parameters()).ok());
        QCOMPARE(other.forwardOnly(), before);
    }

    void imagesDependOnTheSampleOnly()
    {
        TestRank rank(DType::F32), doubles(DType::F64);
        const ImageData data(32, 10, 3);
        const Batch all = data.batch(*rank.context, 2, 4, 0, 4), part = data.batch(*rank.context, 2, 4, 3, 1);
        const Batch exact = data.batch(*doubles.context, 2, 4, 0, 4);
        QCOMPARE(all.targets.as<std::int32_t>()[3], part.targets.as<std::int32_t>()[0]);
        double sum = 0, squares = 0;
        for (std::int64_t i = 0; i < part.inputs.elements(); ++i)
            QCOMPARE(element(all.inputs, 3 * part.inputs.elements() + i), element(part.inputs, i));
        for (std::int64_t i = 0; i < all.inputs.elements(); ++i) {
            QCOMPARE(element(all.inputs, i), element(exact.inputs, i));
            sum += element(all.inputs, i);
            squares += std::pow(element(all.inputs, i), 2);
        }
        const auto n = static_cast<double>(all.inputs.elements());
        QVERIFY(std::abs(sum / n) < 0.05);
        QVERIFY(std::abs(squares / n - 1) < 0.1);
        std::set<std::int32_t> seen;
        for (std::int64_t step = 0; step < 20; ++step)
            for (std::int64_t i = 0; i < 4; ++i) {
                const Batch batch = data.batch(*rank.context, step, 4, i, 1);
                seen.insert(batch.targets.as<std::int32_t>()[0]);
            }
        QCOMPARE(seen.size(), std::size_t{10});
        QCOMPARE(*seen.rbegin(), 9);
    }

    void lossFalls_data()
    {
        QTest::addColumn<bool>("bf16");
        QTest::addColumn<bool>("sgd");
        QTest::newRow("f32 sgd") << false << true;
        QTest::newRow("f32 adamw") << false << false;
        QTest::newRow("bf16 sgd") << true << true;
    }

    void lossFalls()
    {
        QFETCH(bool, bf16);
        QFETCH(bool, sgd);
        if (bf16 && !OneDnnMatmul::supportsBf16()) QSKIP("this processor has no bf16 arithmetic in oneDNN");
        constexpr std::int64_t steps = 30, samples = 16;
        const auto train = [&](std::int64_t count) {
            ResNetRun run(bf16 ? DType::Bf16 : DType::F32, smallShape(16), samples);
            TrainingSettings settings;
            settings.steps = steps;
            settings.optimizer = sgd ? Optimizer::Sgd : Optimizer::AdamW;
            settings.learningRate = sgd ? 0.05 : 3e-3;
            settings.weightDecay = 1e-4;
            settings.clipNorm = 0;
            ParameterOptimizer optimizer(*run.rank->context, run.parameters(), settings);
            std::vector<double> losses;
            for (std::int64_t i = 0; i < count; ++i) {
                run.next(i, samples);
                losses.push_back(run.gradients());
                optimizer.update(*run.rank->context, optimizer.gradientNorm(*run.rank->context), i);
            }
            return losses;
        };
        const std::vector<double> losses = train(steps);
        QVERIFY2(std::abs(losses.front() - std::log(5.0)) < 0.5,
                 qPrintable(QString("starts at %1").arg(losses.front())));
        const double end = (losses[27] + losses[28] + losses[29]) / 3;
        QVERIFY2(end < 0.5 * losses.front(), qPrintable(QString("ends at %1").arg(end)));
        const std::vector<double> again = train(5);
        QVERIFY(std::equal(again.begin(), again.end(), losses.begin())); // bit by bit
    }
};

FOURWALLS_TEST(ResNetTest, QCoreApplication)

} // namespace tst_resnet

#include "tst_resnet.moc"
