// SPDX-License-Identifier: Apache-2.0
// Shapes as written into numbers, and one formula per operator.
#include "model/import/common/operator_flops.h"

#include "model/import/common/decimal_time.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace fourwalls::importers {

namespace {

using Shape = std::vector<std::int64_t>;

/// A list of numbers, as an array or as a string with one.
Shape numbers(const JsonToken& token)
{
    Shape shape;
    const std::string text = std::string(token.text) + std::string(16, '\0');
    forEachElement(text, [&](const JsonToken& element) {
        const auto number = integerFromText(element.text);
        if (shape.size() < 16) shape.push_back(number.value_or(-1));
    });
    return shape;
}

std::vector<Shape> shapesOf(const JsonToken& inputDims)
{
    std::vector<Shape> shapes;
    if (inputDims.kind != JsonToken::Kind::Array) return shapes;
    forEachElement(inputDims.text, [&](const JsonToken& element) {
        if (shapes.size() < 16) shapes.push_back(element.kind == JsonToken::Kind::Array ? numbers(element) : Shape{});
    });
    return shapes;
}

std::vector<std::string> wordsOf(const JsonToken& concreteInputs)
{
    std::vector<std::string> words;
    if (concreteInputs.kind != JsonToken::Kind::Array) return words;
    forEachElement(concreteInputs.text, [&](const JsonToken& element) {
        if (words.size() < 32) words.emplace_back(element.text);
    });
    return words;
}

bool sound(const Shape& shape, std::size_t dimensions)
{
    if (shape.size() != dimensions) return false;
    for (const std::int64_t n : shape)
        if (n <= 0 || n > (std::int64_t{1} << 40)) return false;
    return true;
}

double product(const Shape& shape, std::size_t from = 0)
{
    double result = 1;
    for (std::size_t i = from; i < shape.size(); ++i) result *= static_cast<double>(shape[i]);
    return result;
}

/// [m, k] x [k, n] behind the first `skip` inputs.
std::optional<double> matrixProduct(const std::vector<Shape>& shapes, std::size_t skip)
{
    if (shapes.size() < skip + 2 || !sound(shapes[skip], 2) || !sound(shapes[skip + 1], 2)) return std::nullopt;
    return 2 * product(shapes[skip]) * static_cast<double>(shapes[skip + 1][1]);
}

/// [b, m, k] x [b, k, n].
std::optional<double> batchedProduct(const std::vector<Shape>& shapes, std::size_t skip)
{
    if (shapes.size() < skip + 2 || !sound(shapes[skip], 3) || !sound(shapes[skip + 1], 3)) return std::nullopt;
    return 2 * product(shapes[skip]) * static_cast<double>(shapes[skip + 1][2]);
}

/// input [N, C, spatial...], weight [O, C/groups, kernel...]; output sizes from stride, padding and dilation.
std::optional<double> convolution(const std::vector<Shape>& shapes, const std::vector<std::string>& words)
{
    if (shapes.size() < 2 || words.size() < 7 || words[6] == "True") return std::nullopt;
    const Shape& input = shapes[0];
    const Shape& weight = shapes[1];
    if (input.size() < 3 || input.size() > 5 || !sound(input, input.size()) || !sound(weight, input.size()))
        return std::nullopt;
    const auto setting = [&](std::size_t word, std::size_t dimension, std::int64_t& value) {
        const Shape list = numbers({words[word], JsonToken::Kind::Array});
        if (list.empty()) return false;
        value = list[dimension < list.size() ? dimension : list.size() - 1];
        return value >= 0;
    };
    double output = static_cast<double>(input[0]) * static_cast<double>(weight[0]);
    for (std::size_t i = 2; i < input.size(); ++i) {
        std::int64_t stride = 1, padding = 0, dilation = 1;
        if (!setting(3, i - 2, stride) || !setting(4, i - 2, padding) || !setting(5, i - 2, dilation) || stride == 0)
            return std::nullopt;
        const std::int64_t size = (input[i] + 2 * padding - dilation * (weight[i] - 1) - 1) / stride + 1;
        if (size <= 0) return std::nullopt;
        output *= static_cast<double>(size);
    }
    return 2 * output * product(weight, 1);
}

/// q, k as [batch, heads, sequence, width]: scores and their product with the values.
std::optional<double> attention(const std::vector<Shape>& shapes, std::size_t q, bool causal)
{
    if (shapes.size() < q + 2 || !sound(shapes[q], 4) || !sound(shapes[q + 1], 4)) return std::nullopt;
    return 4 * product(shapes[q]) * static_cast<double>(shapes[q + 1][2]) * (causal ? 0.5 : 1.0);
}

bool saysTrue(const std::vector<std::string>& words, std::size_t index)
{
    return index < words.size() && words[index] == "True";
}

/// One product's FLOPs, if there are any.
std::optional<OperatorFlops> oneProduct(std::optional<double> flops)
{
    return flops ? std::optional(OperatorFlops{*flops, 1}) : std::nullopt;
}

/// The gradients of a convolution's input and weight: each costs what the forward pass did, which follows from
/// grad_output [N, O, spatial...] and weight [O, C/groups, kernel...]. mask: "[True, True, False]"; empty: both.
std::optional<OperatorFlops> convolutionBackward(const std::vector<Shape>& dims, std::size_t gradient,
                                                 std::size_t weight, std::string_view mask)
{
    if (dims.size() <= std::max(gradient, weight)) return std::nullopt;
    const Shape &out = dims[gradient], &kernel = dims[weight];
    if (out.size() < 3 || !sound(out, out.size()) || !sound(kernel, out.size())) return std::nullopt;
    int products = 2;
    if (!mask.empty()) {
        products = 0;
        std::size_t entry = 0;
        for (std::size_t at = 0; at < mask.size() && entry < 2; ++at) {
            if (mask.substr(at, 4) == "True" || mask.substr(at, 4) == "true") ++products;
            if (mask[at] == ',') ++entry;
        }
    }
    if (products == 0) return std::nullopt;
    return OperatorFlops{2.0 * products * product(out) * product(kernel, 1), products};
}

} // namespace

