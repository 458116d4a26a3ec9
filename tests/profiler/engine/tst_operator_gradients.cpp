// SPDX-License-Identifier: Apache-2.0
// Every backward operator against directional finite differences of its forward operator, in double on the
// reference device. The scalar that is differentiated is <output, weights> with random weights.
#include <QtTest> // first: moc stumbles over <compare> otherwise

#include "profiler/engine/nn/attention.h"
#include "profiler/engine/nn/decoder_layer.h"
#include "tests/profiler/engine/engine_fixture.h"
#include "tests/support/test_program.h"

namespace tst_operator_gradients {

using namespace fourwalls;
using namespace fourwalls::engine;
using namespace fourwalls::engine::testing;

namespace {
constexpr double kTolerance = 1e-7;
constexpr DType kType = DType::F64;
} // namespace

class OperatorGradients : public QObject {
    Q_OBJECT

private:
    TestRank m_rank{kType};
    Device& device() { return *m_rank.device; }
    Tensor random(const Shape& shape, std::uint64_t stream) { return m_rank.random(shape, kType, stream); }
    Tensor empty(const Shape& shape) { return m_rank.tensor(shape, kType); }

private slots:
    void norms_data()
    {
        QTest::addColumn<bool>("rms");
        QTest::newRow("layernorm") << false;
        QTest::newRow("rmsnorm") << true;
    }

    void norms()
    {
        QFETCH(bool, rms);
        const NormKind kind = rms ? NormKind::RmsNorm : NormKind::LayerNorm;
        const Tensor x = random({5, 12}, 1), gamma = random({12}, 2), weights = random({5, 12}, 4);
        const Tensor beta = rms ? Tensor() : random({12}, 3);
        const Tensor y = empty({5, 12}), mean = empty({5}), rstd = empty({5});
        const auto f = [&] {
            device().normForward(kind, x, gamma, beta, y, mean, rstd);
            return dot(y, weights);
        };
        f();
        const Tensor dx = empty({5, 12}), dgamma = empty({12}), dbeta = rms ? Tensor() : empty({12});
        device().normBackward(kind, x, gamma, mean, rstd, weights, dx, false, dgamma, dbeta, false);
        QVERIFY(slopeError(f, x, dx, 1) < kTolerance);
        QVERIFY(slopeError(f, gamma, dgamma, 2) < kTolerance);
        if (!rms) QVERIFY(slopeError(f, beta, dbeta, 3) < kTolerance);

        // Accumulating doubles what was there.
        const Tensor twice = m_rank.copy(dx, kType), gammaTwice = m_rank.copy(dgamma, kType);
        f();
        device().normBackward(kind, x, gamma, mean, rstd, weights, twice, true, gammaTwice,
                              rms ? Tensor() : m_rank.copy(dbeta, kType), true);
        for (std::int64_t i = 0; i < dx.elements(); ++i)
            QVERIFY(std::abs(element(twice, i) - 2 * element(dx, i)) < 1e-12);
        for (std::int64_t i = 0; i < 12; ++i)
            QVERIFY(std::abs(element(gammaTwice, i) - 2 * element(dgamma, i)) < 1e-12);
    }

    void activations()
    {
        const Tensor x = m_rank.random({4, 10}, kType, 1, 3.0), weights = random({4, 10}, 2), y = empty({4, 10}),
                     dx = empty({4, 10});
        const auto gelu = [&] {
            device().geluForward(x, y);
            return dot(y, weights);
        };
        device().geluBackward(x, weights, dx);
        QVERIFY(slopeError(gelu, x, dx, 1) < kTolerance);

        const Tensor halfWeights = random({4, 5}, 3), half = empty({4, 5});
        const auto swiglu = [&] {
            device().swigluForward(x, half);
            return dot(half, halfWeights);
        };
        device().swigluBackward(x, halfWeights, dx);
        QVERIFY(slopeError(swiglu, x, dx, 2) < kTolerance);
    }

