// SPDX-License-Identifier: Apache-2.0
// See replay.h.
#include "model/replay/replay.h"

#include "model/base/format.h"
#include "model/replay/busy_floor.h"
#include "model/replay/core_share.h"
#include "model/replay/device_rules.h"
#include "model/replay/host_rules.h"
#include "model/replay/name_pattern.h"
#include "model/replay/operation_rules.h"
#include "model/replay/pass_order.h"
#include "model/replay/spec_change.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace fourwalls::replay {

namespace {

/// Half the width of a band in standard deviations: nine of ten results.
constexpr double kBandDeviations = 1.645;
/// A delay is long beyond this share of its step.
constexpr double kLongDelay = 0.01;
/// An unchanged replay of ranks with a core each is nearer than this [%].
constexpr double kCrowdedError = 10;
/// A step that lacks less than this share of its busiest stream's work is as good as that work.
constexpr double kNearFloor = 0.99;

Duration meanOf(const std::vector<Duration>& lengths)
{
    if (lengths.empty()) return {};
    double sum = 0;
    for (const Duration each : lengths) sum += static_cast<double>(each.ns);
    return Duration{std::llround(sum / static_cast<double>(lengths.size()))};
}

Duration meanOf(const std::vector<std::int64_t>& lengths)
{
    std::vector<Duration> durations;
    for (const std::int64_t each : lengths) durations.push_back(Duration{each});
    return meanOf(durations);
}

/// Mean of the steps' errors without sign, and the largest [%].
std::pair<double, double> errorsOf(const std::vector<std::int64_t>& recorded, const std::vector<std::int64_t>& replayed)
{
    double sum = 0, largest = 0;
    std::size_t count = 0;
    for (std::size_t i = 0; i < recorded.size(); ++i) {
        if (recorded[i] <= 0) continue;
        const double error =
            std::abs(static_cast<double>(replayed[i] - recorded[i])) / static_cast<double>(recorded[i]) * 100;
        sum += error;
        largest = std::max(largest, error);
        ++count;
    }
    return {count == 0 ? 0 : sum / static_cast<double>(count), largest};
}

/// Whether most of the time in delays is of classes with one member, whose median is the delay itself.
bool restsOnItself(const ReplayGraph& graph)
{
    std::vector<std::uint32_t> members(graph.nodes(), 0);
    for (const std::uint32_t each : graph.delayClass) ++members[each];
    double own = 0, all = 0;
    for (std::size_t node = 0; node < graph.nodes(); ++node) {
        if (graph.role[node] == NodeRole::Source || graph.delay[node] <= 0) continue;
        all += static_cast<double>(graph.delay[node]);
        if (members[graph.delayClass[node]] == 1) own += static_cast<double>(graph.delay[node]);
    }
    return own > 0.5 * all;
}

/// The time of a step that nothing on its path covers. path: latest first.
std::int64_t uncovered(const ReplayGraph& graph, const std::vector<NodeIndex>& path, std::int64_t length)
{
    if (path.empty()) return 0;
    const std::int64_t last = graph.recordedEnd[path.front()], first = last - length;
    std::int64_t at = last, gaps = 0; // nodes may overlap where times contradict an edge
    for (const NodeIndex node : path) {
        gaps += std::max<std::int64_t>(0, at - std::max(first, graph.recordedEnd[node]));
        at = std::clamp(graph.recordedEnd[node] - graph.duration[node], first, at);
    }
    return gaps + (at - first);
}

/// What a changed replay rests on, by the time of its path [ns].
struct PathBasis {
    double measured = 0;
    double scaled = 0;   ///< with the time that the changes took away from the unchanged path
    double variance = 0; ///< of the times that were averaged or scaled
};

/// unchanged: the times before the changes. end: of the changed graph.
PathBasis basisOf(const ReplayGraph& graph, const PeerClasses& peers, const ChangedTimes& changed,
                  const std::vector<std::int64_t>& end, const NodeTimes& unchanged)
{
    PathBasis basis;
    std::vector<std::int64_t> before;
    simulate(graph, unchanged, before);
    for (std::size_t i = 0; i < graph.steps.size(); ++i) {
        for (const NodeIndex node : criticalNodes(graph, end, i)) {
            const bool scaled = changed.origin[node] == TimeOrigin::Scaled;
            (scaled ? basis.scaled : basis.measured) += static_cast<double>(
                std::max<std::int64_t>(0, changed.times.duration[node] + changed.times.delay[node]));
            if (peers.of[node] == kNone || (!scaled && !changed.averaged[node])) continue;
            const double share =
                graph.duration[node] > 0 && scaled
                    ? static_cast<double>(changed.times.duration[node]) / static_cast<double>(graph.duration[node])
                    : 1;
            basis.variance += std::pow(peers.spreads[peers.of[node]].deviation * share, 2);
        }
        for (const NodeIndex node : criticalNodes(graph, before, i))
            if (changed.origin[node] == TimeOrigin::Scaled)
                basis.scaled += static_cast<double>(
                    std::max<std::int64_t>(0, unchanged.duration[node] - changed.times.duration[node]));
    }
    return basis;
}

/// Delays of a graph that lacks edges of the recorded one: what those explained is no delay of the work behind them.
void keepDelays(const ReplayGraph& recorded, ReplayGraph& changed)
{
    std::map<std::pair<std::uint32_t, NodeRole>, std::int64_t> delays;
    for (std::size_t node = 0; node < recorded.nodes(); ++node)
        if (recorded.piece[node] != kNone) delays[{recorded.piece[node], recorded.role[node]}] = recorded.delay[node];
    for (std::size_t node = 0; node < changed.nodes(); ++node) {
        const auto found = delays.find({changed.piece[node], changed.role[node]});
        if (found != delays.end()) changed.delay[node] = found->second;
    }
}

/// No step is shorter than its busiest stream works, even where the trace does not say what waits for that stream.
void keepFloor(const std::vector<std::int64_t>& floor, ReplayOutcome& outcome)
{
    bool said = false;
    for (std::size_t i = 0; i < outcome.steps.size(); ++i) {
        if (outcome.steps[i].ns >= floor[i]) continue;
        const bool isMuch = static_cast<double>(outcome.steps[i].ns) < kNearFloor * static_cast<double>(floor[i]);
        outcome.steps[i] = Duration{floor[i]};
        if (!isMuch || said) continue;
        said = true;
        outcome.assumed.push_back(
            {FOURWALLS_WORDS("ReplaySentences", "a step takes at least as long as its busiest stream works (%1 in one "
                                                "of them): what else it would wait for is not in the trace"),
             {formatTime(Duration{floor[i]})}});
    }
}

/// Mean of the steps, and so much to both sides [ns].
void setBand(ReplayOutcome& outcome, std::int64_t half)
{
    outcome.changed = meanOf(outcome.steps);
    outcome.low = Duration{std::max<std::int64_t>(0, outcome.changed.ns - half)};
    outcome.high = Duration{outcome.changed.ns + half};
}

/// Another order of the passes makes every step longer or shorter by as much. The passes' times stay measured.
void shift(ReplayOutcome& outcome, const PassOrder& order)
{
    const auto shifted = [&](Duration step) {
        // A step that is shorter than its simulated passes keeps its share of them at least.
        const double share =
            order.recorded.ns > 0 ? static_cast<double>(step.ns) / static_cast<double>(order.recorded.ns) : 1;
        const Duration least{std::llround(std::min(1.0, share) * static_cast<double>(order.changed.ns))};
        return std::max(step + (order.changed - order.recorded), least);
    };
    const std::int64_t half = (outcome.high - outcome.changed).ns + std::llround(kBandDeviations * order.deviation);
    for (Duration& step : outcome.steps) step = shifted(step);
    setBand(outcome, half);
    outcome.peakBytes.reset(); // other micro-batches are in flight
    if (outcome.changed.ns > 0)
        outcome.modelled = order.supposed * std::min(1.0, static_cast<double>(order.changed.ns) /
                                                              static_cast<double>(outcome.changed.ns));
    outcome.measured *= 1 - outcome.modelled;
    outcome.scaled *= 1 - outcome.modelled;
    outcome.assumed.insert(outcome.assumed.end(), order.assumed.begin(), order.assumed.end());
}

void scale(ReplayOutcome& outcome, const SpecRatio& ratio)
{
    const auto times = [](Duration duration, double factor) {
        return Duration{std::llround(static_cast<double>(duration.ns) * factor)};
    };
    for (Duration& step : outcome.steps) step = times(step, ratio.time);
    outcome.changed = times(outcome.changed, ratio.time);
    outcome.low = times(outcome.low, ratio.low);
    outcome.high = times(outcome.high, ratio.high);
    if (outcome.peakBytes) *outcome.peakBytes *= ratio.bytes;
    outcome.measured = ratio.measured;
    outcome.modelled = ratio.modelled;
    outcome.scaled = 1 - ratio.measured - ratio.modelled;
    outcome.assumed.insert(outcome.assumed.end(), ratio.assumed.begin(), ratio.assumed.end());
}

} // namespace

