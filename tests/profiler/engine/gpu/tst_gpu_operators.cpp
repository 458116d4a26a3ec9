// SPDX-License-Identifier: Apache-2.0
// Every operator of the CUDA device against the reference device in double: with the processor in place of the GPU
// (which proves the arithmetic of the kernels and all that lies above the CUDA module), and on a GPU where there is
// one. Tolerances come from rounding, as in tst_cpu_operators. Attention is in tst_gpu_attention, images in
// tst_gpu_image_operators.
#include <QtTest> // first: moc stumbles over <compare> otherwise

#include "profiler/engine/device/routing_operators.h"
#include "profiler/engine/device/sparse_operators.h"
#include "profiler/engine/device/update_operators.h"
#include "tests/profiler/engine/gpu/operator_pairs.h"
#include "tests/support/test_program.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

namespace tst_gpu_operators {

using namespace fourwalls;
using namespace fourwalls::engine;
using namespace fourwalls::engine::testing;

class GpuOperators : public QObject, private OperatorPairs {
    Q_OBJECT

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
