// SPDX-License-Identifier: Apache-2.0
// See operator_phase.h.
#include "model/trace/operator_phase.h"

namespace fourwalls {

Phase phaseOfOperator(std::string_view name)
{
    const auto has = [name](std::string_view part) { return name.find(part) != std::string_view::npos; };
    if (has("CheckpointFunctionBackward")) return Phase::Recompute;
    if (has("autograd::engine::evaluate_function")) return Phase::BackwardInput;
    if (name.substr(0, 10) == "Optimizer.") return Phase::Optimizer;
    if (has("DataLoader)#")) return Phase::DataLoading;
    // "MmBackward0", "torch::autograd::AddBackward", and with NVTX "MmBackward0, seq = 12".
    name = name.substr(0, name.find(','));
    const std::size_t at = name.rfind("Backward");
    if (at == std::string_view::npos) return Phase::None;
    const std::string_view rest = name.substr(at + 8);
    return rest.find_first_not_of("0123456789") == std::string_view::npos ? Phase::BackwardInput : Phase::None;
}

} // namespace fourwalls