double ReplayedStep::errorPercent() const
{
    if (recorded.ns <= 0) return 0;
    return static_cast<double>((replayed - recorded).ns) / static_cast<double>(recorded.ns) * 100;
}

Result<Replay> Replay::of(TraceQuery& trace, std::optional<StepChoiceRange> steps, std::stop_token stop)
{
    Replay replay;
    FOURWALLS_TRY_ASSIGN(Recording recording, readRecording(trace, steps, stop));
    if (!steps && isOperationRecording(recording)) {
        std::string numbers;
        for (const StepIndex step : dropIncompleteSteps(recording))
            numbers += (numbers.empty() ? "" : ", ") + std::to_string(step.value);
        if (!numbers.empty())
            replay.m_notes.push_back(
                {FOURWALLS_WORDS("ReplaySentences",
                                 "left out, as ranks or members of operations are missing in them: steps %1"),
                 {numbers}});
    }
    replay.m_recording = std::make_shared<const Recording>(std::move(recording));
    FOURWALLS_TRY_ASSIGN(const std::vector<MemorySummary> memory, trace.memorySummaries());
    for (const MemorySummary& each : memory)
        replay.m_peakBytes = std::max(replay.m_peakBytes.value_or(0), static_cast<double>(each.peakBytes));
    if (const auto cores = coreShare(replay.m_recording->info.header))
        replay.m_cores = std::make_shared<const CoreShare>(*cores);
    FOURWALLS_TRY(replay.build({}));
    return replay;
}

