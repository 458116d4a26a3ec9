// SPDX-License-Identifier: Apache-2.0
// All own kernels with their numbers: what crosses the border to the CUDA module is a kernel's number and its function
// object, so a new kernel is one line here.
#pragma once

#include "profiler/engine/gpu/element_kernels.h"
#include "profiler/engine/gpu/gpu_module.h"
#include "profiler/engine/gpu/image_kernels.h"
#include "profiler/engine/gpu/lookup_kernels.h"
#include "profiler/engine/gpu/row_kernels.h"

#include <cstdint>
#include <string_view>
#include <type_traits>

// clang-format off
// X(kernel) for every kernel that is called per element, in groups that are compiled apart.
#define FOURWALLS_ELEMENT_KERNELS_1(X) \
    X(Gelu<float>) X(Gelu<Bf16>) X(GeluGradient<float>) X(GeluGradient<Bf16>) X(Swiglu<float>) X(Swiglu<Bf16>) \
    X(SwigluGradient<float>) X(SwigluGradient<Bf16>) X(Add<float>) X(Add<Bf16>) X(AddBias<float>) X(AddBias<Bf16>) \
    X(Convert<float, Bf16>) X(Convert<Bf16, float>) X(CopyColumns<float, float>) X(CopyColumns<Bf16, Bf16>) \
    X(CopyColumns<float, Bf16>) X(CopyColumns<Bf16, float>) X(Rotary<float>) X(Rotary<Bf16>) X(Adamw) X(Sgd) X(Mix) \
    X(SecondMoment) X(RootPass) X(QuotientStep) X(Reduce<float>) X(Reduce<Bf16>) X(Reduce<double>) \
    X(Reduce<std::int32_t>) X(ColumnPart<float>) X(ColumnPart<Bf16>) X(ColumnSum) X(NormParameterPart<float>) \
    X(NormParameterPart<Bf16>)
#define FOURWALLS_ELEMENT_KERNELS_2(X) \
    X(Embedding<float>) X(Embedding<Bf16>) X(AddTableRows<float>) X(AddTableRows<Bf16>) X(PieceSum<float>) \
    X(PieceSum<Bf16>) X(AddPieces) X(PositionGradient<float>) X(PositionGradient<Bf16>) X(GatherRows<std::uint16_t>) \
    X(GatherRows<std::uint32_t>) X(GatherRows<std::uint64_t>) X(GatherRows<SixteenBytes>) X(ScatterRows<std::uint16_t>) \
    X(ScatterRows<std::uint32_t>) X(ScatterRows<std::uint64_t>) X(ScatterRows<SixteenBytes>) X(Choose) X(CombineRows<float>) X(CombineRows<Bf16>) \
    X(RouterGradient) X(BagSum<float>) X(BagSum<Bf16>) X(Interact<float>) X(Interact<Bf16>) \
    X(InteractGradient<float>) X(InteractGradient<Bf16>) X(BinaryCrossEntropy)
#define FOURWALLS_ELEMENT_KERNELS_3(X) \
    X(ReorderImages<float>) X(ReorderImages<Bf16>) X(PackWeights<float>) X(PackWeights<Bf16>) \
    X(UnpackGradient<float>) X(UnpackGradient<Bf16>) X(MomentsPart<float>) X(MomentsPart<Bf16>) X(Moments) \
    X(BatchNormApply<float>) X(BatchNormApply<Bf16>) X(BatchNormGradientPart<float>) X(BatchNormGradientPart<Bf16>) \
    X(BatchNormGradient<float>) X(BatchNormGradient<Bf16>) X(MaxPool<float>) X(MaxPool<Bf16>) \
    X(MaxPoolGradient<float>) X(MaxPoolGradient<Bf16>) X(AveragePool<float>) X(AveragePool<Bf16>) \
    X(AveragePoolGradient<float>) X(AveragePoolGradient<Bf16>) X(AddRelu<float>) X(AddRelu<Bf16>) \
    X(AddReluGradient<float>) X(AddReluGradient<Bf16>)
