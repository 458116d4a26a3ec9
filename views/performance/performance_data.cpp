// SPDX-License-Identifier: GPL-3.0-or-later
// See performance_data.h.
#include "views/performance/performance_data.h"

#include "model/trace/short_name.h"
#include "views/words/format.h"

#include <QCoreApplication>

namespace fourwalls::views {

Result<PerformanceData> askPerformance(TraceQuery& trace, std::optional<StepIndex> step)
{
    PerformanceData result;
    FOURWALLS_TRY_ASSIGN(result.metrics, computeMetrics(trace, step));
    result.step = step;
    FOURWALLS_TRY_ASSIGN(result.roofline, operatorRoofline(trace));
    FOURWALLS_TRY_ASSIGN(result.steps, stepUtilisation(trace));
    result.recorder = recorderOf(trace.info().header);
    result.ranks = trace.info().header.ranks.size();
    for (const StepUtilisation& each : result.steps) result.measuredSteps += each.state == StepState::Measured ? 1 : 0;
    std::vector<std::string> names;
    for (const RooflinePoint& each : result.roofline.operators) names.push_back(each.name);
    const std::vector<std::string> shown = fourwalls::shortNames(names);
    for (std::size_t i = 0; i < names.size(); ++i) result.names.emplace(names[i], QString::fromStdString(shown[i]));
    return result;
}

QString PerformanceData::nameOf(const std::string& name) const
{
    const auto found = names.find(name);
    return found == names.end() ? QString::fromStdString(shortName(name)) : found->second;
}

QString howToGetMfu(const PerformanceData& facts)
{
    const NoMfu why = facts.metrics.mfuAbsent;
    if (why == NoMfu::NoStep) return howToMarkSteps(facts.recorder);
    return why == NoMfu::NoFlops || why == NoMfu::FewFlops ? howToRecord({Lack::Flops}, facts.recorder) : QString();
}

QString words(BoundBy bound)
{
    switch (bound) {
    case BoundBy::Compute: return QCoreApplication::translate("BoundBy", "compute");
    case BoundBy::Memory: return QCoreApplication::translate("BoundBy", "memory");
    case BoundBy::Launch: return QCoreApplication::translate("BoundBy", "launch");
    case BoundBy::Unknown: break;
    }
    return QString(kDash);
}

} // namespace fourwalls::views
