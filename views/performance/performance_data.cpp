// SPDX-License-Identifier: GPL-3.0-or-later
// See performance_data.h.
#include "views/performance/performance_data.h"

#include "views/format.h"

#include <QCoreApplication>

namespace fourwalls::views {

Result<PerformanceData> askPerformance(TraceQuery& trace)
{
    PerformanceData result;
    FOURWALLS_TRY_ASSIGN(result.metrics, computeMetrics(trace));
    FOURWALLS_TRY_ASSIGN(result.roofline, operatorRoofline(trace));
    FOURWALLS_TRY_ASSIGN(result.steps, stepUtilisation(trace));
    result.peakSource = trace.info().closing.peakFlopsPerDevice ? trace.info().closing.peakSource : "datasheet";
    return result;
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
