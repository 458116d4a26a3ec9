// SPDX-License-Identifier: Apache-2.0
// See memory_growth.h.
#include "model/trace/memory_growth.h"

#include "model/base/median.h"

#include <algorithm>
#include <map>

namespace fourwalls {

namespace {

constexpr std::size_t kMostBuffers = 50'000; ///< of a moment, the largest

void chooseMoments(MemoryGrowth& growth, const std::vector<JobStep>& steps, TimeRange range, std::size_t most)
{
    std::vector<JobStep> measured;
    for (const JobStep& step : steps)
        if (step.state == StepState::Measured) measured.push_back(step);
    growth.ofSteps = measured.size() >= 2;
    const std::size_t all = growth.ofSteps ? measured.size() : most, count = std::min(most, all);
    for (std::size_t i = 0; i < count; ++i) {
        const double part = count > 1 ? static_cast<double>(i) / static_cast<double>(count - 1) : 1;
        if (growth.ofSteps) {
            const auto at = static_cast<std::size_t>(part * static_cast<double>(all - 1) + 0.5);
            growth.steps.push_back(measured[at].step);
            growth.moments.push_back(measured[at].range.end - Duration{1});
        } else if (!range.empty()) {
            const auto offset = static_cast<std::int64_t>(part * static_cast<double>(range.length().ns - 1));
            growth.moments.push_back(range.begin + Duration{offset});
        }
    }
}

double placeOf(const MemoryGrowth& growth, std::size_t moment)
{
    return growth.ofSteps ? static_cast<double>(growth.steps[moment].value) : static_cast<double>(moment);
}

Trend trendOfBytes(const MemoryGrowth& growth, const std::vector<std::int64_t>& bytes)
{
    std::vector<std::pair<double, double>> points;
    points.reserve(bytes.size());
    for (std::size_t i = 0; i < bytes.size(); ++i)
        points.emplace_back(placeOf(growth, i), static_cast<double>(bytes[i]));
    return trendOf(points);
}

/// Fills in what was alive at the moments.
Status readMoments(TraceQuery& trace, MemoryGrowth& growth, const std::stop_token& stop)
{
    std::map<std::int32_t, MakerGrowth> makers; // -1: not known
    for (std::size_t i = 0; i < growth.moments.size(); ++i) {
        if (stop.stop_requested()) return Error{ErrorCode::Cancelled, "a newer question came", "memory growth", {}};
        FOURWALLS_TRY_ASSIGN(const AllocationList alive, trace.aliveAt(growth.rank, growth.moments[i], kMostBuffers));
        growth.total.push_back(alive.totalBytes);
        std::int64_t listed = 0;
        for (const AllocationView& buffer : alive.items) {
            MakerGrowth& maker = makers[buffer.op ? buffer.op->value : -1];
            if (maker.bytes.empty()) {
                maker.bytes.resize(growth.moments.size());
                if (buffer.op)
                    if (const auto op = alive.ops.find(*buffer.op); op != alive.ops.end()) maker.op = op->second;
            }
            maker.bytes[i] += buffer.bytes;
            listed += buffer.bytes;
            maker.countFirst += i == 0;
            maker.countLast += i + 1 == growth.moments.size();
        }
        growth.notLookedAt = alive.totalBytes - listed;
    }
    if (growth.moments.size() < 2) return {};
    growth.trend = trendOfBytes(growth, growth.total);
    for (auto& [op, maker] : makers) {
        maker.trend = trendOfBytes(growth, maker.bytes);
        growth.makers.push_back(std::move(maker));
    }
    std::stable_sort(growth.makers.begin(), growth.makers.end(),
                     [](const MakerGrowth& a, const MakerGrowth& b) { return a.grown() > b.grown(); });
    return {};
}

} // namespace

Trend trendOf(const std::vector<std::pair<double, double>>& points)
{
    constexpr std::size_t kMostPoints = 200;
    const std::size_t stride = points.size() / kMostPoints + 1;
    std::vector<double> slopes;
    double rising = 0;
    for (std::size_t i = 0; i < points.size(); i += stride)
        for (std::size_t j = i + stride; j < points.size(); j += stride) {
            slopes.push_back((points[j].second - points[i].second) / (points[j].first - points[i].first));
            rising += slopes.back() > 0;
        }
    if (slopes.empty()) return {};
    const auto pairs = static_cast<double>(slopes.size());
    return {median(std::move(slopes)), rising / pairs};
}

Result<MemoryGrowth> memoryGrowth(TraceQuery& trace, RankId rank, std::size_t moments, const std::stop_token& stop)
{
    MemoryGrowth growth;
    growth.rank = rank;
    FOURWALLS_TRY_ASSIGN(const std::vector<JobStep> steps, trace.jobSteps());
    chooseMoments(growth, steps, trace.info().range, moments);
    FOURWALLS_TRY(readMoments(trace, growth, stop));
    return growth;
}

Result<MemoryGrowth> memoryBetween(TraceQuery& trace, RankId rank, Instant from, Instant to,
                                   const std::stop_token& stop)
{
    MemoryGrowth growth;
    growth.rank = rank;
    growth.between = true;
    growth.moments = {from, to};
    FOURWALLS_TRY(readMoments(trace, growth, stop));
    return growth;
}

} // namespace fourwalls
