// SPDX-License-Identifier: Apache-2.0
// See nearest_name.h.
#include "model/base/nearest_name.h"

#include "model/base/ascii.h"

#include <algorithm>
#include <vector>

namespace fourwalls {

namespace {

/// Letters to leave out, add, change, or exchange with their neighbour (the optimal string alignment distance: Damerau,
/// Communications of the ACM 7 (1964) 171).
std::size_t differences(std::string_view a, std::string_view b)
{
    std::vector<std::size_t> before, last(b.size() + 1), row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = std::min(row[j], before[j - 2] + 1);
        }
        before = last;
        last = row;
    }
    return last[b.size()];
}

} // namespace

std::string nearestName(std::string_view word, std::span<const std::string> names)
{
    constexpr std::size_t kLongest = 60; // longer ones are no names
    if (word.empty() || word.size() > kLongest) return {};
    const std::string wanted = lowerCase(word);
    std::string nearest;
    std::size_t least = std::max<std::size_t>(1, word.size() / 3) + 1;
    for (const std::string& name : names) {
        if (name.size() > kLongest) continue;
        const std::size_t count = differences(wanted, lowerCase(name));
        if (count >= least) continue;
        least = count;
        nearest = name;
    }
    return nearest;
}

} // namespace fourwalls
