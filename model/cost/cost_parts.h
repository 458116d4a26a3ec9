// SPDX-License-Identifier: Apache-2.0
// The parts that the time of a step is made of.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace fourwalls::cost {

/// What a second of the step was spent on. The communication parts count only what computation does not hide.
enum class CostPart : std::uint8_t {
    Gemm,          ///< matrix products and convolutions
    Attention,     ///< scores, softmax and values: fused kernel or the unfused products
    MemoryBound,   ///< normalisation, activation, dropout, residual, loss, casts: bytes over bandwidth
    Host,          ///< the device waits for launches
    TensorComm,    ///< collectives of tensor and sequence parallelism
    ContextComm,   ///< keys and values of context parallelism
    ExpertComm,    ///< all-to-all of experts (and of embedding tables)
    ParameterComm, ///< gathering of sharded parameters
    GradientComm,  ///< reduction of gradients
    PipelineComm,  ///< sending between stages, where it blocks the stage
    Copy,          ///< offloading over the host link
    Contention,    ///< computation slowed down by communication beside it
    Optimizer,     ///< gradient norm, update, casts
    Count
};
inline constexpr std::size_t kCostParts = static_cast<std::size_t>(CostPart::Count);

/// The word of a part: "gemm", "attention", …
std::string_view name(CostPart part);

/// What the time of a part depends on: how quick the machine is at one of these.
enum class RateKind : std::uint8_t { Compute, Memory, Communication };
inline constexpr std::size_t kRateKinds = 3;
RateKind rateKindOf(CostPart part);

/// Seconds by part.
struct PartSeconds {
    std::array<double, kCostParts> seconds{};

    double& operator[](CostPart part) { return seconds[static_cast<std::size_t>(part)]; }
    double operator[](CostPart part) const { return seconds[static_cast<std::size_t>(part)]; }
    double total() const
    {
        double sum = 0;
        for (const double value : seconds) sum += value;
        return sum;
    }
    PartSeconds& operator+=(const PartSeconds& other)
    {
        for (std::size_t i = 0; i < kCostParts; ++i) seconds[i] += other.seconds[i];
        return *this;
    }
    PartSeconds& addScaled(const PartSeconds& other, double factor)
    {
        for (std::size_t i = 0; i < kCostParts; ++i) seconds[i] += factor * other.seconds[i];
        return *this;
    }
};

} // namespace fourwalls::cost
