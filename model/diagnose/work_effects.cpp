// SPDX-License-Identifier: Apache-2.0
// See work_effects.h.
#include "model/diagnose/work_effects.h"

#include "model/base/median.h"
#include "model/replay/operation_rules.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <utility>

namespace fourwalls::diagnose {

namespace {

/// A median deviation times this is the standard deviation, if values are normally distributed.
constexpr double kToDeviation = 1.4826;

/// Values with weights, of which a median is wanted.
struct Weighted {
    double value, weight;
};

/// The value at which half of the weight is reached; 0 of nothing.
double weightedMedian(std::vector<Weighted>& values)
{
    std::sort(values.begin(), values.end(), [](const Weighted& a, const Weighted& b) { return a.value < b.value; });
    double all = 0, sum = 0;
    for (const Weighted& each : values) all += each.weight;
    for (const Weighted& each : values) {
        sum += each.weight;
        if (2 * sum >= all) return each.value;
    }
    return 0;
}

std::vector<WorkItem> itemsOf(const replay::Replay& replay, WorkEffects& effects)
{
    const replay::Recording& recording = replay.recording();
    const replay::ReplayGraph& graph = replay.graph(replay::DelayRule::Own);
    const replay::PeerClasses& peers = replay.peers(replay::DelayRule::Own);
    // Operations of a whole stage are alike only within it.
    const bool byStage = replay::isOperationRecording(recording);
    std::map<RankId, std::uint32_t> ranks;
    for (const replay::Piece& piece : recording.pieces) ranks.try_emplace(piece.rank, 0);
    std::uint32_t at = 0;
    for (auto& [rank, index] : ranks) {
        index = at++;
        RankWork work;
        work.rank = rank;
        work.stage = recording.stageOf(rank);
        effects.stages = std::max(effects.stages, work.stage + 1);
        effects.ranks.push_back(std::move(work));
    }
    std::map<std::pair<std::uint32_t, int>, std::uint32_t> ofStages;
    std::vector<WorkItem> items;
    for (std::size_t node = 0; node < graph.nodes(); ++node) {
        if (graph.role[node] != replay::NodeRole::Work || graph.piece[node] == replay::kNone) continue;
        const replay::Piece& piece = recording.pieces[graph.piece[node]];
        const OpInfo& op = recording.op(piece);
        if (op.activity != Activity::Compute || op.kind == SliceKind::DataLoading || peers.of[node] == replay::kNone)
            continue;
        std::uint32_t of = peers.of[node];
        if (byStage)
            of = ofStages.try_emplace({of, recording.stageOf(piece.rank)}, static_cast<std::uint32_t>(ofStages.size()))
                     .first->second;
        items.push_back({static_cast<replay::NodeIndex>(node), ranks[piece.rank], graph.step[node], of,
                         piece.microbatch, op.phase, graph.duration[node]});
    }
    std::stable_sort(items.begin(), items.end(),
                     [](const WorkItem& a, const WorkItem& b) { return a.peers < b.peers; });
    return items;
}

/// What the ranks take for one kind of work, as shares of what peers and they themselves take.
class Comparison {
public:
    Comparison(std::size_t ranks, std::size_t steps)
        : m_steps(steps)
        , m_peers(ranks * steps)
        , m_own(ranks * steps)
        , m_sums(ranks * steps)
        , m_counts(ranks * steps)
    {}

    void add(std::span<const WorkItem> kind, std::vector<RankWork>& ranks)
    {
        std::map<std::uint32_t, std::vector<double>> times;
        for (const WorkItem& item : kind) {
            const std::size_t at = item.rank * m_steps + item.step;
            if (m_counts[at]++ == 0) m_used.push_back(at);
            m_sums[at] += static_cast<double>(item.time);
            times[item.rank].push_back(static_cast<double>(item.time));
        }
        std::map<std::uint32_t, double> medians;
        std::vector<double> all;
        for (auto& [rank, values] : times) {
            medians[rank] = median(std::move(values));
            all.push_back(medians[rank]);
        }
        const double reference = lowerMedian(all);
        for (const std::size_t at : m_used) {
            const auto rank = static_cast<std::uint32_t>(at / m_steps);
            const double mean = m_sums[at] / m_counts[at], weight = m_sums[at];
            ranks[rank].computing += weight / static_cast<double>(m_steps);
            if (mean > 0 && medians[rank] > 0) m_own[at].push_back({std::log(mean / medians[rank]), weight});
            if (all.size() > 1 && mean > 0 && reference > 0) {
                ranks[rank].compared += weight / static_cast<double>(m_steps);
                m_peers[at].push_back({std::log(mean / reference), weight});
            }
            m_sums[at] = 0;
            m_counts[at] = 0;
        }
        m_used.clear();
    }

    void finish(std::vector<RankWork>& ranks)
    {
        for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
            RankWork& work = ranks[rank];
            for (std::size_t step = 0; step < m_steps; ++step) {
                std::vector<Weighted>&peers = m_peers[rank * m_steps + step], &own = m_own[rank * m_steps + step];
                work.againstPeers.push_back(peers.empty() ? 0 : std::exp(weightedMedian(peers)));
                work.againstItself.push_back(own.empty() ? 0 : std::exp(weightedMedian(own)));
            }
            settleRatio(work);
        }
    }

private:
    std::size_t m_steps;
    std::vector<std::vector<Weighted>> m_peers, m_own; ///< by rank and step
    std::vector<double> m_sums;
    std::vector<std::int64_t> m_counts;
    std::vector<std::size_t> m_used;
};

} // namespace

void settleRatio(RankWork& work)
{
    std::vector<double> logs;
    for (std::size_t step = 0; step < work.slowsFrom.value_or(work.againstPeers.size()); ++step)
        if (work.againstPeers[step] > 0) logs.push_back(std::log(work.againstPeers[step]));
    if (logs.empty()) return;
    const double middle = median(logs);
    work.ratio = std::exp(middle);
    for (double& each : logs) each = std::abs(each - middle);
    work.noise = kToDeviation * median(logs) / std::sqrt(static_cast<double>(logs.size()));
}

WorkEffects workEffects(const replay::Replay& replay)
{
    WorkEffects effects;
    for (const replay::RecordedStep& step : replay.recording().steps) effects.steps.push_back(step.step);
    effects.items = itemsOf(replay, effects);
    Comparison comparison(effects.ranks.size(), effects.steps.size());
    const std::span<const WorkItem> all = effects.items;
    for (std::size_t from = 0, to = 0; from < all.size(); from = to) {
        while (to < all.size() && all[to].peers == all[from].peers) ++to;
        comparison.add(all.subspan(from, to - from), effects.ranks);
    }
    comparison.finish(effects.ranks);
    return effects;
}

} // namespace fourwalls::diagnose
