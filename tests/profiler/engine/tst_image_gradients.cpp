// SPDX-License-Identifier: Apache-2.0
// Every backward image operator against directional finite differences of its forward operator, in double on the
// reference implementation. The scalar that is differentiated is <output, weights> with random weights.
#include <QtTest> // first: moc stumbles over <compare> otherwise

#include "tests/profiler/engine/image_fixture.h"
#include "tests/support/test_program.h"

namespace tst_image_gradients {

using namespace fourwalls;
using namespace fourwalls::engine;
using namespace fourwalls::engine::testing;

namespace {
constexpr double kTolerance = 1e-7;
constexpr DType kType = DType::F64;
} // namespace

class ImageGradients : public QObject {
    Q_OBJECT

private:
    TestRank m_rank{kType};
    ReferenceImageOperators m_images{*m_rank.device};
    Tensor random(const Shape& shape, std::uint64_t stream) { return m_rank.random(shape, kType, stream); }
    Tensor empty(const Shape& shape) { return m_rank.tensor(shape, kType); }

private slots:
    void convolution_data()
    {
        QTest::addColumn<int>("kernel");
        QTest::addColumn<int>("stride");
        QTest::addColumn<int>("padding");
        QTest::newRow("1x1") << 1 << 1 << 0;
        QTest::newRow("1x1, stride 2") << 1 << 2 << 0;
        QTest::newRow("3x3") << 3 << 1 << 1;
        QTest::newRow("3x3, stride 2") << 3 << 2 << 1;
        QTest::newRow("7x7, stride 2") << 7 << 2 << 3;
        QTest::newRow("3x3, no padding") << 3 << 1 << 0;
    }

    void convolution()
    {
        QFETCH(int, kernel);
        QFETCH(int, stride);
        QFETCH(int, padding);
        const ConvolutionShape shape{2, 3, 8, 9, 4, kernel, stride, padding};
        const Tensor x = random(shape.input(), 1), w = random(shape.weights(), 2), weights = random(shape.output(), 3);
        const Tensor y = empty(shape.output()), dx = empty(shape.input()), dw = empty(shape.weights());
        const auto f = [&] {
            m_images.convolution(shape, x, w, y);
            return dot(y, weights);
        };
        m_images.convolutionInputGradient(shape, weights, w, dx);
        m_images.convolutionWeightGradient(shape, x, weights, dw, false);
        QVERIFY(slopeError(f, x, dx, 1) < kTolerance);
        QVERIFY(slopeError(f, w, dw, 2) < kTolerance);

        const Tensor twice = m_rank.copy(dw, kType);
        m_images.convolutionWeightGradient(shape, x, weights, twice, true);
        for (std::int64_t i = 0; i < dw.elements(); ++i)
            QVERIFY(std::abs(element(twice, i) - 2 * element(dw, i)) < 1e-12);
    }

    void batchNorm_data()
    {
        QTest::addColumn<bool>("relu");
        QTest::newRow("plain") << false;
        QTest::newRow("with relu") << true;
    }

    void batchNorm()
    {
        QFETCH(bool, relu);
        const Shape shape{3, 4, 5, 6}, channels{4};
        const Tensor x = random(shape, 1), gamma = random(channels, 2), beta = random(channels, 3),
                     weights = random(shape, 4);
        const Tensor y = empty(shape), dx = empty(shape), dgamma = empty(channels), dbeta = empty(channels);
        BatchNormSaved saved;
        const auto f = [&] {
            m_images.batchNorm(x, gamma, beta, relu, y, saved);
            return dot(y, weights);
        };
        f();
        m_images.batchNormGradient(x, gamma, saved, relu, weights, dx, dgamma, dbeta, false);
        QVERIFY(slopeError(f, x, dx, 1) < kTolerance);
        QVERIFY(slopeError(f, gamma, dgamma, 2) < kTolerance);
        QVERIFY(slopeError(f, beta, dbeta, 3) < kTolerance);

        f();
        const Tensor inPlace = m_rank.copy(weights, kType), gammaTwice = m_rank.copy(dgamma, kType),
                     betaTwice = m_rank.copy(dbeta, kType);
        m_images.batchNormGradient(x, gamma, saved, relu, inPlace, inPlace, gammaTwice, betaTwice, true);
        QVERIFY(relativeDifference(inPlace, dx) < 1e-12);
        for (std::int64_t c = 0; c < 4; ++c) {
            QVERIFY(std::abs(element(gammaTwice, c) - 2 * element(dgamma, c)) < 1e-12);
            QVERIFY(std::abs(element(betaTwice, c) - 2 * element(dbeta, c)) < 1e-12);
        }
    }

