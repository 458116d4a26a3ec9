// SPDX-License-Identifier: Apache-2.0
// The words that launchers and profilers put before a rank.
#include "model/import/common/file_rank.h"

#include "model/base/ascii.h"

#include <array>
#include <cctype>
#include <string>

namespace fourwalls::importers {

namespace {

std::optional<int> rankInName(std::string_view file)
{
    const std::string name = lowerCase(file);
    for (const std::string_view word : {"rank", "worker"}) {
        for (std::size_t at = name.find(word); at != std::string::npos; at = name.find(word, at + 1)) {
            std::size_t digit = at + word.size();
            if (digit < name.size() && (name[digit] == '-' || name[digit] == '_')) ++digit;
            const std::size_t begin = digit;
            while (digit < name.size() && name[digit] >= '0' && name[digit] <= '9') ++digit;
            if (digit > begin && digit - begin <= 7) return std::stoi(name.substr(begin, digit - begin));
        }
    }
    return std::nullopt;
}

} // namespace

std::optional<int> rankFromFileName(std::string_view path)
{
    // Profilers that write several files per rank name a folder for it, one or two levels up.
    constexpr int kNames = 3;
    for (int names = 0; names < kNames && !path.empty(); ++names) {
        const std::size_t slash = path.find_last_of('/');
        if (const auto rank = rankInName(std::string(slash == std::string_view::npos ? path : path.substr(slash + 1))))
            return rank;
        if (slash == std::string_view::npos) break;
        path = path.substr(0, slash);
    }
    return std::nullopt;
}

} // namespace fourwalls::importers
