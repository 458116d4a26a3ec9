// SPDX-License-Identifier: Apache-2.0
// Names are cut into words; one dimension named, and nothing else, decides.
#include "model/trace/group_label.h"

#include "model/base/ascii.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>
#include <vector>

namespace fourwalls {

namespace {

bool isLetter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// "ranks 0, 1", "ranks 0-7", "ranks 0, 8, ... 56".
std::string ranksText(const std::vector<RankId>& members)
{
    std::vector<int> ranks;
    for (const RankId rank : members) ranks.push_back(rank.value);
    std::sort(ranks.begin(), ranks.end());
    const auto text = [&](std::size_t i) { return std::to_string(ranks[i]); };
    if (ranks.size() == 1) return "rank " + text(0);
    const int stride = ranks[1] - ranks[0];
    bool even = true;
    for (std::size_t i = 2; i < ranks.size(); ++i) even = even && ranks[i] - ranks[i - 1] == stride;
    if (ranks.size() > 3 && even && stride == 1) return "ranks " + text(0) + "-" + text(ranks.size() - 1);
    if (ranks.size() > 4 && even) return "ranks " + text(0) + ", " + text(1) + ", ... " + text(ranks.size() - 1);
    if (ranks.size() > 8) return "group of " + std::to_string(ranks.size());
    std::string all = "ranks " + text(0);
    for (std::size_t i = 1; i < ranks.size(); ++i) all += ", " + text(i);
    return all;
}

} // namespace

GroupPurpose purposeOfGroup(std::string_view name)
{
    using Row = std::pair<std::string_view, GroupPurpose>;
    static constexpr std::array<Row, 12> kWords{{{"tensor", GroupPurpose::Tensor},
                                                 {"tp", GroupPurpose::Tensor},
                                                 {"pipeline", GroupPurpose::Pipeline},
                                                 {"pp", GroupPurpose::Pipeline},
                                                 {"pipe", GroupPurpose::Pipeline},
                                                 {"data", GroupPurpose::Data},
                                                 {"dp", GroupPurpose::Data},
                                                 {"replicate", GroupPurpose::Data},
                                                 {"context", GroupPurpose::Context},
                                                 {"cp", GroupPurpose::Context},
                                                 {"expert", GroupPurpose::Expert},
                                                 {"ep", GroupPurpose::Expert}}};
    GroupPurpose purpose = GroupPurpose::Other;
    std::string word;
    for (std::size_t i = 0; i <= name.size(); ++i) {
        const char c = i < name.size() ? name[i] : ' ';
        const char lower = lowerCase(c);
        if (lower >= 'a' && lower <= 'z') {
            word += lower;
            continue;
        }
        if (word == "and" || word == "with" || word == "embedding" || word == "gloo" || word == "amax")
            return GroupPurpose::Other;
        const auto* const known =
            std::find_if(kWords.begin(), kWords.end(), [&](const Row& row) { return row.first == word; });
        word.clear();
        if (known == kWords.end()) continue;
        if (purpose != GroupPurpose::Other && purpose != known->second) return GroupPurpose::Other;
        purpose = known->second;
    }
    return purpose;
}

std::string groupLabel(const TraceInfo& info, GroupId id)
{
    const auto index = static_cast<std::size_t>(id.value);
    if (id.value < 0 || index >= info.groups.size()) return std::to_string(id.value);
    const ProcessGroupInfo& group = info.groups[index];
    // The program's own groups have names that say all.
    if (info.header.source != TraceSource::Imported || info.header.spec) return group.name;
    const std::string_view name = std::string_view(group.name).substr(0, group.name.find(" ("));
    switch (purposeOfGroup(name)) {
    case GroupPurpose::Tensor: return "tp";
    case GroupPurpose::Pipeline: return "pp";
    case GroupPurpose::Data: return "dp";
    case GroupPurpose::Context: return "cp";
    case GroupPurpose::Expert: return "ep";
    case GroupPurpose::Other: break;
    }
    if (name == "default_pg" || name == "world" || name == "WORLD") return "world";
    // A name of words says more than ranks do: "FIRST_AND_LAST_STAGE", "p2p".
    const bool isWords = std::count_if(name.begin(), name.end(), isLetter) >= 3 && name.substr(0, 8) != "unknown_" &&
                         std::none_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
    const bool isNumber = std::none_of(name.begin(), name.end(), isLetter);
    if (group.ranks.empty()) return (isNumber ? "group " : "") + std::string(name);
    if (isWords) return std::string(name);
    return ranksText(group.ranks);
}

} // namespace fourwalls
