// SPDX-License-Identifier: Apache-2.0
// See operator_roofline.h.
#include "model/trace/operator_roofline.h"

#include "model/trace/saturating_sum.h"

#include "model/trace/summary_builder.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace fourwalls {

namespace {

BoundBy boundOf(const RooflinePoint& point, const OperatorRoofline& roofs)
{
    if (point.mean() < kLaunchBound) return BoundBy::Launch;
    const bool knowsFlops = point.flops > 0 && roofs.peakFlops && *roofs.peakFlops > 0;
    const bool knowsBytes = point.bytes > 0 && roofs.bytesPerSecond && *roofs.bytesPerSecond > 0;
    if (knowsFlops && knowsBytes)
        return point.bytes / *roofs.bytesPerSecond > point.flops / *roofs.peakFlops ? BoundBy::Memory
                                                                                    : BoundBy::Compute;
    if (knowsBytes) return BoundBy::Memory;
    return knowsFlops ? BoundBy::Compute : BoundBy::Unknown;
}

bool longer(const RooflinePoint& a, const RooflinePoint& b)
{
    return a.total > b.total;
}

} // namespace

std::optional<double> RooflinePoint::flopsPerSecond() const
{
    if (flops <= 0 || total.ns <= 0) return std::nullopt;
    return flops / total.seconds();
}

std::optional<double> RooflinePoint::bytesPerSecond() const
{
    if (bytes <= 0 || total.ns <= 0) return std::nullopt;
    return bytes / total.seconds();
}

std::optional<double> RooflinePoint::intensity() const
{
    if (flops <= 0 || bytes <= 0) return std::nullopt;
    return flops / bytes;
}

std::optional<double> OperatorRoofline::attainable(double intensity) const
{
    if (!peakFlops && !bytesPerSecond) return std::nullopt;
    if (!peakFlops) return intensity * *bytesPerSecond;
    if (!bytesPerSecond) return *peakFlops;
    return std::min(*peakFlops, intensity * *bytesPerSecond);
}

Result<OperatorRoofline> operatorRoofline(TraceQuery& trace)
{
    OperatorRoofline result;
    const TraceInfo& info = trace.info();
    result.peakFlops = devicePeakFlops(info.header, info.closing);
    result.bytesPerSecond = deviceBytesPerSecond(info.header, info.closing);
    FOURWALLS_TRY_ASSIGN(std::vector<OpSummary> summaries, trace.opSummaries(kMostOperators + 1));
    if (summaries.size() > kMostOperators) {
        summaries.resize(kMostOperators);
        result.limited = true;
    }
    std::map<std::tuple<std::string, std::optional<LayerIndex>, Phase>, RooflinePoint> points;
    std::map<std::pair<std::string, Phase>, RooflinePoint> operators;
    for (const OpSummary& summary : summaries) {
        FOURWALLS_TRY_ASSIGN(const std::shared_ptr<const OpInfo> op, trace.op(summary.op));
        if (!op || op->activity != Activity::Compute) continue;
        const auto add = [&](RooflinePoint& point) {
            point.name = op->name;
            point.phase = op->phase;
            addTo(point.count, summary.count);
            addTo(point.total, summary.total);
            point.flops += op->flops * static_cast<double>(summary.count);
            point.bytes += static_cast<double>(op->bytes) * static_cast<double>(summary.count);
        };
        RooflinePoint& point = points[{op->name, op->layer, op->phase}];
        point.layer = op->layer;
        add(point);
        add(operators[{op->name, op->phase}]);
        addTo(result.total, summary.total);
    }
    const double all = static_cast<double>(std::max<std::int64_t>(1, result.total.ns));
    const auto finish = [&](RooflinePoint point) {
        point.bound = boundOf(point, result);
        point.share = static_cast<double>(point.total.ns) / all;
        return point;
    };
    for (auto& [key, point] : points)
        if (point.flops > 0 && point.bytes > 0 && point.total.ns > 0) result.points.push_back(finish(point));
    for (auto& [key, point] : operators) {
        result.operators.push_back(finish(point));
        const RooflinePoint& done = result.operators.back();
        if (done.bound == BoundBy::Memory) addTo(result.memoryBound, done.total);
        if (done.bound == BoundBy::Compute) addTo(result.computeBound, done.total);
        if (done.bound == BoundBy::Launch) addTo(result.launchBound, done.total);
    }
    std::stable_sort(result.points.begin(), result.points.end(), longer);
    std::stable_sort(result.operators.begin(), result.operators.end(), longer);
    return result;
}

} // namespace fourwalls
