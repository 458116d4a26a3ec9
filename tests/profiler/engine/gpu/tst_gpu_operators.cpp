// SPDX-License-Identifier: Apache-2.0
// Every operator of the CUDA device against the reference device in double: with the processor in place of the GPU
// (which proves the arithmetic of the kernels and all that lies above the CUDA module), and on a GPU where there is
// one. Tolerances come from rounding, as in tst_cpu_operators. One file of over 600 lines: a list of operators, each a few
// lines that differ in shapes only, which share their rows and how they are compared; apart, a list would not be whole.
#include <QtTest> // first: moc stumbles over <compare> otherwise

#include "profiler/engine/device/routing_operators.h"
#include "profiler/engine/device/sparse_operators.h"
#include "profiler/engine/device/update_operators.h"
#include "tests/profiler/engine/gpu/gpu_fixture.h"
#include "tests/support/test_program.h"

namespace tst_gpu_operators {

using namespace fourwalls;
using namespace fourwalls::engine;
using namespace fourwalls::engine::testing;

class GpuOperators : public QObject {
    Q_OBJECT

private:
    struct Case {
        std::unique_ptr<GpuRank> gpu;
        std::unique_ptr<TestRank> exact;
        DType type = DType::F32;
        double u = 0, f32 = unitRoundoff(DType::F32);
    };
    struct Pair {
        Tensor gpu, exact;
    };

    static void addRows()
    {
        QTest::addColumn<bool>("real");
        QTest::addColumn<bool>("bf16");
        QTest::newRow("processor f32") << false << false;
        QTest::newRow("processor bf16") << false << true;
        QTest::newRow("GPU f32") << true << false;
        QTest::newRow("GPU bf16") << true << true;
    }

    // Null where the row's GPU is missing; the row has then ended.
    static std::unique_ptr<Case> make()
    {
        QFETCH(bool, real);
        QFETCH(bool, bf16);
        std::string why;
        const gpu::Module* module = moduleFor(real, why);
        if (!module) {
            endRowWithoutGpu(why);
            return nullptr;
        }
        auto c = std::make_unique<Case>();
        c->type = bf16 ? DType::Bf16 : DType::F32;
        c->gpu = std::make_unique<GpuRank>(*module, c->type);
        c->exact = std::make_unique<TestRank>(DType::F64);
        c->u = unitRoundoff(c->type);
        return c;
    }

    static Pair pair(Case& c, const Shape& shape, std::uint64_t stream, double scale = 1.0, bool master = false)
    {
        const DType type = master ? DType::F32 : c.type;
        const Tensor onHost = c.exact->random(shape, type, stream, scale);
        return {c.gpu->copy(onHost), c.exact->copy(onHost, DType::F64)};
    }
    static Pair empty(Case& c, const Shape& shape, bool master = false)
    {
        Pair p{c.gpu->tensor(shape, master ? DType::F32 : c.type), c.exact->tensor(shape, DType::F64)};
        fillElements(p.gpu, [](std::int64_t) { return 0.0; });
        c.exact->device->zero(p.exact);
        return p;
    }
    static Pair integers(Case& c, const Shape& shape, std::int64_t below, std::uint64_t stream)
    {
        const Tensor onHost = c.exact->tokens(shape, below, stream);
        return {c.gpu->copy(onHost), onHost};
    }

    template <class F>
    static void both(Case& c, F f)
    {
        f(c.gpu->device, [](const Pair& p) { return p.gpu; });
        f(*c.exact->device, [](const Pair& p) { return p.exact; });
    }

