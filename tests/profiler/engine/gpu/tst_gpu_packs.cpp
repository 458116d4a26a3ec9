// SPDX-License-Identifier: Apache-2.0
// Own kernels that move 16 bytes at a time: which elements go in packs, by hand, and operators on slices of every
// alignment and of odd sizes against the reference in double, whose neighbours stay as they are. With the processor in place
// of the GPU, and on a GPU where there is one. tst_gpu_operators has all operators, on whole tensors.
#include <QtTest> // first: moc stumbles over <compare> otherwise

#include "profiler/engine/device/routing_operators.h"
#include "profiler/engine/device/sparse_operators.h"
#include "profiler/engine/device/update_operators.h"
#include "tests/profiler/engine/gpu/gpu_fixture.h"
#include "tests/support/test_program.h"

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tst_gpu_packs {

using namespace fourwalls;
using namespace fourwalls::engine;
using namespace fourwalls::engine::testing;

namespace {

using gpu::Index;

/// Matrices of one size that begin at any element of a longer buffer, on the device and on the reference.
class Slices {
public:
    Slices(const gpu::Module& module, DType own, std::int64_t height, std::int64_t width)
        : type(own)
        , rows(height)
        , columns(width)
        , device(module, own)
        , exact(DType::F64)
    {}

    struct Slice {
        Tensor wholeHere, wholeThere, here, there;
    };

    /// Random numbers, `from` elements behind an aligned address.
    Slice make(std::int64_t from, std::int64_t height, std::int64_t width, DType of)
    {
        const std::int64_t all = from + height * width + kBehind;
        const Tensor numbers = exact.random({all}, of, ++m_stream);
        Slice s{device.copy(numbers), exact.copy(numbers, DType::F64), {}, {}};
        s.here = s.wholeHere.part(from, {height, width});
        s.there = s.wholeThere.part(from, {height, width});
        return s;
    }
    Slice make(std::int64_t from) { return make(from, rows, columns, type); }
    Slice row(std::int64_t from) { return make(from, 1, columns, DType::F32); }

    /// f(the device, which tensor of a slice is its own), for both.
    template <class F>
    void both(F f)
    {
        f(device.device, [](const Slice& s) { return s.here; });
        f(*exact.device, [](const Slice& s) { return s.there; });
    }

    /// Of the whole buffer: neighbours count.
    void compare(const Slice& s, double tolerance, const char* what)
    {
        const Tensor here = exact.tensor(s.wholeHere.shape(), s.wholeHere.type());
        {
            const HostAccess from(s.wholeHere, HostAccess::Mode::Read);
            std::memcpy(here.data(), from.data(), static_cast<std::size_t>(here.bytes()));
        }
        const double d = relativeDifference(here, s.wholeThere);
        if (!(d <= tolerance)) wrong = std::string(what) + ": " + std::to_string(d);
    }

    const DType type;
    const std::int64_t rows, columns;
    GpuRank device;
    TestRank exact;
    std::string wrong; ///< what was, last

private:
    static constexpr std::int64_t kBehind = 9;
    std::uint64_t m_stream = 0;
};

/// Operators on matrices that begin `from` elements behind an aligned address, and whose results begin `to` behind one.
std::string wrongOn(const gpu::Module& module, DType type, std::int64_t rows, std::int64_t columns, std::int64_t from,
                    std::int64_t to)
{
    Slices s(module, type, rows, columns);
    const double u = unitRoundoff(type), f32 = unitRoundoff(DType::F32);
    const double sums = static_cast<double>(rows + columns);

    const auto x = s.make(from), other = s.make(from), result = s.make(to), slope = s.make(to);
    s.both([&](Device& d, auto pick) { d.add(pick(x), pick(other), pick(result)); });
    s.compare(result, 2 * u, "add");
    s.both([&](Device& d, auto pick) { d.geluForward(pick(x), pick(result)); });
    s.compare(result, 2 * u + 16 * f32, "gelu");
    s.both([&](Device& d, auto pick) { d.geluBackward(pick(x), pick(other), pick(slope)); });
    s.compare(slope, 2 * u + 32 * f32, "gelu gradient");
    const auto bias = s.row(to), added = s.make(from);
    s.both([&](Device& d, auto pick) { d.addBias(pick(added), pick(bias).reshaped({columns}), pick(other)); });
    s.compare(added, 3 * u, "bias and residual");
    s.both([&](Device& d, auto pick) { d.addBias(pick(added), pick(bias).reshaped({columns}), Tensor()); });
    s.compare(added, 5 * u, "bias");

    const auto gateUp = s.make(from, rows, 2 * columns, type), dGateUp = s.make(to, rows, 2 * columns, type);
    s.both([&](Device& d, auto pick) { d.swigluForward(pick(gateUp), pick(result)); });
    s.compare(result, 2 * u + 16 * f32, "swiglu");
    s.both([&](Device& d, auto pick) { d.swigluBackward(pick(gateUp), pick(other), pick(dGateUp)); });
    s.compare(dGateUp, 2 * u + 32 * f32, "swiglu gradient");
    s.both([&](Device& d, auto pick) { d.copyColumns(pick(gateUp), columns, pick(result), 0, columns); });
    s.compare(result, u, "columns");
    const auto wide = s.make(to, rows, columns, type == DType::F32 ? DType::Bf16 : DType::F32);
    s.both([&](Device& d, auto pick) { d.convert(pick(x), pick(wide)); });
    s.compare(wide, unitRoundoff(DType::Bf16), "conversion");

    const auto total = s.row(to);
    s.both([&](Device& d, auto pick) { d.columnSum(pick(x), pick(total).reshaped({columns}), true); });
    s.compare(total, sums * f32, "column sum");
    const auto gamma = s.row(from), beta = s.row(to), dGamma = s.row(from), dBeta = s.row(to);
    const auto mean = s.make(0, 1, rows, DType::F32), rstd = s.make(0, 1, rows, DType::F32);
    const auto vector = [&](const Tensor& t) { return t.reshaped({t.elements()}); };
    for (const NormKind kind : {NormKind::LayerNorm, NormKind::RmsNorm}) {
        const bool layer = kind == NormKind::LayerNorm;
        const auto in = s.make(from), out = s.make(to), up = s.make(from), dx = s.make(to);
        s.both([&](Device& d, auto pick) {
            const Tensor g = vector(pick(gamma)), b = layer ? vector(pick(beta)) : Tensor();
            d.normForward(kind, pick(in), g, b, pick(out), vector(pick(mean)), vector(pick(rstd)));
        });
        s.compare(out, 4 * u + (256 + sums) * f32, "norm");
        s.both([&](Device& d, auto pick) {
            d.normBackward(kind, pick(in), vector(pick(gamma)), vector(pick(mean)), vector(pick(rstd)), pick(up),
                           pick(dx), true, vector(pick(dGamma)), layer ? vector(pick(dBeta)) : Tensor(), false);
        });
        s.compare(dx, 8 * u + (1024 + sums) * f32, "norm gradient, added");
        s.compare(dGamma, (1024 + sums) * f32, "dgamma");
        s.compare(dBeta, (1024 + sums) * f32, "dbeta");
    }
    return s.wrong;
}

/// The same for scores, logits and weights.
std::string wrongOnRows(const gpu::Module& module, DType type, std::int64_t rows, std::int64_t columns,
                        std::int64_t from, std::int64_t to)
{
    Slices s(module, type, rows, columns);
    const double u = unitRoundoff(type), f32 = unitRoundoff(DType::F32);
    const double sums = static_cast<double>(rows + columns);
    const auto scores = s.make(from), dScores = s.make(to);
    s.both([&](Device& d, auto pick) {
        d.softmaxForward(pick(scores), 0.7, true, Tensor());
        d.softmaxBackward(pick(scores), pick(dScores), 0.7, true, Tensor());
    });
    s.compare(scores, 2 * u + (32 + sums) * f32, "softmax");
    s.compare(dScores, 8 * u + (64 + sums) * f32, "softmax gradient");

    const auto logits = s.make(from, rows, columns, DType::F32), losses = s.make(to, 1, rows, DType::F32);
    const Tensor numbers = s.exact.tokens({rows, 1}, columns, 5), targets = s.device.copy(numbers);
    double least[2], squares[2];
    int side = 0;
    s.both([&](Device& d, auto pick) {
        squares[side] = d.sumOfSquares(pick(logits));
        least[side++] = d.sum(pick(logits));
        const bool here = &d == &s.device.device;
        d.crossEntropy(pick(logits), here ? targets : numbers, pick(losses).reshaped({rows}), 0.5);
    });
    s.compare(logits, (64 + sums) * f32, "gradient of the loss");
    s.compare(losses, (32 + sums) * f32, "losses");
    if (std::abs(squares[0] - squares[1]) > sums * f32 * squares[1]) s.wrong = "sum of squares";
    if (std::abs(least[0] - least[1]) > sums * f32 * squares[1] + 1e-6) s.wrong = "sum";

    // Rows that are copied as words, of which one is nobody's.
    const auto table = s.make(from), gathered = s.make(to), scattered = s.make(to);
    const Tensor order = s.exact.tensor({rows}, DType::I32);
    for (std::int64_t i = 0; i < rows; ++i) order.as<std::int32_t>()[i] = static_cast<std::int32_t>(rows - 1 - i);
    const Tensor places = s.device.copy(order);
    order.as<std::int32_t>()[0] = -1;
    const Tensor sources = s.device.copy(order);
    s.both([&](Device& d, auto pick) {
        const bool here = &d == &s.device.device;
        RoutingOperators(d).gatherRows(pick(table), here ? sources : order, pick(gathered));
    });
    order.as<std::int32_t>()[0] = static_cast<std::int32_t>(rows - 1);
    s.both([&](Device& d, auto pick) {
        const bool here = &d == &s.device.device;
        SparseOperators(d).scatterRows(pick(table), here ? places : order, pick(scattered));
    });
    s.compare(gathered, u, "gathered rows");
    s.compare(scattered, u, "scattered rows");

    for (const bool adam : {true, false}) {
        const auto w = s.make(from, rows, columns, DType::F32), g = s.make(from, rows, columns, DType::F32),
                   m = s.make(from, rows, columns, DType::F32);
        auto v = s.make(from, rows, columns, DType::F32);
        for (const Tensor& t : {v.here, v.there}) {
            const HostAccess host(t, HostAccess::Mode::ReadWrite); // second moments are not negative
            for (std::int64_t i = 0; i < t.elements(); ++i) host.set(i, std::abs(host.get(i)));
        }
        const auto rounded = s.make(to, rows, columns, DType::Bf16);
        s.both([&](Device& d, auto pick) {
            const bool here = &d == &s.device.device && type == DType::Bf16;
            const UpdateTensors t{pick(w), pick(g), pick(m), adam ? pick(v) : Tensor(), here ? pick(rounded) : Tensor(),
                                  0.1};
            if (adam)
                d.adamw(std::span(&t, 1), AdamWStep{1e-2, 0.9, 0.95, 1e-8, 0.1, 0.5, 3});
            else
                d.sgd(std::span(&t, 1), SgdStep{1e-2, 0.9, 0.1, 0.5});
        });
        s.compare(w, 32 * f32, "weights");
        s.compare(m, 32 * f32, "first moment");
        s.compare(v, 32 * f32, "second moment");
        if (type != DType::Bf16) continue;
        s.exact.device->convert(w.there, rounded.there);
        s.compare(rounded, u + 32 * f32, "rounded weights");
    }
    return s.wrong;
}

} // namespace

class GpuPacks : public QObject {
    Q_OBJECT

private:
    alignas(16) std::array<char, 4096> m_memory{};
    template <class T>
    T* at(std::int64_t element)
    {
        return reinterpret_cast<T*>(m_memory.data()) + element;
    }

private slots:
    void plans()
    {
        using namespace gpu;
        const auto is = [](const PackPlan& plan, Index head, Index packs, int width) {
            const bool right = plan.head == head && plan.packs == packs && plan.width == width;
            if (!right)
                qWarning("head %lld, packs %lld", static_cast<long long>(plan.head),
                         static_cast<long long>(plan.packs));
            return right;
        };
        QVERIFY(is(planOf(64, Reads{at<Bf16>(0)}), 0, 8, 8));
        QVERIFY(is(planOf(64, Reads{at<float>(0)}), 0, 16, 4));
        QVERIFY(is(planOf(7, Reads{at<Bf16>(0)}), 0, 0, 8));
        QVERIFY(is(planOf(15, Reads{at<Bf16>(1)}), 7, 1, 8));
        QVERIFY(is(planOf(14, Reads{at<Bf16>(1)}), 0, 0, 8)); // no pack behind the head
        QVERIFY(is(planOf(20, Reads{at<float>(3)}, Writes{at<float>(7)}), 1, 4, 4));
        QVERIFY(is(planOf(20, Reads{at<float>(3)}, Writes{at<float>(2)}), 0, 0, 4));
        // Two types: the narrow one fills a pack, and both are aligned behind the same head or neither is.
        QVERIFY(is(planOf(40, Reads{at<float>(0)}, Writes{at<Bf16>(0)}), 0, 5, 8));
        QVERIFY(is(planOf(40, Reads{at<float>(1)}, Writes{at<Bf16>(1)}), 7, 4, 8));
        QVERIFY(is(planOf(40, Reads{at<float>(1)}, Writes{at<Bf16>(5)}), 3, 4, 8));
        QVERIFY(is(planOf(40, Reads{at<float>(1)}, Writes{at<Bf16>(2)}), 0, 0, 8));
        // What is not there is in nobody's way.
        QVERIFY(is(planOf(40, Reads{at<float>(3)}, MayWrite<Bf16>{nullptr}), 1, 4, 8));
        // Every element once.
        for (const Index count : {1, 15, 23, 64, 77}) {
            const PackPlan plan = planOf(count, Reads{at<Bf16>(3)});
            std::vector<int> seen(static_cast<std::size_t>(count));
            for (Index p = 0; p < plan.packs; ++p) {
                QCOMPARE((plan.firstOf(p) + 3) % 8, Index{0});
                for (int k = 0; k < 8; ++k) ++seen.at(static_cast<std::size_t>(plan.firstOf(p) + k));
            }
            for (Index s = 0; s < plan.singles(); ++s) ++seen.at(static_cast<std::size_t>(plan.single(s)));
            QVERIFY(seen == std::vector<int>(seen.size(), 1));
        }
    }

    /// Rows that are no multiple of a pack are moved one by one: a pack would reach into the next row.
    void plansOfKernels()
    {
        using namespace gpu;
        const auto packs = [](const auto& kernel, Index count) { return planOfKernel(kernel, count).packs; };
        QCOMPARE(packs(Gelu<Bf16>{at<Bf16>(0), at<Bf16>(64)}, 60), Index{7});
        QCOMPARE(packs(Gelu<Bf16>{at<Bf16>(0), at<Bf16>(65)}, 60), Index{0});
        for (const Index f : {16, 20, 7})
            QCOMPARE(packs(Swiglu<Bf16>{at<Bf16>(0), at<Bf16>(800), f}, 6 * f), f == 16 ? 12 : 0);
        QCOMPARE(packs(Swiglu<float>{at<float>(0), at<float>(400), 20}, 120), Index{30});
        QCOMPARE(packs(Swiglu<float>{at<float>(4), at<float>(400), 20}, 120), Index{30});
        QCOMPARE(packs(Swiglu<float>{at<float>(1), at<float>(401), 20}, 120), Index{0}); // the same head, but rows
        QCOMPARE(packs(AddBias<Bf16>{at<Bf16>(0), at<float>(100), nullptr, 24}, 72), Index{9});
        QCOMPARE(packs(AddBias<Bf16>{at<Bf16>(0), at<float>(100), nullptr, 12}, 72), Index{0});
        QCOMPARE(packs(CopyColumns<float, float>{at<float>(0), 24, 8, at<float>(400), 8, 0, 8}, 32), Index{8});
        QCOMPARE(packs(CopyColumns<float, float>{at<float>(0), 24, 7, at<float>(400), 8, 0, 8}, 32), Index{0});
        QCOMPARE(packs(CopyColumns<float, float>{at<float>(0), 23, 8, at<float>(400), 8, 0, 8}, 32), Index{0});
        QCOMPARE(packs(Rotary<Bf16>{at<Bf16>(0), at<float>(400), at<float>(600), 96, 2, 16, 4, 1.0f}, 128), Index{16});
        QCOMPARE(packs(Rotary<Bf16>{at<Bf16>(0), at<float>(400), at<float>(600), 96, 4, 12, 4, 1.0f}, 96), Index{0});
        QCOMPARE(packs(ColumnPart<Bf16>{at<Bf16>(0), at<float>(800), 10, 32, 5}, 64), Index{8});
        QCOMPARE(packs(ColumnPart<Bf16>{at<Bf16>(0), at<float>(800), 10, 30, 5}, 60), Index{0});
    }

    void operatorsOnSlices_data()
    {
        QTest::addColumn<bool>("real");
        QTest::addColumn<bool>("bf16");
        for (const bool real : {false, true})
            for (const bool bf16 : {false, true})
                QTest::addRow("%s %s", real ? "GPU" : "processor", bf16 ? "bf16" : "f32") << real << bf16;
    }
    void operatorsOnSlices()
    {
        QFETCH(bool, real);
        QFETCH(bool, bf16);
        std::string why;
        const gpu::Module* const module = moduleFor(real, why);
        if (!module) return endRowWithoutGpu(why);
        const DType type = bf16 ? DType::Bf16 : DType::F32;
        using Pair = std::pair<std::int64_t, std::int64_t>;
        for (const auto& [rows, columns] :
             {Pair{3, 1}, Pair{5, 7}, Pair{4, 8}, Pair{2, 24}, Pair{3, 33}, Pair{40, 64}, Pair{3, 1000}, Pair{2, 4097}})
            for (const auto& [from, to] : {Pair{0, 0}, Pair{8, 16}, Pair{1, 1}, Pair{5, 9}, Pair{4, 4}, Pair{0, 3}}) {
                const std::string wrong = wrongOn(*module, type, rows, columns, from, to) +
                                          wrongOnRows(*module, type, rows, columns, from, to);
                QVERIFY2(wrong.empty(), qPrintable(QString("%1 x %2 from %3 to %4: %5")
                                                       .arg(rows)
                                                       .arg(columns)
                                                       .arg(from)
                                                       .arg(to)
                                                       .arg(QString::fromStdString(wrong))));
            }
    }
};

FOURWALLS_TEST(GpuPacks, QCoreApplication)

} // namespace tst_gpu_packs

#include "tst_gpu_packs.moc"
