// SPDX-License-Identifier: Apache-2.0
// Shapes as written into numbers, and one formula per operator.
#include "model/import/common/operator_flops.h"

#include "model/import/common/decimal_time.h"

#include <algorithm>
#include <array>
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

bool areOfConvolution(const std::vector<Shape>& shapes)
{
    return shapes.size() >= 2 && shapes[0].size() >= 3 && shapes[0].size() <= 5 && sound(shapes[0], shapes[0].size()) &&
           sound(shapes[1], shapes[0].size());
}

/// input [N, C, spatial...], weight [O, C/groups, kernel...]; output sizes from stride, padding and dilation. A transposed
/// one spreads every element of its input over a kernel: weight [C, O/groups, kernel...].
std::optional<double> convolution(const std::vector<Shape>& shapes, const std::vector<std::string>& words)
{
    if (!areOfConvolution(shapes) || words.size() < 7) return std::nullopt;
    const Shape& input = shapes[0];
    const Shape& weight = shapes[1];
    if (words[6] == "True") return 2 * product(input) * product(weight, 1);
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

/// Scores of q and k and their product with the values. Both have four dimensions, one of which is the sequence.
std::optional<double> attention(const std::vector<Shape>& shapes, std::size_t q, std::size_t sequence, bool causal)
{
    if (shapes.size() < q + 2 || !sound(shapes[q], 4) || !sound(shapes[q + 1], 4)) return std::nullopt;
    return 4 * product(shapes[q]) * static_cast<double>(shapes[q + 1][sequence]) * (causal ? 0.5 : 1.0);
}

/// Fused attention takes q, k, v first, or behind the gradient of its result; where its causal flag stands differs. The
/// one from single operators (_scaled_dot_product_attention_math) is counted by these.
struct AttentionOperator {
    std::string_view name;
    std::size_t causal;
    bool backward;
    std::size_t sequence = 2; ///< [batch, heads, sequence, width], or 1: [batch, sequence, heads, width]
    std::size_t window = 0;   ///< place of its two sizes, where one can be given
};
constexpr std::array kAttention{
    AttentionOperator{"aten::_scaled_dot_product_flash_attention", 4, false},
    AttentionOperator{"aten::_scaled_dot_product_flash_attention_for_cpu", 4, false},
    AttentionOperator{"aten::_scaled_dot_product_efficient_attention", 6, false},
    AttentionOperator{"aten::_scaled_dot_product_cudnn_attention", 6, false},
    AttentionOperator{"aten::_scaled_dot_product_fused_attention_overrideable", 5, false},
    AttentionOperator{"aten::_scaled_dot_product_flash_attention_backward", 11, true},
    AttentionOperator{"aten::_scaled_dot_product_flash_attention_for_cpu_backward", 7, true},
    AttentionOperator{"aten::_scaled_dot_product_efficient_attention_backward", 11, true},
    AttentionOperator{"aten::_scaled_dot_product_cudnn_attention_backward", 14, true},
    AttentionOperator{"aten::_scaled_dot_product_fused_attention_overrideable_backward", 13, true},
    AttentionOperator{"flash_attn::_flash_attn_forward", 5, false, 1, 6},
    AttentionOperator{"flash_attn::_flash_attn_backward", 11, true, 1, 12},
};

std::optional<OperatorFlops> fusedAttention(const AttentionOperator& known, const std::vector<Shape>& shapes,
                                            const std::vector<std::string>& words)
{
    const auto says = [&](std::size_t place, std::string_view word) {
        return place < words.size() && words[place] == word;
    };
    const bool causal = says(known.causal, "True");
    if (!causal && !says(known.causal, "False")) return std::nullopt;
    if (known.window > 0 &&
        !(says(known.window, "-1") && (says(known.window + 1, "-1") || says(known.window + 1, "0"))))
        return std::nullopt;
    const auto forward = attention(shapes, known.backward ? 1 : 0, known.sequence, causal);
    if (!forward) return std::nullopt;
    return OperatorFlops{known.backward ? 2 * *forward : *forward, 1};
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
    if (!areOfConvolution({out, kernel})) return std::nullopt;
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

/// Which arguments of a convolution's backward are the gradient of its result, its input and its weight.
struct ConvolutionGradient {
    std::string_view name;
    std::size_t result, input, weight;
};
constexpr std::array kConvolutionGradients{ConvolutionGradient{"aten::convolution_backward", 0, 1, 2},
                                           ConvolutionGradient{"aten::cudnn_convolution_backward", 1, 0, 2},
                                           ConvolutionGradient{"aten::miopen_convolution_backward", 1, 0, 2}};

} // namespace

void ConvolutionResults::learn(std::string_view name, const JsonToken& inputDims)
{
    for (const ConvolutionGradient& known : kConvolutionGradients) {
        if (name != known.name) continue;
        const std::vector<Shape> shapes = shapesOf(inputDims);
        if (shapes.size() <= std::max({known.result, known.input, known.weight})) return;
        const Shape &result = shapes[known.result], &weight = shapes[known.weight];
        if (!areOfConvolution({result, weight}) || result[1] != weight[0]) return; // none, or a transposed one
        const int index = indexOf({shapes[known.input], weight});
        if (index < 0) return;
        const double flops = 2 * product(result) * product(weight, 1);
        double& entry = m_flops[static_cast<std::size_t>(index)];
        entry = entry == kUnknown || entry == flops ? flops : kAmbiguous;
    }
}

int ConvolutionResults::ask(std::string_view name, const JsonToken& inputDims)
{
    if (name != "aten::convolution") return -1;
    const std::vector<Shape> shapes = shapesOf(inputDims);
    return areOfConvolution(shapes) ? indexOf({shapes[0], shapes[1]}) : -1;
}

double ConvolutionResults::flops(int index) const
{
    return index < 0 ? 0 : std::max(0.0, m_flops[static_cast<std::size_t>(index)]);
}

int ConvolutionResults::indexOf(const Key& key)
{
    constexpr std::size_t kMostSizes = 20'000;
    const auto found = m_indices.find(key);
    if (found != m_indices.end()) return found->second;
    if (m_indices.size() >= kMostSizes) return -1;
    m_flops.push_back(kUnknown);
    return m_indices.emplace(key, static_cast<int>(m_flops.size()) - 1).first->second;
}

bool mayHaveFlops(std::string_view name)
{
    return name.starts_with("aten::") || name.starts_with("flash_attn::");
}

std::optional<OperatorFlops> operatorFlops(std::string_view name, const JsonToken& inputDims,
                                           const JsonToken& concreteInputs)
{
    if (!inputDims || !mayHaveFlops(name)) return std::nullopt;
    for (const AttentionOperator& known : kAttention)
        if (name == known.name) return fusedAttention(known, shapesOf(inputDims), wordsOf(concreteInputs));
    if (name.substr(0, 6) != "aten::") return std::nullopt;
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
        // A transposed one costs by its input, as its forward pass.
        const bool transposed = words.size() > 7 && words[7] == "True";
        return convolutionBackward(shapes(), transposed ? 1 : 0, 2,
                                   words.size() > 10 ? std::string_view(words[10]) : std::string_view());
    }
    // Until PyTorch 1.11: (input, grad_output, weight, padding, stride, dilation, groups, …, output_mask).
    if (name == "cudnn_convolution_backward" || name == "miopen_convolution_backward") {
        const auto words = wordsOf(concreteInputs);
        const bool masked =
            !words.empty() && words.back().find('[') == 0 && words.back().find("rue") != std::string::npos;
        return convolutionBackward(shapes(), 1, 2, masked ? std::string_view(words.back()) : std::string_view());
    }
    return std::nullopt;
}

} // namespace fourwalls::importers