    static double difference(Case& c, const Pair& p)
    {
        const Tensor here = c.exact->tensor(p.gpu.shape(), p.gpu.type());
        const HostAccess from(p.gpu, HostAccess::Mode::Read);
        std::memcpy(here.data(), from.data(), static_cast<std::size_t>(here.bytes()));
        return relativeDifference(here, p.exact);
    }
    static void compare(Case& c, const Pair& p, double tolerance, const char* what)
    {
        const double d = difference(c, p);
        QVERIFY2(d <= tolerance, qPrintable(QString("%1: %2 > %3").arg(what).arg(d).arg(tolerance)));
    }

private slots:
    void products_data() { addRows(); }
    void products()
    {
        const auto c = make();
        if (!c) return;
        for (const std::array<std::int64_t, 3> size :
             {std::array<std::int64_t, 3>{37, 51, 33}, {8, 16, 24}, {1, 7, 5}, {5, 1, 9}})
            for (const bool transposeA : {false, true})
                for (const bool transposeB : {false, true})
                    for (const int with : {0, 1, 2, 3}) { // bias and residual, added to what is there, both, neither
                        const auto [m, n, k] = size;
                        const Pair a = pair(*c, transposeA ? Shape{k, m} : Shape{m, k}, 1);
                        const Pair b = pair(*c, transposeB ? Shape{n, k} : Shape{k, n}, 2);
                        const Pair bias = pair(*c, {n}, 3, 1.0, true), residual = pair(*c, {m, n}, 4),
                                   y = pair(*c, {m, n}, 5);
                        both(*c, [&](Device& device, auto pick) {
                            const Tensor biasTensor = pick(bias), residualTensor = pick(residual);
                            MatmulOptions options;
                            options.accumulate = with & 1;
                            if (with & 2) {
                                options.bias = &biasTensor;
                                options.residual = &residualTensor;
                            }
                            const Matrix ma = matrix(pick(a)), mb = matrix(pick(b));
                            device.matmul(transposeA ? ma.transposed() : ma, transposeB ? mb.transposed() : mb,
                                          matrix(pick(y)), options);
                        });
                        // The bias, the product and, with both, the second sum are rounded.
                        compare(*c, y, 4 * c->u + std::sqrt(static_cast<double>(k)) * 4 * c->f32, "product");
                    }
        const Pair a = pair(*c, {70, 20}, 1), b = pair(*c, {70, 30}, 2), y = empty(*c, {20, 30}, true),
                   turned = empty(*c, {30, 20}, true);
        both(*c, [&](Device& device, auto pick) {
            device.matmul(matrix(pick(a)).transposed(), matrix(pick(b)), matrix(pick(y)));
            device.matmul(matrix(pick(a)).transposed(), matrix(pick(b)), matrix(pick(turned)).transposed());
        });
        compare(*c, y, std::sqrt(70.0) * 4 * c->f32, "weight gradient");
        compare(*c, turned, std::sqrt(70.0) * 4 * c->f32, "transposed result");
    }

    void batchedProducts_data() { addRows(); }
    void batchedProducts()
    {
        const auto c = make();
        if (!c) return;
        // Heads cut out of rows, in two samples; and one operand for a whole batch.
        const Pair q = pair(*c, {2 * 9, 4 * 6}, 1), k = pair(*c, {2 * 9, 4 * 6}, 2);
        const Pair scores = empty(*c, {2, 4, 9, 9}, true), shared = empty(*c, {2, 4, 9, 9}, true);
        const auto heads = [](const Tensor& t, std::int64_t count) {
            Matrix m{t.data(), t.type(), 2, count, 9 * t.columns(), 6, 9, 6, t.columns(), 1};
            return m;
        };
        both(*c, [&](Device& device, auto pick) {
            const auto target = [&](const Pair& p) {
                return Matrix{pick(p).data(), pick(p).type(), 2, 4, 4 * 81, 81, 9, 9, 9, 1};
            };
            device.matmul(heads(pick(q), 4), heads(pick(k), 4).transposed(), target(scores));
            device.matmul(heads(pick(q), 4), heads(pick(k), 1).transposed(), target(shared));
        });
        compare(*c, scores, 16 * c->f32, "heads");
        compare(*c, shared, 16 * c->f32, "a shared operand");
    }

