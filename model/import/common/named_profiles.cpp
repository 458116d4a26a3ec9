// SPDX-License-Identifier: Apache-2.0
// See named_profiles.h.
#include "model/import/common/named_profiles.h"

#include "model/base/ascii.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

namespace fourwalls::importers {

namespace {

constexpr std::array<std::string_view, 4> kPackedEndings{".gz", ".zst", ".xz", ".bz2"};
constexpr std::array<std::string_view, 9> kProfileEndings{".json", ".pickle",  ".sqlite",         ".db", ".pb",
                                                          ".et",   ".pftrace", ".perfetto-trace", ".csv"};
constexpr std::string_view kTorchEnding = ".pt.trace.json";

std::string_view withoutPacking(std::string_view name)
{
    for (const std::string_view ending : kPackedEndings)
        if (name.ends_with(ending)) return name.substr(0, name.size() - ending.size());
    return name;
}

/// JSON whose last character is no bracket.
bool isCutJson(std::string_view text)
{
    const auto first = text.find_first_not_of(" \t\r\n"), last = text.find_last_not_of(" \t\r\n");
    return first != std::string_view::npos && (text[first] == '{' || text[first] == '[') && text[last] != '}' &&
           text[last] != ']';
}

/// WORKER and TIME of a file of tensorboard_trace_handler; empty time: another file.
std::pair<std::string_view, std::string_view> windowOf(std::string_view name)
{
    name = withoutPacking(name);
    if (!name.ends_with(kTorchEnding)) return {};
    name.remove_suffix(kTorchEnding.size());
    const std::size_t dot = name.rfind('.');
    if (dot == std::string_view::npos || dot + 1 == name.size()) return {};
    const std::string_view time = name.substr(dot + 1);
    constexpr std::string_view kDigits = "0123456789";
    if (time.find_first_not_of(kDigits) != std::string_view::npos) return {};
    return {name.substr(0, dot), time};
}

} // namespace

std::string lossOf(const std::string& name, std::string_view beginning, bool whole, const std::string& damage)
{
    const std::string lower = lowerCase(name);
    const std::string_view plain = withoutPacking(lower);
    const bool named = std::any_of(kProfileEndings.begin(), kProfileEndings.end(),
                                   [&](std::string_view ending) { return plain.ends_with(ending); });
    if (!named) return {};
    if (!damage.empty()) return damage;
    if (beginning.empty()) return "the file is empty";
    if (plain.ends_with(".json") && whole && isCutJson(beginning)) return "the file ends early";
    return plain.ends_with(kTorchEnding) ? "no trace, though PyTorch named it as one" : std::string();
}

std::vector<std::size_t> otherWindows(const std::vector<std::string>& names)
{
    std::map<std::string_view, std::vector<std::pair<std::string_view, std::size_t>>> workers;
    for (std::size_t i = 0; i < names.size(); ++i)
        if (const auto [worker, time] = windowOf(names[i]); !time.empty()) workers[worker].emplace_back(time, i);
    std::size_t taken = names.size();
    for (auto& [worker, windows] : workers) {
        // Numbers of any length, in their order.
        std::sort(windows.begin(), windows.end(), [](const auto& a, const auto& b) {
            return std::tuple(a.first.size(), a.first) < std::tuple(b.first.size(), b.first);
        });
        taken = std::min(taken, windows.size() - 1);
    }
    std::vector<std::size_t> others;
    for (const auto& [worker, windows] : workers)
        for (std::size_t i = 0; i < windows.size(); ++i)
            if (i != taken) others.push_back(windows[i].second);
    std::sort(others.begin(), others.end());
    return others;
}

} // namespace fourwalls::importers
