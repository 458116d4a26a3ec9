// SPDX-License-Identifier: Apache-2.0
// Experts that have unequally many tokens.
#include "model/diagnose/causes.h"
#include "model/trace/expert_load.h"
#include "model/trace/step_window.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace fourwalls::diagnose {

namespace {

/// The least even layer, where tokens are counted.
void addTokens(CaseFacts& facts, Finding& finding)
{
    const auto load = expertLoad(facts.trace, facts.result.step, facts.stop);
    if (!load.ok() || load->layers.empty()) return;
    const auto least =
        std::max_element(load->layers.begin(), load->layers.end(), [](const ExpertLayer& a, const ExpertLayer& b) {
            return a.mostOverMean() < b.mostOverMean();
        });
    finding.add(EvidenceKind::BusiestExpert, least->mostOverMean());
    finding.source.what = std::string(kExpertProducts);
    if (least->layer >= 0) finding.source.layer = LayerIndex{least->layer};
}

/// Whether an operator's work grows with the tokens that its rank's experts have: their products, and what brings tokens
/// to them and back.
bool isOfExperts(const OpInfo& op)
{
    for (const char* word : {"expert", "grouped", "mixture.dispatch", "mixture.combine"})
        if (op.name.find(word) != std::string::npos) return true;
    return false;
}

/// When each rank was in operators that do the experts' work, by time, in the steps that are replayed. Empty: the trace has
/// no such operators; its kernels may still say by their names what they do.
std::map<RankId, std::vector<TimeRange>> expertOperators(const CaseFacts& facts)
{
    std::map<RankId, std::vector<TimeRange>> ranges;
    if (std::none_of(facts.ops.begin(), facts.ops.end(), [](const auto& each) {
            return each.first->kind == SliceKind::Operator && isOfExperts(*each.first);
        }))
        return ranges;
    std::map<TrackId, RankId> ranks;
    std::vector<TrackId> tracks;
    for (const TrackView& track : facts.trace.tracks())
        if (track.info.kind == TrackKind::Operators) {
            ranks[track.id] = track.info.rank;
            tracks.push_back(track.id);
        }
    const std::vector<replay::RecordedStep>& steps = facts.replay->recording().steps;
    const TimeRange whole{steps.front().range.begin, steps.back().range.end};
    const auto slices = boundedSlices(facts.trace, tracks, whole, kMostSlicesAnalysed, facts.stop);
    if (!slices.ok()) return ranges;
    for (const LaneSlices& lane : slices->lanes)
        for (const SliceView& slice : lane.exact)
            if (const OpInfo& op = *slices->ops.at(slice.op); op.kind == SliceKind::Operator && isOfExperts(op))
                ranges[ranks[lane.track]].push_back({slice.start, slice.end()});
    for (auto& [rank, of] : ranges)
        std::sort(of.begin(), of.end(), [](TimeRange a, TimeRange b) { return a.begin < b.begin; });
    return ranges;
}

/// Whether a piece of work began within one of the ranges, which do not overlap.
bool isWithin(const std::map<RankId, std::vector<TimeRange>>& ranges, const replay::Piece& piece)
{
    const auto of = ranges.find(piece.rank);
    if (of == ranges.end()) return false;
    const auto next = std::upper_bound(of->second.begin(), of->second.end(), piece.start,
                                       [](Instant at, TimeRange range) { return at < range.begin; });
    return next != of->second.begin() && piece.start < std::prev(next)->end;
}

/// A pass through the experts of one layer: step, layer, micro-batch and phase. The ranks meet in an all-to-all before and
/// after it.
using ExpertPass = std::tuple<std::uint32_t, std::int32_t, std::int32_t, int>;

ExpertPass passOf(const replay::Recording& recording, const replay::Piece& piece, std::uint32_t step)
{
    const OpInfo& op = recording.op(piece);
    return {step, op.layer ? op.layer->value : -1, piece.microbatch, static_cast<int>(op.phase)};
}

struct Load {
    double time = 0, flops = 0;
};
using LoadOfRanks = std::map<std::uint32_t, Load>; // by their index in WorkEffects::ranks

/// What the ranks do for the experts, and what it would take with as many tokens on each.
struct ExpertWork {
    struct Item {
        const WorkItem* work;
        ExpertPass pass;
        std::string_view name;
    };
    std::map<ExpertPass, LoadOfRanks> loads;
    std::map<std::pair<ExpertPass, std::string_view>, std::map<std::uint32_t, double>> of; ///< time by kind of kernel
    std::vector<Item> items;