Status Replay::build(const std::vector<bool>& hidden)
{
    const Recording& of = *m_recording;
    const bool operations = isOperationRecording(of);
    const bool calls = !operations && hasHostCalls(of);
    if (!hidden.empty() && (operations || calls))
        return Error{
            ErrorCode::Unsupported, "in a trace of this kind nothing says what needs the result of a transfer first",
            "--change hide:", "replay a recording of the engine, or ask what a faster link would give: link:GROUP*F"};
    HostFacts facts;
    FOURWALLS_TRY_ASSIGN(const GraphBuilder builder, operations ? operationGraph(of)
                                                     : calls    ? hostGraph(of, facts)
                                                                : deviceGraph(of, hidden));
    if (facts.stalls > 0)
        m_notes.push_back(
            {FOURWALLS_WORDS(
                 "ReplaySentences",
                 "a device stood still %1 times for over 0.2 ms although work was queued: kept as recorded"),
             {std::to_string(facts.stalls)}});
    if (facts.queued > 0)
        m_notes.push_back(
            {FOURWALLS_WORDS("ReplaySentences",
                             "%1 launches met a full queue and waited %2 for their device: no work of the program"),
             {std::to_string(facts.queued), formatTime(facts.queuedTime)}});
    const std::size_t present = of.info.header.ranks.size();
    if (of.info.header.worldSize && static_cast<std::size_t>(*of.info.header.worldSize) > present)
        m_notes.push_back(
            {FOURWALLS_WORDS("ReplaySentences",
                             "the trace has %1 of %2 ranks: of what an operation took, the shortest of its kind and "
                             "size stands for moving, an estimate, and the rest for waiting, which stays as recorded"),
             {std::to_string(present), std::to_string(*of.info.header.worldSize)}});
    const auto describe = [&of](std::uint32_t piece) { return of.describe(piece); };
    FOURWALLS_TRY_ASSIGN(ReplayGraph full, builder.finish(true, describe));
    if (!hidden.empty()) keepDelays(*m_full, full);
    m_full = std::make_shared<const ReplayGraph>(std::move(full));
    m_fullPeers = std::make_shared<const PeerClasses>(peerClasses(of, *m_full, operations));
    if (!builder.hasWaitingEdges()) {
        m_plain = m_full;
        m_plainPeers = m_fullPeers;
    } else {
        FOURWALLS_TRY_ASSIGN(ReplayGraph plain, builder.finish(false, describe));
        if (!hidden.empty()) keepDelays(*m_plain, plain);
        m_plain = std::make_shared<const ReplayGraph>(std::move(plain));
        m_plainPeers = std::make_shared<const PeerClasses>(peerClasses(of, *m_plain, operations));
    }
    return {};
}

