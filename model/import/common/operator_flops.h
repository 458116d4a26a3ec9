// SPDX-License-Identifier: Apache-2.0
// FLOPs of PyTorch's matrix products, convolutions and attention from the shapes that the profiler recorded.
#pragma once

#include "model/import/common/json_scan.h"

#include <optional>
#include <string_view>

namespace fourwalls::importers {

struct OperatorFlops {
    double flops = 0;
    int products = 1; ///< kernels that share them: both gradients of a convolution
};

/// FLOPs of one execution; absent for other operators and where the shapes do not tell. Multiply and add count as
/// two; causal attention counts half; an operator's backward counts what it computes (convolutions: the gradients that its mask asks for).
/// inputDims, concreteInputs: the tokens of those arguments.
/// Source: 2 m k n for a matrix product; arXiv:2205.05198 appendix A for attention.
std::optional<OperatorFlops> operatorFlops(std::string_view name, const JsonToken& inputDims,
                                           const JsonToken& concreteInputs);

} // namespace fourwalls::importers