    /// The busiest rank's share and that of all: of their FLOPs, which go by tokens, or of their time.
    static std::pair<double, double> mostAndSum(const LoadOfRanks& ranks)
    {
        double most = 0, sum = 0;
        for (const auto& [rank, load] : ranks) {
            const double tokens = load.flops > 0 ? load.flops : load.time;
            most = std::max(most, tokens);
            sum += tokens;
        }
        return {most, sum};
    }

    /// Each kind of kernel of a pass takes the mean of the ranks: those that go by tokens become equal, the others are.
    void shareOut(replay::NodeTimes& times) const
    {
        for (const Item& item : items) {
            const std::map<std::uint32_t, double>& ranks = of.at({item.pass, item.name});
            double sum = 0;
            for (const auto& [rank, time] : ranks) sum += time;
            const double own = ranks.at(item.work->rank);
            if (own > 0)
                times.duration[item.work->node] =
                    std::llround(static_cast<double>(item.work->time) * sum / static_cast<double>(ranks.size()) / own);
        }
    }

    /// The exchanges of a pass take as much less, beyond the shortest one, as its busiest rank has more than the mean.
    void shareOutExchanges(const replay::Recording& recording, const replay::ReplayGraph& graph,
                           replay::NodeTimes& times) const
    {
        const auto isExchange = [&](std::size_t node) {
            if (graph.role[node] != replay::NodeRole::Moving || graph.piece[node] == replay::kNone) return false;
            const replay::Piece& piece = recording.pieces[graph.piece[node]];
            return piece.isCollective() &&
                   recording.collectives[piece.collective].record.operation == CollectiveOp::AllToAll;
        };
        std::int64_t shortest = std::numeric_limits<std::int64_t>::max();
        for (std::size_t node = 0; node < graph.nodes(); ++node)
            if (isExchange(node)) shortest = std::min(shortest, std::max<std::int64_t>(0, graph.duration[node]));
        for (std::size_t node = 0; node < graph.nodes(); ++node) {
            if (!isExchange(node) || times.duration[node] <= shortest) continue;
            const auto pass = loads.find(passOf(recording, recording.pieces[graph.piece[node]], graph.step[node]));
            if (pass == loads.end() || pass->second.size() < 2) continue;
            const auto [most, sum] = mostAndSum(pass->second);
            const double even = most > 0 ? sum / static_cast<double>(pass->second.size()) / most : 1;
            times.duration[node] = shortest + std::llround(static_cast<double>(times.duration[node] - shortest) * even);
        }
    }
};

} // namespace

void findExpertImbalance(CaseFacts& facts)
{
    const WorkEffects& work = facts.work;
    if (!facts.replay || work.ranks.size() < 2) return;
    const std::map<RankId, std::vector<TimeRange>> operators = expertOperators(facts);
    const replay::Recording& recording = facts.replay->recording();
    const replay::ReplayGraph& graph = facts.replay->graph(replay::DelayRule::Own);
    ExpertWork experts;
    for (const WorkItem& item : work.items) {
        const replay::Piece& piece = recording.pieces[graph.piece[item.node]];
        const OpInfo& op = recording.op(piece);
        if (!isOfExperts(op) && !isWithin(operators, piece)) continue;
        const ExpertPass pass = passOf(recording, piece, item.step);
        experts.of[{pass, op.name}][item.rank] += static_cast<double>(item.time);
        experts.items.push_back({&item, pass, op.name});
        Load& load = experts.loads[pass][item.rank];
        load.time += static_cast<double>(item.time);
        load.flops += op.flops;
    }
    double busiest = 0, mean = 0;
    for (const auto& [pass, ranks] : experts.loads) {
        if (ranks.size() < 2) continue;
        const auto [most, all] = experts.mostAndSum(ranks);
        busiest += most;
        mean += all / static_cast<double>(ranks.size());
    }
    if (mean <= 0 || busiest < mean * (1 + kLeastFinding)) return;
    std::vector<RankId> ranks;
    for (const RankWork& each : work.ranks) ranks.push_back(each.rank);
    Finding finding = facts.ofRanks(Cause::ExpertImbalance, std::move(ranks));
    finding.gain = facts.gainOf([&](replay::NodeTimes& times) {
        experts.shareOut(times);
        experts.shareOutExchanges(recording, graph, times);
    });
    if (finding.gain->share < kLeastFault) return;
    finding.add(EvidenceKind::BusiestShare, busiest / mean);
    addTokens(facts, finding);
    facts.add(std::move(finding));
}

} // namespace fourwalls::diagnose
