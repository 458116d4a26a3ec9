// SPDX-License-Identifier: Apache-2.0
// See step_slack.h.
#include "model/replay/step_slack.h"

#include "model/replay/replay.h"

#include <algorithm>
#include <tuple>

namespace fourwalls {

Result<StepSlack> stepSlack(TraceQuery& trace, std::optional<StepIndex> wanted, std::stop_token stop)
{
    using namespace replay;
    StepSlack result;
    FOURWALLS_TRY_ASSIGN(result.window, stepWindow(trace, wanted));
    if (result.window.range.empty()) return result;
    std::optional<StepChoiceRange> steps;
    if (result.window.step) steps = {*result.window.step, *result.window.step};
    FOURWALLS_TRY_ASSIGN(const Replay replay, Replay::of(trace, steps, stop));
    result.replayErrorPercent = replay.quality(DelayRule::Class).meanError;
    const ReplayGraph& graph = replay.graph(DelayRule::Own);
    const NodeTimes times = timesOf(graph, DelayRule::Own);
    std::vector<std::int64_t> end;
    simulate(graph, times, end);
    const std::vector<std::int64_t> slack = slackOf(graph, times, end);
    std::vector<bool> onPath(graph.nodes());
    for (std::size_t step = 0; step < graph.steps.size(); ++step)
        for (const NodeIndex node : criticalNodes(graph, end, step)) onPath[node] = true;
    const std::vector<Piece>& pieces = replay.recording().pieces;
    // A call is two nodes, an operation an arrival and its moving: what takes the piece's time counts.
    constexpr std::size_t kNoPlace = ~std::size_t{0};
    std::vector<std::size_t> placeOf(pieces.size(), kNoPlace);
    for (std::size_t node = 0; node < graph.nodes(); ++node) {
        const NodeRole role = graph.role[node];
        if (graph.piece[node] == kNone || role == NodeRole::Arrival || role == NodeRole::Meeting) continue;
        const Piece& piece = pieces[graph.piece[node]];
        if (piece.length().ns <= 0) continue;
        if (const std::size_t place = placeOf[graph.piece[node]]; place != kNoPlace) {
            SlackPiece& known = result.pieces[place];
            known.slack = std::min(known.slack, Duration{std::max<std::int64_t>(0, slack[node])});
            known.onPath = known.onPath || onPath[node];
            continue;
        }
        placeOf[graph.piece[node]] = result.pieces.size();
        result.pieces.push_back({piece.track,
                                 piece.lane,
                                 {piece.start, piece.end},
                                 Duration{std::max<std::int64_t>(0, slack[node])},
                                 onPath[node]});
    }
    std::sort(result.pieces.begin(), result.pieces.end(), [](const SlackPiece& a, const SlackPiece& b) {
        return std::tie(a.track, a.lane, a.range.begin) < std::tie(b.track, b.lane, b.range.begin);
    });
    return result;
}

} // namespace fourwalls
