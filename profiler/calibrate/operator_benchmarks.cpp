// SPDX-License-Identifier: Apache-2.0
// The benchmarks. In a step an operator's input was just written, while weights, saved activations and results come
// from further away: so the first operand stays and the others go through a pool larger than the caches.
#include "profiler/calibrate/operator_benchmarks.h"

#include "model/base/median.h"
#include "profiler/engine/device/cpu_device.h"
#include "profiler/engine/nn/parameter.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <string>

namespace fourwalls::calibrate {

using namespace engine;

namespace {

double processorSeconds()
{
    timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

/// Median processor time of a call; the first one makes what the others only use.
template <class Call>
double timeOf(const MeasuringTime& enough, Call&& call)
{
    call();
    std::vector<double> times;
    for (double sum = 0; (sum < enough.seconds || times.size() < enough.leastCalls) && times.size() < 10'000;
         sum += times.back()) {
        const double begin = processorSeconds();
        call();
        times.push_back(processorSeconds() - begin);
    }
    return std::max(upperMedian(std::move(times)), 1e-9);
}

class Benchmark {
public:
    Benchmark(DType type, const MeasuringTime& time, std::size_t mostPoints, std::function<void(double)> progress)
        : m_type(type)
        , m_time(time)
        , m_mostPoints(mostPoints)
        , m_progress(std::move(progress))
        , m_recorder(nullptr, RankId{0}, ClockOrigin::now())
        , m_allocator(m_recorder, 0)
        , m_device(m_recorder, m_allocator)
        , m_pool(Tensor::make(m_allocator, {kPoolBytes / bytesOf(type)}, type, MemoryCategory::Activations))
        , m_sums(Tensor::make(m_allocator, {kPoolBytes / bytesOf(DType::F32)}, DType::F32, MemoryCategory::Gradients))
    {
        fill(m_pool);
        fill(m_sums);
    }

    OperatorBenchmarks run();

private:
    static constexpr std::int64_t kPoolBytes = 48 << 20; // more than a core's share of any cache

    /// Values of both signs below 1, as activations have them: speed must not depend on denormals or on equal scores.
    void fill(const Tensor& t)
    {
        std::uint32_t state = 12345;
        for (std::int64_t i = 0; i < t.elements(); ++i) {
            state = state * 1664525U + 1013904223U;
            setElement(t, i, (static_cast<double>(state >> 8) + 0.5) / (1 << 23) - 1);
        }
    }
    Tensor own(const Shape& shape, DType type)
    {
        Tensor t = Tensor::make(m_allocator, shape, type, MemoryCategory::Activations);
        fill(t);
        return t;
    }
    /// The next stretch of a pool.
    Tensor stretch(const Tensor& pool, std::int64_t& next, const Shape& shape)
    {
        constexpr std::int64_t kLine = 64;
        const std::int64_t elements = (shape.elements() + kLine - 1) / kLine * kLine;
        if (elements > pool.elements()) return own(shape, pool.type());
        if (next + elements > pool.elements()) next = 0;
        const Tensor t = pool.part(next, shape);
        next += elements;
        return t;
    }
    Tensor far(const Shape& shape) { return stretch(m_pool, m_next, shape); }
    /// A gradient that was last touched a micro-batch ago.
    Tensor farSums(const Shape& shape) { return stretch(m_sums, m_nextSum, shape); }
    template <class Call>
    double rateOf(const char* name, const std::string& shape, double flops, double bytes, Call&& call)
    {
        const double seconds = timeOf(m_time, call);
        m_result.operators.push_back({name, shape, seconds, flops, bytes});
        return (flops > 0 ? flops : bytes) / seconds;
    }
    /// The smallest of them, as many as are wanted.
    template <class T>
    std::vector<T> points(std::vector<T> all) const
    {
        if (m_mostPoints > 0 && all.size() > m_mostPoints) all.resize(m_mostPoints);
        return all;
    }
    void products();
    void attention();
    void elementwise();
    void residualInside(const std::vector<std::int64_t>& rows);
    void head();
    void parameters();
    /// A curve over the bytes: makeCall(rows) gives the call and bytesOf(rows) what the cost model counts for it.
    template <class Make>
    void curve(const char* name, const std::vector<std::int64_t>& rows, Make&& make);

    DType m_type;
    MeasuringTime m_time;
    std::size_t m_mostPoints;
    std::function<void(double)> m_progress;
    Recorder m_recorder;
    Allocator m_allocator;
    CpuDevice m_device;
    Tensor m_pool, m_sums;
    std::int64_t m_next = 0, m_nextSum = 0;
    OperatorBenchmarks m_result;
};

std::string text(std::initializer_list<double> extents)
{
    std::string words;
    for (const double extent : extents)
        words += (words.empty() ? "" : "x") + std::to_string(static_cast<std::int64_t>(extent));
    return words;
}

/// Products of all three passes, with the shapes of layers: rows are tokens, k and n widths.
void Benchmark::products()
{
    const auto rows = points<double>({64, 256, 1024, 2048}), widths = points<double>({64, 128, 384, 1536});
    RateGrid plain{{rows, widths, widths}, {}}, second = plain, first{{widths, widths, rows}, {}}, added = first;
    for (const double m : rows)
        for (const double n : widths)
            for (const double k : widths) {
                const auto im = static_cast<std::int64_t>(m), in = static_cast<std::int64_t>(n);
                const auto ik = static_cast<std::int64_t>(k);
                const Tensor x = own({im, ik}, m_type), bias = own({in}, DType::F32);
                MatmulOptions options;
                options.bias = &bias;
                const std::string shape = text({m, n, k});
                plain.rates.push_back(rateOf("gemm", shape, 2 * m * n * k, 0, [&] {
                    const Tensor w = far({ik, in}), y = far({im, in});
                    m_device.matmul(matrix(x), matrix(w), matrix(y), options);
                }));
                second.rates.push_back(rateOf("gemm.input_gradient", shape, 2 * m * n * k, 0, [&] {
                    const Tensor w = far({in, ik}), y = far({im, in});
                    m_device.matmul(matrix(x), matrix(w).transposed(), matrix(y));
                }));
            }
    MatmulOptions add;
    add.accumulate = true;
    for (const double m : widths)
        for (const double n : widths)
            for (const double k : rows) {
                const auto im = static_cast<std::int64_t>(m), in = static_cast<std::int64_t>(n);
                const auto ik = static_cast<std::int64_t>(k);
                // The engine's weights are [in, out]: the cost model's (out, in) the other way round.
                const Tensor dy = own({ik, im}, m_type);
                const auto gradient = [&](const char* name, const MatmulOptions& options) {
                    return rateOf(name, text({m, n, k}), 2 * m * n * k, 0, [&] {
                        const Tensor x = far({ik, in}), dw = farSums({in, im});
                        m_device.matmul(matrix(x).transposed(), matrix(dy), matrix(dw), options);
                    });
                };
                first.rates.push_back(gradient("gemm.weight_gradient", {}));
                added.rates.push_back(gradient("gemm.weight_gradient.added", add));
            }
    m_result.rates["gemm"] = std::move(plain);
    m_result.rates["gemm.input_gradient"] = std::move(second);
    m_result.rates["gemm.weight_gradient"] = std::move(first);
    m_result.rates["gemm.weight_gradient.added"] = std::move(added);
}

/// Fused attention, and the batched products and the softmax of unfused attention, by sequence and width of a head.
void Benchmark::attention()
{
    const auto sequences = points<double>({64, 128, 256, 512}), widths = points<double>({16, 32, 64, 128});
    for (const bool causal : {true, false}) {
        RateGrid forward{{sequences, widths}, {}}, backward = forward;
        for (const double s : sequences)
            for (const double d : widths) {
                const auto is = static_cast<std::int64_t>(s), id = static_cast<std::int64_t>(d);
                constexpr std::int64_t kHeads = 8;
                const AttentionShape shape{std::max<std::int64_t>(1, 512 / is), is, kHeads, kHeads, id, causal};
                const std::int64_t n = shape.batch * is;
                const Tensor qkv = own({n, shape.width()}, m_type), dout = own({n, shape.heads * id}, m_type);
                const Tensor out = own({n, shape.heads * id}, m_type),
                             sums = own({shape.batch, kHeads, is}, DType::F32);
                const double flops =
                    (causal ? 0.5 : 1) * 4 * static_cast<double>(shape.batch * shape.heads) * s * s * d;
                const std::string words = text({s, d});
                forward.rates.push_back(rateOf(causal ? "attention.fused" : "attention.fused.whole", words, flops, 0,
                                               [&] { m_device.attentionForward(shape, qkv, far(out.shape()), sums); }));
                m_device.attentionForward(shape, qkv, out, sums);
                backward.rates.push_back(rateOf(causal ? "attention.fused.backward" : "attention.fused.whole.backward",
                                                words, 2.5 * flops, 0, [&] {
                                                    const Tensor dqkv = far(qkv.shape());
                                                    m_device.attentionBackward(shape, qkv, out, sums, dout, dqkv);
                                                }));
            }
        m_result.rates[causal ? "attention.fused" : "attention.fused.whole"] = std::move(forward);
        m_result.rates[causal ? "attention.fused.backward" : "attention.fused.whole.backward"] = std::move(backward);
    }
    RateGrid scores{{sequences, widths}, {}}, values = scores, transposed = scores;
    for (const double s : sequences)
        for (const double d : widths) {
            const auto is = static_cast<std::int64_t>(s), id = static_cast<std::int64_t>(d);
            constexpr std::int64_t kHeads = 8;
            const std::int64_t batch = std::max<std::int64_t>(1, 512 / is), width = 3 * kHeads * id;
            // Matrices of all heads of all samples, as they lie in the engine: heads side by side in rows of queries,
            // keys and values, their scores one after the other.
            const auto batched = [&](const Tensor& t, std::int64_t columns, std::int64_t rowStride,
                                     std::int64_t perHead) {
                Matrix m = matrix(t);
                m.batch0 = batch;
                m.batchStride0 = rowStride == columns ? kHeads * perHead : is * rowStride;
                m.batch1 = kHeads;
                m.batchStride1 = perHead;
                m.rows = is;
                m.cols = columns;
                m.rowStride = rowStride;
                return m;
            };
            const Tensor qkv = own({batch * is, width}, m_type), out = own({batch * is, kHeads * id}, m_type);
            const auto heads = [&](const Tensor& t) { return batched(t, id, t.columns(), id); };
            const auto pairs = [&] { return batched(far({batch * kHeads * is, is}), is, is, is * is); };
            const double flops = 2 * static_cast<double>(batch * kHeads) * s * s * d;
            const std::string words = text({s, d});
            scores.rates.push_back(rateOf("attention.scores", words, flops, 0,
                                          [&] { m_device.matmul(heads(qkv), heads(qkv).transposed(), pairs()); }));
            values.rates.push_back(
                rateOf("attention.values", words, flops, 0, [&] { m_device.matmul(pairs(), heads(qkv), heads(out)); }));
            transposed.rates.push_back(rateOf("attention.values.transposed", words, flops, 0,
                                              [&] { m_device.matmul(pairs().transposed(), heads(out), heads(qkv)); }));
        }
    m_result.rates["attention.scores"] = std::move(scores);
    m_result.rates["attention.values"] = std::move(values);
    m_result.rates["attention.values.transposed"] = std::move(transposed);
}

template <class Make>
void Benchmark::curve(const char* name, const std::vector<std::int64_t>& rows, Make&& make)
{
    RateGrid grid;
    grid.axes.resize(1);
    for (const std::int64_t count : rows) {
        auto [bytes, call] = make(count);
        grid.axes[0].push_back(bytes);
        grid.rates.push_back(rateOf(name, std::to_string(count), 0, bytes, call));
    }
    m_result.rates[name] = std::move(grid);
}

/// What moves rows of activations; counted as model/cost/layer_shape.cpp counts.
void Benchmark::elementwise()
{
    constexpr std::int64_t kWidth = 256;
    const double e = static_cast<double>(bytesOf(m_type));
    const auto rows = points<std::int64_t>({32, 128, 512, 2048, 8192});
    const auto elements = [&](std::int64_t n) { return static_cast<double>(n * kWidth); };
    const Tensor gamma = own({kWidth}, DType::F32), beta = own({kWidth}, DType::F32);
    for (const NormKind kind : {NormKind::LayerNorm, NormKind::RmsNorm}) {
        const bool layer = kind == NormKind::LayerNorm;
        const Tensor shift = layer ? beta : Tensor();
        curve(layer ? "norm" : "norm.rms", rows, [&, kind, shift](std::int64_t n) {
            const Tensor x = own({n, kWidth}, m_type), mean = own({n}, DType::F32), rstd = own({n}, DType::F32);
            return std::pair(2 * e * elements(n), std::function<void()>([=, this] {
                                 m_device.normForward(kind, x, gamma, shift, far({n, kWidth}), mean, rstd);
                             }));
        });
        curve(layer ? "norm.backward" : "norm.rms.backward", rows, [&, kind, shift](std::int64_t n) {
            const Tensor dx = own({n, kWidth}, m_type), dy = own({n, kWidth}, m_type);
            const Tensor mean = own({n}, DType::F32), rstd = own({n}, DType::F32);
            return std::pair(
                5 * e * elements(n), std::function<void()>([=, this] {
                    m_device.normBackward(kind, far({n, kWidth}), gamma, mean, rstd, dy, dx, true, gamma, shift, false);
                }));
        });
    }
    const auto simple = [&](const char* name, double passes, auto call) {
        curve(name, rows, [&, passes, call](std::int64_t n) {
            const Tensor x = own({n, kWidth}, m_type), y = own({n, kWidth}, m_type);
            return std::pair(passes * e * elements(n), std::function<void()>([=] { call(n, x, y); }));
        });
    };
    simple("mlp.activation", 2, [this](std::int64_t n, const Tensor& x, const Tensor&) {
        m_device.geluForward(x, far({n, kWidth}));
    });
    simple("mlp.activation.backward", 3, [this](std::int64_t n, const Tensor& dy, const Tensor& dx) {
        m_device.geluBackward(far({n, kWidth}), dy, dx);
    });
    // Gated: both inner products lie side by side.
    simple("mlp.activation.gated", 3, [this](std::int64_t n, const Tensor&, const Tensor&) {
        m_device.swigluForward(far({n, 2 * kWidth}), far({n, kWidth}));
    });
    simple("mlp.activation.gated.backward", 5, [this](std::int64_t n, const Tensor& dy, const Tensor&) {
        m_device.swigluBackward(far({n, 2 * kWidth}), dy, far({n, 2 * kWidth}));
    });
    simple("residual", 3, [this](std::int64_t n, const Tensor& x, const Tensor& y) {
        m_device.add(y, far({n, kWidth}), x);
    });
    residualInside(rows);
    simple("copy", 2, [this](std::int64_t n, const Tensor& x, const Tensor&) {
        m_device.convert(x, far({n, kWidth}));
    });
    simple("bias.gradient", 1,
           [this, beta](std::int64_t, const Tensor& x, const Tensor&) { m_device.columnSum(x, beta, true); });
    curve("attention.rotary", rows, [&](std::int64_t n) {
        constexpr std::int64_t kHead = 32;
        const std::int64_t sequence = std::min<std::int64_t>(n, 128);
        // Queries and keys are turned, the values between them are not.
        const AttentionShape shape{n / sequence, sequence, 4, 4, kHead, true};
        const Tensor qkv = own({n, shape.width()}, m_type);
        const Tensor cosines = own({sequence, kHead / 2}, DType::F32), sines = own({sequence, kHead / 2}, DType::F32);
        return std::pair(2 * e * static_cast<double>(n * 8 * kHead),
                         std::function<void()>([=, this] { m_device.rotary(shape, qkv, cosines, sines, false); }));
    });
    for (const bool forward : {true, false})
        curve(forward ? "attention.softmax" : "attention.softmax.backward", rows, [&, forward](std::int64_t n) {
            constexpr std::int64_t kKeys = 128; // the backward pass keeps probabilities: every layer has its own
            const std::int64_t area = n * kWidth, queries = std::min(area / kKeys, kKeys);
            const Shape shape{area / kKeys / queries, 1, queries, kKeys};
            const Tensor p = own(shape, m_type);
            const double bytes = (forward ? 2 : 3) * e * static_cast<double>(area);
            return std::pair(bytes, std::function<void()>([=, this] {
                                 if (forward)
                                     m_device.softmaxForward(far(shape), 0.1, true);
                                 else
                                     m_device.softmaxBackward(p, far(shape), 0.1, true);
                             }));
        });
}

/// What a residual sum adds to a product that does it while it writes.
void Benchmark::residualInside(const std::vector<std::int64_t>& rows)
{
    constexpr std::int64_t kIn = 256, kOut = 256;
    RateGrid grid;
    grid.axes.resize(1);
    const Tensor w = own({kIn, kOut}, m_type), bias = own({kOut}, DType::F32);
    for (const std::int64_t n : rows) {
        const Tensor x = own({n, kIn}, m_type);
        const auto product = [&](bool sum) {
            return timeOf(m_time, [&] {
                const Tensor residual = far({n, kOut});
                MatmulOptions options;
                options.bias = &bias;
                if (sum) options.residual = &residual;
                m_device.matmul(matrix(x), matrix(w), matrix(far({n, kOut})), options);
            });
        };
        const double plain = product(false), seconds = std::max(product(true) - plain, 0.01 * plain);
        const double bytes = static_cast<double>(n * kOut * bytesOf(m_type));
        m_result.operators.push_back({"residual.inside", std::to_string(n), seconds, 0, bytes});
        grid.axes[0].push_back(bytes);
        grid.rates.push_back(bytes / seconds);
    }
    m_result.rates["residual.inside"] = std::move(grid);
}

/// The two ends of the network: table look-up, loss.
void Benchmark::head()
{
    constexpr std::int64_t kWidth = 256, kVocabulary = 256;
    const auto rows = points<std::int64_t>({64, 512, 4096});
    const double e = static_cast<double>(bytesOf(m_type));
    const Tensor table = own({kVocabulary, kWidth}, m_type), dTable = own({kVocabulary, kWidth}, DType::F32);
    const Tensor positions = own({64, kWidth}, DType::F32), dPositions = own({64, kWidth}, DType::F32);
    const auto ids = [&](std::int64_t n, std::int64_t columns) {
        const Tensor t = Tensor::make(m_allocator, {n / columns, columns}, DType::I32, MemoryCategory::Other);
        for (std::int64_t i = 0; i < n; ++i) t.as<std::int32_t>()[i] = static_cast<std::int32_t>(i * 37 % kVocabulary);
        return t;
    };
    curve("embedding", rows, [&](std::int64_t n) {
        const Tensor tokens = ids(n, 64);
        return std::pair(3 * e * static_cast<double>(n * kWidth), std::function<void()>([=, this] {
                             m_device.embeddingForward(tokens, table, positions, far({n, kWidth}));
                         }));
    });
    curve("embedding.weight_gradient", rows, [&](std::int64_t n) {
        const Tensor tokens = ids(n, 64), dOut = own({n, kWidth}, m_type);
        return std::pair(4 * e * static_cast<double>(n * kWidth), std::function<void()>([=, this] {
                             m_device.zero(dPositions);
                             m_device.embeddingBackward(tokens, dOut, dTable, dPositions);
                         }));
    });
    constexpr double kLossBytes = 24; // per logit, as the engine's framework preset says
    for (const bool sharded : {false, true})
        curve(sharded ? "loss.sharded" : "loss", rows, [&, sharded](std::int64_t n) {
            const Tensor logits = own({n, kVocabulary}, DType::F32), targets = ids(n, 1);
            const Tensor losses = own({n}, DType::F32), sums = own({n, 2}, DType::F32);
            return std::pair(kLossBytes * static_cast<double>(n * kVocabulary), std::function<void()>([=, this] {
                                 if (!sharded) return m_device.crossEntropy(logits, targets, losses, 1e-3);
                                 m_device.rowMaxima(logits, losses);
                                 m_device.shardExponentials(logits, losses, targets, 0, sums);
                                 m_device.shardCrossEntropy(logits, sums, targets, 0, losses, 1e-3);
                             }));
        });
}

/// Norm of the gradients and the update, per parameter.
void Benchmark::parameters()
{
    const auto counts = points<std::int64_t>({256, 4096, 65'536, 1 << 20});
    const auto measure = [&](const char* name, double bytesPerParameter, bool adam) {
        curve(name, counts, [&, adam, bytesPerParameter](std::int64_t n) {
            const std::int64_t sets = std::max<std::int64_t>(1, std::min<std::int64_t>(64, (3 << 20) / n));
            std::vector<Tensor> w, g, m, v;
            for (std::int64_t i = 0; i < sets; ++i)
                for (std::vector<Tensor>* list : {&w, &g, &m, &v}) list->push_back(own({n}, DType::F32));
            return std::pair(
                bytesPerParameter * static_cast<double>(n),
                std::function<void()>([=, this, next = std::size_t{0}]() mutable {
                    const std::size_t i = next++ % w.size();
                    const double squares = m_device.sumOfSquares(g[i]);
                    if (adam)
                        m_device.adamw(w[i], g[i], m[i], v[i], {}, {squares * 1e-12, 0.9, 0.999, 1e-8, 0.1, 1, 2});
                    else
                        m_device.sgd(w[i], g[i], m[i], {}, {squares * 1e-12, 0.9, 0, 1});
                }));
        });
    };
    measure("optimizer", 32, true);
    measure("optimizer.sgd", 24, false);
}

OperatorBenchmarks Benchmark::run()
{
    const auto report = [this](double done) {
        if (m_progress) m_progress(done);
    };
    products();
    report(0.6);
    attention();
    report(0.75);
    elementwise();
    report(0.9);
    head();
    parameters();
    report(1);
    return std::move(m_result);
}

} // namespace

OperatorBenchmarks benchmarkOperators(DType type, const MeasuringTime& time, std::size_t mostPoints,
                                      const std::function<void(double)>& progress)
{
    return Benchmark(type, time, mostPoints, progress).run();
}

OperatorBenchmarks meanOf(std::vector<OperatorBenchmarks> passes)
{
    OperatorBenchmarks mean = std::move(passes.front());
    const auto count = static_cast<double>(passes.size());
    for (auto& [name, grid] : mean.rates) {
        for (std::size_t point = 0; point < grid.rates.size(); ++point) {
            double inverse = 1 / grid.rates[point];
            for (std::size_t pass = 1; pass < passes.size(); ++pass)
                inverse += 1 / passes[pass].rates.at(name).rates[point];
            grid.rates[point] = count / inverse;
        }
    }
    for (std::size_t i = 0; i < mean.operators.size(); ++i) {
        for (std::size_t pass = 1; pass < passes.size(); ++pass)
            mean.operators[i].seconds += passes[pass].operators[i].seconds;
        mean.operators[i].seconds /= count;
    }
    return mean;
}

} // namespace fourwalls::calibrate
