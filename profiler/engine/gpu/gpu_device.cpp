// SPDX-License-Identifier: Apache-2.0
// See gpu_device.h. Attention is in gpu_attention.cpp, what looks rows up in gpu_lookups.cpp.
#include "profiler/engine/gpu/gpu_device.h"

#include "profiler/engine/core/engine_error.h"
#include "profiler/engine/device/activation_type.h"

#include <algorithm>
#include <cmath>

namespace fourwalls::engine {

namespace {

// What cuBLASLt's algorithms on Hopper ask for.
constexpr std::int64_t kWorkspaceBytes = 32 << 20;

// Threads that a sum over rows should have, and the least rows that are worth a thread of their own.
constexpr std::int64_t kWantedThreads = 1 << 18;
constexpr std::int64_t kLeastRows = 16;

// Stretches that a sum over a whole tensor is cut into.
constexpr std::int64_t kSumParts = 1024;
constexpr std::int64_t kLeastSumElements = 4096;

gpu::SeenKeys seenKeys(bool causal, const Tensor& keysSeen)
{
    if (!keysSeen.defined()) return {causal, nullptr, 1};
    return {causal, keysSeen.as<std::int32_t>(), keysSeen.elements()};
}

template <class T>
T* orNull(const Tensor& t)
{
    return t.defined() ? t.as<T>() : nullptr;
}

// The leading dimension of a matrix in BLAS's words: what it means for the stored order.
std::int64_t leading(const Matrix& m)
{
    return m.colStride == 1 ? std::max(m.rowStride, m.cols) : std::max(m.colStride, m.rows);
}

Matrix atBatch(const Matrix& m, std::int64_t b0, std::int64_t b1)
{
    Matrix one = m;
    const std::int64_t offset = (m.batch0 > 1 ? b0 * m.batchStride0 : 0) + (m.batch1 > 1 ? b1 * m.batchStride1 : 0);
    one.data = static_cast<char*>(m.data) + offset * bytesOf(m.type);
    return one;
}

} // namespace

GpuDevice::GpuDevice(Recorder& recorder, Allocator& allocator, GpuStream& stream, bool tf32)
    : Device(recorder, allocator)
    , m_stream(stream)
    , m_tf32(tf32)
{}

std::string GpuDevice::describe() const
{
    return std::string(m_stream.facts().name) + ", cuBLASLt, own kernels";
}

Tensor GpuDevice::scratch(const Shape& shape, DType type)
{
    return Tensor::make(allocator(), shape, type, MemoryCategory::Temporaries);
}

std::int64_t GpuDevice::rowsPerPart(std::int64_t rows, std::int64_t columns)
{
    const std::int64_t parts = std::max<std::int64_t>(1, kWantedThreads / std::max<std::int64_t>(1, columns));
    return std::max(kLeastRows, (rows + parts - 1) / parts);
}

void GpuDevice::doMatmul(const Matrix& a, const Matrix& b, const Matrix& c, const MatmulOptions& options)
{
    if (c.colStride == 1 || c.cols == 1) return multiply(a, b, c, options);
    if (options.bias || options.residual)
        throw EngineError(ErrorCode::Internal, "a transposed product takes no bias and no residual", "matmul");
    multiply(b.transposed(), a.transposed(), c.transposed(), options);
}

// c row by row is its transpose column by column: c' = b' a'.
void GpuDevice::multiply(Matrix a, Matrix b, Matrix c, const MatmulOptions& options)
{
    if ((a.colStride != 1 && a.rowStride != 1) || (b.colStride != 1 && b.rowStride != 1))
        throw EngineError(ErrorCode::Internal, "an operand has no stride of 1", "matmul");
    if (!m_workspace.defined())
        m_workspace = Tensor::make(allocator(), {kWorkspaceBytes / 4}, DType::F32, MemoryCategory::Workspace);
    Tensor bias;
    if (options.bias) {
        bias = *options.bias;
        if (bias.type() != c.type) { // the product adds it in the type of its result
            bias = scratch(bias.shape(), c.type);
            doConvert(*options.bias, bias);
        }
    }
    gpu::Product p{};
    p.m = c.cols;
    p.n = c.rows;
    p.k = a.cols;
    p.transposeA = b.colStride != 1;
    p.transposeB = a.colStride != 1;
    p.lda = leading(b);
    p.ldb = leading(a);
    p.ldc = std::max(c.rowStride, c.cols);
    p.operands = a.type;
    p.result = c.type;
    p.tf32 = m_tf32;
    p.bias = bias.defined() ? bias.data() : nullptr;
    p.workspace = m_workspace.data();
    p.workspaceBytes = m_workspace.bytes();
    // One call takes a batch with one stride: of the two extents the larger one.
    const bool innerIs1 = c.batch1 >= c.batch0;
    const std::int64_t outer = innerIs1 ? c.batch0 : c.batch1;
    const auto stride = [innerIs1](const Matrix& m) {
        return innerIs1 ? (m.batch1 > 1 ? m.batchStride1 : 0) : (m.batch0 > 1 ? m.batchStride0 : 0);
    };
    p.batch = innerIs1 ? c.batch1 : c.batch0;
    p.strideA = stride(b);
    p.strideB = stride(a);
    p.strideC = stride(c);
    for (std::int64_t i = 0; i < outer; ++i) {
        const std::int64_t b0 = innerIs1 ? i : 0, b1 = innerIs1 ? 0 : i;
        p.a = atBatch(b, b0, b1).data;
        p.b = atBatch(a, b0, b1).data;
        p.c = atBatch(c, b0, b1).data;
        p.residual = options.accumulate ? p.c : options.residual ? options.residual->data() : nullptr;
        m_stream.product(p);
    }
    if (!options.accumulate || !options.residual) return;
    dispatchActivation(*options.residual, [&]<class T>(T) {
        m_stream.elements(gpu::Add<T>{c.as<T>(), options.residual->as<T>(), c.as<T>()}, c.elements());
    });
}

void GpuDevice::doColumnSum(const Tensor& x, const Tensor& out, bool accumulate)
{
    const std::int64_t rows = x.rows(), columns = x.columns(), per = rowsPerPart(rows, columns);
    const std::int64_t count = (rows + per - 1) / per;
    const Tensor parts = scratch({std::max<std::int64_t>(count, 1), columns}, DType::F32);
    dispatchActivation(x, [&]<class T>(T) {
        m_stream.elements(gpu::ColumnPart<T>{x.as<T>(), parts.as<float>(), rows, columns, per}, count * columns);
    });
    m_stream.elements(gpu::ColumnSum{parts.as<float>(), out.as<float>(), count, columns, accumulate}, columns);
}

void GpuDevice::doNormForward(NormKind kind, const Tensor& x, const Tensor& gamma, const Tensor& beta, const Tensor& y,
                              const Tensor& mean, const Tensor& rstd)
{
    dispatchActivation(x, [&]<class T>(T) {
        m_stream.rows(gpu::NormRow<T>{x.as<T>(), gamma.as<float>(), orNull<float>(beta), y.as<T>(),
                                      kind == NormKind::LayerNorm ? mean.as<float>() : nullptr, rstd.as<float>(),
                                      x.columns(), static_cast<float>(kNormEpsilon)},
                      x.rows(), x.columns());
    });
}

void GpuDevice::doNormBackward(NormKind kind, const Tensor& x, const Tensor& gamma, const Tensor& mean,
                               const Tensor& rstd, const Tensor& dy, const Tensor& dx, bool accumulateDx,
                               const Tensor& dgamma, const Tensor& dbeta, bool accumulateParameters)
{
    const std::int64_t rows = x.rows(), columns = x.columns(), per = rowsPerPart(rows, columns);
    const std::int64_t count = (rows + per - 1) / per;
    const Shape shape{std::max<std::int64_t>(count, 1), columns};
    const Tensor gammaParts = scratch(shape, DType::F32);
    const Tensor betaParts = dbeta.defined() ? scratch(shape, DType::F32) : Tensor();
    const float* means = kind == NormKind::LayerNorm ? mean.as<float>() : nullptr;
    dispatchActivation(x, [&]<class T>(T) {
        // The parameters first: dx may take dy's memory.
        m_stream.elements(gpu::NormParameterPart<T>{x.as<T>(), dy.as<T>(), means, rstd.as<float>(),
                                                    gammaParts.as<float>(), orNull<float>(betaParts), rows, columns,
                                                    per},
                          count * columns);
        m_stream.rows(gpu::NormGradientRow<T>{x.as<T>(), gamma.as<float>(), means, rstd.as<float>(), dy.as<T>(),
                                              dx.as<T>(), columns, accumulateDx},
                      rows, columns);
    });
    m_stream.elements(gpu::ColumnSum{gammaParts.as<float>(), dgamma.as<float>(), count, columns, accumulateParameters},
                      columns);
    if (dbeta.defined())
        m_stream.elements(
            gpu::ColumnSum{betaParts.as<float>(), dbeta.as<float>(), count, columns, accumulateParameters}, columns);
}

void GpuDevice::doGeluForward(const Tensor& x, const Tensor& y)
{
    dispatchActivation(x, [&]<class T>(T) { m_stream.elements(gpu::Gelu<T>{x.as<T>(), y.as<T>()}, x.elements()); });
}

void GpuDevice::doGeluBackward(const Tensor& x, const Tensor& dy, const Tensor& dx)
{
    dispatchActivation(x, [&]<class T>(T) {
        m_stream.elements(gpu::GeluGradient<T>{x.as<T>(), dy.as<T>(), dx.as<T>()}, x.elements());
    });
}

void GpuDevice::doSwigluForward(const Tensor& gateUp, const Tensor& y)
{
    dispatchActivation(y, [&]<class T>(T) {
        m_stream.elements(gpu::Swiglu<T>{gateUp.as<T>(), y.as<T>(), y.columns()}, y.elements());
    });
}

void GpuDevice::doSwigluBackward(const Tensor& gateUp, const Tensor& dy, const Tensor& dGateUp)
{
    dispatchActivation(dy, [&]<class T>(T) {
        m_stream.elements(gpu::SwigluGradient<T>{gateUp.as<T>(), dy.as<T>(), dGateUp.as<T>(), dy.columns()},
                          dy.elements());
    });
}

void GpuDevice::doSoftmaxForward(const Tensor& scores, double scale, bool causal, const Tensor& keysSeen)
{
    dispatchActivation(scores, [&]<class T>(T) {
        m_stream.rows(
            gpu::SoftmaxRow<T>{scores.as<T>(), scores.columns(), static_cast<float>(scale), seenKeys(causal, keysSeen)},
            scores.rows(), scores.columns());
    });
}

void GpuDevice::doSoftmaxBackward(const Tensor& probabilities, const Tensor& gradient, double scale, bool causal,
                                  const Tensor& keysSeen)
{
    dispatchActivation(gradient, [&]<class T>(T) {
        m_stream.rows(gpu::SoftmaxGradientRow<T>{probabilities.as<T>(), gradient.as<T>(), gradient.columns(),
                                                 static_cast<float>(scale), seenKeys(causal, keysSeen)},
                      gradient.rows(), gradient.columns());
    });
}

void GpuDevice::doRotary(const AttentionShape& s, const Tensor& qkv, const Tensor& cosines, const Tensor& sines,
                         bool inverse)
{
    const std::int64_t half = s.headDim / 2, heads = s.heads + s.kvHeads;
    dispatchActivation(qkv, [&]<class T>(T) {
        m_stream.elements(gpu::Rotary<T>{qkv.as<T>(), cosines.as<float>(), sines.as<float>(), s.width(), heads, half,
                                         s.sequence, inverse ? -1.0f : 1.0f},
                          s.batch * s.sequence * heads * half);
    });
}

void GpuDevice::doCrossEntropy(const Tensor& logits, const Tensor& targets, const Tensor& losses, double gradientScale)
{
    m_stream.rows(gpu::CrossEntropyRow{logits.as<float>(), targets.as<std::int32_t>(), losses.as<float>(),
                                       logits.columns(), static_cast<float>(gradientScale)},
                  logits.rows(), logits.columns());
}

void GpuDevice::doRowMaxima(const Tensor& logits, const Tensor& maxima)
{
    m_stream.rows(gpu::RowMaximum{logits.as<float>(), maxima.as<float>(), logits.columns()}, logits.rows(),
                  logits.columns());
}

void GpuDevice::doShardExponentials(const Tensor& logits, const Tensor& maxima, const Tensor& targets,
                                    std::int64_t firstToken, const Tensor& sums)
{
    m_stream.rows(gpu::ShardExponentialRow{logits.as<float>(), maxima.as<float>(), targets.as<std::int32_t>(),
                                           firstToken, sums.as<float>(), logits.columns()},
                  logits.rows(), logits.columns());
}

void GpuDevice::doShardCrossEntropy(const Tensor& exponentials, const Tensor& sums, const Tensor& targets,
                                    std::int64_t firstToken, const Tensor& losses, double gradientScale)
{
    m_stream.rows(gpu::ShardCrossEntropyRow{exponentials.as<float>(), sums.as<float>(), targets.as<std::int32_t>(),
                                            firstToken, losses.as<float>(), exponentials.columns(),
                                            static_cast<float>(gradientScale)},
                  exponentials.rows(), exponentials.columns());
}

void GpuDevice::doAddBias(const Tensor& x, const Tensor& bias, const Tensor& residual)
{
    dispatchActivation(x, [&]<class T>(T) {
        m_stream.elements(gpu::AddBias<T>{x.as<T>(), bias.as<float>(), orNull<T>(residual), x.columns()}, x.elements());
    });
}

void GpuDevice::doCopyColumns(const Tensor& from, std::int64_t fromColumn, const Tensor& to, std::int64_t toColumn,
                              std::int64_t count)
{
    const auto run = [&]<class From, class To>(From, To) {
        m_stream.elements(gpu::CopyColumns<From, To>{from.as<From>(), from.columns(), fromColumn, to.as<To>(),
                                                     to.columns(), toColumn, count},
                          from.rows() * count);
    };
    if (from.type() == DType::F32 && to.type() == DType::F32) return run(float{}, float{});
    if (from.type() == DType::Bf16 && to.type() == DType::Bf16) return run(Bf16{}, Bf16{});
    if (from.type() == DType::F32 && to.type() == DType::Bf16) return run(float{}, Bf16{});
    if (from.type() == DType::Bf16 && to.type() == DType::F32) return run(Bf16{}, float{});
    throw EngineError(ErrorCode::Internal, "no conversion between these types on the GPU", "copyColumns");
}

void GpuDevice::doAdd(const Tensor& a, const Tensor& b, const Tensor& out)
{
    dispatchActivation(out, [&]<class T>(T) {
        m_stream.elements(gpu::Add<T>{a.as<T>(), b.as<T>(), out.as<T>()}, out.elements());
    });
}

void GpuDevice::doZero(const Tensor& x)
{
    m_stream.clear(x.data(), x.bytes());
}

void GpuDevice::doConvert(const Tensor& from, const Tensor& to)
{
    if (from.type() == to.type())
        m_stream.copy(to.data(), from.data(), to.bytes());
    else if (from.type() == DType::F32 && to.type() == DType::Bf16)
        m_stream.elements(gpu::Convert<float, Bf16>{from.as<float>(), to.as<Bf16>()}, to.elements());
    else if (from.type() == DType::Bf16 && to.type() == DType::F32)
        m_stream.elements(gpu::Convert<Bf16, float>{from.as<Bf16>(), to.as<float>()}, to.elements());
    else
        throw EngineError(ErrorCode::Internal, "no conversion between these types on the GPU", "convert");
}

// The sum goes to a number that the host can read once the stream has come that far.
void GpuDevice::addSum(const Tensor& x, bool squares, bool accumulate)
{
    if (!m_result.defined()) {
        m_result = Tensor::make(allocator(), {1}, DType::F64, MemoryCategory::Workspace);
        m_parts = Tensor::make(allocator(), {2 * kSumParts}, DType::F32, MemoryCategory::Workspace); // as doubles
    }
    const std::int64_t per = std::max(kLeastSumElements, (x.elements() + kSumParts - 1) / kSumParts);
    const std::int64_t count = (x.elements() + per - 1) / per;
    auto* parts = static_cast<double*>(m_parts.data());
    m_stream.rows(gpu::SumPart{x.as<float>(), parts, x.elements(), per, squares}, count, per);
    m_stream.rows(gpu::SumOfParts{parts, m_result.as<double>(), count, accumulate}, 1, kSumParts);
}

double GpuDevice::readResult()
{
    m_stream.settle();
    return m_result.as<double>()[0];
}

double GpuDevice::doSumOfSquares(const Tensor& x)
{
    addSum(x, true, false);
    return readResult();
}

double GpuDevice::doSum(const Tensor& x)
{
    addSum(x, false, false);
    return readResult();
}

double GpuDevice::sumOfSquares(std::span<const Tensor> all)
{
    if (all.empty()) return 0;
    bool first = true;
    for (const Tensor& x : all) {
        const Scope scope(recorder(), "sum of squares", 0, x.bytes(),
                          {static_cast<std::int32_t>(x.rows()), static_cast<std::int32_t>(x.columns()), 0, 0});
        addSum(x, true, !first);
        first = false;
    }
    return readResult();
}

void GpuDevice::blend(const Tensor& to, double keep, const Tensor& from, double share)
{
    mix(to, keep, to, share, from);
}

void GpuDevice::doAdamw(const Tensor& weight, const Tensor& gradient, const Tensor& m, const Tensor& v,
                        const Tensor& compute, const AdamWStep& s)
{
    const double t = static_cast<double>(s.step);
    m_stream.elements(
        gpu::Adamw{weight.as<float>(), gradient.as<float>(), m.as<float>(), v.as<float>(), orNull<Bf16>(compute),
                   static_cast<float>(s.gradientScale), static_cast<float>(s.beta1), static_cast<float>(s.beta2),
                   static_cast<float>(s.learningRate / (1.0 - std::pow(s.beta1, t))),
                   static_cast<float>(1.0 / std::sqrt(1.0 - std::pow(s.beta2, t))), static_cast<float>(s.epsilon),
                   static_cast<float>(1.0 - s.learningRate * s.weightDecay)},
        weight.elements());
}

void GpuDevice::doSgd(const Tensor& weight, const Tensor& gradient, const Tensor& velocity, const Tensor& compute,
                      const SgdStep& s)
{
    m_stream.elements(gpu::Sgd{weight.as<float>(), gradient.as<float>(), velocity.as<float>(), orNull<Bf16>(compute),
                               static_cast<float>(s.gradientScale), static_cast<float>(s.momentum),
                               static_cast<float>(s.learningRate), static_cast<float>(s.weightDecay)},
                      weight.elements());
}

void GpuDevice::mix(const Tensor& out, double a, const Tensor& x, double b, const Tensor& y)
{
    m_stream.elements(
        gpu::Mix{out.as<float>(), static_cast<float>(a), x.as<float>(), static_cast<float>(b), orNull<float>(y)},
        out.elements());
}

void GpuDevice::firstMoment(const Tensor& m, const Tensor& g, double beta)
{
    mix(m, beta, m, 1.0 - beta, g);
}

void GpuDevice::secondMoment(const Tensor& v, const Tensor& g, double beta)
{
    m_stream.elements(gpu::SecondMoment{v.as<float>(), g.as<float>(), static_cast<float>(beta)}, v.elements());
}

void GpuDevice::rootPass(const Tensor& out, const Tensor& v, double root, double epsilon)
{
    m_stream.elements(
        gpu::RootPass{out.as<float>(), v.as<float>(), static_cast<float>(root), static_cast<float>(epsilon)},
        out.elements());
}

void GpuDevice::quotientStep(const Tensor& w, const Tensor& m, const Tensor& divisor, double rate)
{
    m_stream.elements(gpu::QuotientStep{w.as<float>(), m.as<float>(), divisor.as<float>(), static_cast<float>(rate)},
                      w.elements());
}

} // namespace fourwalls::engine
