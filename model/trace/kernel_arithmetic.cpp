// SPDX-License-Identifier: Apache-2.0
// Rules by library, and for the others words in the order in which they decide.
#include "model/trace/kernel_arithmetic.h"

#include "model/base/ascii.h"

#include <array>
#include <optional>
#include <utility>

namespace fourwalls {

namespace {

std::string lowerName(std::string_view name)
{
    // Template arguments of some names are longer than anything that is looked for in them.
    return lowerCase(name.substr(0, 4096));
}

bool saysAny(std::string_view name, std::initializer_list<std::string_view> words)
{
    for (const std::string_view word : words)
        if (name.find(word) != std::string_view::npos) return true;
    return false;
}

/// A word that no other letter precedes: "f16", but not the one in "bf16".
bool saysAlone(std::string_view name, std::string_view word)
{
    for (std::size_t at = name.find(word); at != std::string_view::npos; at = name.find(word, at + 1)) {
        const char before = at == 0 ? '_' : name[at - 1];
        if (before < 'a' || before > 'z') return true;
    }
    return false;
}

/// rocBLAS and hipBLASLt: "Cijk_Ailk_Bljk_BBS_BH_…": types of A, B and the sum.
Arithmetic ofTensile(std::string_view name)
{
    std::size_t at = name.find("cijk_");
    for (int skipped = 0; skipped < 3; ++skipped) {
        at = name.find('_', at);
        if (at == std::string_view::npos) return Arithmetic::Unknown;
        ++at;
    }
    const std::string_view types = name.substr(at, name.find('_', at) - at);
    if (types.starts_with("f8") || types.starts_with("b8")) return Arithmetic::Fp8;
    if (types.starts_with("i8") || types.starts_with("4xi8")) return Arithmetic::Int8;
    if (types.starts_with("f4")) return Arithmetic::Fp4;
    switch (types.empty() ? ' ' : types.front()) {
    case 'b': return Arithmetic::Bf16;
    case 'h': return Arithmetic::F16;
    case 'x': return Arithmetic::Tf32;
    case 's': return types.starts_with("sx") ? Arithmetic::Tf32 : Arithmetic::F32;
    case 'd': return Arithmetic::F64;
    default: return Arithmetic::Unknown;
    }
}

/// cuBLASLt: "nvjet_tst_…", "nvjet_sm100_hsh_…", "nvjet_qqtst_…": the first letter is the operands' type.
Arithmetic ofNvjet(std::string_view name)
{
    std::string_view rest = name.substr(name.find("nvjet_") + 6);
    if (rest.starts_with("sm")) rest = rest.substr(std::min(rest.size(), rest.find('_') + 1));
    switch (rest.empty() ? ' ' : rest.front()) {
    case 't': return Arithmetic::Bf16;
    case 'h': return Arithmetic::F16;
    case 's': return Arithmetic::Tf32; // there are none without tensor cores
    case 'q':
    case 'r': return Arithmetic::Fp8;
    case 'o': return Arithmetic::Fp4;
    case 'd': return Arithmetic::F64;
    default: return Arithmetic::Unknown;
    }
}

Arithmetic ofWords(std::string_view name)
{
    const bool fp8 = saysAny(name, {"e4m3", "e5m2", "fp8", "float8", "f8f8", "f8_t"});
    const bool fp4 = saysAny(name, {"e2m1", "fp4", "float4_e2"});
    // Of two types of operands the wider one sets the pace.
    if (fp8) return Arithmetic::Fp8;
    const bool bf16 = saysAny(name, {"bf16", "bfloat", "bhalf"});
    if (fp4) return bf16 ? Arithmetic::Bf16 : saysAlone(name, "f16") ? Arithmetic::F16 : Arithmetic::Fp4;
    if (saysAny(name, {"i16832", "i16864", "i8816", "imma", "_s8_", "s8s8", "int8_s8", "<signed char", "<int8_t"}))
        return Arithmetic::Int8;
    if (saysAny(name, {"tf32", "tfloat32", "xf32"})) return Arithmetic::Tf32;
    if (bf16) return Arithmetic::Bf16;
    if (saysAlone(name, "f16") ||
        saysAny(name, {"fp16", "half", "hgemm", "h884", "h1688", "h16816", "hcudnn", "_float16", "float16", "df16_"}))
        return Arithmetic::F16;
    if (saysAny(name, {"dgemm", "_d884", "<double", " double", "_f64", "f64f64", "fp64"})) return Arithmetic::F64;
    // Memory-efficient attention says f32 for both ways of multiplying.
    if (saysAny(name, {"fmha"}) && saysAny(name, {"f32"})) return Arithmetic::AnyF32;
    // Tensor cores and no other type: 32-bit operands rounded to TF32.
    if (saysAny(name, {"s1688", "s16816", "tensorop_s"})) return Arithmetic::Tf32;
    if (saysAny(name, {"sgemm", "sgemv", "scudnn", "simt_s", "<float", ", float", "(float", "fp32", "_f32", "f32f32",
                       "float32"}))
        return Arithmetic::F32;
    return Arithmetic::Unknown;
}

/// Composable Kernel's mangled names: letters of the builtin types of A, B, the sum, …: t is the 16 bits of bfloat.
Arithmetic ofComposableKernel(std::string_view name)
{
    if (saysAny(name, {"df16_", "_float16"})) return Arithmetic::F16;
    if (saysAny(name, {"ttf", "bhalf", "unsigned short", "bf16"})) return Arithmetic::Bf16;
    if (saysAny(name, {"f8_fnuz", "f8_t", "f8_ocp"})) return Arithmetic::Fp8;
    if (saysAny(name, {"fff", "float, float, float"})) return Arithmetic::AnyF32;
    return Arithmetic::Unknown;
}

constexpr std::string_view kOperands = ", operands ";

} // namespace

Arithmetic arithmeticOfType(std::string_view type)
{
    const std::string text = lowerName(type);
    if (saysAny(text, {"float8", "fp8"})) return Arithmetic::Fp8;
    if (saysAny(text, {"bfloat16", "bf16"})) return Arithmetic::Bf16;
    if (saysAny(text, {"half", "float16"})) return Arithmetic::F16;
    if (saysAny(text, {"complex"})) return Arithmetic::Unknown;
    if (saysAny(text, {"double", "float64"})) return Arithmetic::F64;
    if (text == "float" || text == "float32" || text == "c10::float") return Arithmetic::AnyF32;
    if (text == "signed char" || text == "char" || text == "int8") return Arithmetic::Int8;
    return Arithmetic::Unknown;
}

std::string operandDetail(std::string_view type)
{
    return std::string(kOperands) + std::string(type.substr(0, 40));
}

bool isPartOfProduct(std::string_view detail)
{
    return detail.find(kPartOfProduct) != std::string_view::npos;
}

KernelArithmetic arithmeticOf(std::string_view name, std::string_view detail)
{
    const std::string text = lowerName(name);
    KernelArithmetic result;
    result.sparse = saysAny(text, {"spgemm", "sparse_gemm", "gemm_sparse", "cusparselt"});
    if (saysAny(text, {"cijk_"}))
        result.type = ofTensile(text);
    else if (saysAny(text, {"nvjet_"}))
        result.type = ofNvjet(text);
    else if (saysAny(text, {"_zn2ck", "ck::"}) || text.starts_with("kernel_gemm_xdl"))
        result.type = ofComposableKernel(text);
    else
        result.type = ofWords(text);
    if (result.type != Arithmetic::Unknown) return result;
    if (const std::size_t at = detail.rfind(kOperands); at != std::string_view::npos)
        result.type = arithmeticOfType(detail.substr(at + kOperands.size()));
    return result;
}

bool isMatrixKernel(std::string_view name)
{
    const std::string text = lowerName(name);
    // What stands beside a product: its name often has the product's in it.
    if (saysAny(text, {"splitkreduce",
                       "reducesplitk",
                       "splitk_reduce",
                       "elementwise",
                       "nchwtonhwc",
                       "nhwctonchw",
                       "convert",
                       "computeoffsets",
                       "computeboffsets",
                       "computewgradboffsets",
                       "computewgradsplitk",
                       "im2col",
                       "col2im",
                       "reduce_wgrad",
                       "scalepackedtensor",
                       "bn_fw",
                       "bn_bw",
                       "batchnorm",
                       "batch_norm",
                       "reshape_and_cache",
                       "triton_poi_",
                       "triton_red_",
                       "triton_per_",
                       "combine",
                       "dot_do_o",
                       "preprocess",
                       "quantize",
                       "reduce_kernel",
                       "transpose",
                       "softmax",
                       "layernorm",
                       "layer_norm",
                       "rmsnorm",
                       "finalize",
                       "routing",
                       "nccl",
                       "rccl"}))
        return false;
    // "fbgemm_gpu" is a library of embeddings.
    for (std::size_t at = text.find("gemm"); at != std::string::npos; at = text.find("gemm", at + 1))
        if (at < 2 || text.compare(at - 2, 2, "fb") != 0) return true;
    return saysAny(text, {"gemv",
                          "cutlass::kernel",
                          "cutlass::device_kernel",
                          "nvjet",
                          "cublas",
                          "cijk_",
                          "xmma",
                          "s884",
                          "s1688",
                          "s16816",
                          "scudnn",
                          "conv",
                          "winograd",
                          "dgrad",
                          "wgrad",
                          "fprop",
                          "implicit",
                          "fft2d",
                          "flash",
                          "fmha",
                          "attention",
                          "attn",
                          "mem_eff",
                          "miopen",
                          "ck_tile",
                          "matmul",
                          "bmm_",
                          "triton_tem",
                          "_mm_",
                          "fused_moe"});
}

bool countsDirectFlops(std::string_view name)
{
    return saysAny(lowerName(name), {"winograd", "fft2d", "fft", "_f2x3", "_f3x2"});
}

} // namespace fourwalls