    void rowOperators_data() { addRows(); }
    void rowOperators()
    {
        const auto c = make();
        if (!c) return;
        for (const std::int64_t columns : {1, 7, 33, 130}) {
            const Shape shape{9, columns};
            const Pair x = pair(*c, shape, 1, 3.0), dy = pair(*c, shape, 2), other = pair(*c, shape, 3),
                       y = empty(*c, shape), out = empty(*c, {columns}, true);
            both(*c, [&](Device& d, auto pick) { d.geluForward(pick(x), pick(y)); });
            compare(*c, y, 2 * c->u + 16 * c->f32, "gelu");
            both(*c, [&](Device& d, auto pick) { d.geluBackwardBias(pick(x), pick(dy), pick(y), pick(out), false); });
            compare(*c, y, 2 * c->u + 32 * c->f32, "gelu gradient");
            compare(*c, out, 9 * (c->u + 32 * c->f32), "bias gradient");
            both(*c, [&](Device& d, auto pick) { d.add(pick(x), pick(other), pick(y)); });
            compare(*c, y, 2 * c->u, "add");
            both(*c, [&](Device& d, auto pick) { d.columnSum(pick(x), pick(out), true); });
            compare(*c, out, 18 * (c->u + 4 * c->f32), "column sum, added");
            const Pair bias = pair(*c, {columns}, 4, 1.0, true);
            both(*c, [&](Device& d, auto pick) { d.addBias(pick(x), pick(bias), pick(other)); });
            compare(*c, x, 2 * c->u, "bias and residual");
            const Pair gateUp = pair(*c, {9, 2 * columns}, 5, 2.0), dGateUp = empty(*c, {9, 2 * columns});
            both(*c, [&](Device& d, auto pick) {
                d.swigluForward(pick(gateUp), pick(y));
                d.swigluBackward(pick(gateUp), pick(dy), pick(dGateUp));
            });
            compare(*c, y, 2 * c->u + 16 * c->f32, "swiglu");
            compare(*c, dGateUp, 2 * c->u + 32 * c->f32, "swiglu gradient");
            const Pair part = empty(*c, {9, columns + 4});
            both(*c, [&](Device& d, auto pick) { d.copyColumns(pick(gateUp), columns, pick(part), 3, columns); });
            compare(*c, part, c->u, "columns");
            both(*c, [&](Device& d, auto pick) { d.blend(pick(out), 0.9, pick(bias), 0.1); });
            compare(*c, out, 64 * (c->u + 4 * c->f32), "blend");
        }
    }

    void norms_data() { addRows(); }
    void norms()
    {
        const auto c = make();
        if (!c) return;
        for (const NormKind kind : {NormKind::LayerNorm, NormKind::RmsNorm})
            for (const std::int64_t columns : {5, 33, 64, 130}) {
                const bool layer = kind == NormKind::LayerNorm;
                const Pair x = pair(*c, {40, columns}, 1, 2.0), gamma = pair(*c, {columns}, 2, 1.0, true),
                           beta = pair(*c, {columns}, 3, 1.0, true), dy = pair(*c, {40, columns}, 4);
                const Pair y = empty(*c, {40, columns}), mean = empty(*c, {40}, true), rstd = empty(*c, {40}, true);
                const Pair dx = pair(*c, {40, columns}, 5), dgamma = pair(*c, {columns}, 6, 1.0, true),
                           dbeta = pair(*c, {columns}, 7, 1.0, true);
                both(*c, [&](Device& d, auto pick) {
                    d.normForward(kind, pick(x), pick(gamma), layer ? pick(beta) : Tensor(), pick(y), pick(mean),
                                  pick(rstd));
                    d.normBackward(kind, pick(x), pick(gamma), pick(mean), pick(rstd), pick(dy), pick(dx), true,
                                   pick(dgamma), layer ? pick(dbeta) : Tensor(), true);
                    d.normBackward(kind, pick(x), pick(gamma), pick(mean), pick(rstd), pick(dy), pick(dy), false,
                                   pick(dgamma), layer ? pick(dbeta) : Tensor(), false);
                });
                compare(*c, y, 2 * c->u + 64 * c->f32, "norm");
                compare(*c, dx, 4 * c->u + 256 * c->f32, "norm gradient, added");
                compare(*c, dy, 4 * c->u + 256 * c->f32, "norm gradient, in place");
                compare(*c, dgamma, 256 * c->f32, "dgamma");
                compare(*c, dbeta, 128 * c->f32, "dbeta");
            }
    }

    void softmax_data() { addRows(); }
    void softmax()
    {
        const auto c = make();
        if (!c) return;
        for (const bool causal : {false, true})
            for (const bool listed : {false, true}) {
                const Pair s = pair(*c, {3, 17, 17}, 1, 4.0), g = pair(*c, {3, 17, 17}, 2);
                const Pair seen = integers(*c, {17}, 16, 3);
                for (const Tensor& t : {seen.gpu, seen.exact})
                    for (int i = 0; i < 17; ++i) ++t.as<std::int32_t>()[i];
                both(*c, [&](Device& d, auto pick) {
                    const Tensor keys = listed ? pick(seen) : Tensor();
                    d.softmaxForward(pick(s), 0.3, causal, keys);
                    d.softmaxBackward(pick(s), pick(g), 0.3, causal, keys);
                });
                compare(*c, s, 2 * c->u + 16 * c->f32, "softmax");
                compare(*c, g, 8 * c->u + 64 * c->f32, "softmax gradient");
            }
    }

