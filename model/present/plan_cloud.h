// SPDX-License-Identifier: Apache-2.0
// The plans that a search has priced so far, up to millions of them: packed, filtered by brushes, with the front of those
// that nothing beats in both time and memory. Pure.
#pragma once

#include "model/cost/plan_search.h"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace fourwalls {

/// What a plan is told apart by: the axes of the parallel coordinates.
enum class PlanAxis { Tensor, Pipeline, Data, Context, Expert, Chunks, Microbatches, Zero, Recompute, Time, Memory };
inline constexpr std::size_t kPlanAxes = 11;

/// One priced plan in 40 bytes; the switches that a search does not vary are those of its base plan.
struct PlanPoint {
    float seconds = 0;
    float bytes = 0;
    std::int32_t dp = 1, microbatches = 1;
    std::uint32_t stages = 0; ///< what differs by stage, in the cloud's list; 0: nothing
    std::int16_t tp = 1, pp = 1, cp = 1, ep = 1, vpp = 1;
    std::int8_t zero = 0, recompute = 0, schedule = 0;
    bool sequenceParallel = false, feasible = false, offloadOptimizer = false, stagesFirst = false;
};

/// A brush: the values of one axis that are let through.
struct PlanBrush {
    double low = 0, high = 0;
    bool holds(double value) const { return value >= low && value <= high; }
    friend bool operator==(const PlanBrush&, const PlanBrush&) = default;
};
using PlanBrushes = std::array<std::optional<PlanBrush>, kPlanAxes>;

double valueOn(PlanAxis axis, const PlanPoint& point);

class PlanCloud {
public:
    /// base: what all plans of the search have in common.
    void reset(const ParallelPlan& base);
    void add(std::span<const cost::SearchedPlan> plans);

    const std::vector<PlanPoint>& points() const { return m_points; }
    /// Smallest and largest value of an axis over all points; {0, 0} without any.
    std::pair<double, double> limits(PlanAxis axis) const { return m_limits[static_cast<std::size_t>(axis)]; }
    ParallelPlan plan(std::size_t index) const;

    static bool passes(const PlanPoint& point, const PlanBrushes& brushes);
    /// Indices of the feasible points that no other feasible one beats in time and memory, by time. Of equal ones the
    /// first.
    const std::vector<std::uint32_t>& front() const { return m_front; }
    /// The best feasible points by time that pass, at most `most`, best first; of equally quick ones the one that needs less
    /// memory.
    std::vector<std::uint32_t> best(const PlanBrushes& brushes, std::size_t most) const;
    /// Points spread evenly over the search, at most `most`: a sample for lines.
    std::vector<std::uint32_t> sample(const PlanBrushes& brushes, std::size_t most) const;

private:
    void mergeFront(std::size_t first);

    ParallelPlan m_base;
    unsigned m_modules = 0; ///< that selective plans recompute; the search does not try others than were named
    std::vector<PlanPoint> m_points;
    /// What a plan says of each stage.
    struct Stages {
        std::vector<int> layers;
        std::vector<Recompute> recompute;
    };
    std::vector<Stages> m_stages; ///< of the points that say something of them
    std::vector<std::uint32_t> m_front;
    std::array<std::pair<double, double>, kPlanAxes> m_limits{};
};

} // namespace fourwalls
