// SPDX-License-Identifier: Apache-2.0
// One sentence for each reason, and the chain of waiting by its steps.
#include "model/diagnose/hang_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace fourwalls::diagnose {

namespace {

std::vector<int> numbersOf(const HangState& state, const std::vector<std::int32_t>& places)
{
    std::vector<int> numbers;
    for (const std::int32_t place : places) numbers.push_back(state.ranks[static_cast<std::size_t>(place)].rank);
    std::sort(numbers.begin(), numbers.end());
    return numbers;
}

std::string ranksText(const std::vector<int>& numbers)
{
    return (numbers.size() == 1 ? "rank " : "ranks ") + rankList(numbers);
}

HangPlace placeOf(const HangState& state, std::int32_t group, std::uint32_t operation, std::int64_t sequence)
{
    HangPlace place;
    if (group >= 0) {
        place.group = state.groups[static_cast<std::size_t>(group)].name;
        place.description = state.groups[static_cast<std::size_t>(group)].description;
    }
    place.operation = operationName(state.texts[operation]);
    if (sequence >= 0) place.sequence = sequence;
    return place;
}

std::string groupText(const HangPlace& place)
{
    return place.description.empty() ? "group " + place.group : place.description + " (group " + place.group + ")";
}

/// "all_to_all #20537 of EXPERT_MODEL_PARALLEL_GROUP (group 74)"
std::string operationText(const HangPlace& place)
{
    const std::string number = place.sequence ? fmt::format(" #{}", *place.sequence) : "";
    return fmt::format("{}{} of {}", place.operation.empty() ? "an operation" : place.operation, number,
                       groupText(place));
}

std::string reasonOf(const HangState& state, const NamedRank& named, const HangPlace& place)
{
    const std::string peers = named.by.empty() ? "its peers" : ranksText(numbersOf(state, named.by));
    const std::string operation = operationText(place);
    switch (named.reason) {
    case HangReason::DeviceStopped:
        return fmt::format(
            "its device stopped: {} finished {} and, counted over all groups, {} operations that it entered "
            "and never marked as finished",
            peers, operation, named.count);
    case HangReason::StuckAfterKernel:
        return fmt::format(
            "{} finished {}, which it entered and never marked as finished: its device stopped, or stands "
            "in that operation after its own part",
            peers, operation);
    case HangReason::NoDump: return "it wrote no dump: its process was gone, or could not write";
    case HangReason::OtherOperation:
        return fmt::format("in {} it entered {} where {} entered {}", groupText(place), state.texts[named.operation],
                           peers, state.texts[named.instead]);
    case HangReason::HostStopped:
        return fmt::format("its program does not go on: nothing is open at it, and {} wait{} for it in {}", peers,
                           named.by.size() == 1 ? "s" : "", operation);
    case HangReason::SkippedOperation: return fmt::format("it went on without {}, which {} entered", operation, peers);
    case HangReason::ExtraOperation: return fmt::format("it entered {}, without which {} went on", operation, peers);
    case HangReason::HostBehind:
        return fmt::format("its program stands: {} are at the same {} and entered more operations behind it", peers,
                           operation);
    case HangReason::DeviceBehind:
        return fmt::format("its device did not begin {}, which all members entered and {} began", operation, peers);
    case HangReason::WaitedFor: break;
    }
    return fmt::format("{} wait{} for it in {}, and it waits for nobody", peers, named.by.size() == 1 ? "s" : "",
                       operation);
}

} // namespace

const char* name(HangReason reason)
{
    switch (reason) {
    case HangReason::DeviceStopped: return "device_stopped";
    case HangReason::StuckAfterKernel: return "stuck_after_kernel";
    case HangReason::NoDump: return "no_dump";
    case HangReason::OtherOperation: return "other_operation";
    case HangReason::HostStopped: return "host_stopped";
    case HangReason::SkippedOperation: return "skipped_operation";
    case HangReason::ExtraOperation: return "extra_operation";
    case HangReason::HostBehind: return "host_behind";
    case HangReason::DeviceBehind: return "device_behind";
    case HangReason::WaitedFor: break;
    }
    return "waited_for";
}

const char* name(HangConfidence confidence)
{
    switch (confidence) {
    case HangConfidence::Certain: return "certain";
    case HangConfidence::Strong: return "strong";
    case HangConfidence::Likely: break;
    }
    return "likely";
}

std::string rankList(const std::vector<int>& ranks)
{
    std::string text;
    for (std::size_t i = 0; i < ranks.size();) {
        std::size_t last = i;
        while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
        if (!text.empty()) text += ", ";
        text += last == i       ? fmt::format("{}", ranks[i])
                : last == i + 1 ? fmt::format("{}, {}", ranks[i], ranks[last])
                                : fmt::format("{}-{}", ranks[i], ranks[last]);
        i = last + 1;
    }
    return text;
}