    void softmax_data()
    {
        QTest::addColumn<bool>("causal");
        QTest::newRow("causal") << true;
        QTest::newRow("full") << false;
    }

    void softmax()
    {
        QFETCH(bool, causal);
        const Tensor x = m_rank.random({2, 3, 7, 7}, kType, 1, 2.0), weights = random({2, 3, 7, 7}, 2),
                     y = empty({2, 3, 7, 7});
        const auto f = [&] {
            device().convert(x, y);
            device().softmaxForward(y, 0.37, causal);
            return dot(y, weights);
        };
        f();
        const Tensor d = m_rank.copy(weights, kType);
        device().softmaxBackward(y, d, 0.37, causal);
        QVERIFY(slopeError(f, x, d, 1) < kTolerance);
    }

    void crossEntropy()
    {
        const Tensor x = m_rank.random({6, 9}, kType, 1, 4.0), logits = empty({6, 9}), losses = empty({6});
        const Tensor targets = m_rank.tokens({6}, 9, 1);
        const auto f = [&] {
            device().convert(x, logits);
            device().crossEntropy(logits, targets, losses, 0.25);
            return 0.25 * device().sum(losses);
        };
        f();
        const Tensor gradient = m_rank.copy(logits, kType);
        QVERIFY(slopeError(f, x, gradient, 1) < kTolerance);
    }

    void embedding()
    {
        const Tensor tokens = m_rank.tokens({2, 5}, 6, 1);
        const Tensor table = random({6, 4}, 1), positions = random({5, 4}, 2), weights = random({10, 4}, 3),
                     out = empty({10, 4});
        const auto f = [&] {
            device().embeddingForward(tokens, table, positions, out);
            return dot(out, weights);
        };
        const Tensor dTable = empty({6, 4}), dPositions = empty({5, 4});
        device().zero(dTable);
        device().zero(dPositions);
        device().embeddingBackward(tokens, weights, dTable, dPositions);
        QVERIFY(slopeError(f, table, dTable, 1) < kTolerance);
        QVERIFY(slopeError(f, positions, dPositions, 2) < kTolerance);
    }

    void rotaryIsUndoneByItsInverse()
    {
        const AttentionShape shape{2, 5, 4, 2, 6, true};
        const Tensor x = random({10, shape.width()}, 1), y = m_rank.copy(x, kType),
                     weights = random({10, shape.width()}, 2);
        const RotaryTables tables = RotaryTables::make(*m_rank.context, 5, 6);
        const auto f = [&] {
            const Tensor z = m_rank.copy(x, kType);
            device().rotary(shape, z, tables.cosines, tables.sines, false);
            return dot(z, weights);
        };
        // The transpose of a rotation is its inverse, so the backward pass is the inverse rotation.
        const Tensor d = m_rank.copy(weights, kType);
        device().rotary(shape, d, tables.cosines, tables.sines, true);
        QVERIFY(slopeError(f, x, d, 1) < kTolerance);
        device().rotary(shape, y, tables.cosines, tables.sines, false);
        QVERIFY(relativeDifference(y, x) > 0.1);
        device().rotary(shape, y, tables.cosines, tables.sines, true);
        QVERIFY(relativeDifference(y, x) < 1e-14);
    }

    void attention_data()
    {
        QTest::addColumn<bool>("fused");
        QTest::addColumn<int>("kvHeads");
        QTest::addColumn<bool>("causal");
        for (const bool fused : {false, true})
            for (const int kvHeads : {4, 2, 1})
                for (const bool causal : {true, false})
                    QTest::addRow("%s, %d key/value heads, %s", fused ? "fused" : "unfused", kvHeads,
                                  causal ? "causal" : "full")
                        << fused << kvHeads << causal;
    }

