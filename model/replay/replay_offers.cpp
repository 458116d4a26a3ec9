// SPDX-License-Identifier: Apache-2.0
// See replay_offers.h.
#include "model/replay/replay_offers.h"

#include "model/replay/name_pattern.h"
#include "model/replay/pass_order.h"
#include "model/replay/steps_around.h"
#include "model/trace/step_window.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

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

/// Work of all variants together that somebody waits for.
constexpr std::size_t kMostNodesForRanks = 50'000'000;

ReplayKnobs knobsOf(const Replay& replay)
{
    const Recording& recording = replay.recording();
    ReplayKnobs knobs;
    knobs.spec = recording.info.header.spec;
    knobs.kernels = kernelsOnPath(replay);
    std::set<RankId> ranks;
    std::set<std::string> groups, transfers, reading;
    for (const Piece& piece : recording.pieces) {
        ranks.insert(piece.rank);
        const OpInfo& op = recording.op(piece);
        if (op.kind == SliceKind::DataLoading && piece.length().ns > 0) reading.insert(op.name);
        if (op.kind == SliceKind::HostCall) knobs.hasCalls = true;
        if (!piece.isCollective()) continue;
        const CollectiveRecord& record = recording.collectives[piece.collective].record;
        const ProcessGroupInfo& group = recording.info.groups[static_cast<std::size_t>(record.group.value)];
        if (record.end > record.lastArrival && group.ranks.size() > 1) groups.insert(group.name);
        // What the next stage computes on cannot go beside it.
        const bool message = record.operation == CollectiveOp::Send || record.operation == CollectiveOp::Receive;
        if (op.kind == SliceKind::Collective && !op.name.empty() && !message) transfers.insert(op.name);
    }
    if (ranks.size() > 1) knobs.ranks.assign(ranks.begin(), ranks.end());
    std::set<int> stages;
    for (const RankInfo& rank : recording.info.header.ranks) stages.insert(rank.pipelineStage);
    if (ranks.size() > 1 && stages.size() > 1) knobs.stages.assign(stages.begin(), stages.end());
    knobs.groups.assign(groups.begin(), groups.end());
    if (!knobs.hasCalls) knobs.transfers.assign(transfers.begin(), transfers.end());
    knobs.reading.assign(reading.begin(), reading.end());
    if (auto passes = recordedPasses(recording, replay.graph(DelayRule::None)); passes.ok())
        knobs.passes = *passes;
    else
        knobs.noPasses = passes.error().what;
    return knobs;
}

/// Runs the steps around again that the findings run again, too (model/diagnose): both are asked in the background, where one
/// question follows the other, so that to share the replay every open trace would have to keep it in between (over 100 MB).
Status readError(TraceQuery& trace, std::optional<StepIndex> step, ReplayOffers& offers, std::stop_token stop)
{
    offers.error = offers.quality.meanError;
    if (!step || offers.replay->recording().wholeTrace) return {};
    FOURWALLS_TRY_ASSIGN(const std::vector<JobStep> steps, trace.jobSteps());
    const auto around = stepsAround(trace.info(), steps, *step);
    if (!around || around->first == around->second) return {};
    const auto several = Replay::of(trace, around, stop);
    if (!several.ok()) return several.error().code == ErrorCode::Cancelled ? Status(several.error()) : Status();
    const ReplayQuality quality = several->quality(DelayRule::Class);
    if (quality.steps.size() < 2) return {};
    offers.error = quality.meanError;
    offers.errorSteps = quality.steps.size();
    return {};
}

struct Question {
    OfferKind kind;
    std::string what, change;
};

std::vector<Question> questionsTo(const Replay& replay, const ReplayKnobs& knobs)
{
    std::vector<Question> questions{{OfferKind::Stragglers, "", "stragglers=none"}};
    if (replay.graph(DelayRule::Class).nodes() * knobs.ranks.size() <= kMostNodesForRanks)
        for (const RankId rank : knobs.ranks) {
            const std::string number = std::to_string(rank.value);
            questions.push_back({OfferKind::Rank, number, "rank:" + number + "=fleet"});
        }
    for (const int stage : knobs.stages) {
        const std::string number = std::to_string(stage);
        questions.push_back({OfferKind::Stage, number, "stage:" + number + "=fleet"});
    }
    if (knobs.hasCalls) {
        questions.push_back({OfferKind::Launches, "", "launches=graph"});
        questions.push_back({OfferKind::Host, "", "host:*0.5"});
    }
    for (const std::string& name : knobs.reading)
        questions.push_back({OfferKind::Reading, name, "host:" + exactPattern(name) + "*0"});
    for (const std::string& group : knobs.groups) questions.push_back({OfferKind::Link, group, "link:" + group + "*2"});
    for (const std::string& kernel : knobs.kernels)
        questions.push_back({OfferKind::Kernel, kernel, "kernels:" + exactPattern(kernel) + "*0.5"});
    for (const std::string& transfer : knobs.transfers)
        questions.push_back({OfferKind::Hide, transfer, "hide:" + exactPattern(transfer)});
    if (!knobs.passes) return questions;
    for (const char* schedule : {"gpipe", "1f1b", "zb"})
        questions.push_back({OfferKind::Schedule, schedule, std::string("schedule=") + schedule});
    return questions;
}

} // namespace

const ReplayOffer* ReplayOffers::find(OfferKind kind, const std::string& what) const
{
    const auto found = std::find_if(offers.begin(), offers.end(),
                                    [&](const ReplayOffer& offer) { return offer.kind == kind && offer.what == what; });
    return found == offers.end() ? nullptr : &*found;
}

Result<ReplayOffers> replayOffers(TraceQuery& trace, std::optional<StepIndex> wanted, std::stop_token stop)
{
    FOURWALLS_TRY_ASSIGN(const StepWindow window, stepWindow(trace, wanted));
    std::optional<StepChoiceRange> steps;
    if (window.step) steps = {*window.step, *window.step};
    FOURWALLS_TRY_ASSIGN(Replay made, Replay::of(trace, steps, stop));
    ReplayOffers offers;
    offers.replay = std::make_shared<const Replay>(std::move(made));
    const Replay& replay = *offers.replay;
    offers.knobs = knobsOf(replay);
    offers.quality = replay.quality(DelayRule::Class);
    FOURWALLS_TRY(readError(trace, window.step, offers, stop));
    const double least = kLeastGain * static_cast<double>(offers.quality.replayed.ns);
    for (const Question& question : questionsTo(replay, offers.knobs)) {
        if (stop.stop_requested()) return Error{ErrorCode::Cancelled, "cancelled", "", ""};
        auto change = parseChange(question.change);
        if (!change.ok()) continue; // a group's name that reads as something else
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
