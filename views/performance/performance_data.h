// SPDX-License-Identifier: GPL-3.0-or-later
// What the performance view asks of a trace.
#pragma once

#include "model/trace/critical_path.h"
#include "model/trace/launch_gaps.h"
#include "model/trace/metrics.h"
#include "model/trace/operator_roofline.h"

#include <QString>

#include <stop_token>

namespace fourwalls::views {

struct PerformanceData {
    TraceMetrics metrics;
    OperatorRoofline roofline;
    std::vector<StepUtilisation> steps;
    std::string peakSource; ///< "matrix-product sweep", "datasheet", …
};
Result<PerformanceData> askPerformance(TraceQuery& trace);

/// A kernel's name without what C++ adds to it: "void at::native::reduce_kernel<512, ...>(...)" is "reduce_kernel".
QString shortName(const std::string& name);

/// "compute", "memory", "launch", or a dash.
QString words(BoundBy bound);

} // namespace fourwalls::views
