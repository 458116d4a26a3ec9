// SPDX-License-Identifier: Apache-2.0
// What is measured on a GPU, in which order, and how much work each measurement is.
#include "profiler/calibrate/gpu_calibration.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace fourwalls::calibrate {

namespace {

constexpr double kBurst = 0.2, kSustained = 10;

// Bytes of an element of a bf16 tensor.
constexpr double kHalf = 2;

// Counted as model/cost/layer_cost.cpp and layer_shape.cpp count. The loss has no name there: how many bytes a logit is
// counted as is a framework's own.
constexpr std::array<MemoryKernel, 16> kMemoryKernels{{
    {GpuWork::Add, "residual", "residual_add", "add", 3 * kHalf, 3 * kHalf},
    {GpuWork::Cast, nullptr, "copy_cast", "f32 to bf16", 4 + kHalf, 4 + kHalf},
    {GpuWork::NormForward, "norm", "norm", "layer norm fwd", 2 * kHalf, 2 * kHalf},
    {GpuWork::NormBackward, "norm.backward", "norm", "layer norm bwd, added", 5 * kHalf, 4 * kHalf},
    {GpuWork::RmsForward, "norm.rms", "norm", "rms_norm fwd", 2 * kHalf, 2 * kHalf},
    {GpuWork::RmsBackward, "norm.rms.backward", "norm", "rms_norm bwd, added", 5 * kHalf, 4 * kHalf},
    {GpuWork::GeluForward, "mlp.activation", "elementwise", "gelu fwd", 2 * kHalf, 2 * kHalf},
    {GpuWork::GeluBackward, "mlp.activation.backward", "elementwise", "gelu bwd", 3 * kHalf, 3 * kHalf},
    {GpuWork::SwigluForward, "mlp.activation.gated", "elementwise", "swiglu fwd", 3 * kHalf, 3 * kHalf},
    {GpuWork::SwigluBackward, "mlp.activation.gated.backward", "elementwise", "swiglu bwd", 5 * kHalf, 5 * kHalf},
    {GpuWork::SoftmaxForward, "attention.softmax", "softmax", "softmax fwd", 2 * kHalf, 2 * kHalf},
    {GpuWork::SoftmaxBackward, "attention.softmax.backward", "softmax", "softmax bwd", 3 * kHalf, 3 * kHalf},
    {GpuWork::Rotary, "attention.rotary", "elementwise", "rotary", 2 * kHalf, 2 * kHalf},
    {GpuWork::CrossEntropy, nullptr, "cross_entropy", "cross entropy with gradient, f32 logits", 8, 8},
    {GpuWork::BiasGradient, "bias.gradient", "reduction", "sum of rows", kHalf, kHalf},
    {GpuWork::AdamW, "optimizer", "optimizer", "adamw, f32", 28, 28},
}};

class Schedule {
public:
    explicit Schedule(int gpus) : m_gpus(gpus) {}

    std::vector<GpuMeasurement> make()
    {
        lastingProducts();
        productsOverShapes();
        if (m_gpus > 1) collectives();
        attention();
        memoryBound();
        launches();
        copies();
        return std::move(m_all);
    }

private:
    void add(const char* stage, GpuWork work, std::array<double, 3> extents, double seconds = kBurst,
             Beside beside = Beside::Nothing)
    {
        m_all.push_back({stage, work, extents, seconds, beside});
    }

