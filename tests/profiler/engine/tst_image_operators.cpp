// SPDX-License-Identifier: Apache-2.0
// The image operators by oneDNN, in every layout, against the plain loops in double. Tolerances come from rounding: u is
// the unit roundoff of the image's type; sums are in f32, so a sum of n terms is off by about sqrt(n) roundings to f32.
#include <QtTest> // first: moc stumbles over <compare> otherwise

#include "tests/profiler/engine/image_fixture.h"
#include "tests/support/test_program.h"

namespace tst_image_operators {

using namespace fourwalls;
using namespace fourwalls::engine;
using namespace fourwalls::engine::testing;

class ImageOperatorsTest : public QObject {
    Q_OBJECT

private:
    const double m_f32 = unitRoundoff(DType::F32);

    // Both implementations; images that exist twice.
    struct Case {
        DType type;
        double u;
        TestRank fastRank, exactRank{DType::F64};
        OneDnnImageOperators fast;
        ReferenceImageOperators exact{*exactRank.device};

        Case(DType compute, Layout layout)
            : type(compute)
            , u(unitRoundoff(compute))
            , fastRank(compute)
            , fast(*fastRank.device, layout, layout)
        {}
        struct Pair {
            Tensor fast, exact;
        };
        Pair image(const Shape& shape, std::uint64_t stream)
        {
            Pair p = empty(shape);
            const Tensor plain = fastRank.random(shape, type, stream);
            copyPixels(plain, p.fast);
            copyPixels(plain, p.exact);
            return p;
        }
        Pair empty(const Shape& shape)
        {
            return {fast.make(shape, type, MemoryCategory::Other),
                    exact.make(shape, DType::F64, MemoryCategory::Other)};
        }
        // Master type; the values have exact copies in the compute type, as weights are rounded to it on their way.
        Pair plain(const Shape& shape, std::uint64_t stream)
        {
            const Tensor rounded = fastRank.random(shape, type, stream);
            return {fastRank.copy(rounded, DType::F32), exactRank.copy(rounded, DType::F64)};
        }
        Pair plainEmpty(const Shape& shape)
        {
            return {fastRank.tensor(shape, DType::F32), exactRank.tensor(shape, DType::F64)};
        }
        Tensor rowMajor(const Tensor& image)
        {
            if (image.shape().rank() != 4) return image;
            const Tensor t = exactRank.tensor(image.shape(), DType::F64);
            copyPixels(image, t);
            return t;
        }
    };

    static std::unique_ptr<Case> make()
    {
        QFETCH(int, layout);
        QFETCH(bool, bf16);
        return std::make_unique<Case>(bf16 ? DType::Bf16 : DType::F32, static_cast<Layout>(layout));
    }

    static void addRows()
    {
        QTest::addColumn<int>("layout");
        QTest::addColumn<bool>("bf16");
        QTest::newRow("f32 blocks of 16") << static_cast<int>(Layout::ChannelBlocks16) << false;
        QTest::newRow("f32 blocks of 8") << static_cast<int>(Layout::ChannelBlocks8) << false;
        QTest::newRow("f32 channels last") << static_cast<int>(Layout::ChannelsLast) << false;
        QTest::newRow("bf16 blocks of 16") << static_cast<int>(Layout::ChannelBlocks16) << true;
        QTest::newRow("bf16 channels last") << static_cast<int>(Layout::ChannelsLast) << true;
    }

    static bool missing()
    {
        QFETCH(bool, bf16);
        return bf16 && !OneDnnMatmul::supportsBf16();
    }

    static void compare(Case& c, const Case::Pair& p, double tolerance, const char* what)
    {
        const double difference = relativeDifference(c.rowMajor(p.fast), p.exact);
        QVERIFY2(difference <= tolerance, qPrintable(QString("%1: %2 > %3").arg(what).arg(difference).arg(tolerance)));
    }

private slots:
    void convolution_data() { addRows(); }
    void convolution()
    {
        if (missing()) QSKIP("this processor has no bf16 convolutions in oneDNN");
        const auto c = make();
        const ConvolutionShape shapes[] = {
            {2, 16, 10, 10, 32, 1, 1, 0}, {2, 32, 9, 9, 16, 1, 2, 0},   {2, 16, 12, 12, 32, 3, 1, 1},
            {2, 16, 12, 12, 16, 3, 2, 1}, {4, 64, 14, 14, 64, 3, 1, 1}, {3, 32, 7, 7, 32, 3, 1, 1},
        };
        std::uint64_t stream = 1;
        for (const ConvolutionShape& s : shapes) {
            const auto x = c->image(s.input(), stream++), dy = c->image(s.output(), stream++),
                       w = c->plain(s.weights(), stream++);
            const auto y = c->empty(s.output()), dx = c->empty(s.input()), dw = c->plainEmpty(s.weights());
            c->fast.convolution(s, x.fast, w.fast, y.fast);
            c->exact.convolution(s, x.exact, w.exact, y.exact);
            const double terms = static_cast<double>(s.inChannels * s.kernel * s.kernel);
            compare(*c, y, c->u + 4 * std::sqrt(terms) * m_f32, "forward");
            c->fast.convolutionInputGradient(s, dy.fast, w.fast, dx.fast);
            c->exact.convolutionInputGradient(s, dy.exact, w.exact, dx.exact);
            const double back = static_cast<double>(s.outChannels * s.kernel * s.kernel);
            compare(*c, dx, c->u + 4 * std::sqrt(back) * m_f32, "input gradient");
            // Winograd's transforms enlarge rounding: by about 10 for tiles of 4x4 (Lavin, Gray 2015, arXiv:1509.09308).
            const double pixels = static_cast<double>(s.images * s.outHeight() * s.outWidth());
            const double tolerance = 40 * std::sqrt(pixels) * m_f32;
            for (const bool accumulate : {false, true}) {
                c->fast.convolutionWeightGradient(s, x.fast, dy.fast, dw.fast, accumulate);
                c->exact.convolutionWeightGradient(s, x.exact, dy.exact, dw.exact, accumulate);
                compare(*c, dw, tolerance, "weight gradient");
            }
        }
    }