Result<std::vector<bool>> Replay::hiddenBy(std::span<const ReplayChange> changes) const
{
    std::vector<bool> hidden;
    // What the next stage computes on cannot go beside it.
    std::set<OpId> messages;
    for (const Piece& piece : m_recording->pieces) {
        if (!piece.isCollective()) continue;
        const CollectiveOp operation = m_recording->collectives[piece.collective].record.operation;
        if (operation == CollectiveOp::Send || operation == CollectiveOp::Receive) messages.insert(piece.op);
    }
    for (const ReplayChange& change : changes) {
        if (change.kind != ChangeKind::Hide) continue;
        const NamePattern pattern(change.pattern);
        hidden.resize(m_recording->ops.size());
        bool met = false, message = false;
        for (std::size_t i = 0; i < hidden.size(); ++i) {
            const auto& op = m_recording->ops[i];
            if (!op || op->kind != SliceKind::Collective || !pattern.matches(op->name)) continue;
            const bool isMessage = messages.count(OpId{static_cast<std::int32_t>(i)}) > 0;
            message = message || isMessage;
            if (!isMessage) hidden[i] = met = true;
        }
        if (!met && message)
            return Error{ErrorCode::Unsupported,
                         "'" + change.pattern +
                             "' names messages of the pipeline: the next stage computes on them, so "
                             "they cannot be hidden",
                         "--change " + change.text, "link:TIER*F for quicker links, or a collective's name"};
        if (!met)
            return Error{ErrorCode::NotFound,
                         pattern.isExact() ? "no transfer of the chosen steps is called " + change.pattern
                                           : "no transfer of the chosen steps has '" + change.pattern + "' in its name",
                         "--change " + change.text, "the tables view and `fourwalls-cli summary` list the names"};
    }
    return hidden;
}

Status Replay::tellable(std::span<const ReplayChange> changes) const
{
    if (!m_cores || !m_cores->isCrowded()) return {};
    for (const ReplayChange& change : changes)
        if (change.kind <= ChangeKind::Link || change.kind == ChangeKind::Hide)
            return Error{ErrorCode::Unsupported,
                         std::to_string(m_cores->ranks) + " ranks took turns on " + std::to_string(*m_cores->cores) +
                             " cores: what a rank waited for its core cannot be told from slow work or a slow link",
                         "--change " + change.text, "record with --clock device, or with no more ranks than cores"};
    return {};
}

