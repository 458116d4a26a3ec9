// SPDX-License-Identifier: Apache-2.0
// See operator_roofline.h.
#include "model/trace/operator_roofline.h"

#include "model/trace/kernel_arithmetic.h"
#include "model/trace/peak_facts.h"
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
    const bool knowsFlops = point.flops > 0 && point.peak && *point.peak > 0;
    const bool knowsBytes = point.bytes > 0 && roofs.bytesPerSecond && *roofs.bytesPerSecond > 0;
    if (knowsFlops && knowsBytes)
        return point.bytes / *roofs.bytesPerSecond > point.flops / *point.peak ? BoundBy::Memory : BoundBy::Compute;
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
    if (flops <= 0 || total.ns <= 0 || withoutRate) return std::nullopt;
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

std::optional<double> OperatorRoofline::attainable(double intensity, std::optional<double> peak) const
{
    if (!peak && !bytesPerSecond) return std::nullopt;
    if (!peak) return intensity * *bytesPerSecond;
    if (!bytesPerSecond) return *peak;
    return std::min(*peak, intensity * *bytesPerSecond);
}

Result<OperatorRoofline> operatorRoofline(TraceQuery& trace)
{
    const bool launchesOnly = hasLaunchesOnly(trace);
    OperatorRoofline result;
    const TraceInfo& info = trace.info();
    FOURWALLS_TRY_ASSIGN(const PeakFacts peaks, peakFacts(trace));
    result.peakFlops = peaks.peak;
    std::map<std::string, double> ran;
    if (!isHostOnly(trace)) result.bytesPerSecond = deviceBytesPerSecond(info.header, info.closing);
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
            point.withoutRate =
                launchesOnly || (info.header.source == TraceSource::Imported && countsDirectFlops(op->name));
            if (op->flops > 0) point.peak = peaks.roofOf(*op);
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
        if (!peaks.sheet || op->flops <= 0) continue;
        const Arithmetic arithmetic = arithmeticOf(op->name, op->detail).type;
        if (const auto peak = peaks.sheet->peak(arithmetic)) ran.emplace(fourwalls::name(arithmetic), *peak);
    }
    result.peaks.assign(ran.begin(), ran.end());
    const double all = static_cast<double>(std::max<std::int64_t>(1, result.total.ns));
    const auto finish = [&](RooflinePoint point) {
        point.bound = boundOf(point, result);
        const auto rate = point.flopsPerSecond();
        point.aboveRoof = rate && point.peak && *rate > kRoofTolerance * *point.peak;
        point.share = static_cast<double>(point.total.ns) / all;
        return point;
    };
    for (auto& [key, point] : points)
        if (point.flopsPerSecond() && point.bytes > 0) result.points.push_back(finish(point));
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
