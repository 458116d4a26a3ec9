// SPDX-License-Identifier: Apache-2.0
// See memory_ghost.h.
#include "model/present/memory_ghost.h"

#include <algorithm>

namespace fourwalls {

const RankInfo* predictedRank(const InMemoryTraceData& predicted, RankId wanted, int stage)
{
    const std::vector<RankInfo>& ranks = predicted.info.header.ranks;
    const RankInfo *first = nullptr, *last = nullptr;
    for (const RankInfo& rank : ranks) {
        if (rank.pipelineStage == stage && rank.rank == wanted) return &rank;
        if (!first && rank.pipelineStage == stage) first = &rank;
        if (!last || rank.pipelineStage > last->pipelineStage) last = &rank;
    }
    return first ? first : last;
}

std::vector<MemorySample> ghostOf(const DrawnStep& predicted, RankId rank, int stage, std::span<const StepSpan> steps,
                                  std::size_t most)
{
    std::vector<MemorySample> ghost;
    const DrawnLane* lane = predicted.laneOf(rank, stage);
    if (!lane || steps.empty() || most == 0) return ghost;
    const std::vector<MemorySample> samples = memoryCurve(*lane);
    const TimeRange range = lane->step;

    // One curve for all steps: the largest sample of each part, and what held at the step's begin.
    std::vector<MemorySample> curve;
    const std::size_t parts = std::max<std::size_t>(2, most / steps.size());
    const MemorySample* before = nullptr;
    std::vector<const MemorySample*> inside;
    for (const MemorySample& sample : samples) {
        if (sample.at <= range.begin)
            before = &sample;
        else if (sample.at <= range.end)
            inside.push_back(&sample);
    }
    if (before) {
        curve.push_back(*before);
        curve.back().at = range.begin;
    }
    const std::size_t stride = (inside.size() + parts - 1) / parts;
    for (std::size_t i = 0; i < inside.size(); i += std::max<std::size_t>(1, stride)) {
        const auto end =
            inside.begin() + static_cast<std::ptrdiff_t>(std::min(inside.size(), i + std::max<std::size_t>(1, stride)));
        const MemorySample* largest =
            *std::max_element(inside.begin() + static_cast<std::ptrdiff_t>(i), end,
                              [](const MemorySample* a, const MemorySample* b) { return a->total() < b->total(); });
        curve.push_back(*largest);
    }
    if (curve.empty()) return ghost;

    for (std::size_t i = 0; i < steps.size(); ++i) {
        const Instant begin = steps[i].range.begin;
        const bool isLast = i + 1 == steps.size();
        const Instant limit = isLast ? begin + range.length() : steps[i + 1].range.begin;
        for (const MemorySample& sample : curve) {
            const Instant at = begin + (sample.at - range.begin);
            if (at >= limit && !isLast) break;
            ghost.push_back(sample);
            ghost.back().at = at;
        }
    }
    // The line ends with the last step's prediction.
    ghost.push_back(ghost.back());
    ghost.back().at = std::max(ghost.back().at, steps.back().range.begin + range.length());
    return ghost;
}

std::optional<MemorySummary> predictedPeak(const InMemoryTraceData& predicted, RankId wanted, int stage)
{
    const RankInfo* rank = predictedRank(predicted, wanted, stage);
    if (!rank) return std::nullopt;
    const auto found = std::find_if(predicted.memorySummaries.begin(), predicted.memorySummaries.end(),
                                    [&](const MemorySummary& summary) { return summary.rank == rank->rank; });
    return found == predicted.memorySummaries.end() ? std::nullopt : std::optional(*found);
}

} // namespace fourwalls
