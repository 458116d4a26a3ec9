// SPDX-License-Identifier: Apache-2.0
// See shaped_work.h. Bytes are counted as model/cost/layer_shape.cpp counts them.
#include "model/learn/shaped_work.h"

#include "model/trace/spec_evidence.h"

#include <string_view>

namespace fourwalls::learn {

namespace {

/// Element-wise kernels of the engine: passes over the elements of their shape, as the cost model has them.
struct ElementKernel {
    std::string_view kernel, name;
    double passes;
};
constexpr ElementKernel kElementKernels[] = {{"layernorm", "norm", 2},
                                             {"layernorm gradient", "norm.backward", 5},
                                             {"rmsnorm", "norm.rms", 2},
                                             {"rmsnorm gradient", "norm.rms.backward", 5},
                                             {"gelu", "mlp.activation", 2},
                                             {"gelu gradient", "mlp.activation.backward", 3},
                                             {"gelu and bias gradient", "mlp.activation.backward", 3},
                                             {"swiglu", "mlp.activation.gated", 3},
                                             {"swiglu gradient", "mlp.activation.gated.backward", 5},
                                             {"softmax", "attention.softmax", 2},
                                             {"softmax gradient", "attention.softmax.backward", 3},
                                             {"embedding", "embedding", 3},
                                             {"embedding gradient", "embedding.weight_gradient", 4},
                                             {"column sum", "bias.gradient", 1},
                                             {"add", "residual", 3},
                                             {"bias and residual", "residual", 3},
                                             {"convert", "copy", 2}};

/// Whether a product adds to what its result holds: then that is read as well as written. Operands have elementBytes,
/// gradients of weights four bytes.
bool isAdded(const OpInfo& op, double m, double n, double k, double elementBytes)
{
    constexpr double kGradientBytes = 4;
    return static_cast<double>(op.bytes) > elementBytes * k * (m + n) + 1.5 * kGradientBytes * m * n;
}

std::optional<ShapedWork> product(const OpInfo& op, const Shape& shape, double elementBytes)
{
    if (shape.size() < 3 || shape.size() > 4) return std::nullopt;
    const auto m = static_cast<double>(shape[0]), k = static_cast<double>(shape[1]), n = static_cast<double>(shape[2]);
    const double batch = shape.size() == 4 ? static_cast<double>(shape[3]) : 1;
    const double flops = 2 * batch * m * n * k;
    if (op.name == "matmul batched") {
        // Keys or queries by the width of a head; which of them lies transposed, only the forward pass tells.
        const bool isScores = k < n;
        if (isScores) return ShapedWork{"attention.scores", {n, k}, flops};
        const bool backward = op.phase != Phase::Forward && op.phase != Phase::Recompute;
        return ShapedWork{backward ? "attention.values.transposed" : "attention.values", {k, n}, flops};
    }
    if (op.phase == Phase::BackwardWeight) // weights lie as [in, out] there, as (out, in) in the cost model
        return ShapedWork{isAdded(op, m, n, k, elementBytes) ? "gemm.weight_gradient.added" : "gemm.weight_gradient",
                          {n, m, k},
                          flops};
    if (op.phase == Phase::BackwardInput) return ShapedWork{"gemm.input_gradient", {m, n, k}, flops};
    const double sum =
        elementBytes * m * n; // with a residual sum inside, one more operand of the result's size is read
    const bool inside = static_cast<double>(op.bytes) > elementBytes * k * (m + n) + 1.5 * sum;
    return ShapedWork{"gemm", {m, n, k}, flops, inside ? sum : 0};
}

} // namespace

std::optional<ShapedWork> shapedWork(const OpInfo& op, double elementBytes, double lossBytes)
{
    const std::vector<Shape> shapes = shapesOf(op.detail, 1);
    if (shapes.empty() || shapes.front().empty()) return std::nullopt;
    const Shape& shape = shapes.front();
    if (op.name == "matmul" || op.name == "matmul batched") return product(op, shape, elementBytes);
    const bool attention = op.name == "fused attention", gradient = op.name == "fused attention gradient";
    if ((attention || gradient) && shape.size() == 4) {
        const auto rows = static_cast<double>(shape[0]) * static_cast<double>(shape[1]);
        const auto keys = static_cast<double>(shape[2]), width = static_cast<double>(shape[3]);
        // Two products of half the pairs of queries and keys where later keys are left out; the backward pass has five.
        if (keys < 3) return std::nullopt; // a cut end of a document: half of so few pairs is nearly all of them
        const double whole = 4 * rows * keys * keys * width;
        const bool causal = op.flops < 0.75 * (gradient ? 2 : 1) * whole;
        const double flops = whole * (causal ? 0.5 : 1) * (gradient ? 2.5 : 1);
        return ShapedWork{std::string(causal ? "attention.fused" : "attention.fused.whole") +
                              (gradient ? ".backward" : ""),
                          {keys, width},
                          flops};
    }
    double elements = 1;
    for (const std::int64_t extent : shape) elements *= static_cast<double>(extent);
    if (op.name == "rotary") {
        const auto bytes = static_cast<double>(op.bytes);
        return bytes > 0 ? std::optional(ShapedWork{"attention.rotary", {bytes}, bytes}) : std::nullopt;
    }
    if (op.name == "cross entropy") // the cost model asks for the loss and for its gradient, half of the bytes each
        return ShapedWork{"loss", {lossBytes / 2 * elements}, lossBytes * elements};
    for (const ElementKernel& each : kElementKernels)
        if (op.name == each.kernel) {
            const double bytes = each.passes * elementBytes * elements;
            return ShapedWork{std::string(each.name), {bytes}, bytes};
        }
    return std::nullopt;
}

std::optional<ShapedWork> programProduct(const OpInfo& op)
{
    const bool plain = op.name == "aten::mm", added = op.name == "aten::addmm";
    if (!plain && !added) return std::nullopt;
    const std::vector<Shape> shapes = shapesOf(op.detail, 3);
    const std::size_t first = added ? 1 : 0;
    if (shapes.size() < first + 2) return std::nullopt;
    const Shape &a = shapes[first], &b = shapes[first + 1];
    if (a.size() != 2 || b.size() != 2 || a[1] != b[0]) return std::nullopt;
    const auto m = static_cast<double>(a[0]), k = static_cast<double>(a[1]), n = static_cast<double>(b[1]);
    return ShapedWork{"gemm", {m, n, k}, 2 * m * n * k};
}

} // namespace fourwalls::learn
