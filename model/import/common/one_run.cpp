// SPDX-License-Identifier: Apache-2.0
// The rules, each with the sentence that it is refused with.
#include "model/import/common/one_run.h"

#include "model/base/format.h"

#include <algorithm>
#include <map>

namespace fourwalls::importers {

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
/// Ranks profile the same steps. Clocks of hosts may be off by seconds; collectives in common allow for minutes.
constexpr std::int64_t kFarApart = 60 * kSecond, kTooFarApart = 600 * kSecond;
constexpr const char* kHint = "open the files of one run together, every rank once; open these one by one";

std::string fileName(const std::string& path)
{
    const std::size_t slash = path.find_last_of('/');
    return slash == std::string::npos ? path : path.substr(slash + 1);
}

/// Names of files; with their folder where the names are equal.
std::string nameOf(const RunMember& member, const RunMember& other)
{
    return fileName(member.path) == fileName(other.path) ? member.path : fileName(member.path);
}

Error notOneRun(const RunMember& first, const RunMember& second, const std::string& why)
{
    return {ErrorCode::InvalidArgument,
            nameOf(first, second) + " and " + nameOf(second, first) + " are not two ranks of one run: " + why,
            second.path, kHint};
}

} // namespace

std::string timeApart(std::int64_t ns)
{
    const auto seconds = static_cast<double>(ns) / 1e9;
    const auto words = [](double count, const char* unit) { return formatFigure(count, 2) + " " + unit; };
    if (seconds >= 2 * 365.25 * 86400) return words(seconds / (365.25 * 86400), "years");
    if (seconds >= 2 * 86400) return words(seconds / 86400, "days");
    if (seconds >= 2 * 3600) return words(seconds / 3600, "hours");
    if (seconds >= 120) return words(seconds / 60, "minutes");
    return words(seconds, "seconds");
}

Status checkOneRun(const std::vector<RunMember>& members)
{
    if (members.size() < 2) return {};
    std::map<int, const RunMember*> ranks;
    const RunMember* sized = nullptr;
    const RunMember* timed = nullptr;
    for (const RunMember& member : members) {
        if (member.rank) {
            const auto [found, isNew] = ranks.try_emplace(*member.rank, &member);
            if (!isNew) return notOneRun(*found->second, member, "both are rank " + std::to_string(*member.rank));
        }
        if (member.worldSize) {
            if (sized && *sized->worldSize != *member.worldSize)
                return notOneRun(*sized, member,
                                 "one is of a job of " + std::to_string(*sized->worldSize) + " ranks, the other of " +
                                     std::to_string(*member.worldSize));
            sized = &member;
        }
        if (member.empty) continue;
        if (timed && timed->wallClock != member.wallClock)
            return notOneRun(*timed, member, "only one of them has times of day");
        timed = &member;
    }
    std::vector<const RunMember*> byTime;
    for (const RunMember& member : members)
        if (!member.empty) byTime.push_back(&member);
    std::stable_sort(byTime.begin(), byTime.end(),
                     [](const RunMember* a, const RunMember* b) { return a->firstNs < b->firstNs; });
    for (std::size_t i = 1; i < byTime.size(); ++i) {
        const RunMember& member = *byTime[i];
        // The last to end of those that began earlier.
        const RunMember& before =
            **std::max_element(byTime.begin(), byTime.begin() + static_cast<std::ptrdiff_t>(i),
                               [](const RunMember* a, const RunMember* b) { return a->lastNs < b->lastNs; });
        if (member.wallClock) {
            // Times of hostile files are at most a quarter of what the type holds.
            const std::int64_t gap = member.firstNs - before.lastNs;
            if (gap > kTooFarApart || (gap > kFarApart && !member.aligned && !before.aligned))
                return notOneRun(before, member, "they were recorded " + timeApart(gap) + " apart");
            // Ranks profile the same steps: files of one process after another are no two ranks.
            if (gap > 0 && !member.rank && !before.rank && !member.aligned && !before.aligned)
                return notOneRun(before, member, "nothing says their ranks, and one was recorded after the other");
        } else if (!(member.aligned || before.aligned) && (!member.rank || !before.rank)) {
            return notOneRun(before, member, "neither ranks, times of day nor operations in common join them");
        }
    }
    return {};
}

} // namespace fourwalls::importers
