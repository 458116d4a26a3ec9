// SPDX-License-Identifier: Apache-2.0
// Every operator of the CPU device, in f32 and bf16 and with every instruction set that this processor has, against
// the reference device in double. Tolerances come from rounding: u is the unit roundoff of the type, the factor in
// front says how many roundings can add up on the way (about the root of the number of terms of a sum).
#include <QtTest> // first: moc stumbles over <compare> otherwise

#include "profiler/engine/device/simd_kernels.h"
#include "profiler/engine/nn/attention.h"
#include "profiler/engine/nn/decoder_layer.h"
#include "tests/profiler/engine/engine_fixture.h"
#include "tests/support/test_program.h"

namespace tst_cpu_operators {

using namespace fourwalls;
using namespace fourwalls::engine;
using namespace fourwalls::engine::testing;

class CpuOperators : public QObject {
    Q_OBJECT

private:
    struct Case {
        std::unique_ptr<TestRank> fast, exact;
        DType type = DType::F32;
        double u = 0;
    };

    // The two ranks of the current row.
    Case make() const
    {
        QFETCH(int, table);
        QFETCH(bool, bf16);
        Case c;
        c.type = bf16 ? DType::Bf16 : DType::F32;
        c.fast = std::make_unique<TestRank>(c.type, runnableKernels().tables[table]);
        c.exact = std::make_unique<TestRank>(DType::F64);
        c.u = unitRoundoff(c.type);
        return c;
    }

    static void addRows()
    {
        QTest::addColumn<int>("table");
        QTest::addColumn<bool>("bf16");
        const KernelTableList list = runnableKernels();
        for (int i = 0; i < list.count; ++i) {
            const std::string name(list.tables[i]->name);
            QTest::newRow((name + " f32").c_str()) << i << false;
            QTest::newRow((name + " bf16").c_str()) << i << true;
        }
    }

    // A random tensor in the case's type, and the same (rounded) values in double.
    struct Pair {
        Tensor fast, exact;
    };
    static Pair pair(Case& c, const Shape& shape, std::uint64_t stream, double scale = 1.0, bool master = false)
    {
        Pair p;
        p.fast = c.fast->random(shape, master ? DType::F32 : c.type, stream, scale);
        p.exact = c.exact->copy(p.fast, DType::F64);
        return p;
    }
    static Pair empty(Case& c, const Shape& shape, bool master = false)
    {
        return {c.fast->tensor(shape, master ? DType::F32 : c.type), c.exact->tensor(shape, DType::F64)};
    }

    // f(device, pick) runs on both devices; pick chooses the matching half of a pair.
    template <class F>
    static void both(Case& c, F f)
    {
        f(*c.fast->device, [](const Pair& p) { return p.fast; });
        f(*c.exact->device, [](const Pair& p) { return p.exact; });
    }

    // bf16 products exist only where oneDNN has them for the processor.
    static bool lacksProducts()
    {
        QFETCH(bool, bf16);
        return bf16 && !OneDnnMatmul::supportsBf16();
    }

    static void compare(const Pair& p, double tolerance, const char* what)
    {
        const double difference = relativeDifference(p.fast, p.exact);
        QVERIFY2(difference <= tolerance, qPrintable(QString("%1: %2 > %3").arg(what).arg(difference).arg(tolerance)));
    }

private slots:
    void matmul_data() { addRows(); }
    void matmul()
    {
        if (lacksProducts()) QSKIP("this processor has no bf16 products in oneDNN");
        Case c = make();
        for (const bool transposeA : {false, true})
            for (const bool transposeB : {false, true})
                for (const bool accumulate : {false, true}) {
                    const Pair a = pair(c, transposeA ? Shape{130, 37} : Shape{37, 130}, 1);
                    const Pair b = pair(c, transposeB ? Shape{51, 130} : Shape{130, 51}, 2);
                    const Pair bias = pair(c, {51}, 3, 1.0, true), residual = pair(c, {37, 51}, 4),
                               y = pair(c, {37, 51}, 5);
                    both(c, [&](Device& device, auto pick) {
                        const Tensor biasTensor = pick(bias), residualTensor = pick(residual);
                        MatmulOptions options;
                        options.accumulate = accumulate;
                        options.bias = &biasTensor;
                        options.residual = &residualTensor;
                        const Matrix ma = matrix(pick(a)), mb = matrix(pick(b));
                        device.matmul(transposeA ? ma.transposed() : ma, transposeB ? mb.transposed() : mb,
                                      matrix(pick(y)), options);
                    });
                    // Products are summed in f32; the result is rounded once (twice when it is added to).
                    compare(y, 2 * c.u + std::sqrt(130.0) * 4 * unitRoundoff(DType::F32), "product");
                }
        // Into the master type, as weight gradients are.
        const Pair a = pair(c, {70, 20}, 1), b = pair(c, {70, 30}, 2), y = empty(c, {20, 30}, true);
        both(c, [&](Device& device, auto pick) {
            device.matmul(matrix(pick(a)).transposed(), matrix(pick(b)), matrix(pick(y)));
        });
        compare(y, std::sqrt(70.0) * 4 * unitRoundoff(DType::F32), "weight gradient");
    }

