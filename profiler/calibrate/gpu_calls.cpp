// SPDX-License-Identifier: Apache-2.0
// See gpu_calls.h.
#include "profiler/calibrate/gpu_calls.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

namespace fourwalls::calibrate {

using namespace engine;

namespace {

std::vector<Bf16> randomValues(std::size_t count)
{
    std::vector<Bf16> values(count);
    std::uint32_t state = 12345;
    for (Bf16& value : values) {
        state = state * 1664525U + 1013904223U;
        value = Bf16::fromFloat((static_cast<float>(state >> 8) + 0.5F) / (1 << 23) - 1);
    }
    return values;
}

} // namespace

GpuCalls::GpuCalls(const gpu::Module& module, int devices)
    : m_random(randomValues(1 << 22))
    , m_stream(module, 0)
    , m_recorder(nullptr, RankId{0}, ClockOrigin::now())
    , m_allocator(m_recorder, 0, Allocator::Pool::Device, &m_stream)
    , m_device(m_recorder, m_allocator, m_stream, false)
    , m_group(m_stream, devices)
{}

/// f32 tensors get pairs of the values' bits, whose upper half decides.
Tensor GpuCalls::random(const Shape& shape, DType type)
{
    const Tensor t = Tensor::make(m_allocator, shape, type, MemoryCategory::Activations);
    fillGpuMemory(m_stream, t.data(), t.bytes(), m_random);
    return t;
}

std::int64_t GpuCalls::poolBytes() const
{
    constexpr std::int64_t kUnknownCache = 64 << 20;
    const gpu::DeviceFacts& facts = m_stream.facts();
    return std::min(4 * (facts.cacheBytes > 0 ? facts.cacheBytes : kUnknownCache), facts.memoryBytes / 8);
}

std::int64_t GpuCalls::besideBytes() const
{
    return std::min<std::int64_t>(256 << 20, m_stream.facts().memoryBytes / 256);
}

GpuCalls::Operand GpuCalls::far(const Shape& shape, DType type)
{
    constexpr std::int64_t kLine = 256;
    const std::int64_t bytes = (shape.elements() * bytesOf(type) + kLine - 1) / kLine * kLine;
    if (bytes > poolBytes() / 4) return [t = random(shape, type)] { return t; };
    Tensor& pool = type == DType::F32 ? m_pool : m_halfPool;
    if (!pool.defined()) pool = random({poolBytes() / bytesOf(type)}, type);
    return [this, pool, bytes, shape] { // another stretch of it each time
        if (m_next + bytes > pool.bytes()) m_next = 0;
        const Tensor t = pool.part(m_next / bytesOf(pool.type()), shape);
        m_next += bytes;
        return t;
    };
}

double GpuCalls::memoryOf(const GpuMeasurement& what) const
{
    const auto& [a, b, c] = what.extents;
    double own = 2 * a;
    if (isProduct(what.work)) own = 4 * (a * b + b * c + a * c);
    if (isAttention(what.work)) own = 32 * a * b * c;
    if (memoryKernelOf(what.work)) own = a + 2 * static_cast<double>(poolBytes());
    return own + (what.beside == Beside::Nothing ? 0 : 2 * static_cast<double>(besideBytes()));
}

GpuCalls::Call GpuCalls::make(const GpuMeasurement& what)
{
    if (isProduct(what.work)) return product(what);
    if (isAttention(what.work)) return attention(what);
    if (memoryKernelOf(what.work)) return memoryBound(what);
    switch (what.work) {
    case GpuWork::Copy:
    case GpuWork::ToDevice:
    case GpuWork::FromDevice: return copy(what);
    case GpuWork::GraphLaunch: return graph(static_cast<int>(what.extents[0]));
    case GpuWork::AllReduce:
    case GpuWork::AllGather:
    case GpuWork::ReduceScatter:
        return m_group.collective(what.work, static_cast<std::int64_t>(what.extents[0]), m_stream, m_random);
    default: return element();
    }
}

GpuCalls::Call GpuCalls::makeBeside(Beside beside, GpuStream& stream)
{
    const std::int64_t bytes = besideBytes();
    switch (beside) {
    case Beside::Nothing: break;
    case Beside::Copying: {
        constexpr int kCopies = 64;
        const Tensor from = random({bytes / 4}), to = random({bytes / 4});
        return [from, to, &stream] {
            for (int n = 0; n < kCopies; ++n) stream.copy(to.data(), from.data(), from.bytes());
        };
    }
    case Beside::AllReduce: {
        constexpr int kOperations = 8;
        return [call = m_group.collective(GpuWork::AllReduce, bytes, stream, m_random)] {
            for (int n = 0; n < kOperations; ++n) call();
        };
    }
    }
    return {};
}

GpuCalls::Call GpuCalls::product(const GpuMeasurement& what)
{
    const auto a = static_cast<std::int64_t>(what.extents[0]), b = static_cast<std::int64_t>(what.extents[1]);
    const auto c = static_cast<std::int64_t>(what.extents[2]);
    const bool first = what.work == GpuWork::WeightGradient, second = what.work == GpuWork::InputGradient;
    const Tensor x = random(first ? Shape{c, a} : Shape{a, c}), w = random(second ? Shape{b, c} : Shape{c, b});
    const Tensor y = Tensor::make(m_allocator, {a, b}, first ? DType::F32 : DType::Bf16, MemoryCategory::Activations);
    return [this, x, w, y, first, second] {
        m_device.matmul(first ? matrix(x).transposed() : matrix(x), second ? matrix(w).transposed() : matrix(w),
                        matrix(y));
    };
}

GpuCalls::Call GpuCalls::attention(const GpuMeasurement& what)
{
    const auto length = static_cast<std::int64_t>(what.extents[0]), heads = static_cast<std::int64_t>(what.extents[1]);
    const auto width = static_cast<std::int64_t>(what.extents[2]);
    const AttentionShape shape{1, length, heads, heads, width, true};
    const Tensor qkv = random({length, shape.width()}), out = random({length, heads * width});
    const Tensor sums = Tensor::make(m_allocator, {1, heads, length}, DType::F32, MemoryCategory::Activations);
    if (what.work == GpuWork::AttentionForward)
        return [this, shape, qkv, out, sums] { device().attentionForward(shape, qkv, out, sums); };
    device().attentionForward(shape, qkv, out, sums);
    const Tensor dout = random({length, heads * width}), dqkv = random({length, shape.width()});
    return [this, shape, qkv, out, sums, dout, dqkv] { device().attentionBackward(shape, qkv, out, sums, dout, dqkv); };
}

GpuCalls::Call GpuCalls::norm(GpuWork work, std::int64_t rows, NormKind kind)
{
    const bool layer = kind == NormKind::LayerNorm;
    const Tensor gamma = random({kRowWidth}, DType::F32), beta = layer ? random({kRowWidth}, DType::F32) : Tensor();
    const Tensor mean = random({rows}, DType::F32), rstd = random({rows}, DType::F32);
    const Operand x = far({rows, kRowWidth}), y = far({rows, kRowWidth});
    if (work == GpuWork::NormForward || work == GpuWork::RmsForward)
        return [=, this] { m_device.normForward(kind, x(), gamma, beta, y(), mean, rstd); };
    const Operand dx = far({rows, kRowWidth});
    return [=, this] { m_device.normBackward(kind, x(), gamma, mean, rstd, y(), dx(), true, gamma, beta, false); };
}

GpuCalls::Call GpuCalls::memoryBound(const GpuMeasurement& what)
{
    const std::int64_t n = rowsOf(what);
    const Shape one{n, kRowWidth}, two{n, 2 * kRowWidth};
    switch (what.work) {
    case GpuWork::NormForward:
    case GpuWork::NormBackward: return norm(what.work, n, NormKind::LayerNorm);
    case GpuWork::RmsForward:
    case GpuWork::RmsBackward: return norm(what.work, n, NormKind::RmsNorm);
    case GpuWork::Add: return [this, x = far(one), y = far(one), z = far(one)] { m_device.add(x(), y(), z()); };
    case GpuWork::Cast: return [this, x = far(one, DType::F32), y = far(one)] { m_device.convert(x(), y()); };
    case GpuWork::GeluForward: return [this, x = far(one), y = far(one)] { device().geluForward(x(), y()); };
    case GpuWork::GeluBackward:
        return [this, x = far(one), dy = far(one), dx = far(one)] { device().geluBackward(x(), dy(), dx()); };
    case GpuWork::SwigluForward: return [this, x = far(two), y = far(one)] { device().swigluForward(x(), y()); };
    case GpuWork::SwigluBackward:
        return [this, x = far(two), dy = far(one), dx = far(two)] { device().swigluBackward(x(), dy(), dx()); };
    case GpuWork::SoftmaxForward: return [this, x = far(one)] { device().softmaxForward(x(), 0.1, false); };
    case GpuWork::SoftmaxBackward:
        return [this, p = far(one), g = far(one)] { device().softmaxBackward(p(), g(), 0.1, false); };
    case GpuWork::Rotary: {
        // Queries and keys are turned, the values between them are not.
        constexpr std::int64_t kHead = 128, kHeads = kRowWidth / 2 / kHead;
        const AttentionShape shape{1, n, kHeads, kHeads, kHead, true};
        const Tensor cosines = random({n, kHead / 2}, DType::F32), sines = random({n, kHead / 2}, DType::F32);
        return [this, shape, cosines, sines, x = far({n, shape.width()})] {
            device().rotary(shape, x(), cosines, sines, false);
        };
    }
    case GpuWork::CrossEntropy: {
        const Tensor targets = Tensor::make(m_allocator, {n}, DType::I32, MemoryCategory::Other);
        for (std::int64_t i = 0; i < n; ++i)
            targets.as<std::int32_t>()[i] = static_cast<std::int32_t>(i * 37 % kRowWidth);
        const Tensor losses = random({n}, DType::F32);
        return [this, targets, losses, x = far(one, DType::F32)] { m_device.crossEntropy(x(), targets, losses, 1e-3); };
    }
    case GpuWork::BiasGradient:
        return [this, x = far(one), sum = random({kRowWidth}, DType::F32)] { m_device.columnSum(x(), sum, false); };
    case GpuWork::AdamW: {
        const Tensor second = random(one, DType::F32);
        m_device.zero(second); // not of the pool: means of squares are not negative
        return [this, second, w = far(one, DType::F32), g = far(one, DType::F32), m = far(one, DType::F32)] {
            device().adamw(w(), g(), m(), second, {}, {1e-4, 0.9, 0.999, 1e-8, 0.1, 1, 2});
        };
    }
    default: return element();
    }
}

GpuCalls::Call GpuCalls::copy(const GpuMeasurement& what)
{
    const auto bytes = static_cast<std::int64_t>(what.extents[0]);
    const Tensor x = random({bytes / 2});
    if (what.work == GpuWork::Copy)
        return [this, x, y = random({bytes / 2})] { m_stream.copy(y.data(), x.data(), x.bytes()); };
    const std::shared_ptr<void> pinned = gpuMemory(m_stream, bytes, RankMemory::Place::Host);
    std::memset(pinned.get(), 1, static_cast<std::size_t>(bytes));
    if (what.work == GpuWork::ToDevice) return [this, x, pinned] { m_stream.copy(x.data(), pinned.get(), x.bytes()); };
    return [this, x, pinned] { m_stream.copy(pinned.get(), x.data(), x.bytes()); };
}

GpuCalls::Call GpuCalls::element()
{
    return [this, x = random({1}), y = random({1}), z = random({1})] { m_device.add(x, y, z); };
}

/// So many of those kernels, captured once.
GpuCalls::Call GpuCalls::graph(int kernels)
{
    const Call kernel = element();
    kernel(); // loaded before the capture
    m_stream.settle();
    const std::shared_ptr<void> graph = m_stream.capture([&] {
        for (int i = 0; i < kernels; ++i) kernel();
    });
    return [this, kernel, graph] { m_stream.launch(graph.get()); };
}

} // namespace fourwalls::calibrate
