// SPDX-License-Identifier: Apache-2.0
// See memory_ghost.h.
#include "model/present/memory_ghost.h"

#include <algorithm>

namespace fourwalls {

namespace {

/// More steps at once are a few pixels each.
constexpr std::size_t kMostGhostSteps = 400;

/// The steps whose curves a ghost would have: of a long run those about the range that is shown.
std::span<const StepSpan> stepsAbout(std::span<const StepSpan> steps, TimeRange shown)
{
    std::size_t first = 0, last = steps.size();
    if (steps.size() > kMostGhostSteps) {
        // With as much again on either side: a pan has curves at once.
        const TimeRange wide{shown.begin - shown.length(), shown.end + shown.length()};
        while (first < last && steps[first].range.end < wide.begin) ++first;
        while (last > first && steps[last - 1].range.begin > wide.end) --last;
    }
    return steps.subspan(first, last - first);
}

} // namespace

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

void GhostCurve::forget()
{
    m_of.reset();
    m_range = {};
}

bool GhostCurve::isOutOfSight(std::span<const StepSpan> steps, TimeRange shown, TimeRange inSight) const
{
    if (!m_of) return false;
    // Other steps are in sight, or few enough of them for their curves.
    if (m_range.empty()) return stepsAbout(steps, shown).size() <= kMostGhostSteps;
    return inSight != inSight.intersected(m_range);
}

std::optional<std::vector<MemorySample>> GhostCurve::over(std::span<const StepSpan> steps,
                                                          const std::shared_ptr<const DrawnStep>& predicted,
                                                          RankId rank, int stage, TimeRange shown, TimeRange whole)
{
    constexpr std::size_t kMostSamples = 12'000; // what a picture holds
    if (predicted && predicted == m_of) return std::nullopt;
    m_of = predicted;
    m_range = {};
    std::vector<MemorySample> ghost;
    if (!predicted || steps.empty()) return ghost;
    const std::span<const StepSpan> chosen = stepsAbout(steps, shown);
    if (chosen.size() > kMostGhostSteps) {
        // Each is a few pixels wide: what can be seen is how high they reach.
        ghost = ghostOf(*predicted, rank, stage, chosen.first(1), kMostSamples);
        const auto highest = std::max_element(ghost.begin(), ghost.end(),
                                              [](const auto& a, const auto& b) { return a.total() < b.total(); });
        if (highest != ghost.end()) {
            const MemorySample level = *highest;
            ghost.assign(2, level);
            ghost.front().at = whole.begin;
            ghost.back().at = whole.end;
        }
    } else if (!chosen.empty()) {
        ghost = ghostOf(*predicted, rank, stage, chosen, kMostSamples);
        m_range = {&chosen.front() == &steps.front() ? whole.begin : chosen.front().range.begin,
                   &chosen.back() == &steps.back() ? whole.end : chosen.back().range.end};
    }
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
