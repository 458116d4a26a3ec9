// SPDX-License-Identifier: Apache-2.0
// Names that begin a training step. No allocation, no exceptions: it runs in other people's programs at every range.
#include "profiler/collect/step_mark.h"

namespace fourwalls::collect {

namespace {

char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool isDigit(char c)
{
    return c >= '0' && c <= '9';
}

/// Takes `word` (lower case) from the front of the text, whatever its case.
bool take(std::string_view& text, std::string_view word)
{
    if (text.size() < word.size()) return false;
    for (std::size_t i = 0; i < word.size(); ++i) {
        if (lower(text[i]) != word[i]) return false;
    }
    text.remove_prefix(word.size());
    return true;
}

void skipSeparators(std::string_view& text)
{
    constexpr std::string_view kSeparators = " _-#:=[(./";
    while (!text.empty() && kSeparators.find(text.front()) != std::string_view::npos) text.remove_prefix(1);
}

/// The number at the front; nothing where there is none or it is longer than any step count.
std::optional<std::int64_t> takeNumber(std::string_view& text)
{
    std::int64_t number = 0;
    std::size_t digits = 0;
    while (digits < text.size() && isDigit(text[digits])) {
        if (digits == 18) return std::nullopt;
        number = number * 10 + (text[digits++] - '0');
    }
    if (digits == 0) return std::nullopt;
    text.remove_prefix(digits);
    return number;
}

/// What may follow the number: a closing bracket, "of 100" or "/100", nothing else.
bool isTail(std::string_view text)
{
    if (text.empty()) return true;
    const char c = text.front();
    return c == ']' || c == ')' || c == '/' || c == ' ' || c == ',';
}

} // namespace

std::optional<StepName> stepOfName(std::string_view name, std::string_view custom)
{
    std::string_view rest = name;
    if (!custom.empty()) {
        if (name.substr(0, custom.size()) != custom) return std::nullopt;
        rest.remove_prefix(custom.size());
        skipSeparators(rest);
        return StepName{takeNumber(rest)};
    }
    const bool profiler = take(rest, "profiler");
    if (!profiler && (take(rest, "training") || take(rest, "train"))) skipSeparators(rest);
    if (!take(rest, "step") && !take(rest, "iteration") && !take(rest, "iter")) return std::nullopt;
    skipSeparators(rest);
    const auto number = takeNumber(rest);
    if (!isTail(rest) || (!number && !rest.empty()) || (profiler && !number)) return std::nullopt;
    return StepName{number};
}

} // namespace fourwalls::collect
