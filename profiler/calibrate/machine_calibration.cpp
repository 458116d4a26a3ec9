// SPDX-License-Identifier: Apache-2.0
// Times the engine's operators on its CPU device.
#include "profiler/calibrate/machine_calibration.h"

#include "profiler/engine/core/engine_error.h"
#include "profiler/engine/device/cpu_device.h"
#include "profiler/engine/device/machine_peak.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <new>
#include <optional>
#include <thread>

namespace fourwalls::calibrate {

namespace {

using namespace engine;

double processorSeconds()
{
    timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

/// Sums of one kind of operator: time against what it should do.
struct Total {
    double seconds = 0, flops = 0, bytes = 0;
};

class Benchmark {
public:
    explicit Benchmark(const CalibrateOptions& options)
        : m_options(options)
        , m_recorder(nullptr, RankId{0}, ClockOrigin::now())
        , m_allocator(m_recorder, 0)
        , m_device(m_recorder, m_allocator)
    {}

    void run(MachineCalibration& result);

private:
    Tensor tensor(const Shape& shape, DType type)
    {
        Tensor t = Tensor::make(m_allocator, shape, type, MemoryCategory::Activations);
        m_device.zero(t);
        return t;
    }
    /// Median processor time of a call, the first one left out. Time of the thread, so that neighbours do not count.
    template <class Call>
    double timeOf(Call&& call)
    {
        call();
        std::vector<double> times;
        for (double sum = 0; sum < m_options.secondsPerOperator || times.size() < 3;) {
            const double begin = processorSeconds();
            call();
            times.push_back(processorSeconds() - begin);
            sum += times.back();
            if (times.size() > 10'000) break;
        }
        std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
        return times[times.size() / 2];
    }
    void note(const char* name, const std::string& shape, double seconds, double flops, double bytes, Total& total)
    {
        m_operators.push_back({name, shape, seconds, flops, bytes});
        total.seconds += seconds;
        total.flops += flops;
        total.bytes += bytes;
    }
    void products(DType type, Total& total);
    void attention(DType type, std::int64_t sequence, Total& forward, Total& backward);
    void elementwise(DType type, Total& total);
    void report(double share)
    {
        if (m_options.progress) m_options.progress(share);
    }

    const CalibrateOptions& m_options;
    Recorder m_recorder;
    Allocator m_allocator;
    CpuDevice m_device;
    std::vector<MeasuredOperator> m_operators;
};

/// The products of transformer layers of width 128 to 768 over 256 to 2048 tokens: forward, and both gradients.
void Benchmark::products(DType type, Total& total)
{
    for (const auto& [rows, width] : {std::pair{512, 128}, {1024, 256}, {1024, 384}, {512, 768}}) {
        for (const auto& [in, out] :
             {std::pair{width, 3 * width}, {width, width}, {width, 4 * width}, {4 * width, width}}) {
            const Tensor x = tensor({rows, in}, type), w = tensor({in, out}, type), y = tensor({rows, out}, type);
            const double flops = 2.0 * rows * in * out;
            const double bytes = static_cast<double>(x.bytes() + w.bytes() + y.bytes());
            const std::string shape = std::to_string(rows) + "x" + std::to_string(in) + "x" + std::to_string(out);
            const Matrix mx = matrix(x), mw = matrix(w), my = matrix(y);
            note("matmul", shape, timeOf([&] { m_device.matmul(mx, mw, my); }), flops, bytes, total);
            note("matmul, input gradient", shape, timeOf([&] { m_device.matmul(my, mw.transposed(), mx); }), flops,
                 bytes, total);
            note("matmul, weight gradient", shape, timeOf([&] { m_device.matmul(mx.transposed(), my, mw); }), flops,
                 bytes, total);
        }
    }
}

void Benchmark::attention(DType type, std::int64_t sequence, Total& forward, Total& backward)
{
    const AttentionShape shape{4, sequence, 8, 8, 32, true};
    const std::int64_t rows = shape.batch * shape.sequence;
    const Tensor qkv = tensor({rows, shape.width()}, type), dqkv = tensor({rows, shape.width()}, type);
    const Tensor out = tensor({rows, shape.heads * shape.headDim}, type);
    const Tensor dout = tensor({rows, shape.heads * shape.headDim}, type);
    const Tensor sums = tensor({shape.batch, shape.heads, shape.sequence}, DType::F32);
    // Causal work counted half: two products forward, twice that backward, as the cost model counts it.
    const double flops =
        0.5 * 4.0 * static_cast<double>(shape.batch * shape.heads * sequence * sequence * shape.headDim);
    const std::string text = "4 x " + std::to_string(sequence) + " x 8 heads of 32";
    note("attention forward", text, timeOf([&] { m_device.attentionForward(shape, qkv, out, sums); }), flops, 0,
         forward);
    note("attention backward", text, timeOf([&] { m_device.attentionBackward(shape, qkv, out, sums, dout, dqkv); }),
         2 * flops, 0, backward);
}

/// What moves bytes: sums, activations, normalisations, the optimizer's update.
void Benchmark::elementwise(DType type, Total& total)
{
    for (const auto& [rows, width] : {std::pair{512, 128}, {1024, 256}, {1024, 1024}, {2048, 768}}) {
        const Tensor x = tensor({rows, width}, type), y = tensor({rows, width}, type), z = tensor({rows, width}, type);
        const Tensor gamma = tensor({width}, DType::F32), beta = tensor({width}, DType::F32);
        const Tensor mean = tensor({rows}, DType::F32), rstd = tensor({rows}, DType::F32);
        const std::string shape = std::to_string(rows) + "x" + std::to_string(width);
        const auto n = static_cast<double>(x.bytes());
        note("add", shape, timeOf([&] { m_device.add(x, y, z); }), 0, 3 * n, total);
        note("gelu forward", shape, timeOf([&] { m_device.geluForward(x, y); }), 0, 2 * n, total);
        note("gelu backward", shape, timeOf([&] { m_device.geluBackward(x, y, z); }), 0, 3 * n, total);
        note("norm forward", shape,
             timeOf([&] { m_device.normForward(NormKind::LayerNorm, x, gamma, beta, y, mean, rstd); }), 0, 2 * n,
             total);
        note("norm backward", shape, timeOf([&] {
                 m_device.normBackward(NormKind::LayerNorm, x, gamma, mean, rstd, y, z, false, gamma, beta, true);
             }),
             0, 3 * n, total);
    }
}

void Benchmark::run(MachineCalibration& result)
{
    std::vector<std::pair<Precision, DType>> types{{Precision::F32, DType::F32}};
    if (m_device.supports(DType::Bf16)) types.emplace_back(Precision::Bf16, DType::Bf16);
    DeviceSpec& device = result.cluster.device;
    FamilyCalibration family;
    double done = 0;
    for (const auto& [precision, type] : types) {
        const MachinePeak peak = measureMachinePeak(type);
        Total gemm, forward, backward, moved;
        products(type, gemm);
        report(done += 0.6 / static_cast<double>(types.size()));
        attention(type, 128, forward, backward);
        attention(type, 512, forward, backward);
        elementwise(type, moved);
        report(done += 0.35 / static_cast<double>(types.size()));
        const double reached = gemm.flops / gemm.seconds;
        const double best = std::max(peak.flops, reached);
        device.peakFlops[precision] = best;
        family.gemmCeiling[precision] = reached / best;
        if (precision == Precision::F32) {
            // What the operators reach, whether from a cache or from memory, is the rate that predictions need.
            device.memoryBytesPerSecond = moved.bytes / moved.seconds;
            family.memoryFraction = 1;
            family.attention["engine"] = {forward.flops / forward.seconds / best,
                                          backward.flops / backward.seconds / best};
        }
    }
    family.rampSeconds = 0;
    Total small;
    const Tensor a = tensor({8, 8}, DType::F32), b = tensor({8, 8}, DType::F32), c = tensor({8, 8}, DType::F32);
    note("smallest matmul", "8x8x8", timeOf([&] { m_device.matmul(matrix(a), matrix(b), matrix(c)); }), 0, 0, small);
    result.calibration.kernelSeconds = small.seconds;
    result.calibration.families["cpu"] = family;
    result.calibration.families[""] = family;
    device.family = "cpu";
    device.multiprocessors = 0;
    result.operators = std::move(m_operators);
    report(1);
}

} // namespace

Result<MachineCalibration> calibrateMachine(const ClusterSpec& base, const CalibrateOptions& options)
{
    MachineCalibration result;
    result.cluster = base;
    std::optional<Error> failure;
    // A thread of its own, so that the caller's OpenMP settings stay as they are.
    std::thread thread([&] {
        try {
            useSingleThread();
            Benchmark(options).run(result);
        } catch (const EngineError& error) {
            failure = error.error();
        } catch (const std::bad_alloc&) {
            failure = Error{ErrorCode::Internal, "out of memory", "calibrate", "close other programs"};
        }
    });
    thread.join();
    if (failure) return *failure;
    return result;
}

} // namespace fourwalls::calibrate