    void rowOperators_data() { addRows(); }
    void rowOperators()
    {
        Case c = make();
        const double f32 = unitRoundoff(DType::F32);
        for (const std::int64_t columns : {1, 7, 16, 33, 100, 384}) {
            const Pair x = pair(c, {9, columns}, 1, 3.0), dy = pair(c, {9, columns}, 2),
                       other = pair(c, {9, columns}, 3);
            const Pair y = empty(c, {9, columns}), out = empty(c, {columns}, true);
            both(c, [&](Device& d, auto pick) { d.geluForward(pick(x), pick(y)); });
            compare(y, 2 * c.u + 16 * f32, "gelu");
            both(c, [&](Device& d, auto pick) { d.geluBackward(pick(x), pick(dy), pick(y)); });
            compare(y, 2 * c.u + 32 * f32, "gelu gradient");
            both(c, [&](Device& d, auto pick) { d.add(pick(x), pick(other), pick(y)); });
            compare(y, 2 * c.u, "add");
            both(c, [&](Device& d, auto pick) { d.columnSum(pick(x), pick(out), false); });
            compare(out, 9 * 4 * f32, "column sum");
            both(c, [&](Device& d, auto pick) { d.columnSum(pick(x), pick(out), true); });
            compare(out, 18 * 4 * f32, "column sum, added");

            const Pair gateUp = pair(c, {9, 2 * columns}, 4, 3.0), dGateUp = empty(c, {9, 2 * columns});
            both(c, [&](Device& d, auto pick) { d.swigluForward(pick(gateUp), pick(y)); });
            compare(y, 2 * c.u + 16 * f32, "swiglu");
            both(c, [&](Device& d, auto pick) { d.swigluBackward(pick(gateUp), pick(dy), pick(dGateUp)); });
            compare(dGateUp, 2 * c.u + 32 * f32, "swiglu gradient");
        }
    }

    void norms_data() { addRows(); }
    void norms()
    {
        Case c = make();
        const double f32 = unitRoundoff(DType::F32);
        for (const NormKind kind : {NormKind::LayerNorm, NormKind::RmsNorm})
            for (const std::int64_t columns : {5, 16, 35, 128, 200}) {
                const bool layer = kind == NormKind::LayerNorm;
                const Pair x = pair(c, {11, columns}, 1, 2.0), gamma = pair(c, {columns}, 2, 1.0, true),
                           beta = pair(c, {columns}, 3, 1.0, true);
                const Pair dy = pair(c, {11, columns}, 4), y = empty(c, {11, columns}), dx = pair(c, {11, columns}, 5);
                const Pair mean = empty(c, {11}, true), rstd = empty(c, {11}, true);
                const Pair dgamma = pair(c, {columns}, 6, 1.0, true), dbeta = pair(c, {columns}, 7, 1.0, true);
                both(c, [&](Device& d, auto pick) {
                    d.normForward(kind, pick(x), pick(gamma), layer ? pick(beta) : Tensor(), pick(y), pick(mean),
                                  pick(rstd));
                });
                const double sums = 4 * std::sqrt(static_cast<double>(columns)) * f32;
                compare(y, 2 * c.u + 4 * sums, "norm");
                both(c, [&](Device& d, auto pick) {
                    d.normBackward(kind, pick(x), pick(gamma), pick(mean), pick(rstd), pick(dy), pick(dx), true,
                                   pick(dgamma), layer ? pick(dbeta) : Tensor(), true);
                });
                compare(dx, 2 * c.u + 16 * sums, "norm gradient");
                compare(dgamma, 16 * sums + 11 * 4 * f32, "gain gradient");
                if (layer) compare(dbeta, 11 * 4 * f32, "shift gradient");
            }
    }