    void stem_data() { addRows(); }
    void stem()
    {
        if (missing()) QSKIP("this processor has no bf16 convolutions in oneDNN");
        const auto c = make();
        const ConvolutionShape s{2, 3, 32, 32, 16, 7, 2, 3};
        // As the data source makes them: row-major.
        const Tensor image = c->fastRank.random(s.input(), c->type, 1);
        const Tensor x = c->fast.arrange(image), exactX = c->exactRank.copy(image, DType::F64);
        QVERIFY(x.layout() == c->fast.layoutOf(3, c->type));
        const auto w = c->plain(s.weights(), 2), y = c->empty(s.output()), dy = c->image(s.output(), 3),
                   dw = c->plainEmpty(s.weights());
        c->fast.convolution(s, x, w.fast, y.fast);
        c->exact.convolution(s, exactX, w.exact, y.exact);
        compare(*c, y, c->u + 4 * std::sqrt(147.0) * m_f32, "forward");
        c->fast.convolutionWeightGradient(s, x, dy.fast, dw.fast, false);
        c->exact.convolutionWeightGradient(s, exactX, dy.exact, dw.exact, false);
        compare(*c, dw, 4 * std::sqrt(512.0) * m_f32, "weight gradient");
    }

    void largeWeightGradient()
    {
        // A shape of ResNet-50 for which oneDNN takes Winograd's algorithm where it has one; every 997th entry.
        const ConvolutionShape s{8, 256, 14, 14, 256, 3, 1, 1};
        Case c(DType::F32, OneDnnImageOperators(*TestRank(DType::F32).device).layoutOf(256, DType::F32));
        const auto x = c.image(s.input(), 1), dy = c.image(s.output(), 2), dw = c.plainEmpty(s.weights());
        c.fast.convolutionWeightGradient(s, x.fast, dy.fast, dw.fast, false);
        const auto at = [](const Tensor& t, std::int64_t n, std::int64_t k, std::int64_t h, std::int64_t w) {
            return h < 0 || h > 13 || w < 0 || w > 13 ? 0.0 : t.as<double>()[((n * 256 + k) * 14 + h) * 14 + w];
        };
        double difference = 0, scale = 0;
        for (std::int64_t i = 0; i < dw.fast.elements(); i += 997) {
            const std::int64_t o = i / (256 * 9), channel = i / 9 % 256, r = i / 3 % 3, q = i % 3;
            double expected = 0;
            for (std::int64_t n = 0; n < 8; ++n)
                for (std::int64_t h = 0; h < 14; ++h)
                    for (std::int64_t w = 0; w < 14; ++w)
                        expected += at(dy.exact, n, o, h, w) * at(x.exact, n, channel, h + r - 1, w + q - 1);
            difference = std::max(difference, std::abs(element(dw.fast, i) - expected));
            scale = std::max(scale, std::abs(expected));
        }
        const double tolerance = 40 * std::sqrt(8.0 * 14 * 14) * m_f32;
        QVERIFY2(difference <= tolerance * scale,
                 qPrintable(QString("%1 > %2").arg(difference / scale).arg(tolerance)));
    }

