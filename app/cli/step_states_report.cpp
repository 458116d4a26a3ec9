// SPDX-License-Identifier: Apache-2.0
// Counts of steps by state.
#include "app/cli/step_states_report.h"

#include "model/trace/step_window.h"

#include <array>

namespace fourwalls::cli {

namespace {

std::array<std::size_t, kStepStateCount> countsOf(const std::vector<JobStep>& steps)
{
    std::array<std::size_t, kStepStateCount> counts{};
    for (const JobStep& step : steps) ++counts[static_cast<std::size_t>(step.state)];
    return counts;
}

} // namespace

nlohmann::json stepStatesJson(const std::vector<JobStep>& steps, const std::string& by, int lost)
{
    nlohmann::json object;
    auto counts = countsOf(steps);
    counts[static_cast<std::size_t>(StepState::Lost)] = static_cast<std::size_t>(lost);
    for (int state = 0; state < kStepStateCount; ++state)
        object[std::string(name(static_cast<StepState>(state)))] = counts[static_cast<std::size_t>(state)];
    object["by"] = by.empty() ? nlohmann::json(nullptr) : nlohmann::json(by);
    return object;
}

std::string stepStatesText(const std::vector<JobStep>& steps, const std::string& by, int lost)
{
    if (steps.empty()) return "no steps";
    if (by == kWholeTrace) return "none recognised: the whole trace counts as one";
    const auto counts = countsOf(steps);
    std::string leftOut;
    static constexpr std::array<const char*, kStepStateCount> kWords{"", "warm-up", "cut", "odd", ""};
    for (std::size_t state = 1; state < counts.size(); ++state)
        if (counts[state] > 0)
            leftOut += (leftOut.empty() ? "" : ", ") + std::to_string(counts[state]) + " " + kWords[state];
    const std::string measured = std::to_string(counts[0]), all = std::to_string(steps.size());
    std::string text = leftOut.empty() ? all + (steps.size() == 1 ? " step" : " steps")
                                       : measured + " of " + all + " steps measured (" + leftOut + ")";
    if (lost > 0) text += ", and " + std::to_string(lost) + " lost in failures and taken again";
    if (!by.empty()) text += ", by " + by;
    return text;
}

} // namespace fourwalls::cli
