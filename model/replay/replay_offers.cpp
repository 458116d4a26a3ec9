// SPDX-License-Identifier: Apache-2.0
// See replay_offers.h.
#include "model/replay/replay_offers.h"

#include "model/trace/step_window.h"

#include <algorithm>
#include <map>
#include <set>

namespace fourwalls::replay {

namespace {

/// Gains below this share of the step are none.
constexpr double kLeastGain = 0.001;

/// Names of device work on the path, most time first.
std::vector<std::string> kernelsOnPath(const Replay& replay)
{
    const ReplayGraph& graph = replay.graph(DelayRule::Class);
    std::map<std::string, std::int64_t> times;
    for (std::size_t step = 0; step < graph.steps.size(); ++step)
        for (const NodeIndex node : criticalNodes(graph, graph.recordedEnd, step)) {
            if (graph.role[node] != NodeRole::Work || graph.piece[node] == kNone) continue;
            const OpInfo& op = replay.recording().op(replay.recording().pieces[graph.piece[node]]);
            if (op.kind != SliceKind::DataLoading && !op.name.empty()) times[op.name] += graph.duration[node];
        }
    std::vector<std::pair<std::int64_t, std::string>> sorted;
    for (const auto& [name, time] : times) sorted.push_back({time, name});
    std::sort(sorted.rbegin(), sorted.rend());
    std::vector<std::string> names;
    for (const auto& [time, name] : sorted)
        if (names.size() < kMostKernelOffers) names.push_back(name);
    return names;
}

struct Question {
    OfferKind kind;
    std::string what, change;
};

std::vector<Question> questionsTo(const Replay& replay)
{
    std::vector<Question> questions{{OfferKind::Stragglers, "", "stragglers=none"},
                                    {OfferKind::Launches, "", "launches=graph"}};
    std::set<std::string> groups;
    for (const ProcessGroupInfo& group : replay.recording().info.groups)
        if (group.ranks.size() > 1) groups.insert(group.name);
    for (const std::string& group : groups) questions.push_back({OfferKind::Link, group, "link:" + group + "*2"});
    for (const std::string& kernel : kernelsOnPath(replay))
        questions.push_back({OfferKind::Kernel, kernel, "kernels:" + kernel + "*0.5"});
    for (const char* schedule : {"gpipe", "1f1b", "zb"})
        questions.push_back({OfferKind::Schedule, schedule, std::string("schedule=") + schedule});
    return questions;
}

} // namespace

Result<ReplayOffers> replayOffers(TraceQuery& trace, std::optional<StepIndex> wanted, std::stop_token stop)
{
    FOURWALLS_TRY_ASSIGN(const StepWindow window, stepWindow(trace, wanted));
    std::optional<StepChoiceRange> steps;
    if (window.step) steps = {*window.step, *window.step};
    FOURWALLS_TRY_ASSIGN(const Replay replay, Replay::of(trace, steps, stop));
    ReplayOffers offers;
    offers.quality = replay.quality(DelayRule::Class);
    const double least = kLeastGain * static_cast<double>(offers.quality.replayed.ns);
    for (const Question& question : questionsTo(replay)) {
        if (stop.stop_requested()) return Error{ErrorCode::Cancelled, "cancelled", "", ""};
        auto change = parseChange(question.change);
        if (!change.ok()) continue; // a name that reads as something else
        const ReplayChange changes[] = {*change};
        auto outcome = replay.run(DelayRule::Class, changes);
        if (!outcome.ok()) continue; // what this trace cannot answer is not offered
        ReplayOffer offer{question.kind, question.what, std::move(*change), std::move(*outcome)};
        if (std::abs(static_cast<double>(offer.gain(offers.quality.replayed).ns)) >= least)
            offers.offers.push_back(std::move(offer));
    }
    std::stable_sort(offers.offers.begin(), offers.offers.end(),
                     [](const ReplayOffer& a, const ReplayOffer& b) { return a.outcome.changed < b.outcome.changed; });
    return offers;
}

} // namespace fourwalls::replay