    void crossEntropy_data() { addRows(); }
    void crossEntropy()
    {
        const auto c = make();
        if (!c) return;
        const Pair targets = integers(*c, {6, 1}, 35, 2);
        targets.gpu.as<std::int32_t>()[4] = targets.exact.as<std::int32_t>()[4] = -1;
        const Pair z = pair(*c, {6, 35}, 1, 5.0, true), losses = empty(*c, {6}, true);
        both(*c, [&](Device& d, auto pick) { d.crossEntropy(pick(z), pick(targets), pick(losses), 0.5); });
        compare(*c, z, 64 * c->f32, "gradient");
        compare(*c, losses, 16 * c->f32, "losses");
        double sums[2], squares[2];
        int i = 0;
        both(*c, [&](Device& d, auto pick) {
            sums[i] = d.sum(pick(losses));
            const Tensor both2[] = {pick(losses), pick(z)};
            squares[i++] = d.sumOfSquares(both2);
        });
        QVERIFY(std::abs(sums[0] - sums[1]) < 1e-5 * std::abs(sums[1]));
        QVERIFY(std::abs(squares[0] - squares[1]) < 1e-5 * squares[1]);
        // Half of a vocabulary that begins at token 10.
        const Pair half = pair(*c, {6, 20}, 1, 5.0, true), maxima = empty(*c, {6, 1}, true),
                   parts = empty(*c, {6, 2}, true);
        both(*c, [&](Device& d, auto pick) {
            d.rowMaxima(pick(half), pick(maxima));
            d.shardExponentials(pick(half), pick(maxima), pick(targets), 10, pick(parts));
            d.shardCrossEntropy(pick(half), pick(parts), pick(targets), 10, pick(losses), 0.5);
        });
        compare(*c, parts, 64 * c->f32, "parts of the sum");
        compare(*c, half, 64 * c->f32, "gradient of a shard");
        compare(*c, losses, 32 * c->f32, "losses of a shard");
    }

    void attention_data() { addRows(); }
    void attention()
    {
        const auto c = make();
        if (!c) return;
        for (const bool causal : {false, true})
            for (const std::int64_t kvHeads : {4, 2, 1}) {
                const AttentionShape s{2, 13, 4, kvHeads, 6, causal};
                const Pair qkv = pair(*c, {26, s.width()}, 1), out = empty(*c, {26, 24}), dout = pair(*c, {26, 24}, 2);
                const Pair lse = empty(*c, {2, 4, 13}, true), dqkv = empty(*c, {26, s.width()});
                const Pair cosines = pair(*c, {13, 3}, 3, 1.0, true), sines = pair(*c, {13, 3}, 4, 1.0, true);
                both(*c, [&](Device& d, auto pick) {
                    d.rotary(s, pick(qkv), pick(cosines), pick(sines), true);
                    d.attentionForward(s, pick(qkv), pick(out), pick(lse));
                    d.attentionBackward(s, pick(qkv), pick(out), pick(lse), pick(dout), pick(dqkv));
                });
                compare(*c, qkv, 2 * c->u, "rotary");
                compare(*c, out, 6 * c->u + 64 * c->f32, "attention");
                compare(*c, lse, 8 * c->u + 64 * c->f32, "log of the sum of exponentials");
                compare(*c, dqkv, 16 * c->u + 256 * c->f32, "attention gradient");
            }
    }