    void attention()
    {
        QFETCH(bool, fused);
        QFETCH(int, kvHeads);
        QFETCH(bool, causal);
        const AttentionCore core{{2, 6, 4, kvHeads, 3, causal}, fused};
        const Tensor qkv = m_rank.random({12, core.shape.width()}, kType, 1, 1.5), weights = random({12, 12}, 2);
        const auto f = [&] {
            AttentionCore::Saved saved;
            return dot(core.forward(*m_rank.context, qkv, saved), weights);
        };
        AttentionCore::Saved saved;
        const Tensor out = core.forward(*m_rank.context, qkv, saved);
        const Tensor d = core.backward(*m_rank.context, qkv, out, saved, weights);
        QVERIFY(slopeError(f, qkv, d, 1) < kTolerance);
    }

    /// Attention that stays within documents: unfused attention with all other pairs masked, written out.
    void documents()
    {
        const std::vector<std::int64_t> lengths{2, 4, 1, 3, 2}; // two samples of six
        AttentionCore core{{2, 6, 4, 2, 3, true}, true};
        core.documents = &lengths;
        const AttentionShape& s = core.shape;
        const Tensor qkv = m_rank.random({12, s.width()}, kType, 1, 1.5), weights = random({12, 12}, 2);
        AttentionCore::Saved saved;
        const Tensor out = core.forward(*m_rank.context, qkv, saved);
        std::int64_t first = 0;
        for (const std::int64_t length : lengths) {
            for (std::int64_t i = first; i < first + length; ++i)
                for (std::int64_t head = 0; head < s.heads; ++head) {
                    std::vector<double> scores;
                    double sum = 0;
                    for (std::int64_t j = first; j <= i; ++j) {
                        double score = 0;
                        for (std::int64_t d = 0; d < s.headDim; ++d)
                            score += element(qkv, i * s.width() + head * s.headDim + d) *
                                     element(qkv, j * s.width() + s.keyColumn() + head / 2 * s.headDim + d);
                        scores.push_back(std::exp(score / std::sqrt(3.0)));
                        sum += scores.back();
                    }
                    for (std::int64_t d = 0; d < s.headDim; ++d) {
                        double expected = 0;
                        for (std::int64_t j = first; j <= i; ++j)
                            expected += scores[static_cast<std::size_t>(j - first)] / sum *
                                        element(qkv, j * s.width() + s.valueColumn() + head / 2 * s.headDim + d);
                        QVERIFY(std::abs(element(out, i * 12 + head * s.headDim + d) - expected) < 1e-13);
                    }
                }
            first += length;
        }
        const auto f = [&] {
            AttentionCore::Saved own;
            return dot(core.forward(*m_rank.context, qkv, own), weights);
        };
        const Tensor d = core.backward(*m_rank.context, qkv, out, saved, weights);
        QVERIFY(slopeError(f, qkv, d, 1) < kTolerance);
    }

    void matmulWithEverything()
    {
        const Tensor a = random({3, 4}, 1), b = random({5, 4}, 2), bias = random({5}, 3), residual = random({3, 5}, 4),
                     c = random({3, 5}, 5);
        const Tensor before = m_rank.copy(c, kType);
        MatmulOptions options;
        options.bias = &bias;
        options.residual = &residual;
        options.accumulate = true;
        device().matmul(matrix(a), matrix(b).transposed(), matrix(c), options);
        for (std::int64_t i = 0; i < 3; ++i)
            for (std::int64_t j = 0; j < 5; ++j) {
                double expected = element(before, i * 5 + j) + element(bias, j) + element(residual, i * 5 + j);
                for (std::int64_t k = 0; k < 4; ++k) expected += element(a, i * 4 + k) * element(b, j * 4 + k);
                QVERIFY(std::abs(element(c, i * 5 + j) - expected) < 1e-13);
            }
    }
};

FOURWALLS_TEST(OperatorGradients, QCoreApplication)

} // namespace tst_operator_gradients

#include "tst_operator_gradients.moc"
