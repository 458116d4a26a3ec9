// SPDX-License-Identifier: Apache-2.0
// The words of --steps-by.
#include "model/import/common/step_choice.h"

#include "model/trace/step_window.h"

#include <cmath>
#include <cstdlib>

namespace fourwalls::importers {

namespace {

constexpr double kLongestPeriodMs = 86'400'000; // a day

std::string_view withoutOuterSpaces(std::string_view text)
{
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
    return text;
}

Error wrongChoice(std::string_view text, std::string what)
{
    return {ErrorCode::InvalidArgument, std::move(what), std::string(text),
            "marks, \"range NAME\", \"kernel NAME\", \"period MS\" or whole"};
}

} // namespace

Result<StepChoice> readStepChoice(std::string_view text)
{
    using Kind = StepChoice::Kind;
    const std::string_view all = withoutOuterSpaces(text);
    const std::size_t space = all.find_first_of(" =:");
    const std::string_view word = all.substr(0, space);
    const std::string_view rest =
        space == std::string_view::npos ? std::string_view() : withoutOuterSpaces(all.substr(space + 1));
    StepChoice choice;
    if (all.empty() || all == "auto") return choice;
    if (all == "marks")
        choice.kind = Kind::Marks;
    else if (all == "whole" || all == kWholeTrace)
        choice.kind = Kind::Whole;
    else if (word == "range" || word == "kernel") {
        if (rest.empty()) return wrongChoice(text, "a name is missing behind " + std::string(word));
        choice.kind = word == "range" ? Kind::Range : Kind::Kernel;
        choice.name = std::string(rest);
    } else if (word == "period") {
        std::string number(rest);
        if (number.size() > 2 && number.compare(number.size() - 2, 2, "ms") == 0) number.resize(number.size() - 2);
        char* end = nullptr;
        const double ms = std::strtod(number.c_str(), &end);
        if (number.empty() || !withoutOuterSpaces(end).empty() || !std::isfinite(ms) || ms < 0.001 ||
            ms > kLongestPeriodMs)
            return wrongChoice(text, "a period is a number of milliseconds from 0.001 to a day");
        choice.kind = Kind::Period;
        choice.periodNs = std::llround(ms * 1e6);
    } else {
        return wrongChoice(text, "this is no way to find steps");
    }
    return choice;
}

std::string stepsByText(const StepChoice& choice)
{
    switch (choice.kind) {
    case StepChoice::Kind::Auto: return "auto";
    case StepChoice::Kind::Marks: return "ProfilerStep";
    case StepChoice::Kind::Range: return "range " + choice.name;
    case StepChoice::Kind::Kernel: return "kernel " + choice.name;
    case StepChoice::Kind::Whole: return std::string(kWholeTrace);
    case StepChoice::Kind::Period: break;
    }
    std::string ms = std::to_string(static_cast<double>(choice.periodNs) / 1e6);
    while (ms.back() == '0') ms.pop_back();
    if (ms.back() == '.') ms.pop_back();
    return "period " + ms + " ms";
}

} // namespace fourwalls::importers
