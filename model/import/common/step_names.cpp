// SPDX-License-Identifier: Apache-2.0
// Names by their words.
#include "model/import/common/step_names.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

namespace fourwalls::importers {

namespace {

constexpr std::size_t kLongestStepName = 120;

bool isDigitOf(char c)
{
    return c >= '0' && c <= '9';
}
bool isUpperOf(char c)
{
    return c >= 'A' && c <= 'Z';
}
bool isLetterOf(char c)
{
    return (c >= 'a' && c <= 'z') || isUpperOf(c);
}

/// Lower-case words; "TrainStep" and "train_step" are two each, digits and signs are between words.
std::vector<std::string> wordsInName(std::string_view name)
{
    std::vector<std::string> words;
    bool open = false;
    for (std::size_t i = 0; i < name.size(); ++i) {
        const char c = name[i];
        if (!isLetterOf(c)) {
            open = false;
            continue;
        }
        const bool hump = isUpperOf(c) && i > 0 && isLetterOf(name[i - 1]) && !isUpperOf(name[i - 1]);
        if (!open || hump) words.emplace_back();
        open = true;
        words.back() += isUpperOf(c) ? static_cast<char>(c - 'A' + 'a') : c;
    }
    return words;
}

/// The last number in the name.
std::optional<int> numberIn(std::string_view name)
{
    std::size_t end = name.size();
    while (end > 0 && !isDigitOf(name[end - 1])) --end;
    std::size_t begin = end;
    while (begin > 0 && isDigitOf(name[begin - 1])) --begin;
    if (begin == end || end - begin > 9) return std::nullopt;
    int number = 0;
    for (std::size_t i = begin; i < end; ++i) number = number * 10 + (name[i] - '0');
    return number;
}

template <std::size_t N>
bool isAmong(const std::string& word, const std::array<std::string_view, N>& list)
{
    return std::find(list.begin(), list.end(), word) != list.end();
}

bool isIteration(const std::vector<std::string>& words, bool numbered)
{
    static constexpr std::array<std::string_view, 5> kCores{"step", "iteration", "iter", "minibatch", "itr"};
    static constexpr std::array<std::string_view, 23> kWith{
        "train",    "training", "trainer",   "global",   "full",   "main",     "loop",      "one",
        "single",   "run",      "inference", "infer",    "decode", "generate", "benchmark", "measure",
        "measured", "timed",    "profile",   "profiled", "pl",     "epoch",    "n"};
    bool core = false, batch = false;
    for (const std::string& word : words) {
        if (isAmong(word, kCores))
            core = true;
        else if (word == "batch")
            batch = true;
        else if (!isAmong(word, kWith))
            return false;
    }
    return core || (batch && (numbered || words.size() > 1));
}

/// What stands before the last number, without the signs between.
std::string keyOf(std::string_view name)
{
    const std::string plain = namePattern(name);
    std::size_t end = plain.find('#');
    // Numbers in front (an epoch) belong to the key; the loop's own number is at the end.
    const std::size_t last = plain.rfind('#');
    if (end != last) end = last;
    std::string key = plain.substr(0, end);
    while (!key.empty() && !isLetterOf(key.back()) && key.back() != '#') key.pop_back();
    return key.empty() ? plain : key;
}

} // namespace

std::string namePattern(std::string_view name)
{
    std::string plain;
    for (const char c : name) {
        if (!isDigitOf(c))
            plain += c;
        else if (plain.empty() || plain.back() != '#')
            plain += '#';
    }
    return plain;
}

IterationName iterationName(std::string_view name)
{
    using Kind = IterationName::Kind;
    IterationName result;
    if (name.empty() || name.size() > 2000) return result;
    constexpr std::string_view kProfiler = "ProfilerStep";
    const auto starts = [&](std::string_view with) { return name.substr(0, with.size()) == with; };
    if (starts(kProfiler)) {
        const auto number = name.size() > kProfiler.size() + 1 ? numberIn(name.substr(kProfiler.size())) : std::nullopt;
        if (number) result = {Kind::Profiler, std::string(kProfiler), *number};
        return result;
    }
    if (starts("step[")) return {Kind::Serving, "step[\xe2\x80\xa6]", -1};
    if (starts("execute_") && std::any_of(name.begin(), name.end(), isDigitOf)) {
        for (const std::string_view part : {"context", "generation", "new", "cached", "decode", "prefill"})
            if (name.find(part) != std::string_view::npos) return {Kind::Serving, "execute_\xe2\x80\xa6", -1};
    }
    if (starts("Optimizer.step#")) return {Kind::Optimizer, std::string(name.substr(0, kLongestStepName)), -1};
    if (name.size() > kLongestStepName) return result;
    std::string_view text = name;
    const std::size_t frame = name.find("): ");
    const bool function =
        frame != std::string_view::npos && name.substr(0, frame).find(".py(") != std::string_view::npos;
    if (function) text = name.substr(frame + 3);
    const std::vector<std::string> words = wordsInName(text);
    if (words.empty() || words.size() > 6) return result;
    if (words == std::vector<std::string>{"optimizer", "step"} || words == std::vector<std::string>{"optim", "step"}) {
        if (!function) result = {Kind::Optimizer, std::string(text), -1};
        return result;
    }
    const auto number = numberIn(text);
    if (!isIteration(words, number.has_value())) return result;
    if (function) {
        // A bare "step" is an optimizer's or a scheduler's method.
        if (words.size() > 1) result = {Kind::Function, std::string(text), -1};
        return result;
    }
    return {Kind::Iteration, keyOf(text), number.value_or(-1)};
}

} // namespace fourwalls::importers
