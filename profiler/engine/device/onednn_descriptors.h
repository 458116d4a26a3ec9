// SPDX-License-Identifier: Apache-2.0
// How oneDNN is asked for a primitive's descriptor: in oneDNN 2 by way of an operation's description, in oneDNN 3
// directly. The only file that knows the difference. Includes oneDNN's heavy header: for implementation files only.
#pragma once

#include <dnnl.hpp>

namespace fourwalls::engine::onednn {

/// True in oneDNN 2.
template <class Operation>
concept HasDescription = requires
{
    typename Operation::desc;
};

/// Whether matmul can be relied on for batches whose matrices lie within one another (heads side by side in rows). That of
/// oneDNN 3.7 (Debian 13) gives wrong products for some of them on processors with AVX-512; matrix by matrix it is right.
inline constexpr bool kStridedBatchesAreSound = DNNL_VERSION_MAJOR < 3;

// Pooling with dilation, which oneDNN 3 has no other than.
#if DNNL_VERSION_MAJOR < 3
using PoolingForward = dnnl::pooling_v2_forward;
using PoolingBackward = dnnl::pooling_v2_backward;
#else
using PoolingForward = dnnl::pooling_forward;
using PoolingBackward = dnnl::pooling_backward;
#endif

/// The descriptor of an Operation (dnnl::matmul, dnnl::convolution_forward, …). parameters: what oneDNN asks for, in
/// its order, without engine and attributes. Throws dnnl::error where oneDNN has no such primitive.
template <class Operation, class... Parameters>
auto describe(const dnnl::engine& engine, const dnnl::primitive_attr& attributes, const Parameters&... parameters)
{
    using Descriptor = typename Operation::primitive_desc;
    if constexpr (HasDescription<Operation>)
        return Descriptor(typename Operation::desc(parameters...), attributes, engine);
    else
        return Descriptor(engine, parameters..., attributes);
}

/// As describe(), of a backward operation. forward: the descriptor of the pass that it belongs to.
template <class Operation, class Forward, class... Parameters>
auto describeGradient(const dnnl::engine& engine, const dnnl::primitive_attr& attributes, const Forward& forward,
                      const Parameters&... parameters)
{
    using Descriptor = typename Operation::primitive_desc;
    if constexpr (HasDescription<Operation>)
        return Descriptor(typename Operation::desc(parameters...), attributes, engine, forward);
    else
        return Descriptor(engine, parameters..., forward, attributes);
}

/// Batch normalisation for training; input and output have the form of `images`. oneDNN 2 takes that form once.
template <class Operation = dnnl::batch_normalization_forward>
auto describeBatchNorm(const dnnl::engine& engine, const dnnl::primitive_attr& attributes,
                       const dnnl::memory::desc& images, float epsilon, dnnl::normalization_flags flags)
{
    constexpr auto kTraining = dnnl::prop_kind::forward_training;
    if constexpr (HasDescription<Operation>)
        return describe<Operation>(engine, attributes, kTraining, images, epsilon, flags);
    else
        return describe<Operation>(engine, attributes, kTraining, images, images, epsilon, flags);
}

/// In the place of an argument's index: this version of oneDNN does not take the argument.
inline constexpr int kNotTaken = 0;

/// The index of the shift among the arguments of its gradients, which do not depend on it: oneDNN 2 asks for it.
inline constexpr int kBatchNormGradientShift =
    HasDescription<dnnl::batch_normalization_backward> ? DNNL_ARG_SHIFT : kNotTaken;

/// Its gradients, of images, scale and shift.
template <class Operation = dnnl::batch_normalization_backward>
auto describeBatchNormGradient(const dnnl::engine& engine, const dnnl::primitive_attr& attributes,
                               const dnnl::batch_normalization_forward::primitive_desc& forward,
                               const dnnl::memory::desc& images, float epsilon, dnnl::normalization_flags flags)
{
    constexpr auto kAll = dnnl::prop_kind::backward;
    if constexpr (HasDescription<Operation>)
        return describeGradient<Operation>(engine, attributes, forward, kAll, images, images, epsilon, flags);
    else
        return describeGradient<Operation>(engine, attributes, forward, kAll, images, images, images, epsilon, flags);
}

} // namespace fourwalls::engine::onednn
