// SPDX-License-Identifier: Apache-2.0
// See argument.h.
#include "app/cli/argument.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <type_traits>

namespace fourwalls::cli {

namespace {

template <class T>
bool readWord(const std::string& word, T& value)
{
    const char* const end = word.data() + word.size();
    const auto [last, failure] = std::from_chars(word.data(), end, value);
    return failure == std::errc{} && last == end && std::isfinite(static_cast<double>(value));
}

bool readWord(const std::string& word, std::string& value)
{
    value = word;
    return true;
}

template <class T>
bool readWord(const std::string& word, std::optional<T>& value)
{
    return readWord(word, value.emplace());
}

bool readWord(const std::string& word, std::vector<std::string>& values)
{
    values.push_back(word);
    return true;
}

/// The type that a word is read as.
template <class T>
struct Value {
    using Type = T;
};
template <class T>
struct Value<std::optional<T>> {
    using Type = T;
};
template <class T>
using ValueOf = typename Value<T>::Type;

template <class T>
std::string shown(const T& value)
{
    if constexpr (std::is_arithmetic_v<T>)
        return value == 0 ? std::string() : fmt::format("{}", value);
    else if constexpr (std::is_same_v<T, std::string>)
        return value;
    else
        return {};
}

} // namespace

std::string Argument::kind() const
{
    if (!words.empty()) return fmt::format("{{{}}}", fmt::join(words, ","));
    return std::visit(
        []<class T>(T*) -> std::string {
            if constexpr (std::is_floating_point_v<ValueOf<T>>)
                return "NUMBER";
            else
                return std::is_integral_v<ValueOf<T>> ? "INT" : "TEXT";
        },
        target);
}

std::string Argument::defaultText() const
{
    return std::visit([](const auto* value) { return shown(*value); }, target);
}

Status Argument::read(const std::string& name, const std::string& word) const
{
    const auto wrong = [&](std::string hint) {
        return Error{ErrorCode::InvalidArgument, "cannot be '" + word + "'", name, std::move(hint)};
    };
    if (!words.empty() && std::find(words.begin(), words.end(), word) == words.end())
        return wrong(fmt::format("{}", fmt::join(words, ", ")));
    const bool isRead = std::visit(
        [&word]<class T>(T* value) {
            if constexpr (std::is_same_v<T, bool>)
                return false; // a flag has no value
            else
                return readWord(word, *value);
        },
        target);
    if (isRead) return {};
    return wrong(kind() == "INT" ? "a whole number" : "a number");
}

} // namespace fourwalls::cli
