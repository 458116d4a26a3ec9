// SPDX-License-Identifier: Apache-2.0
// FLOPs of PyTorch's matrix products, convolutions and attention from the shapes that the profiler recorded.
#pragma once

#include "model/import/common/json_scan.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace fourwalls::importers {

struct OperatorFlops {
    double flops = 0;
    int products = 1; ///< kernels that share them: both gradients of a convolution
};

/// Whether an operator of that name may have FLOPs.
bool mayHaveFlops(std::string_view name);

/// FLOPs of one execution; absent for other operators and where the shapes do not tell (attention whose causal flag is not
/// in the file, convolutions without their strides). Multiply and add count as
/// two; causal attention counts half; an operator's backward counts what it computes (convolutions: the gradients that its mask asks for).
/// inputDims, concreteInputs: the tokens of those arguments.
/// Source: 2 m k n for a matrix product; arXiv:2205.05198 appendix A for attention.
std::optional<OperatorFlops> operatorFlops(std::string_view name, const JsonToken& inputDims,
                                           const JsonToken& concreteInputs);

/// Files without concrete inputs (PyTorch before 2.0) lack the strides of convolutions. Their backward operators have input,
/// weight and result side by side: what that says holds for the forward pass of the same sizes, if it is always the same.
class ConvolutionResults {
public:
    /// From a backward operator; others are passed over.
    void learn(std::string_view name, const JsonToken& inputDims);
    /// The place of a forward convolution's sizes, to ask for when all has been learnt; -1: it is none.
    int ask(std::string_view name, const JsonToken& inputDims);
    /// Whether an operator of that name may have FLOPs.
    bool mayHaveFlops(std::string_view name);

    /// FLOPs of one execution; 0: no backward operator told, or several told different things.
    double flops(int index) const;

private:
    using Key = std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>>; ///< input, weight
    static constexpr double kUnknown = -1, kAmbiguous = -2;

    int indexOf(const Key& key);

    std::map<Key, int> m_indices;
    std::vector<double> m_flops;
};

} // namespace fourwalls::importers
