// SPDX-License-Identifier: Apache-2.0
// See operator_phase.h.
#include "model/trace/operator_phase.h"

#include "model/base/ascii.h"

#include <string>

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

Phase phaseOfRange(std::string_view name)
{
    constexpr std::string_view kEngine = "DeepSpeedEngine.";
    const bool engine = name.starts_with(kEngine);
    if (engine) name.remove_prefix(kEngine.size());
    constexpr std::size_t kLongest = 40;
    if (name.size() > kLongest) return Phase::None;
    std::string word;
    for (const char c : name)
        if (c != ' ' && c != '_' && c != '-' && c != '.' && c != '#') word += lowerCase(c);
    bool stepOf = false;
    for (const std::string_view end : {"pass", "step", "compute"})
        if (word.size() > end.size() && word.ends_with(end)) {
            word.resize(word.size() - end.size());
            stepOf = end == "step";
            break;
        }
    if (word.starts_with("model")) word.erase(0, 5);
    if (word == "forward" || word == "fwd") return Phase::Forward;
    if (word == "backward" || word == "bwd") return Phase::BackwardInput;
    if (word == "optimizer" || (stepOf && word == "opt") || word == "step:optimizer" || (engine && name == "step"))
        return Phase::Optimizer;
    return Phase::None;
}

bool isGradientThread(std::string_view name)
{
    return name.starts_with("pt_autograd");
}

} // namespace fourwalls