    void softmax_data() { addRows(); }
    void softmax()
    {
        Case c = make();
        const double f32 = unitRoundoff(DType::F32);
        for (const bool causal : {true, false})
            for (const std::int64_t t : {1, 6, 16, 45, 130}) {
                const Pair x = pair(c, {2, t, t}, 1, 20.0), d = pair(c, {2, t, t}, 2);
                both(c, [&](Device& device, auto pick) { device.softmaxForward(pick(x), 0.3, causal); });
                // The exponential is rounded when stored and again when scaled; its argument carries |x| u.
                compare(x, 4 * c.u + 64 * f32, "softmax");
                both(c, [&](Device& device, auto pick) { device.softmaxBackward(pick(x), pick(d), 0.3, causal); });
                compare(d, 24 * c.u + 128 * f32, "softmax gradient");
            }
    }

    void rotaryAndEmbedding_data() { addRows(); }
    void rotaryAndEmbedding()
    {
        Case c = make();
        const AttentionShape shape{2, 7, 4, 2, 10, true};
        const Pair x = pair(c, {14, shape.width()}, 1);
        const RotaryTables fast = RotaryTables::make(*c.fast->context, 7, 10),
                           exact = RotaryTables::make(*c.exact->context, 7, 10);
        const Pair cosines{fast.cosines, exact.cosines}, sines{fast.sines, exact.sines};
        both(c, [&](Device& d, auto pick) { d.rotary(shape, pick(x), pick(cosines), pick(sines), false); });
        compare(x, 2 * c.u + 8 * unitRoundoff(DType::F32), "rotary");

        const Pair tokens{c.fast->tokens({2, 7}, 5, 1), c.exact->tokens({2, 7}, 5, 1)};
        const Pair table = pair(c, {5, 21}, 2), positions = pair(c, {7, 21}, 3, 1.0, true), out = empty(c, {14, 21});
        both(c,
             [&](Device& d, auto pick) { d.embeddingForward(pick(tokens), pick(table), pick(positions), pick(out)); });
        compare(out, 2 * c.u, "embedding");
        const Pair dOut = pair(c, {14, 21}, 4), dTable = pair(c, {5, 21}, 5, 1.0, true),
                   dPositions = pair(c, {7, 21}, 6, 1.0, true);
        both(c, [&](Device& d, auto pick) {
            d.embeddingBackward(pick(tokens), pick(dOut), pick(dTable), pick(dPositions));
        });
        compare(dTable, 15 * 2 * unitRoundoff(DType::F32), "embedding gradient");
        compare(dPositions, 4 * unitRoundoff(DType::F32), "position gradient");
    }

    void crossEntropy_data()
    {
        QTest::addColumn<int>("table");
        QTest::addColumn<bool>("bf16");
        for (int i = 0; i < runnableKernels().count; ++i)
            QTest::newRow(std::string(runnableKernels().tables[i]->name).c_str())
                << i << false; // logits are in the master type
    }
    void crossEntropy()
    {
        Case c = make();
        for (const std::int64_t v : {3, 16, 50, 1000}) {
            const Pair x = pair(c, {8, v}, 1, 10.0), losses = empty(c, {8}, true);
            const Pair targets{c.fast->tokens({8}, v, 2), c.exact->tokens({8}, v, 2)};
            both(c, [&](Device& d, auto pick) { d.crossEntropy(pick(x), pick(targets), pick(losses), 0.125); });
            compare(losses, 32 * c.u, "loss");
            compare(x, 64 * c.u, "loss gradient");
        }
    }

