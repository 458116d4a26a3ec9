// SPDX-License-Identifier: Apache-2.0
// Names are cut into words; one dimension named, and nothing else, decides.
#include "model/import/parallel_groups.h"

#include <algorithm>
#include <array>
#include <string>

namespace fourwalls::importers {

GroupPurpose purposeOfGroup(std::string_view name)
{
    using Row = std::pair<std::string_view, GroupPurpose>;
    static constexpr std::array<Row, 12> kWords{{
        {"tensor", GroupPurpose::Tensor}, {"tp", GroupPurpose::Tensor}, {"pipeline", GroupPurpose::Pipeline}, {"pp", GroupPurpose::Pipeline},
        {"pipe", GroupPurpose::Pipeline}, {"data", GroupPurpose::Data}, {"dp", GroupPurpose::Data}, {"replicate", GroupPurpose::Data},
        {"context", GroupPurpose::Context}, {"cp", GroupPurpose::Context}, {"expert", GroupPurpose::Expert}, {"ep", GroupPurpose::Expert}}};
    GroupPurpose purpose = GroupPurpose::Other;
    std::string word;
    for (std::size_t i = 0; i <= name.size(); ++i) {
        const char c = i < name.size() ? name[i] : ' ';
        const char lower = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
        if (lower >= 'a' && lower <= 'z') {
            word += lower;
            continue;
        }
        if (word == "and" || word == "with" || word == "embedding" || word == "gloo" || word == "amax") return GroupPurpose::Other;
        const auto *const known = std::find_if(kWords.begin(), kWords.end(), [&](const Row& row) { return row.first == word; });
        word.clear();
        if (known == kWords.end()) continue;
        if (purpose != GroupPurpose::Other && purpose != known->second) return GroupPurpose::Other;
        purpose = known->second;
    }
    return purpose;
}

GroupPurpose purposeOfGroup(const HostGroup& group)
{
    const GroupPurpose purpose = purposeOfGroup(group.description);
    return purpose != GroupPurpose::Other ? purpose : purposeOfGroup(group.name);
}

std::optional<int> pipelineStage(const std::vector<HostGroup>& groups, int rank)
{
    for (const HostGroup& group : groups) {
        if (purposeOfGroup(group) != GroupPurpose::Pipeline) continue;
        const auto found = std::find(group.ranks.begin(), group.ranks.end(), rank);
        if (found != group.ranks.end()) return static_cast<int>(found - group.ranks.begin());
    }
    return std::nullopt;
}

} // namespace fourwalls::importers