std::optional<OperatorFlops> operatorFlops(std::string_view name, const JsonToken& inputDims,
                                           const JsonToken& concreteInputs)
{
    if (name.substr(0, 6) != "aten::" || !inputDims) return std::nullopt;
    name.remove_prefix(6);
    const auto shapes = [&] { return shapesOf(inputDims); };
    if (name == "mm" || name == "_scaled_mm" || name == "_int_mm") return oneProduct(matrixProduct(shapes(), 0));
    if (name == "addmm" || name == "addmm_" || name == "_addmm_activation")
        return oneProduct(matrixProduct(shapes(), 1));
    if (name == "bmm") return oneProduct(batchedProduct(shapes(), 0));
    if (name == "baddbmm" || name == "baddbmm_") return oneProduct(batchedProduct(shapes(), 1));
    if (name == "convolution") return oneProduct(convolution(shapes(), wordsOf(concreteInputs)));
    if (name == "convolution_backward") {
        const auto words = wordsOf(concreteInputs);
        return convolutionBackward(shapes(), 0, 2,
                                   words.size() > 10 ? std::string_view(words[10]) : std::string_view());
    }
    // Until PyTorch 1.11: (input, grad_output, weight, padding, stride, dilation, groups, …, output_mask).
    if (name == "cudnn_convolution_backward" || name == "miopen_convolution_backward") {
        const auto words = wordsOf(concreteInputs);
        const bool masked =
            !words.empty() && words.back().find('[') == 0 && words.back().find("rue") != std::string::npos;
        return convolutionBackward(shapes(), 1, 2, masked ? std::string_view(words.back()) : std::string_view());
    }
    const std::string_view kSdpa = "_scaled_dot_product_";
    if (name.substr(0, kSdpa.size()) == kSdpa) {
        const bool backward = name.find("backward") != std::string_view::npos;
        const auto words = wordsOf(concreteInputs);
        // Forward: q, k, v, …; backward: grad, q, k, v, …. The causal flag's place differs between the variants.
        bool causal = false;
        for (std::size_t i = 3; i < words.size(); ++i) causal = causal || saysTrue(words, i);
        const auto forward = attention(shapes(), backward ? 1 : 0, causal);
        return oneProduct(forward && backward ? std::optional(2 * *forward) : forward);
    }
    return std::nullopt;
}

} // namespace fourwalls::importers