std::optional<Sentence> Replay::coresNote(double error) const
{
    if (!m_cores) return {};
    if (m_cores->isCrowded())
        return Sentence{
            FOURWALLS_WORDS(
                "ReplaySentences",
                "%1 ranks took turns on %2 cores: what they waited for their cores counts as work and as moving"),
            {std::to_string(m_cores->ranks), std::to_string(*m_cores->cores)}};
    if (m_cores->cores || error < kCrowdedError) return {};
    return Sentence{FOURWALLS_WORDS("ReplaySentences",
                                    "unchanged this replay is %1 off, and the recording does not say how many "
                                    "cores its %2 ranks had: they may have taken turns"),
                    {formatPercent(error / 100, 0), std::to_string(m_cores->ranks)}};
}

void Replay::endWithDevice()
{
    for (std::shared_ptr<const ReplayGraph>* graph : {&m_full, &m_plain}) {
        ReplayGraph ends = **graph;
        for (GraphStep& step : ends.steps)
            step.ends.insert(step.ends.end(), step.deviceEnds.begin(), step.deviceEnds.end());
        *graph = std::make_shared<const ReplayGraph>(std::move(ends));
    }
}

Result<Replay> Replay::restructured(std::span<const ReplayChange> changes) const
{
    Replay replay = *this;
    FOURWALLS_TRY_ASSIGN(const std::vector<bool> hidden, hiddenBy(changes));
    if (!hidden.empty()) FOURWALLS_TRY(replay.build(hidden));
    const bool vanish = std::any_of(changes.begin(), changes.end(),
                                    [](const ReplayChange& change) { return change.kind == ChangeKind::Launches; });
    if (vanish) replay.endWithDevice();
    return replay;
}

ReplayQuality Replay::quality(DelayRule rule) const
{
    ReplayQuality quality;
    quality.delays = rule;
    quality.notes = m_notes;
    const ReplayGraph& graph = this->graph(rule);
    std::vector<std::int64_t> end;
    const NodeTimes times = timesOf(graph, rule);
    simulate(graph, times, end);
    const std::vector<std::int64_t> replayed = stepLengths(graph, times.duration, end);
    const std::vector<std::int64_t> recorded = stepLengths(graph, graph.duration, graph.recordedEnd);
    for (std::size_t i = 0; i < recorded.size(); ++i)
        quality.steps.push_back({graph.steps[i].step, Duration{recorded[i]}, Duration{replayed[i]}});
    std::tie(quality.meanError, quality.maxError) = errorsOf(recorded, replayed);
    quality.recorded = meanOf(recorded);
    quality.replayed = meanOf(replayed);
    const ReplayGraph& plain = this->graph(DelayRule::None);
    const NodeTimes none = timesOf(plain, DelayRule::None);
    simulate(plain, none, end);
    quality.errorWithoutDelays =
        errorsOf(stepLengths(plain, plain.duration, plain.recordedEnd), stepLengths(plain, none.duration, end)).first;
    quality.negativeDelays = graph.negativeDelays;
    std::vector<bool> onPath(graph.nodes());
    std::int64_t unexplained = 0;
    for (std::size_t i = 0; i < graph.steps.size(); ++i) {
        const std::vector<NodeIndex> path = criticalNodes(graph, graph.recordedEnd, i);
        for (const NodeIndex node : path) onPath[node] = true;
        unexplained += uncovered(graph, path, recorded[i]);
    }
    for (std::size_t node = 0; node < graph.nodes(); ++node)
        if (!onPath[node] && graph.role[node] != NodeRole::Source &&
            static_cast<double>(graph.delay[node]) > kLongDelay * static_cast<double>(recorded[graph.step[node]]))
            ++quality.longDelaysOffPath;
    quality.restsOnItself = rule == DelayRule::Class && restsOnItself(graph);
    if (quality.restsOnItself)
        quality.notes.push_back(
            {FOURWALLS_WORDS("ReplaySentences", "most delays are the only ones of their class, so that an unchanged "
                                                "replay agrees says nothing: record more steps, or more ranks"),
             {}});
    if (auto note = coresNote(quality.meanError); rule == DelayRule::Class && note)
        quality.notes.push_back(std::move(*note));
    if (!graph.steps.empty())
        quality.unexplained = Duration{unexplained / static_cast<std::int64_t>(graph.steps.size())};
    quality.nodes = static_cast<std::int64_t>(graph.nodes());
    quality.edges = static_cast<std::int64_t>(graph.work.edges());
    quality.derivedEdges = graph.derivedEdges;
    std::set<RankId> ranks;
    for (const Piece& piece : m_recording->pieces) ranks.insert(piece.rank);
    quality.ranks = static_cast<std::int64_t>(ranks.size());
    return quality;
}

