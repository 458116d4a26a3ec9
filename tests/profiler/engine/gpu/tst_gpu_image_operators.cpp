// SPDX-License-Identifier: Apache-2.0
// Convolution, normalisation over the batch, pooling and shortcuts on the CUDA device, forward and backward, against the
// reference operators in double.
#include <QtTest> // first: moc stumbles over <compare> otherwise

#include "tests/profiler/engine/gpu/operator_pairs.h"
#include "tests/support/test_program.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>

namespace tst_gpu_image_operators {

using namespace fourwalls;
using namespace fourwalls::engine;
using namespace fourwalls::engine::testing;

class GpuImageOperatorsTest : public QObject, private OperatorPairs {
    Q_OBJECT

private slots:
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
};

FOURWALLS_TEST(GpuImageOperatorsTest, QCoreApplication)

} // namespace tst_gpu_image_operators

#include "tst_gpu_image_operators.moc"
