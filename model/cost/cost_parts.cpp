// SPDX-License-Identifier: Apache-2.0
// See cost_parts.h.
#include "model/cost/cost_parts.h"

namespace fourwalls::cost {

std::string_view name(CostPart part)
{
    constexpr std::array<std::string_view, kCostParts> kNames{
        "gemm",           "attention",     "memory_bound",  "host", "tensor_comm", "context_comm", "expert_comm",
        "parameter_comm", "gradient_comm", "pipeline_comm", "copy", "contention",  "optimizer"};
    const auto index = static_cast<std::size_t>(part);
    return index < kCostParts ? kNames[index] : "unknown";
}

RateKind rateKindOf(CostPart part)
{
    switch (part) {
    case CostPart::Gemm:
    case CostPart::Attention: return RateKind::Compute;
    case CostPart::MemoryBound:
    case CostPart::Optimizer:
    case CostPart::Host: return RateKind::Memory;
    default: return RateKind::Communication;
    }
}

} // namespace fourwalls::cost