    void batchNormNormalises()
    {
        // Whatever comes in, each channel leaves with mean beta and deviation gamma.
        const Shape shape{4, 2, 6, 6};
        const Tensor x = m_rank.random(shape, kType, 1, 50.0), y = empty(shape), gamma = empty({2}), beta = empty({2});
        for (std::int64_t c = 0; c < 2; ++c) {
            setElement(gamma, c, 2.0);
            setElement(beta, c, 3.0);
        }
        BatchNormSaved saved;
        m_images.batchNorm(x, gamma, beta, false, y, saved);
        for (std::int64_t c = 0; c < 2; ++c) {
            double sum = 0, squares = 0;
            for (std::int64_t n = 0; n < 4; ++n)
                for (std::int64_t i = 0; i < 36; ++i) {
                    const double v = element(y, (n * 2 + c) * 36 + i) - 3.0;
                    sum += v;
                    squares += v * v;
                }
            QVERIFY(std::abs(sum / 144) < 1e-12);
            QVERIFY(std::abs(squares / 144 - 4.0) < 1e-6); // the epsilon under the root
        }
    }

    void maxPool()
    {
        const PoolingShape shape{2, 3, 9, 8, 3, 2, 1};
        const Tensor x = random(shape.input(), 1), weights = random(shape.output(), 2);
        const Tensor y = empty(shape.output()), dx = empty(shape.input());
        Tensor positions;
        const auto f = [&] {
            positions = m_images.maxPool(shape, x, y);
            return dot(y, weights);
        };
        f();
        m_images.maxPoolGradient(shape, weights, positions, dx);
        QVERIFY(slopeError(f, x, dx, 1) < kTolerance);
    }

    void averagePool()
    {
        const Tensor x = random({2, 3, 4, 5}, 1), weights = random({2, 3}, 2), y = empty({2, 3}),
                     dx = empty({2, 3, 4, 5});
        const auto f = [&] {
            m_images.averagePool(x, y);
            return dot(y, weights);
        };
        m_images.averagePoolGradient(weights, dx);
        QVERIFY(slopeError(f, x, dx, 1) < kTolerance);
    }

    void residual()
    {
        const Shape shape{2, 3, 4, 5};
        const Tensor a = random(shape, 1), shortcut = random(shape, 2), weights = random(shape, 3),
                     more = random(shape, 4);
        Tensor y;
        // The output is used twice, so two gradients arrive.
        const auto f = [&] {
            y = m_rank.copy(a, kType);
            m_images.addRelu(y, shortcut);
            return dot(y, weights) + dot(y, more);
        };
        f();
        const Tensor d = m_rank.copy(weights, kType);
        m_images.addReluGradient(y, d, more);
        QVERIFY(slopeError(f, a, d, 1) < kTolerance);
        QVERIFY(slopeError(f, shortcut, d, 2) < kTolerance);
        const Tensor one = m_rank.copy(weights, kType), none = empty(shape);
        m_rank.device->zero(none);
        f();
        m_images.addReluGradient(y, one, Tensor());
        const Tensor same = m_rank.copy(weights, kType);
        m_images.addReluGradient(y, same, none);
        QCOMPARE(relativeDifference(one, same), 0.0);
    }
};

FOURWALLS_TEST(ImageGradients, QCoreApplication)

} // namespace tst_image_gradients

#include "tst_image_gradients.moc"