    void batchNorm_data() { addRows(); }
    void batchNorm()
    {
        if (missing()) QSKIP("this processor has no bf16 normalisation in oneDNN");
        const auto c = make();
        const Shape shape{3, 32, 7, 6};
        for (const bool relu : {false, true}) {
            const auto x = c->image(shape, 1), dy = c->image(shape, 2), y = c->empty(shape), dx = c->empty(shape);
            const auto gamma = c->plain({32}, 3), beta = c->plain({32}, 4), dgamma = c->plainEmpty({32}),
                       dbeta = c->plainEmpty({32});
            BatchNormSaved fast, exact;
            c->fast.batchNorm(x.fast, gamma.fast, beta.fast, relu, y.fast, fast);
            c->exact.batchNorm(x.exact, gamma.exact, beta.exact, relu, y.exact, exact);
            const double sums = 4 * std::sqrt(126.0) * m_f32;
            compare(*c, y, c->u + sums, "forward");
            compare(*c, {fast.mean, exact.mean}, sums, "mean");
            compare(*c, {fast.variance, exact.variance}, sums, "variance");
            for (const bool accumulate : {false, true}) {
                c->fast.batchNormGradient(x.fast, gamma.fast, fast, relu, dy.fast, dx.fast, dgamma.fast, dbeta.fast,
                                          accumulate);
                c->exact.batchNormGradient(x.exact, gamma.exact, exact, relu, dy.exact, dx.exact, dgamma.exact,
                                           dbeta.exact, accumulate);
                compare(*c, dx, c->u + 2 * sums, "input gradient");
                compare(*c, dgamma, 2 * sums, "gain gradient");
                compare(*c, dbeta, 2 * sums, "shift gradient");
            }
            c->fast.batchNormGradient(x.fast, gamma.fast, fast, relu, dy.fast, dy.fast, dgamma.fast, dbeta.fast, false);
            QCOMPARE(relativeDifference(dy.fast, dx.fast), 0.0); // in place
        }
    }

    void pooling_data() { addRows(); }
    void pooling()
    {
        if (missing()) QSKIP("this processor has no bf16 pooling in oneDNN");
        const auto c = make();
        const PoolingShape s{2, 16, 11, 12, 3, 2, 1};
        const auto x = c->image(s.input(), 1), dy = c->image(s.output(), 2), y = c->empty(s.output()),
                   dx = c->empty(s.input());
        const Tensor fast = c->fast.maxPool(s, x.fast, y.fast), exact = c->exact.maxPool(s, x.exact, y.exact);
        compare(*c, y, 0, "maximum");
        c->fast.maxPoolGradient(s, dy.fast, fast, dx.fast);
        c->exact.maxPoolGradient(s, dy.exact, exact, dx.exact);
        compare(*c, dx, 4 * c->u, "gradient of the maximum"); // up to four windows share a pixel

        const Case::Pair mean{c->fastRank.tensor({2, 16}, c->type), c->exactRank.tensor({2, 16}, DType::F64)};
        c->fast.averagePool(x.fast, mean.fast);
        c->exact.averagePool(x.exact, mean.exact);
        compare(*c, mean, c->u + 4 * std::sqrt(132.0) * m_f32, "mean");
        const auto rounded = c->plain({2, 16}, 3);
        const Case::Pair up{c->fastRank.copy(rounded.fast, c->type), rounded.exact};
        c->fast.averagePoolGradient(up.fast, dx.fast);
        c->exact.averagePoolGradient(up.exact, dx.exact);
        compare(*c, dx, 2 * c->u, "gradient of the mean");
    }

    void residual_data() { addRows(); }
    void residual()
    {
        if (missing()) QSKIP("this processor has no bf16 arithmetic in oneDNN");
        const auto c = make();
        for (const std::int64_t width : {1, 5, 8}) {
            const Shape shape{2, 16, 3, width};
            const auto y = c->image(shape, 1), shortcut = c->image(shape, 2), other = c->image(shape, 4);
            const auto alone = c->image(shape, 5);
            c->fast.relu(alone.fast);
            c->exact.relu(alone.exact);
            compare(*c, alone, 0, "relu");
            c->fast.addRelu(y.fast, shortcut.fast);
            c->exact.addRelu(y.exact, shortcut.exact);
            compare(*c, y, c->u, "sum");
            for (const bool two : {true, false}) {
                const auto d = c->image(shape, 3);
                c->fast.addReluGradient(y.fast, d.fast, two ? other.fast : Tensor());
                c->exact.addReluGradient(y.exact, d.exact, two ? other.exact : Tensor());
                compare(*c, d, two ? c->u : 0, "gradient");
            }
        }
    }

    void scratchMemoryIsReturned()
    {
        Case c(DType::F32, Layout::ChannelBlocks16);
        const ConvolutionShape s{2, 32, 14, 14, 32, 3, 1, 1};
        const auto x = c.image(s.input(), 1), y = c.empty(s.output());
        const auto w = c.plain(s.weights(), 2);
        const std::int64_t before = c.fastRank.allocator.statistics().allocated;
        c.fast.convolution(s, x.fast, w.fast, y.fast);
        c.fast.convolutionInputGradient(s, y.fast, w.fast, x.fast);
        c.fast.convolutionWeightGradient(s, x.fast, y.fast, w.fast, false);
        QCOMPARE(c.fastRank.allocator.statistics().allocated, before);
        QVERIFY(c.fastRank.allocator.statistics().categoryPeaks[static_cast<std::size_t>(MemoryCategory::Workspace)] >
                0);
    }
};

FOURWALLS_TEST(ImageOperatorsTest, QCoreApplication)

} // namespace tst_image_operators

#include "tst_image_operators.moc"