#define FOURWALLS_ELEMENT_KERNELS(X) \
    FOURWALLS_ELEMENT_KERNELS_1(X) FOURWALLS_ELEMENT_KERNELS_2(X) FOURWALLS_ELEMENT_KERNELS_3(X)

// X(kernel) for every kernel that is called per row.
#define FOURWALLS_ROW_KERNELS(X) \
    X(NormRow<float>) X(NormRow<Bf16>) X(NormGradientRow<float>) X(NormGradientRow<Bf16>) X(SoftmaxRow<float>) \
    X(SoftmaxRow<Bf16>) X(SoftmaxGradientRow<float>) X(SoftmaxGradientRow<Bf16>) X(AttentionRow<float>) \
    X(AttentionRow<Bf16>) X(AttentionGradientRow<float>) X(AttentionGradientRow<Bf16>) X(HeadDots<float>) \
    X(HeadDots<Bf16>) X(MergeAttentionRow) X(CrossEntropyRow) X(RowMaximum) X(ShardExponentialRow) \
    X(ShardCrossEntropyRow) X(SumPart) X(SumOfParts) X(Least) X(CombineGradientRow<float>) X(CombineGradientRow<Bf16>)
// clang-format on

namespace fourwalls::engine::gpu {

namespace detail {
/// FNV-1a, to go on with what was hashed before.
constexpr std::uint64_t hashed(std::uint64_t hash, std::string_view text)
{
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    return hash;
}
constexpr std::uint64_t hashed(std::uint64_t hash, std::uint64_t number)
{
    for (int shift = 0; shift < 64; shift += 8) hash = (hash ^ ((number >> shift) & 255)) * 0x100000001b3;
    return hash;
}
inline constexpr std::uint64_t kEmptyHash = 0xcbf29ce484222325;

template <class... Kernels>
struct KernelNumbers {
    template <class Kernel>
    static constexpr int of()
    {
        int number = 0, found = -1;
        ((std::is_same_v<Kernel, Kernels> ? void(found = number++) : void(number++)), ...);
        return found;
    }
    static constexpr std::uint64_t hashedSizes(std::uint64_t hash)
    {
        ((hash = hashed(hash, std::uint64_t{sizeof(Kernels)})), ...);
        return hash;
    }
    static constexpr int count = sizeof...(Kernels) - 1;
};
struct End {};
#define FOURWALLS_KERNEL_NAME(...) __VA_ARGS__,
using ElementNumbers = KernelNumbers<FOURWALLS_ELEMENT_KERNELS(FOURWALLS_KERNEL_NAME) End>;
using RowNumbers = KernelNumbers<FOURWALLS_ROW_KERNELS(FOURWALLS_KERNEL_NAME) End>;
#undef FOURWALLS_KERNEL_NAME

constexpr std::uint64_t kernelListMark()
{
#define FOURWALLS_KERNEL_NAME(...) #__VA_ARGS__ ";"
    std::uint64_t hash = hashed(kEmptyHash, FOURWALLS_ELEMENT_KERNELS(FOURWALLS_KERNEL_NAME));
    hash = hashed(hash, FOURWALLS_ROW_KERNELS(FOURWALLS_KERNEL_NAME));
#undef FOURWALLS_KERNEL_NAME
    hash = RowNumbers::hashedSizes(ElementNumbers::hashedSizes(hash));
    for (const std::uint64_t size : {sizeof(Module), sizeof(Stream), sizeof(Product), sizeof(Convolution),
                                     sizeof(DeviceFacts), sizeof(GroupCall), sizeof(GroupExchange)})
        hash = hashed(hash, size);
    return hashed(hash, kBorderVersion);
}
} // namespace detail

/// The kernel's number among those called per element, or per row; -1: it is not one of them.
template <class Kernel>
inline constexpr int kElementKernel = detail::ElementNumbers::of<Kernel>();
template <class Kernel>
inline constexpr int kRowKernel = detail::RowNumbers::of<Kernel>();

/// Changes with what the two sides must agree on: kernels, their order and sizes, and what lies on the border.
inline constexpr std::uint64_t kKernelListMark = detail::kernelListMark();

} // namespace fourwalls::engine::gpu