    /// All bursts before the first ten seconds: behind those the GPU is hot and its clock low, and a burst would tell
    /// little else than they do. The corners first: if time ends early, they say most.
    void lastingProducts()
    {
        for (const double seconds : {kBurst, kSustained})
            for (const double h : {4096.0, 8192.0, 1536.0, 3072.0})
                for (const double r : {8192.0, 32768.0, 4096.0, 16384.0})
                    add("products, sustained", GpuWork::Product, {r, h, h}, seconds);
        for (const double h : {4096.0, 8192.0, 1536.0, 3072.0}) {
            if (m_gpus > 1)
                add("products beside an all-reduce", GpuWork::Product, {8192, h, h}, kSustained, Beside::AllReduce);
            add("products beside copying", GpuWork::Product, {8192, h, h}, kSustained, Beside::Copying);
        }
    }
    void productsOverShapes()
    {
        for (const double r : {4096.0, 8192.0, 16384.0, 32768.0})
            for (const double n : {1536.0, 3072.0, 4096.0, 8192.0})
                for (const double k : {1536.0, 3072.0, 4096.0, 8192.0}) {
                    add("products over shapes", GpuWork::Product, {r, n, k});
                    add("products over shapes", GpuWork::InputGradient, {r, n, k});
                    add("products over shapes", GpuWork::WeightGradient, {n, k, r});
                }
    }
    void collectives()
    {
        for (const GpuWork work : {GpuWork::AllReduce, GpuWork::AllGather, GpuWork::ReduceScatter})
            for (double bytes = 1 << 16; bytes <= (1 << 30); bytes *= 4) add("collectives", work, {bytes});
    }
    /// All lengths with one number of heads for each width, then other numbers at two lengths.
    void attention()
    {
        const auto both = [&](double length, double heads, double width) {
            for (const GpuWork work : {GpuWork::AttentionForward, GpuWork::AttentionBackward})
                add("attention", work, {length, heads, width});
        };
        for (const double length : {512.0, 1024.0, 2048.0, 4096.0, 8192.0, 16384.0})
            for (const double width : {64.0, 128.0}) both(length, kAttentionWidth / width, width);
        for (const double length : {2048.0, 8192.0})
            for (const double width : {64.0, 128.0})
                for (const double share : {0.25, 0.5, 2.0}) both(length, share * kAttentionWidth / width, width);
    }
    void memoryBound()
    {
        for (const MemoryKernel& kernel : memoryKernels())
            for (double bytes = 1 << 18; bytes <= (1 << 30); bytes *= 4) add("memory-bound", kernel.work, {bytes});
        for (const GpuWork work : {GpuWork::Add, GpuWork::NormForward})
            add("memory-bound", work, {double{1 << 30}}, kSustained);
    }
    void launches()
    {
        add("launches", GpuWork::Launch, {1});
        add("launches", GpuWork::RoundTrip, {1});
        for (const double kernels : {1.0, 10.0, 100.0, 1000.0}) add("launches", GpuWork::GraphLaunch, {kernels});
    }
    void copies()
    {
        for (const GpuWork work : {GpuWork::Copy, GpuWork::ToDevice, GpuWork::FromDevice})
            for (double bytes = 1 << 16; bytes <= (1 << 28); bytes *= 16) add("copies", work, {bytes});
    }

    int m_gpus;
    std::vector<GpuMeasurement> m_all;
};

} // namespace

bool isProduct(GpuWork work)
{
    return work == GpuWork::Product || work == GpuWork::InputGradient || work == GpuWork::WeightGradient;
}

bool isAttention(GpuWork work)
{
    return work == GpuWork::AttentionForward || work == GpuWork::AttentionBackward;
}

bool isCollective(GpuWork work)
{
    return work == GpuWork::AllReduce || work == GpuWork::AllGather || work == GpuWork::ReduceScatter;
}

std::span<const MemoryKernel> memoryKernels()
{
    return kMemoryKernels;
}

const MemoryKernel* memoryKernelOf(GpuWork work)
{
    const auto found = std::find_if(kMemoryKernels.begin(), kMemoryKernels.end(),
                                    [&](const MemoryKernel& kernel) { return kernel.work == work; });
    return found == kMemoryKernels.end() ? nullptr : &*found;
}

std::int64_t rowsOf(const GpuMeasurement& what)
{
    const MemoryKernel* kernel = memoryKernelOf(what.work);
    if (!kernel) return 1;
    return std::max<std::int64_t>(1, std::llround(what.extents[0] / kernel->countedBytes / kRowWidth));
}

double amountOf(const GpuMeasurement& what)
{
    const auto& [a, b, c] = what.extents;
    if (isProduct(what.work)) return 2 * a * b * c;
    if (isAttention(what.work)) return 2 * a * a * b * c * (what.work == GpuWork::AttentionBackward ? 2.5 : 1);
    if (const MemoryKernel* kernel = memoryKernelOf(what.work))
        return kernel->countedBytes * static_cast<double>(rowsOf(what) * kRowWidth);
    switch (what.work) {
    case GpuWork::Copy: return 2 * a;
    case GpuWork::Launch:
    case GpuWork::RoundTrip:
    case GpuWork::GraphLaunch: return 0;
    default: return a;
    }
}

std::vector<GpuMeasurement> gpuSchedule(int gpus)
{
    return Schedule(gpus).make();
}

} // namespace fourwalls::calibrate
