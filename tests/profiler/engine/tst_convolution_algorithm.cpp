// SPDX-License-Identifier: Apache-2.0
// The algorithm of convolutions by choice: what runs is what the kernels' names say, and all algorithms agree with the
// plain sum within their rounding.
#include <QtTest> // first: moc stumbles over <compare> otherwise

#include "model/trace/in_memory_trace.h"
#include "profiler/engine/device/cpu_device.h"
#include "profiler/engine/device/image_operators.h"
#include "tests/profiler/engine/engine_fixture.h"
#include "tests/support/test_program.h"

#ifndef Q_MOC_RUN
#include <set>
#endif

namespace tst_convolution_algorithm {

using namespace fourwalls;
using namespace fourwalls::engine;
using namespace fourwalls::engine::testing;

namespace {

// The shapes for which Winograd's algorithm exists: 3x3 with stride 1, whole blocks of channels.
constexpr ConvolutionShape kShape{2, 32, 14, 14, 32, 3, 1, 1};

struct Outcome {
    std::vector<double> y, dx, dw;
    std::set<std::string> kernels;
};

std::vector<double> valuesOf(const Tensor& t)
{
    std::vector<double> values;
    for (std::int64_t i = 0; i < t.elements(); ++i) values.push_back(element(t, i));
    return values;
}

Outcome run(DType type, ConvolutionAlgorithm algorithm)
{
    InMemoryTrace trace{TraceHeader{}};
    Recorder recorder(&trace, RankId{0}, ClockOrigin::now());
    Allocator allocator(recorder, 0);
    std::unique_ptr<Device> device;
    if (type == DType::F64)
        device = std::make_unique<ReferenceDevice>(recorder, allocator);
    else
        device = std::make_unique<CpuDevice>(recorder, allocator);
    useSingleThread();
    const auto images = device->makeImageOperators({type, type}, algorithm);
    const auto filled = [&](const Shape& shape, std::uint64_t stream) {
        const Tensor t = Tensor::make(allocator, shape, type, MemoryCategory::Other);
        const RandomStream r(3, stream);
        for (std::int64_t i = 0; i < t.elements(); ++i)
            setElement(t, i, 2 * r.uniform(static_cast<std::uint64_t>(i)) - 1);
        return t;
    };
    Outcome outcome;
    {
        const Tensor x = images->arrange(filled(kShape.input(), 1)), dy = images->arrange(filled(kShape.output(), 2)),
                     w = filled(kShape.weights(), 3);
        const Tensor y = images->make(kShape.output(), type, MemoryCategory::Other),
                     dx = images->make(kShape.input(), type, MemoryCategory::Other),
                     dw = Tensor::make(allocator, kShape.weights(), type, MemoryCategory::Other);
        images->convolution(kShape, x, w, y);
        images->convolutionInputGradient(kShape, dy, w, dx);
        images->convolutionWeightGradient(kShape, x, dy, dw, false);
        // Means over images' pixels need no particular order of the elements.
        const auto means = [&](const Tensor& t) {
            const Tensor mean = Tensor::make(allocator, {t.shape()[0], t.shape()[1]}, type, MemoryCategory::Other);
            images->averagePool(t, mean);
            return valuesOf(mean);
        };
        outcome.y = means(y);
        outcome.dx = means(dx);
        outcome.dw = valuesOf(dw);
    }
    recorder.close();
    if (!trace.finish({}).ok()) qFatal("the trace cannot be finished");
    for (const auto& op : trace.data()->ops)
        if (op->name.starts_with("convolution")) outcome.kernels.insert(op->name);
    return outcome;
}

double difference(const std::vector<double>& a, const std::vector<double>& b)
{
    double worst = 0, scale = 0;
    for (std::size_t i = 0; i < b.size(); ++i) {
        worst = std::max(worst, std::abs(a[i] - b[i]));
        scale = std::max(scale, std::abs(b[i]));
    }
    return worst / scale;
}

} // namespace

class ConvolutionAlgorithms : public QObject {
    Q_OBJECT

private slots:
    void agreeWithThePlainSum_data()
    {
        QTest::addColumn<int>("algorithm");
        QTest::newRow("auto") << static_cast<int>(ConvolutionAlgorithm::Auto);
        QTest::newRow("direct") << static_cast<int>(ConvolutionAlgorithm::Direct);
        QTest::newRow("Winograd") << static_cast<int>(ConvolutionAlgorithm::Winograd);
    }

    void agreeWithThePlainSum()
    {
        QFETCH(int, algorithm);
        const Outcome exact = run(DType::F64, ConvolutionAlgorithm::Auto);
        const Outcome fast = run(DType::F32, static_cast<ConvolutionAlgorithm>(algorithm));
        // Sums of some hundred terms; Winograd's transforms add about a digit.
        const double tolerance = 1000 * unitRoundoff(DType::F32);
        QVERIFY(difference(fast.y, exact.y) < tolerance);
        QVERIFY(difference(fast.dx, exact.dx) < tolerance);
        QVERIFY(difference(fast.dw, exact.dw) < tolerance);
    }

    void namesSayWhatRan()
    {
        const Outcome direct = run(DType::F32, ConvolutionAlgorithm::Direct);
        QCOMPARE(direct.kernels, (std::set<std::string>{"convolution 3x3", "convolution 3x3 input gradient",
                                                        "convolution 3x3 weight gradient"}));
        const Outcome winograd = run(DType::F32, ConvolutionAlgorithm::Winograd);
        QCOMPARE(winograd.kernels.size(), std::size_t{3});
        if (!winograd.kernels.contains("convolution 3x3 (Winograd)"))
            QSKIP("oneDNN has no convolution by Winograd's algorithm for this processor");
        QVERIFY(direct.y != winograd.y); // other roundings: something else has run
    }
};

FOURWALLS_TEST(ConvolutionAlgorithms, QCoreApplication)

} // namespace tst_convolution_algorithm

#include "tst_convolution_algorithm.moc"
