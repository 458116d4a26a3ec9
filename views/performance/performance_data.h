// SPDX-License-Identifier: GPL-3.0-or-later
// What the performance view asks of a trace.
#pragma once

#include "model/replay/critical_path.h"
#include "model/trace/expert_load.h"
#include "model/trace/launch_gaps.h"
#include "model/trace/metrics.h"
#include "model/trace/operator_roofline.h"
#include "views/words/recording_advice.h"

#include <QString>

#include <map>
#include <stop_token>
#include <string>

namespace fourwalls::views {

struct PerformanceData {
    TraceMetrics metrics;
    std::optional<StepIndex> step; ///< that `metrics` are of; absent: the median one
    Recorder recorder = Recorder::Own;
    OperatorRoofline roofline;
    std::vector<StepUtilisation> steps;
    std::map<std::string, QString> names; ///< of the operators, short; different ones never read the same

    std::size_t ranks = 0, measuredSteps = 0; ///< that the operators' times are added up over

    QString nameOf(const std::string& name) const;
};
/// step: what MFU and HFU are of; absent: the median one. The operators are of all measured steps.
Result<PerformanceData> askPerformance(TraceQuery& trace, std::optional<StepIndex> step);

/// What to record so that there is one; empty: nothing would help.
QString howToGetMfu(const PerformanceData& facts);

/// "compute", "memory", "launch", or a dash.
QString words(BoundBy bound);

} // namespace fourwalls::views