std::string operationName(std::string_view name)
{
    if (const auto colon = name.find(':'); colon != std::string_view::npos) name.remove_prefix(colon + 1);
    if (const auto space = name.find(' '); space != std::string_view::npos) name = name.substr(0, space);
    while (name.starts_with('_')) name.remove_prefix(1);
    if (name.ends_with("_base")) name.remove_suffix(5);
    return std::string(name);
}

HangSuspect suspectOf(const HangState& state, std::int32_t rank, const NamedRank& named)
{
    HangSuspect suspect;
    suspect.rank = state.ranks[static_cast<std::size_t>(rank)].rank;
    suspect.reason = named.reason;
    suspect.confidence = named.confidence;
    suspect.place = placeOf(state, named.group, named.operation, named.sequence);
    suspect.because = reasonOf(state, named, suspect.place);
    suspect.stack = state.ranks[static_cast<std::size_t>(rank)].stack;
    return suspect;
}

HangSet setOf(const HangState& state, const OneOf& set)
{
    HangSet made;
    made.ranks = numbersOf(state, set.ranks);
    made.place = placeOf(state, set.group, set.operation, set.sequence);
    const std::string operation = operationText(made.place);
    switch (set.why) {
    case OneOf::Why::Transfer:
        made.because =
            fmt::format("all of them entered {} and nobody finished it: a link, its kernel or one device", operation);
        break;
    case OneOf::Why::Circle:
        made.because = fmt::format("they wait for one another in a circle through {}", operation);
        break;
    case OneOf::Why::Mismatch:
        made.because =
            fmt::format("they entered different operations as {}, and the dumps do not tell which is right", operation);
        break;
    case OneOf::Why::SkippedOrExtra:
        made.because = fmt::format(
            "some entered {} and some went on without it, and the dumps do not tell who is right", operation);
        break;
    }
    return made;
}

std::string sentenceOf(const HangWaiting& waiting)
{
    const HangPlace& place = waiting.place;
    const std::string number = place.sequence ? fmt::format(" #{}", *place.sequence) : "";
    return fmt::format("{} wait{} in {}{} of {} for {}", ranksText(waiting.ranks), waiting.ranks.size() == 1 ? "s" : "",
                       place.operation, number, place.description.empty() ? "group " + place.group : place.description,
                       ranksText(waiting.waitsFor));
}

std::string sentenceOf(const RasNote& note)
{
    std::string where = note.communicator.empty() ? std::string() : "communicator " + note.communicator;
    if (!note.ranks.empty()) where += (where.empty() ? "" : ", ") + ranksText(note.ranks);
    return where.empty() ? note.because : where + ": " + note.because;
}

std::vector<HangWaiting> chainOf(const HangState& state, const std::vector<Wait>& waits, const NamedRanks& named,
                                 const std::vector<OneOf>& sets)
{
    constexpr std::size_t kMostWaits = 12;
    std::set<std::int32_t> reached;
    for (const auto& [rank, name] : named) reached.insert(rank);
    for (const OneOf& set : sets) reached.insert(set.ranks.begin(), set.ranks.end());

    struct Step {
        HangPlace place;
        std::set<std::int32_t> waiting, waitedFor;
    };
    std::vector<HangWaiting> chain;
    std::vector<bool> told(waits.size(), false);
    for (bool more = true; more && chain.size() < kMostWaits;) {
        more = false;
        // Waits of one kind that end at the same distance become one step.
        std::map<std::pair<std::string, std::string>, Step> steps;
        for (std::size_t w = 0; w < waits.size(); ++w) {
            if (told[w]) continue;
            std::set<std::int32_t> targets;
            for (const auto* list : {&waits[w].notEntered, &waits[w].heldBefore})
                for (const std::int32_t rank : *list)
                    if (reached.count(rank) > 0) targets.insert(rank);
            if (targets.empty()) continue;
            told[w] = more = true;
            const std::int64_t sequence = waits[w].operation.isTransfer() ? -1 : waits[w].operation.sequence;
            const HangPlace place = placeOf(state, waits[w].operation.group, waits[w].name, sequence);
            Step& step = steps[{place.description.empty() ? "group " + place.group : place.description,
                                place.operation + (sequence < 0 ? "" : fmt::format(" #{}", sequence))}];
            // Of several groups of one kind, the place names the kind alone.
            if (step.waiting.empty()) step.place = place;
            step.waiting.insert(waits[w].waiting.begin(), waits[w].waiting.end());
            step.waitedFor.insert(targets.begin(), targets.end());
        }
        std::set<std::int32_t> now;
        for (const auto& [what, step] : steps) {
            if (chain.size() < kMostWaits)
                chain.push_back({numbersOf(state, {step.waiting.begin(), step.waiting.end()}), step.place,
                                 numbersOf(state, {step.waitedFor.begin(), step.waitedFor.end()})});
            now.insert(step.waiting.begin(), step.waiting.end());
        }
        reached.insert(now.begin(), now.end());
    }
    std::reverse(chain.begin(), chain.end());
    return chain;
}

} // namespace fourwalls::diagnose