    // More queries than a tile has, and fewer heads in it than there are: as with so many keys that one tile of scores
    // fills the cache. On a real GPU these are single tiles.
    void attentionInTiles_data() { addRows(); }
    void attentionInTiles()
    {
        auto& state = gpu::testing::HostModuleState::get();
        const std::int64_t cache = std::exchange(state.cacheBytes, 2 * 4 * 140 * 200); // scores of 140 queries
        const auto c = make();
        state.cacheBytes = cache;
        if (!c) return;
        for (const bool causal : {false, true})
            for (const std::int64_t kvHeads : {2, 1}) {
                const AttentionShape s{1, 200, 2, kvHeads, 4, causal};
                const Pair qkv = pair(*c, {200, s.width()}, 1), out = empty(*c, {200, 8}), dout = pair(*c, {200, 8}, 2);
                const Pair lse = empty(*c, {1, 2, 200}, true), dqkv = empty(*c, {200, s.width()});
                both(*c, [&](Device& d, auto pick) {
                    d.attentionForward(s, pick(qkv), pick(out), pick(lse));
                    d.attentionBackward(s, pick(qkv), pick(out), pick(lse), pick(dout), pick(dqkv));
                });
                compare(*c, out, 6 * c->u + 64 * c->f32, "attention");
                compare(*c, lse, 8 * c->u + 64 * c->f32, "log of the sum of exponentials");
                compare(*c, dqkv, 16 * c->u + 256 * c->f32, "attention gradient");
                QFETCH(bool, real); // all scores of both heads and their gradients would take twice 320 kB
                const auto& peaks = c->gpu->allocator.statistics().categoryPeaks;
                QVERIFY(real || peaks[static_cast<std::size_t>(MemoryCategory::Temporaries)] < 400'000);
            }
    }

    void attentionBlocks_data() { addRows(); }
    void attentionBlocks()
    {
        const auto c = make();
        if (!c) return;
        for (const bool causal : {false, true})
            for (const std::int64_t kvHeads : {4, 2}) {
                const AttentionBlock b{2, 4, kvHeads, 6, 11, 3, 7, 12, 2, 7, causal};
                const Pair q = pair(*c, {22, 24}, 1), kv = pair(*c, {24, 2 * kvHeads * 6}, 2),
                           dout = pair(*c, {22, 24}, 3);
                const Pair out = pair(*c, {22, 24}, 4, 1.0, true), other = pair(*c, {22, 24}, 5, 1.0, true);
                const Pair lse = pair(*c, {2, 4, 11}, 6, 1.0, true), otherLse = pair(*c, {2, 4, 11}, 7, 1.0, true);
                const Pair dq = pair(*c, {22, 24}, 8, 1.0, true), dkv = pair(*c, {24, 2 * kvHeads * 6}, 9, 1.0, true);
                both(*c, [&](Device& d, auto pick) {
                    d.attentionBlockForward(b, pick(q), pick(kv), pick(out), pick(lse));
                    d.mergeAttention(b, pick(other), pick(otherLse), pick(out), pick(lse));
                    d.attentionBlockBackward(b, pick(q), pick(kv), pick(out), pick(lse), pick(dout), pick(dq),
                                             pick(dkv));
                });
                compare(*c, out, 6 * c->u + 64 * c->f32, "block and merge");
                compare(*c, lse, 6 * c->u + 64 * c->f32, "merged statistic");
                compare(*c, dq, 16 * c->u + 256 * c->f32, "gradient of queries");
                compare(*c, dkv, 16 * c->u + 256 * c->f32, "gradient of keys and values");
            }
    }

    void lookups_data() { addRows(); }
    void lookups()
    {
        const auto c = make();
        if (!c) return;
        // Few tokens, so that one of them has more entries than a thread adds up.
        const Pair tokens = integers(*c, {3, 90}, 4, 1), table = pair(*c, {3, 5}, 2),
                   positions = pair(*c, {90, 5}, 3, 1.0, true);
        const Pair out = empty(*c, {270, 5}), dTable = pair(*c, {3, 5}, 4, 1.0, true),
                   dPositions = pair(*c, {90, 5}, 5, 1.0, true), x = pair(*c, {270, 5}, 6);
        both(*c, [&](Device& d, auto pick) {
            d.embeddingForward(pick(tokens), pick(table), pick(positions), pick(out), 1);
            d.embeddingBackward(pick(tokens), pick(out), pick(dTable), pick(dPositions), 1);
            d.addRows(pick(tokens), pick(positions), pick(x));
        });
        compare(*c, out, c->u + 4 * c->f32, "embedding");
        compare(*c, dTable, 2 * c->u + 512 * c->f32, "gradient of the table");
        compare(*c, dPositions, 2 * c->u + 16 * c->f32, "gradient of the positions");
        compare(*c, x, c->u + 2 * c->f32, "added rows");
    }

    void routing_data() { addRows(); }
    void routing()
    {
        const auto c = make();
        if (!c) return;
        for (const std::int64_t k : {1, 2}) {
            const Pair logits = pair(*c, {7, 5}, 1, 1.0, true), gates = empty(*c, {7, k}, true),
                       dGates = empty(*c, {7, k}, true), term = pair(*c, {5}, 2, 1.0, true);
            const Pair choices = integers(*c, {7, k}, 5, 3), x = pair(*c, {20, 6}, 4), y = pair(*c, {7, 6}, 5),
                       residual = pair(*c, {7, 6}, 6), dy = pair(*c, {7, 6}, 7), dx = empty(*c, {20, 6});
            Pair spots = integers(*c, {7, k}, 20, 8);
            for (std::int64_t i = 0; i < 7 * k; ++i)
                spots.gpu.as<std::int32_t>()[i] = spots.exact.as<std::int32_t>()[i] = static_cast<std::int32_t>(i);
            const Pair rows = integers(*c, {7}, 20, 9);
            rows.gpu.as<std::int32_t>()[2] = rows.exact.as<std::int32_t>()[2] = -1;
            double margin[2];
            int i = 0;
            const Pair gathered = empty(*c, {7, 6});
            both(*c, [&](Device& d, auto pick) {
                RoutingOperators r(d);
                d.softmaxForward(pick(logits), 1.0, false);
                margin[i++] = r.choose(pick(logits), false, pick(choices), pick(gates));
                r.gatherRows(pick(x), pick(rows), pick(gathered));
                r.combineRows(pick(x), pick(spots), pick(gates), pick(residual), pick(y));
                r.combineGradient(pick(x), pick(spots), pick(gates), pick(dy), pick(dx), pick(dGates));
                r.routerGradient(pick(logits), pick(choices), pick(gates), pick(dGates), pick(term));
            });
            for (std::int64_t j = 0; j < 7 * k; ++j)
                QCOMPARE(choices.gpu.as<std::int32_t>()[j], choices.exact.as<std::int32_t>()[j]);
            QVERIFY(std::abs(margin[0] - margin[1]) < 1e-5);
            compare(*c, gates, 16 * c->f32, "gates");
            compare(*c, gathered, c->u, "gathered");
            compare(*c, y, 2 * c->u + 16 * c->f32, "combined");
            compare(*c, dx, 2 * c->u + 16 * c->f32, "gradient of the experts' results");
            compare(*c, dGates, 64 * c->f32, "gradient of the gates");
            compare(*c, logits, 256 * c->f32, "gradient of the router");
        }
    }

    void recommendation_data() { addRows(); }
    void recommendation()
    {
        const auto c = make();
        if (!c) return;
        const Pair table = pair(*c, {9, 4}, 1, 1.0, true), rows = integers(*c, {6, 5}, 9, 2),
                   features = pair(*c, {6, 12}, 3);
        const Pair out = pair(*c, {6, 7}, 4), dOut = pair(*c, {6, 7}, 5), dFeatures = empty(*c, {6, 12}),
                   dTable = pair(*c, {9, 4}, 6, 1.0, true), labels = integers(*c, {6}, 2, 7),
                   z = pair(*c, {6}, 8, 4.0, true), losses = empty(*c, {6}, true), places = integers(*c, {6}, 9, 9),
                   scattered = empty(*c, {9, 7});
        for (int i = 0; i < 6; ++i) places.gpu.as<std::int32_t>()[i] = places.exact.as<std::int32_t>()[i] = 8 - i;
        both(*c, [&](Device& d, auto pick) {
            SparseOperators s(d);
            s.sumRows(pick(table), pick(rows), 1, 3, pick(features), 4);
            s.sumRowsGradient(pick(rows), 1, 3, pick(features), 4, pick(dTable));
            s.interact(pick(features), 4, pick(out));
            s.interactGradient(pick(features), 4, pick(dOut), pick(dFeatures));
            s.reluGradient(pick(out), pick(dOut));
            s.relu(pick(out));
            s.binaryCrossEntropy(pick(z), pick(labels), pick(losses), 0.25);
            s.scatterRows(pick(dOut), pick(places), pick(scattered));
        });
        compare(*c, features, c->u + 4 * c->f32, "embedding bag");
        compare(*c, dTable, 4 * c->u + 32 * c->f32, "embedding bag gradient");
        compare(*c, out, 4 * c->u + 16 * c->f32, "interaction");
        compare(*c, dFeatures, 4 * c->u + 32 * c->f32, "interaction gradient");
        compare(*c, z, 32 * c->f32, "click gradient");
        compare(*c, losses, 32 * c->f32, "click loss");
        compare(*c, scattered, c->u, "scattered");
    }

    void updates_data() { addRows(); }
    void updates()
    {
        const auto c = make();
        if (!c) return;
        for (const bool fused : {true, false})
            for (const bool adam : {true, false}) {
                const Pair w = pair(*c, {33, 3}, 1, 1.0, true), g = pair(*c, {33, 3}, 2, 1.0, true),
                           m = pair(*c, {33, 3}, 3, 1.0, true), v = pair(*c, {33, 3}, 4, 1.0, true);
                const Tensor rounded = c->type == DType::Bf16 ? c->gpu->tensor({33, 3}, DType::Bf16) : Tensor();
                both(*c, [&](Device& d, auto pick) {
                    const Tensor one = pick(v);
                    { // second moments are not negative
                        const HostAccess host(one, HostAccess::Mode::ReadWrite);
                        for (std::int64_t i = 0; i < one.elements(); ++i) host.set(i, std::abs(host.get(i)));
                    }
                    const UpdateTensors t{
                        pick(w), pick(g), pick(m), adam ? one : Tensor(), &d == &c->gpu->device ? rounded : Tensor(),
                        0.1};
                    const AdamWStep a{1e-2, 0.9, 0.95, 1e-8, 0.1, 0.5, 3};
                    const SgdStep s{1e-2, 0.9, 0.1, 0.5};
                    UpdateOperators apart(d);
                    if (adam && fused) d.adamw(std::span(&t, 1), a);
                    if (adam && !fused) apart.adamw(t, a);
                    if (!adam && fused) d.sgd(std::span(&t, 1), s);
                    if (!adam && !fused) apart.sgd(t, s);
                });
                compare(*c, w, 32 * c->f32, "weights");
                compare(*c, m, 32 * c->f32, "first moment");
                if (adam) compare(*c, v, 32 * c->f32, "second moment");
                if (rounded.defined()) compare(*c, {rounded, w.exact}, c->u + 32 * c->f32, "rounded weights");
            }
    }

    void images_data() { addRows(); }
    void images()
    {
        const auto c = make();
        if (!c) return;
        GpuImageOperators fast(c->gpu->device);
        ReferenceImageOperators exact(*c->exact->device);
        const auto image = [&](const Shape& shape, std::uint64_t stream) {
            const Tensor rows = c->exact->random(shape, c->type, stream, 1.0);
            return Pair{fast.arrange(c->gpu->copy(rows)), c->exact->copy(rows, DType::F64)};
        };
        const auto compareImage = [&](const Pair& p, double tolerance, const char* what) {
            const Tensor here = c->exact->tensor(p.gpu.shape(), DType::F64);
            const Tensor bytes =
                Tensor::make(c->exact->allocator, p.gpu.shape(), p.gpu.type(), MemoryCategory::Other, p.gpu.layout());
            {
                const HostAccess from(p.gpu, HostAccess::Mode::Read);
                std::memcpy(bytes.data(), from.data(), static_cast<std::size_t>(bytes.bytes()));
            }
            if (p.gpu.shape().rank() == 4)
                copyPixels(bytes, here);
            else
                for (std::int64_t i = 0; i < bytes.elements(); ++i) setElement(here, i, element(bytes, i));
            const double d = relativeDifference(here, p.exact);
            QVERIFY2(d <= tolerance, qPrintable(QString("%1: %2 > %3").arg(what).arg(d).arg(tolerance)));
        };
        for (const ConvolutionShape& s :
             {ConvolutionShape{2, 3, 9, 7, 8, 3, 2, 1}, ConvolutionShape{2, 8, 5, 5, 4, 1, 1, 0},
              ConvolutionShape{1, 4, 11, 11, 5, 7, 2, 3}}) {
            const Pair x = image(s.input(), 1), dy = image(s.output(), 2), w = pair(*c, s.weights(), 3, 1.0, true),
                       dw = pair(*c, s.weights(), 4, 1.0, true);
            const Pair y{fast.make(s.output(), c->type, MemoryCategory::Other),
                         c->exact->tensor(s.output(), DType::F64)};
            const Pair dx{fast.make(s.input(), c->type, MemoryCategory::Other),
                          c->exact->tensor(s.input(), DType::F64)};
            fast.convolution(s, x.gpu, w.gpu, y.gpu);
            exact.convolution(s, x.exact, w.exact, y.exact);
            fast.convolutionInputGradient(s, dy.gpu, w.gpu, dx.gpu);
            exact.convolutionInputGradient(s, dy.exact, w.exact, dx.exact);
            fast.convolutionWeightGradient(s, x.gpu, dy.gpu, dw.gpu, true);
            exact.convolutionWeightGradient(s, x.exact, dy.exact, dw.exact, true);
            const double terms = std::sqrt(static_cast<double>(s.inChannels * s.kernel * s.kernel));
            compareImage(y, 4 * c->u + 8 * terms * c->f32, "convolution");
            compareImage(dx, 4 * c->u + 8 * terms * c->f32, "input gradient");
            compareImage(dw, 4 * c->u + 64 * c->f32, "weight gradient");
        }
        for (const auto& [relu, channels] : {std::pair(false, 5), std::pair(true, 5), std::pair(false, 16),
                                             std::pair(true, 16), std::pair(true, 12)}) {
            const Shape shape{3, channels, 7, 9};
            const Pair x = image(shape, 1), dy = image(shape, 2), y = image(shape, 3);
            const Pair gamma = pair(*c, {channels}, 4, 1.0, true), beta = pair(*c, {channels}, 5, 1.0, true),
                       dgamma = pair(*c, {channels}, 6, 1.0, true), dbeta = pair(*c, {channels}, 7, 1.0, true);
            BatchNormSaved fastSaved, exactSaved;
            fast.batchNorm(x.gpu, gamma.gpu, beta.gpu, relu, y.gpu, fastSaved);
            exact.batchNorm(x.exact, gamma.exact, beta.exact, relu, y.exact, exactSaved);
            compareImage(y, 2 * c->u + 64 * c->f32, "batch norm");
            compare(*c, {fastSaved.mean, exactSaved.mean}, 64 * c->f32, "mean");
            compare(*c, {fastSaved.variance, exactSaved.variance}, 64 * c->f32, "variance");
            fast.batchNormGradient(x.gpu, gamma.gpu, fastSaved, relu, dy.gpu, dy.gpu, dgamma.gpu, dbeta.gpu, true);
            exact.batchNormGradient(x.exact, gamma.exact, exactSaved, relu, dy.exact, dy.exact, dgamma.exact,
                                    dbeta.exact, true);
            compareImage(dy, 2 * c->u + 256 * c->f32, "batch norm gradient");
            compare(*c, dgamma, 256 * c->f32, "dgamma");
            compare(*c, dbeta, 256 * c->f32, "dbeta");
        }
        const PoolingShape pool{2, 3, 9, 8, 3, 2, 1};
        const Pair x = image(pool.input(), 1), y = image(pool.output(), 2), dy = image(pool.output(), 3),
                   dx = image(pool.input(), 4), mean = empty(*c, {2, 3}), back = image(pool.input(), 5);
        fast.maxPoolGradient(pool, dy.gpu, fast.maxPool(pool, x.gpu, y.gpu), dx.gpu);
        exact.maxPoolGradient(pool, dy.exact, exact.maxPool(pool, x.exact, y.exact), dx.exact);
        compareImage(y, c->u, "max pool");
        compareImage(dx, 2 * c->u, "max pool gradient");
        fast.averagePool(x.gpu, mean.gpu);
        exact.averagePool(x.exact, mean.exact);
        fast.averagePoolGradient(mean.gpu, back.gpu);
        exact.averagePoolGradient(mean.exact, back.exact);
        compareImage(mean, c->u + 16 * c->f32, "average pool");
        compareImage(back, 2 * c->u + 16 * c->f32, "average pool gradient");
        fast.addRelu(x.gpu, back.gpu);
        exact.addRelu(x.exact, back.exact);
        fast.addReluGradient(x.gpu, dx.gpu, back.gpu);
        exact.addReluGradient(x.exact, dx.exact, back.exact);
        compareImage(x, 4 * c->u, "shortcut");
        compareImage(dx, 4 * c->u, "shortcut gradient");
    }

    // The same call twice gives the same bits; and communicators' sums are those of the CPU's.
    void sameBits_data() { addRows(); }
    void sameBits()
    {
        const auto c = make();
        if (!c) return;
        const Pair a = pair(*c, {200, 65}, 1), b = pair(*c, {200, 33}, 2);
        const auto bits = [&] {
            const Pair y = empty(*c, {65, 33}, true), sums = empty(*c, {65}, true);
            c->gpu->device.matmul(matrix(a.gpu).transposed(), matrix(b.gpu), matrix(y.gpu));
            c->gpu->device.columnSum(a.gpu, sums.gpu, false);
            std::vector<double> all;
            for (const Tensor& t : {y.gpu, sums.gpu}) {
                const HostAccess host(t, HostAccess::Mode::Read);
                for (std::int64_t i = 0; i < t.elements(); ++i) all.push_back(host.get(i));
            }
            return all;
        };
        QCOMPARE(bits(), bits());
        for (const bool maximum : {false, true}) {
            const Pair into = pair(*c, {77}, 3), from = pair(*c, {77}, 4);
            c->gpu->stream.reduce(into.gpu.data(), from.gpu.data(), 77, into.gpu.type(), maximum);
            for (std::int64_t i = 0; i < 77; ++i) {
                double& x = into.exact.as<double>()[i];
                const double y = from.exact.as<double>()[i];
                x = maximum ? std::max(x, y) : x + y;
            }
            compare(*c, into, c->u, "reduction");
        }
    }
};

FOURWALLS_TEST(GpuOperators, QCoreApplication)

} // namespace tst_gpu_operators

#include "tst_gpu_operators.moc"
