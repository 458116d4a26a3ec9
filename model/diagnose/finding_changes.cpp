// SPDX-License-Identifier: Apache-2.0
// See finding_changes.h.
#include "model/diagnose/finding_changes.h"

#include <algorithm>
#include <map>
#include <set>

namespace fourwalls::diagnose {

namespace {

struct Tally {
    std::size_t runs = 0;
    double share = 0;
};

std::map<FindingKey, Tally> tallyOf(std::span<const Diagnosis> runs)
{
    std::map<FindingKey, Tally> tallies;
    for (const Diagnosis& run : runs) {
        std::set<FindingKey> seen;
        for (const Finding& finding : run.findings) {
            FindingKey key = findingKey(finding, run);
            if (!seen.insert(key).second) continue;
            Tally& tally = tallies[std::move(key)];
            ++tally.runs;
            tally.share += finding.gain ? finding.gain->share : 0;
        }
    }
    for (auto& [key, tally] : tallies) tally.share /= static_cast<double>(tally.runs);
    return tallies;
}

} // namespace

FindingKey findingKey(const Finding& finding, const Diagnosis& of)
{
    FindingKey key{finding.cause, {}, {}};
    if (!isFault(finding.cause)) return key;
    key.stage = finding.stage;
    if (finding.ranks.size() < of.ranks.size() && !key.stage) {
        key.ranks = finding.ranks;
        std::sort(key.ranks.begin(), key.ranks.end());
    }
    return key;
}

FindingChanges changesOf(std::span<const Diagnosis> before, std::span<const Diagnosis> after)
{
    FindingChanges changes{before.size(), after.size(), {}, {}, {}};
    const std::map<FindingKey, Tally> a = tallyOf(before), b = tallyOf(after);
    std::set<FindingKey> keys;
    for (const auto* side : {&a, &b})
        for (const auto& [key, tally] : *side) keys.insert(key);
    for (const FindingKey& key : keys) {
        const auto of = [&key](const std::map<FindingKey, Tally>& tallies) {
            const auto found = tallies.find(key);
            return found == tallies.end() ? Tally{} : found->second;
        };
        const Tally was = of(a), is = of(b);
        const bool had = 2 * was.runs > before.size(), has = 2 * is.runs > after.size();
        if (!had && !has) continue;
        auto& list = !has ? changes.gone : !had ? changes.added : changes.kept;
        list.push_back({key, was.runs, is.runs, was.share, is.share});
    }
    for (auto* list : {&changes.gone, &changes.added, &changes.kept})
        std::stable_sort(list->begin(), list->end(), [](const FindingChange& x, const FindingChange& y) {
            return std::max(x.shareBefore, x.shareAfter) > std::max(y.shareBefore, y.shareAfter);
        });
    return changes;
}

} // namespace fourwalls::diagnose
