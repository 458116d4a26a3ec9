// SPDX-License-Identifier: Apache-2.0
// See replay.h.
#include "model/replay/replay.h"

#include "model/replay/device_rules.h"
#include "model/replay/host_rules.h"
#include "model/replay/operation_rules.h"
#include "model/replay/pass_order.h"
#include "model/replay/spec_change.h"
#include "model/trace/name_matcher.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace fourwalls::replay {

namespace {

/// Half the width of a band in standard deviations: nine of ten results.
constexpr double kBandDeviations = 1.645;
/// A delay is long beyond this share of its step.
constexpr double kLongDelay = 0.01;

Duration meanOf(const std::vector<std::int64_t>& lengths)
{
    if (lengths.empty()) return {};
    double sum = 0;
    for (const std::int64_t each : lengths) sum += static_cast<double>(each);
    return Duration{std::llround(sum / static_cast<double>(lengths.size()))};
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

/// Another order of the passes makes every step longer or shorter by as much. The passes' times stay measured.
void shift(ReplayOutcome& outcome, const PassOrder& order)
{
    const Duration by = order.changed - order.recorded;
    const Duration half{std::llround(kBandDeviations * order.deviation)};
    for (Duration& step : outcome.steps) step += by;
    outcome.changed += by;
    outcome.low = Duration{std::max<std::int64_t>(0, (outcome.low + by - half).ns)};
    outcome.high += by + half;
    outcome.peakBytes.reset(); // other micro-batches are in flight
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
    outcome.measured = outcome.modelled = 0;
    outcome.scaled = 1;
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
            replay.m_notes.push_back("left out, as ranks or members of operations are missing in them: steps " +
                                     numbers);
    }
    replay.m_recording = std::make_shared<const Recording>(std::move(recording));
    FOURWALLS_TRY_ASSIGN(const std::vector<MemorySummary> memory, trace.memorySummaries());
    for (const MemorySummary& each : memory)
        replay.m_peakBytes = std::max(replay.m_peakBytes.value_or(0), static_cast<double>(each.peakBytes));
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
    std::int64_t stalls = 0;
    FOURWALLS_TRY_ASSIGN(const GraphBuilder builder, operations ? operationGraph(of)
                                                     : calls    ? hostGraph(of, stalls)
                                                                : deviceGraph(of, hidden));
    if (stalls > 0)
        m_notes.push_back("a device stood still " + std::to_string(stalls) +
                          " times for over 0.2 ms although work was queued: kept as recorded");
    const std::size_t present = of.info.header.ranks.size();
    if (of.info.header.worldSize && static_cast<std::size_t>(*of.info.header.worldSize) > present)
        m_notes.push_back("the trace has " + std::to_string(present) + " of " +
                          std::to_string(*of.info.header.worldSize) +
                          " ranks: of what an operation took, the shortest of its kind and size stands for moving, an "
                          "estimate, and the rest for waiting, which stays as recorded");
    const auto describe = [&of](std::uint32_t piece) { return of.describe(piece); };
    FOURWALLS_TRY_ASSIGN(ReplayGraph full, builder.finish(true, describe));
    m_full = std::make_shared<const ReplayGraph>(std::move(full));
    m_fullPeers = std::make_shared<const PeerClasses>(peerClasses(of, *m_full, operations));
    m_plain = m_full;
    m_plainPeers = m_fullPeers;
    if (builder.hasWaitingEdges()) {
        FOURWALLS_TRY_ASSIGN(ReplayGraph plain, builder.finish(false, describe));
        m_plain = std::make_shared<const ReplayGraph>(std::move(plain));
        m_plainPeers = std::make_shared<const PeerClasses>(peerClasses(of, *m_plain, operations));
    }
    return {};
}

Result<Replay> Replay::hiding(std::span<const ReplayChange> changes) const
{
    Replay replay = *this;
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
        FOURWALLS_TRY_ASSIGN(const NameMatcher matcher, NameMatcher::create(change.pattern, false));
        hidden.resize(m_recording->ops.size());
        bool met = false, message = false;
        for (std::size_t i = 0; i < hidden.size(); ++i) {
            const auto& op = m_recording->ops[i];
            if (!op || op->kind != SliceKind::Collective || !matcher.matches(op->name)) continue;
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
                         "no transfer of the chosen steps has '" + change.pattern + "' in its name",
                         "--change " + change.text, "the tables view and `fourwalls-cli summary` list the names"};
    }
    if (!hidden.empty()) FOURWALLS_TRY(replay.build(hidden));
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
    for (std::size_t i = 0; i < graph.steps.size(); ++i)
        for (const NodeIndex node : criticalNodes(graph, graph.recordedEnd, i)) {
            onPath[node] = true;
            unexplained += graph.delay[node];
        }
    for (std::size_t node = 0; node < graph.nodes(); ++node)
        if (!onPath[node] && graph.role[node] != NodeRole::Source &&
            static_cast<double>(graph.delay[node]) > kLongDelay * static_cast<double>(recorded[graph.step[node]]))
            ++quality.longDelaysOffPath;
    if (rule == DelayRule::Class && restsOnItself(graph))
        quality.notes.push_back("most delays are the only ones of their class, so that an unchanged replay agrees says "
                                "nothing: record more steps, or more ranks");
    if (!graph.steps.empty())
        quality.unexplained = Duration{unexplained / static_cast<std::int64_t>(graph.steps.size())};
    quality.nodes = static_cast<std::int64_t>(graph.nodes());
    quality.edges = static_cast<std::int64_t>(graph.predecessors.size());
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
    FOURWALLS_TRY_ASSIGN(const Replay hidden, hiding(changes));
    const ReplayGraph& graph = hidden.graph(rule);
    const PeerClasses& peers = hidden.peers(rule);
    FOURWALLS_TRY_ASSIGN(const ChangedTimes changed, hidden.timesAfter(rule, changes));
    std::vector<std::int64_t> end;
    simulate(graph, changed.times, end);
    const std::vector<std::int64_t> lengths = stepLengths(graph, changed.times.duration, end);
    ReplayOutcome outcome;
    for (const std::int64_t each : lengths) outcome.steps.push_back(Duration{each});
    outcome.changed = meanOf(lengths);
    outcome.assumed = changed.assumed;
    // What the path rests on: where its times come from, and how far measured times of one kind lie apart.
    double sums[3] = {}, variance = 0;
    for (std::size_t i = 0; i < graph.steps.size(); ++i)
        for (const NodeIndex node : criticalNodes(graph, end, i)) {
            const auto time = static_cast<double>(
                std::max<std::int64_t>(0, changed.times.duration[node] + changed.times.delay[node]));
            sums[static_cast<std::size_t>(changed.origin[node])] += time;
            if (peers.of[node] == kNone) continue;
            const PeerClasses::Spread& spread = peers.spreads[peers.of[node]];
            const double share =
                graph.duration[node] > 0 && changed.origin[node] == TimeOrigin::Scaled
                    ? static_cast<double>(changed.times.duration[node]) / static_cast<double>(graph.duration[node])
                    : 1;
            if (changed.averaged[node] || changed.origin[node] == TimeOrigin::Scaled)
                variance += std::pow(spread.deviation * share, 2);
        }
    const double all = sums[0] + sums[1] + sums[2];
    if (all > 0) {
        outcome.measured = sums[0] / all;
        outcome.scaled = sums[1] / all;
        outcome.modelled = sums[2] / all;
    }
    const double steps = static_cast<double>(std::max<std::size_t>(1, graph.steps.size()));
    const ReplayQuality unchanged = quality(rule);
    const double half = kBandDeviations * std::sqrt(variance / steps) +
                        unchanged.meanError / 100 * static_cast<double>(outcome.changed.ns);
    outcome.low = Duration{std::max<std::int64_t>(0, outcome.changed.ns - std::llround(half))};
    outcome.high = Duration{outcome.changed.ns + std::llround(half)};
    outcome.peakBytes = m_peakBytes;
    const auto asks = [&](ChangeKind first, ChangeKind last) {
        return std::any_of(changes.begin(), changes.end(),
                           [&](const ReplayChange& each) { return each.kind >= first && each.kind <= last; });
    };
    if (asks(ChangeKind::Microbatches, ChangeKind::Vpp)) {
        FOURWALLS_TRY_ASSIGN(const PassOrder order, orderPasses(*m_recording, changes));
        shift(outcome, order);
    }
    if (asks(ChangeKind::Plan, ChangeKind::Cluster)) {
        FOURWALLS_TRY_ASSIGN(const SpecRatio ratio, ratioOfSpecs(*m_recording, changes, rates));
        scale(outcome, ratio);
    }
    return outcome;
}

} // namespace fourwalls::replay