Result<ChangedTimes> Replay::timesAfter(DelayRule rule, std::span<const ReplayChange> changes) const
{
    const ReplayGraph& graph = this->graph(rule);
    return applyChanges(*m_recording, graph, peers(rule), timesOf(graph, rule), changes);
}

Result<ReplayOutcome> Replay::run(DelayRule rule, std::span<const ReplayChange> changes,
                                  const MachineRates* rates) const
{
    const auto asks = [&](ChangeKind first, ChangeKind last) {
        return std::any_of(changes.begin(), changes.end(),
                           [&](const ReplayChange& each) { return each.kind >= first && each.kind <= last; });
    };
    const bool ofOrder = asks(ChangeKind::Microbatches, ChangeKind::Vpp),
               ofSpec = asks(ChangeKind::Plan, ChangeKind::Cluster);
    if (ofOrder && ofSpec)
        return Error{ErrorCode::Unsupported,
                     "the passes can be ordered anew as they were recorded, not in another plan, batch or cluster",
                     "--change", "say it within the plan: --change plan=\"… microbatches=8 schedule=zb\""};
    FOURWALLS_TRY(tellable(changes));
    FOURWALLS_TRY_ASSIGN(const Replay other, restructured(changes));
    const ReplayGraph& graph = other.graph(rule);
    FOURWALLS_TRY_ASSIGN(const ChangedTimes changed, other.timesAfter(rule, changes));
    std::vector<std::int64_t> end;
    simulate(graph, changed.times, end);
    ReplayOutcome outcome;
    for (const std::int64_t each : stepLengths(graph, changed.times.duration, end))
        outcome.steps.push_back(Duration{each});
    outcome.assumed = changed.assumed;
    keepFloor(busyFloor(*m_recording, graph, changed.times), outcome);
    const PathBasis basis = basisOf(graph, other.peers(rule), changed, end, timesOf(graph, rule));
    if (const double all = basis.measured + basis.scaled; all > 0) {
        outcome.measured = basis.measured / all;
        outcome.scaled = basis.scaled / all;
    }
    const double steps = static_cast<double>(std::max<std::size_t>(1, graph.steps.size()));
    const ReplayQuality unchanged = quality(rule);
    const double half = kBandDeviations * std::sqrt(basis.variance / steps) +
                        unchanged.meanError / 100 * static_cast<double>(meanOf(outcome.steps).ns);
    setBand(outcome, std::llround(half));
    if (auto note = coresNote(unchanged.meanError)) outcome.assumed.push_back(std::move(*note));
    outcome.peakBytes = m_peakBytes;
    if (ofOrder) {
        FOURWALLS_TRY_ASSIGN(const PassOrder order, orderPasses(*m_recording, graph, changed.times, changes));
        shift(outcome, order);
    }
    if (ofSpec) {
        FOURWALLS_TRY_ASSIGN(const SpecRatio ratio, ratioOfSpecs(*m_recording, changes, rates));
        scale(outcome, ratio);
        if (asks(ChangeKind::Stragglers, ChangeKind::Hide))
            outcome.assumed.push_back(
                {FOURWALLS_WORDS("ReplaySentences",
                                 "what the other changes do to the recorded step they do to the changed one, too"),
                 {}});
    }
    if (outcome.changed.ns > 0) return outcome;
    return Error{ErrorCode::Unsupported, "the changes take all work away that the chosen steps hold", "--change",
                 "leave some of it: a factor above 0, or a pattern that names fewer kernels"};
}

} // namespace fourwalls::replay
