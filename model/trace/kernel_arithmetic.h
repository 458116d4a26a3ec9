// SPDX-License-Identifier: Apache-2.0
// What a kernel multiplies, told from its name as the libraries write it, and from the operand type that an importer left
// in the operator's detail.
#pragma once

#include "model/spec/device_datasheet.h"

#include <string>
#include <string_view>

namespace fourwalls {

struct KernelArithmetic {
    Arithmetic type = Arithmetic::Unknown;
    bool sparse = false; ///< two of four: up to twice the dense rate

    friend bool operator==(const KernelArithmetic&, const KernelArithmetic&) = default;
};

/// name: of cuBLAS, cuBLASLt (nvjet), CUTLASS, cuDNN, FlashAttention, rocBLAS (Tensile), Composable Kernel, MIOpen, Triton
/// and their like. detail: OpInfo::detail; asked where the name does not tell (see operandDetail).
KernelArithmetic arithmeticOf(std::string_view name, std::string_view detail = {});

/// What an importer adds to a kernel's detail where its name says nothing: ", operands c10::BFloat16".
std::string operandDetail(std::string_view type);
/// What an importer adds to the detail of a matrix kernel whose operator's FLOPs another kernel has: one product in several
/// kernels, as in Winograd's ways of convolving.
inline constexpr std::string_view kPartOfProduct = ", part of a product";
bool isPartOfProduct(std::string_view detail);
/// Of a type as PyTorch and C++ write it: "c10::BFloat16", "__half", "float" (AnyF32), "double", …
Arithmetic arithmeticOfType(std::string_view type);

/// Whether a kernel is the matrix product, convolution or attention itself (not a copy, transformation or reduction
/// beside it).
bool isMatrixKernel(std::string_view name);

/// Whether its FLOPs are counted directly while it gets along with fewer (Winograd, FFT): above a roof it proves nothing.
bool countsDirectFlops(std::string_view name);

} // namespace fourwalls