    void attention_data() { addRows(); }
    void attention()
    {
        if (lacksProducts()) QSKIP("this processor has no bf16 products in oneDNN");
        Case c = make();
        const double f32 = unitRoundoff(DType::F32);
        struct Size {
            std::int64_t sequence, heads, kvHeads, headDim;
        };
        // One tile; several query tiles; several key tiles; grouped queries.
        for (const Size& s : {Size{20, 2, 2, 16}, Size{150, 2, 2, 8}, Size{300, 2, 2, 8}, Size{70, 4, 2, 10}})
            for (const bool fused : {false, true})
                for (const bool causal : {true, false}) {
                    const AttentionCore core{{2, s.sequence, s.heads, s.kvHeads, s.headDim, causal}, fused};
                    const Shape shape{2 * s.sequence, core.shape.width()},
                        outShape{2 * s.sequence, s.heads * s.headDim};
                    const Pair qkv = pair(c, shape, 1, 2.0), dout = pair(c, outShape, 2);
                    AttentionCore::Saved saved, exactSaved;
                    Pair out, d;
                    out.fast = core.forward(*c.fast->context, qkv.fast, saved);
                    out.exact = core.forward(*c.exact->context, qkv.exact, exactSaved);
                    // Unfused bf16 stores scores of size up to ~16 before the exponential, so their rounding counts.
                    const double scores = fused ? 0.0 : 16.0;
                    compare(out, (4 + scores) * c.u + 256 * f32, fused ? "fused attention" : "attention");
                    d.fast = core.backward(*c.fast->context, qkv.fast, out.fast, saved, dout.fast);
                    d.exact = core.backward(*c.exact->context, qkv.exact, out.exact, exactSaved, dout.exact);
                    compare(d, (8 + 2 * scores) * c.u + 512 * f32,
                            fused ? "fused attention gradient" : "attention gradient");
                }
    }

    void optimizers_data() { addRows(); }
    void optimizers()
    {
        Case c = make();
        const double f32 = unitRoundoff(DType::F32);
        const Pair w = pair(c, {5003}, 1, 1.0, true), g = pair(c, {5003}, 2, 1.0, true),
                   m = pair(c, {5003}, 3, 1.0, true);
        Pair v = pair(c, {5003}, 4, 1.0, true);
        for (std::int64_t i = 0; i < 5003; ++i) {
            setElement(v.fast, i, std::abs(element(v.fast, i)));
            setElement(v.exact, i, std::abs(element(v.exact, i)));
        }
        Pair rounded;
        if (c.type == DType::Bf16) rounded.fast = c.fast->tensor({5003}, DType::Bf16);
        const AdamWStep adam{0.01, 0.9, 0.95, 1e-8, 0.1, 0.5, 3};
        both(c, [&](Device& d, auto pick) { d.adamw(pick(w), pick(g), pick(m), pick(v), pick(rounded), adam); });
        compare(w, 16 * f32, "adamw weights");
        compare(m, 8 * f32, "adamw first moment");
        compare(v, 8 * f32, "adamw second moment");
        both(c, [&](Device& d, auto pick) { d.sgd(pick(w), pick(g), pick(m), pick(rounded), {0.01, 0.9, 0.1, 0.5}); });
        compare(w, 16 * f32, "sgd weights");
        if (rounded.fast.defined())
            for (std::int64_t i = 0; i < 5003; ++i)
                QCOMPARE(rounded.fast.as<Bf16>()[i].bits, Bf16::fromFloat(w.fast.as<float>()[i]).bits);
        QVERIFY(std::abs(c.fast->device->sumOfSquares(g.fast) - dot(g.exact, g.exact)) <
                64 * f32 * dot(g.exact, g.exact));
    }

    void extremes_data() { addRows(); }
    void extremes()
    {
        // No overflow, no NaN, sensible limits at the ends of the range.
        Case c = make();
        const double values[] = {-1e4, -100, -88, -20, 0, 20, 88, 100, 1e4};
        const Pair x = empty(c, {9}), y = empty(c, {9});
        for (int i = 0; i < 9; ++i) setElement(x.fast, i, values[i]);
        c.fast->device->geluForward(x.fast, y.fast);
        for (int i = 0; i < 9; ++i) {
            QVERIFY(std::isfinite(element(y.fast, i)));
            if (values[i] < -19) QVERIFY(std::abs(element(y.fast, i)) < 1e-6);
            if (values[i] > 19) QCOMPARE(element(y.fast, i), element(x.fast, i));
        }
        const Pair row = empty(c, {1, 9});
        for (int i = 0; i < 9; ++i) setElement(row.fast, i, values[i]);
        c.fast->device->softmaxForward(row.fast, 1.0, false);
        for (int i = 0; i < 8; ++i) QCOMPARE(element(row.fast, i), 0.0);
        QCOMPARE(element(row.fast, 8), 1.0);
    }
};

FOURWALLS_TEST(CpuOperators, QCoreApplication)

} // namespace tst_cpu_operators

#include "tst_cpu_operators.moc"
