// SPDX-License-Identifier: Apache-2.0
// FLOPs of PyTorch's matrix products, convolutions and attention from the shapes that the profiler recorded.
#pragma once

#include "model/import/json_scan.h"

#include <optional>
#include <string_view>

namespace fourwalls::importers {

/// FLOPs of one execution; absent for other operators and where the shapes do not tell. Multiply and add count as
/// two; causal attention counts half; an operator's backward counts what it computes (convolutions: both gradients).
/// inputDims, concreteInputs: the tokens of those arguments.
/// Source: 2 m k n for a matrix product; arXiv:2205.05198 appendix A for attention.
std::optional<double> operatorFlops(std::string_view name, const JsonToken& inputDims, const JsonToken& concreteInputs);

} // namespace fourwalls::importers
